"""Findings and documents that a process of its own makes: the same, and its errors are reported."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from loadstone.analyse.matrix import ComparisonError
from loadstone.model.message import Message
from loadstone.runs.errors import StoreError
from loadstone.runs.rebuild import JOURNAL
from loadstone.web.apart import NoAnswer
from loadstone.web.diagnosis import diagnoses, findings
from loadstone.web.documents import Wanted, made, made_apart
from loadstone.web.judge import diagnoses_apart, findings_apart
from loadstone.web.sidecar import NICENESS

REAL = Path(__file__).parents[1] / "compatibility/folders/0.1/ladder-20261124T084358Z"


@pytest.mark.slow  # three processes are started
def test_the_findings_and_the_errors_are_those_of_this_process(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(REAL, run)
    found = asyncio.run(findings_apart(run))
    assert found == findings(run)
    assert found[0]["findings"]
    assert diagnoses_apart(run) == diagnoses(run)
    shutil.rmtree(run)
    with pytest.raises(StoreError, match=JOURNAL) as refused:
        asyncio.run(findings_apart(run))
    assert isinstance(refused.value.message, Message), "it can be translated"


@pytest.mark.slow  # two processes are started
def test_documents_and_what_cannot_be_compared_are_those_of_this_process() -> None:
    wanted = Wanted(document="result", folders=(REAL,), language="en")
    assert asyncio.run(made_apart("result", [REAL])) == made(wanted)
    with pytest.raises(ComparisonError) as refused:
        asyncio.run(made_apart("comparison", [REAL, REAL]))
    assert isinstance(refused.value.message, Message), "it can be translated"


def test_a_process_that_fails_is_not_taken_for_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.web.apart.sys.executable", shutil.which("false"))
    with pytest.raises(NoAnswer, match="status 1"):
        asyncio.run(findings_apart(tmp_path))


def test_a_diagnosis_gives_way_to_others_and_the_page_does_not_wait_for_it_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, endless = tmp_path / "started", tmp_path / "endless"
    endless.write_text(
        f"#!/bin/sh\necho $$ > {started}.new && mv {started}.new {started}\nexec sleep 600\n"
    )
    endless.chmod(0o700)
    own, niceness = os.getpriority(os.PRIO_PROCESS, 0), []
    monkeypatch.setattr("loadstone.web.apart.sys.executable", str(endless))

    async def ended_early() -> None:
        judging = asyncio.create_task(findings_apart(tmp_path))
        while not started.exists():
            await asyncio.sleep(0.01)
        process, deadline = int(started.read_text()), time.monotonic() + 30
        while (found := os.getpriority(os.PRIO_PROCESS, process)) == own:
            assert time.monotonic() < deadline, "the process goes first"
            await asyncio.sleep(0.01)
        niceness.append(found)
        judging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await judging

    asyncio.run(ended_early())
    assert niceness == [min(own + NICENESS, 19)]
    with pytest.raises(ProcessLookupError):
        while True:  # until the kernel has removed it
            os.kill(int(started.read_text()), 0)
            time.sleep(0.01)
