"""The state shared while a report is made: the run, the language and the figures placed so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from loadstone.analyse.ladder import Level, ladders_of, middle_step
from loadstone.model.asked_rate import asked
from loadstone.model.ceilings import StepCeilings
from loadstone.model.finding import Diagnosis
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, say, user_count
from loadstone.model.plan import WATCHED
from loadstone.model.result import Result, StepResult
from loadstone.report.markup import Markup, element
from loadstone.report.opened import Run
from loadstone.report.page import Figures


@dataclass
class ReportContext:
    """What all sections share."""

    run: Run
    words: Language
    figures: Figures

    @property
    def result(self) -> Result:
        """The run's result."""
        return self.run.result

    @cached_property
    def ladders(self) -> list[list[Level]]:
        """All ladders that were driven."""
        return [each for each in ladders_of(self.result.steps) if each[0].workload != WATCHED]

    def diagnosis(self, ladder: list[Level]) -> Diagnosis | None:
        """Why this ladder is not faster."""
        first = ladder[0]
        for found in self.run.diagnoses:
            if (found.variant, found.workload) == (first.variant, first.workload):
                return found
        return None

    def ceilings(self, step: StepResult) -> StepCeilings | None:
        """The ceilings of one step; `None` where it has no rate."""
        return next((one for one in self.run.ceilings if one.step == step.step), None)

    def is_several(self) -> bool:
        """Whether the run has more than one ladder, so that each needs a name."""
        return len(self.ladders) > 1

    def name(self, ladder: list[Level]) -> str:
        """Variant and workload, and the users of an open loop."""
        first = ladder[0]
        parts = [first.workload] if first.variant == "default" else [first.variant, first.workload]
        if first.rate:
            parts.append(self.words(user_count(first.concurrency)))
        return self.words.value(Joined(parts))

    def step_name(self, step: StepResult) -> str:
        """A name that distinguishes the step from the others."""
        words = self.words
        parts = [words(say("step {number}", number=step.step))]
        if step.variant != "default":
            parts.append(step.variant)
        if len({one.workload for one in self.result.steps}) > 1:
            parts.append(step.workload)
        if step.workload != WATCHED:
            parts.append(words(user_count(step.concurrency)))
        if step.rate:
            parts.append(words(say("{rate} events/s due", rate=asked(step.rate))))
        if step.repeat > 1:
            parts.append(words(say("repeat {number}", number=step.repeat)))
        return words.value(Joined(parts))

    def heading_in_ladder(self, title: str) -> Markup:
        """A heading in the part of a ladder; only one of several ladders has a heading itself."""
        return element("h4" if self.is_several() else "h3", title)

    def middle(self, level: Level) -> StepResult:
        """The level's middle repeat."""
        return middle_step(level.steps)

    def section(self, name: str, title: str, *inside: str) -> Markup:
        """A part of the report with its heading."""
        head = element("h2", title, id=f"{name}-title")
        return element("section", head, *inside, id=name, aria_labelledby=f"{name}-title")


def localized(said: str, words: Language, name: str = "span", class_: str | None = None) -> Markup:
    """A sentence of another part of the program, in the page's language or marked as English.

    Readers of screens change their voice by the mark.
    """
    return element(
        name, words(said), lang=None if words.knows(said) else ENGLISH.tag, class_=class_
    )
