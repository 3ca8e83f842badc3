"""The latencies of a step, read from latency.hlog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loadstone import engine
from loadstone.model.message import say
from loadstone.model.records import LatencyNs
from loadstone.model.result import Window
from loadstone.runs import hlog
from loadstone.runs.errors import StoreError
from loadstone.runs.hlog import UNFINISHED, meaning_of, tag_of
from loadstone.runs.steplog import StepLog
from loadstone.runs.unfinished import Counts, WithUnfinished, with_unfinished

MOST_TAGS = 500
"""Limit for the tags of a step: the engine counts 64 errors, and has about twenty other tags."""


def latencies(path: Path, step: StepLog, window: Window) -> dict[str, LatencyNs]:
    """The merged latencies of a step's window, by `response`, `read`, `error-1213`, ….

    `unfinished-response` and others alike are `WithUnfinished`: the figures of `response` that
    depend on events which had not ended when the window did.

    Raises:
        StoreError: the log cannot be read, or is not one of ours.
    """
    log = _OfStep(path, step, window)
    try:
        merged = log.merged()
        return merged | log.with_unfinished(merged)
    except (engine.LogError, ValueError) as error:
        raise StoreError(say("cannot read {path}: {why}", path=path, why=str(error))) from error


@dataclass(frozen=True)
class _OfStep:
    """A step's lines; they are read again each time, as a step of many hours has very many."""

    path: Path
    step: StepLog
    window: Window

    def _lines(self) -> Iterator[str]:
        return hlog.lines_of(self.path, self.step.begin.hlog_from, self.step.step.tag)

    def _inside(self) -> Iterator[str]:
        return hlog.within(self._lines(), self.window, self.step.load_began_s)

    def _of_tag(self, tag: str) -> Iterator[str]:
        return (line for line in self._inside() if tag_of(line) == tag)

    def merged(self) -> dict[str, LatencyNs]:
        """What ended in the window, one tag at a time."""
        return {
            meaning_of(tag): engine.merge_hlog(self._of_tag(tag))[tag]
            for tag in self._tags(self._inside())
        }

    def with_unfinished(self, merged: dict[str, LatencyNs]) -> dict[str, LatencyNs]:
        """The figures that depend on events without an end."""
        after = hlog.after(self._lines(), self.window, self.step.load_began_s)
        lines = [line for line in after if meaning_of(tag_of(line)).startswith(UNFINISHED)]
        found = {tag: self._of_unfinished(tag, lines, merged) for tag in self._tags(lines)}
        return {meaning_of(tag): figures for tag, figures in found.items() if figures}

    def _of_unfinished(
        self, tag: str, lines: Iterable[str], merged: dict[str, LatencyNs]
    ) -> WithUnfinished | None:
        of_ended = tag.replace(UNFINISHED, "", 1)
        ended = merged.get(meaning_of(of_ended), LatencyNs())
        ages = [line for line in lines if tag_of(line) == tag]

        def counts() -> Counts:
            return engine.hlog_counts(self._of_tag(of_ended)).get(of_ended, [])

        def together() -> LatencyNs:
            renamed = (line.replace(tag, of_ended, 1) for line in ages)
            return engine.merge_hlog([*self._of_tag(of_ended), *renamed])[of_ended]

        window_ns = self.window.counted_s * 1e9
        return with_unfinished(ended, counts, window_ns, engine.hlog_counts(ages)[tag], together)

    def _tags(self, lines: Iterable[str]) -> list[str]:
        tags: set[str] = set()
        for line in lines:
            tags.add(tag_of(line))
            # The file is read once per tag.
            if len(tags) > MOST_TAGS:
                raise StoreError(
                    say(
                        "{path} has more than {most} kinds of latencies of a step",
                        path=self.path,
                        most=MOST_TAGS,
                    )
                )
        return sorted(tags)
