"""What takes much memory is computed by processes of its own, which end with their answers.

Hours of seconds, or hundreds of runs, are read into tables, and what these take stays with the
process that made them. So the page's process does not make them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable

from loadstone.analyse.matrix import ComparisonError
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Message, plain, say
from loadstone.model.with_messages import WithMessages
from loadstone.runs.errors import StoreError
from loadstone.web.sidecar import NICENESS


class NoAnswer(LoadstoneError):
    """The process ended without an answer, or did not end in time."""

    exit_code = ExitCode.BUG


class _Said(WithMessages):
    """What the process prints: the answer, or why there is none."""

    answer: str | None = None
    problem: Message | None = None
    of_comparison: bool = False
    """Whether the problem is what was asked to be compared, and no file."""


async def asked_of(module: str, question: str, longest_s: float | None = None) -> str:
    """Run a module of ours that calls `answer`, and return its answer.

    If the caller is cancelled, the process is killed: the page does not wait for it at its end.

    Raises:
        StoreError: a file of a run cannot be read.
        ComparisonError: the runs cannot be compared.
        NoAnswer: the process was killed, took longer than `longest_s`, or its error is in the
            page's log.
    """
    # Without -P a module in the working folder could replace one of ours.
    words = [sys.executable, "-P", "-m", module]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe)
    try:
        _give_way(process.pid)
        async with asyncio.timeout(longest_s):
            said, _ = await process.communicate(question.encode())
    except TimeoutError as error:
        late = say("a computation of the page took longer than {seconds} s", seconds=longest_s)
        raise NoAnswer(late) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    if process.returncode != 0:
        code = process.returncode
        raise NoAnswer(say("a computation of the page ended with status {code}", code=code))
    found = _Said.model_validate_json(said)
    if found.problem is not None:
        raise (ComparisonError if found.of_comparison else StoreError)(found.problem)
    return found.answer or ""


def _give_way(process: int) -> None:
    """A load on this machine goes first, and so does the browser that waits for the page.

    Not by the process itself: its first second is imports.
    """
    niceness = os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
    with contextlib.suppress(OSError):  # it has ended
        os.setpriority(os.PRIO_PROCESS, process, niceness)


def answer(of: Callable[[str], str]) -> None:
    """Answer the question in this process's input; what is wrong with a run is the caller's."""
    try:
        said = _Said(answer=of(sys.stdin.read()))
    except (StoreError, ComparisonError) as error:
        why = error.message
        problem = why if isinstance(why, Message) else plain(why)
        said = _Said(problem=problem, of_comparison=isinstance(error, ComparisonError))
    sys.stdout.write(said.model_dump_json())
