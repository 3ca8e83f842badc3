"""What an opened run says about one of its ladders, for forms without a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.ladder import Level, middle_step, shape
from loadstone.model.finding import Diagnosis
from loadstone.model.language import Language
from loadstone.report.opened import Run
from loadstone.report.sentences import answer


def diagnosis_of(run: Run, ladder: Sequence[Level]) -> Diagnosis | None:
    """The diagnosis of the ladder; `None` if too little was measured for one."""
    wanted = ladder[0].variant, ladder[0].workload
    return next((one for one in run.diagnoses if (one.variant, one.workload) == wanted), None)


def answer_of(run: Run, ladder: Sequence[Level], words: Language) -> Iterator[str]:
    """Its sentences: the peak, what holds it back, and the lowest ceiling there."""
    shaped = shape(ladder)
    best = middle_step((shaped.peak if shaped else ladder[0]).steps)
    lowest = next((one for one in run.ceilings if one.step == best.step), None)
    yield from answer(ladder, diagnosis_of(run, ladder), lowest, words)
