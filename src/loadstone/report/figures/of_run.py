"""The figures of an opened run by name: `run.figures.ladder()` shows itself in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadstone.analyse.ladder import Level, ladders_of
from loadstone.analyse.usl import Usl, of_ladder
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.language import Lang, in_language
from loadstone.model.result import StepResult
from loadstone.report.figures.account import account_figure
from loadstone.report.figures.account_course import course_figure
from loadstone.report.figures.ceilings import ceilings_figure
from loadstone.report.figures.evidence import evidence_figure
from loadstone.report.figures.figure import Figure
from loadstone.report.figures.ladder import ladder_figure, variants_figure
from loadstone.report.figures.latency import heat_figure, percentile_figure
from loadstone.report.figures.series import series_figure
from loadstone.report.latencies import StepLatencies
from loadstone.report.step_panels import Seconds

if TYPE_CHECKING:
    from loadstone.report.opened import Run

COLUMNS = 600
"""The most pairs of points in a line over seconds."""


class NothingToDraw(LoadstoneError):
    """There is no such step or ladder, or nothing was recorded for the figure."""

    exit_code = ExitCode.STORE


class RunFigures:
    """The report's figures, a method for each. Texts are English, or Chinese with `zh`."""

    def __init__(self, run: Run, lang: Lang = "en") -> None:
        self._run = run
        self._words = in_language(lang)

    def ladder(self, variant: str | None = None, workload: str | None = None) -> Figure:
        """Rates and latencies over users, of the first variant and workload or the named ones.

        Raises:
            NothingToDraw: there is no such variant or workload.
        """
        ladder = self._ladder(variant, workload)
        law = of_ladder(ladder)
        return ladder_figure(ladder, law if isinstance(law, Usl) else None, self._words)

    def account(self, variant: str | None = None, workload: str | None = None) -> Figure:
        """Where a user's second goes at each level of a ladder.

        Raises:
            NothingToDraw: there is no such ladder, or no server's sessions were looked at.
        """
        found = account_figure(self._ladder(variant, workload), self._words)
        if found is None:
            raise NothingToDraw(f"{self._run.path} does not say where its users' time went")
        return found

    def account_course(self, step: int) -> Figure:
        """Where the users' time goes over the seconds of a step.

        Raises:
            NothingToDraw: there is no such step, or too few looks were at its sessions.
        """
        found = course_figure(self._step(step), self._words, f"step-{step}")
        if found is None:
            raise NothingToDraw(
                f"step {step} of {self._run.path} does not say where its users' time went over "
                "the seconds"
            )
        return found

    def variants(self, workload: str | None = None) -> Figure:
        """TPS and p99 of all variants of a workload.

        Raises:
            NothingToDraw: there is no such workload.
        """
        wanted = self._ladder(None, workload)[0].workload
        ladders = [
            each for each in ladders_of(self._run.result.steps) if each[0].workload == wanted
        ]
        return variants_figure(ladders, self._words)

    def ceilings(self) -> Figure:
        """Each resource's ceiling above the measured rates of the first ladder."""
        return ceilings_figure(self._run.ceilings, self._words)

    def finding(self, rank: int = 1) -> Figure:
        """The figure that a finding of the first ladder rests on.

        Raises:
            NothingToDraw: there are fewer findings.
        """
        found = self._run.diagnoses[0] if self._run.diagnoses else None
        if found is None or not 0 < rank <= len(found.findings):
            raise NothingToDraw(f"there is no finding {rank} in {self._run.path}")
        ladder = [step for step in self._run.result.steps if step.variant == found.variant]
        mine = [step for step in ladder if step.workload == found.workload]
        return evidence_figure(found.findings[rank - 1], mine, self._words)

    def seconds(self, step: int) -> Figure:
        """Load, server and host second by second.

        Raises:
            NothingToDraw: there is no such step, or it has no seconds.
        """
        wanted = self._step(step)
        run = self._run
        frames = Seconds(run.load, run.server, run.host, self._words, run.attached)
        panels = frames.panels(wanted)
        if not panels:
            raise NothingToDraw(f"step {step} of {run.path} has no seconds")
        return series_figure(panels, wanted, self._words, COLUMNS, f"step-{step}")[0]

    def heat(self, step: int) -> Figure:
        """How many events took how long, by time.

        Raises:
            NothingToDraw: there is no such step, or it recorded no event.
        """
        found = heat_figure(self._latencies(step), self._words, f"step-{step}")
        return self._drawn(found, step)

    def percentiles(self, step: int) -> Figure:
        """HdrHistogram's percentile curve.

        Raises:
            NothingToDraw: there is no such step, or its window has no event.
        """
        return self._drawn(percentile_figure(self._latencies(step), self._words), step)

    def _drawn(self, found: Figure | None, step: int) -> Figure:
        if found is None:
            raise NothingToDraw(f"step {step} of {self._run.path} recorded no event")
        return found

    def _latencies(self, step: int) -> StepLatencies:
        self._step(step)
        found = self._run.latencies([step]).get(step)
        if found is None:
            raise NothingToDraw(f"step {step} of {self._run.path} recorded no event")
        return found

    def _step(self, number: int) -> StepResult:
        for step in self._run.result.steps:
            if step.step == number:
                return step
        raise NothingToDraw(f"there is no step {number} in {self._run.path}")

    def _ladder(self, variant: str | None, workload: str | None) -> list[Level]:
        for ladder in ladders_of(self._run.result.steps):
            first = ladder[0]
            if variant in (None, first.variant) and workload in (None, first.workload):
                return ladder
        named = " ".join(f"'{name}'" for name in (variant, workload) if name)
        raise NothingToDraw(f"there is no ladder {named} in {self._run.path}".replace("  ", " "))
