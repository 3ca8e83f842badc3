"""Diagnoses a run in a process of its own.

A diagnosis reads hours of seconds into tables, and what these take stays with the process that made
them. So the page's process does not make them: it starts this module, and keeps the answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Message, plain, say
from loadstone.model.with_messages import WithMessages
from loadstone.runs.errors import StoreError
from loadstone.web.sidecar import NICENESS

Findings = list[dict[str, Any]]


class JudgeFailed(LoadstoneError):
    """The process ended without an answer."""

    exit_code = ExitCode.BUG


class _Answer(WithMessages):
    """What the process prints: the findings, or why there are none."""

    findings: Findings | None = None
    problem: Message | None = None


async def findings_apart(run: Path) -> Findings:
    """What `diagnosis.findings` returns, made by a process that has ended by then.

    If the caller is cancelled, the process is killed: the page does not wait for it at its end.

    Raises:
        StoreError: a file of the run cannot be read.
        JudgeFailed: the process was killed, or its error is in the page's log.
    """
    # Without -P a module in the working folder could replace one of ours.
    words = [sys.executable, "-P", "-m", "loadstone.web.judge", os.fspath(run)]
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    judge = await asyncio.create_subprocess_exec(*words, stdin=nothing, stdout=pipe)
    try:
        said, _ = await judge.communicate()
    finally:
        if judge.returncode is None:
            judge.kill()
            await judge.communicate()
    if judge.returncode != 0:
        raise JudgeFailed(say("the diagnosis ended with status {code}", code=judge.returncode))
    answer = _Answer.model_validate_json(said)
    if answer.problem is not None:
        raise StoreError(answer.problem)
    return answer.findings or []


def main(run: Path) -> None:
    """Print the answer for a run."""
    from loadstone.web.diagnosis import findings

    os.nice(NICENESS)
    try:
        answer = _Answer(findings=findings(run))
    except StoreError as error:
        why = error.message
        answer = _Answer(problem=why if isinstance(why, Message) else plain(why))
    sys.stdout.write(answer.model_dump_json())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
