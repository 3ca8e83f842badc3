"""The figures of the step that runs, up to now, such as where its users' time goes."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.result import StepResult
from loadstone.runs.journal import RunBegin, StepBegin
from loadstone.runs.rebuild import JOURNAL, read_log, step_result

EVERY_S = 10.0
"""How often they are computed at most."""

SHARE_OF_CORE = 0.02
"""The share of a core that this may take: where a look takes long, the next one is later."""

MOST_BYTES = 16 * 1024 * 1024
"""Of the journal; a longer step has its figures when it has ended."""


def step_so_far(run: Path, begin: RunBegin, step: StepBegin) -> StepResult | None:
    """The row of the running step; `None` if it has ended, has no window yet, or is too long.

    Raises:
        StoreError: the journal or the latency log cannot be read.
    """
    try:
        size = (run / JOURNAL).lstat().st_size
    except OSError:  # removed
        return None
    if size - step.journal_from > MOST_BYTES:
        return None
    log = read_log(run, step.journal_from).steps[-1]
    if log.begin != step or log.end is not None or log.window is None:
        return None
    return step_result(run, log, begin)
