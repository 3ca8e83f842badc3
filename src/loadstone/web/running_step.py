"""The figures of the step that runs, up to now, such as where its users' time goes."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.result import StepResult, Window
from loadstone.runs.journal import RunBegin, StepBegin
from loadstone.runs.rebuild import read_log, step_result

EVERY_S = 10.0
"""How often they are computed at most."""

SHARE_OF_CORE = 0.01
"""The share of a core that this may take: where a look takes long, the next one is later."""

JUDGED_AFTER_S = 30.0
"""Seconds of its window after which the running step is diagnosed, too: fewer show little, and one
that is not much longer has ended soon.
"""


def step_so_far(run: Path, begin: RunBegin, step: StepBegin) -> StepResult | None:
    """The row of the running step; `None` if it has ended, or has no window yet.

    Raises:
        StoreError: the journal or the latency log cannot be read.
    """
    log = read_log(run, step.journal_from).steps[-1]
    if log.begin != step or log.end is not None or log.window is None:
        return None
    return step_result(run, log, begin)


def is_judged(window: Window | None) -> bool:
    """Whether the window of the running step is long enough for findings."""
    return window is not None and window.to_s - window.from_s >= JUDGED_AFTER_S
