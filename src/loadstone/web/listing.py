"""The list of a folder's runs, one line each; runs that have not changed are not read again."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.analyse.ladder import levels, rate_of
from loadstone.analyse.search import level_at_peak
from loadstone.model.result import Result
from loadstone.runs import run_folder, safe_open
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import RunBegin, RunEnd
from loadstone.runs.labels import LABELS, read_labels
from loadstone.runs.preparing import preparing_in
from loadstone.runs.rebuild import JOURNAL
from loadstone.runs.selection import Described, Selection, targets_of, workload_of
from loadstone.runs.summaries import utc
from loadstone.runs.tail import Tail, last_entry
from loadstone.web.localize import translations

MOST = 500
"""Maximum number of lines, the newest. `loadstone runs list` shows all."""

_NOT_A_NAME = re.compile(r"[/\\\x00]")
_LONGEST_NAME = 255
"""In bytes: NAME_MAX of Linux."""

_FIRST_LINE = 1
"""In bytes; the line that starts there is read to its end."""

Line = dict[str, Any]
_Stamp = tuple[int, ...]


class UnknownRun(Exception):
    """There is no run of that name."""


@dataclass
class RunList:
    """Scans a folder of runs; reuses the last scan's line of each run that has not changed."""

    runs: Path
    version: int = 0
    """Changes after each scan that found something new."""
    lines: list[Line] = field(default_factory=list)
    """Newest first."""
    preparing: list[Line] = field(default_factory=list)
    """The progress of commands whose run has no folder yet."""

    _known: dict[str, tuple[_Stamp, Line]] = field(default_factory=dict)
    _begins: dict[str, Line] = field(default_factory=dict)
    """The contents of first lines, which never change."""

    def look(self) -> bool:
        """Scan the folder; returns whether anything changed."""
        found = []
        for journal in reversed(run_folder.journals(self.runs)[-MOST:]):
            line = self._line(journal.parent)
            if line is not None:
                found.append(line)
        prepared = [{"said": one, "told": translations([one])} for one in preparing_in(self.runs)]
        if (found, prepared) == (self.lines, self.preparing):
            return False
        self.lines, self.preparing = found, prepared
        self.version += 1
        self._forget({line["name"] for line in found})
        return True

    def _forget(self, shown: set[str]) -> None:
        """Drop what is kept of runs that no longer exist."""
        self._known = {name: known for name, known in self._known.items() if name in shown}
        self._begins = {name: begin for name, begin in self._begins.items() if name in shown}

    def running(self) -> list[Path]:
        """The folders of the runs that are running now."""
        newest = run_folder.journals(self.runs)[-MOST:]
        open_ends = [
            one.parent for one in newest if not safe_open.is_there(one.parent / run_folder.RESULT)
        ]
        return [run for run in open_ends if run_folder.is_running(run)]

    def chosen(self, selection: Selection) -> list[Path]:
        """The folders of the selected runs that were listed at the last look, oldest first.

        Damaged ones are left out.
        """
        return [
            self.runs / line["name"]
            for line in reversed(self.lines)
            if line["state"] != "damaged" and selection.has(_described(line))
        ]

    def find(self, name: str) -> Path:
        """The folder of a run, by its exact name.

        Raises:
            UnknownRun: there is none, or the name is a path.
        """
        too_long = len(name.encode(errors="replace")) > _LONGEST_NAME
        if not name or name.startswith(".") or _NOT_A_NAME.search(name) or too_long:
            raise UnknownRun(name)
        run = self.runs / name
        try:
            safe_open.opened(run / JOURNAL).close()
        except OSError as error:
            raise UnknownRun(name) from error
        return run

    def _line(self, run: Path) -> Line | None:
        if not _is_text(run.name):  # cannot be part of an address or of a text
            return None
        try:
            stamp = _stamp(run)
        except OSError:  # removed since
            return None
        known = self._known.get(run.name)
        # A killed run leaves its files unchanged: only its lock is gone.
        if known and known[0] == stamp and known[1]["state"] != "running":
            return known[1]
        line = self._read(run)
        self._known[run.name] = stamp, line
        return line

    def _read(self, run: Path) -> Line:
        try:
            labels = read_labels(run)
            if safe_open.is_there(run / run_folder.RESULT):
                return _of_result(run.name, run_folder.load(run)) | {"labels": labels}
            if run.name not in self._begins:
                self._begins[run.name] = _begin(run)
        except StoreError as error:
            told = translations([error.message])
            return {
                "name": run.name,
                "state": "damaged",
                "problem": error.message,
                "told": told,
            }
        return {"name": run.name, "state": _state(run), "labels": labels} | self._begins[run.name]


def _described(line: Line) -> Described:
    return Described(
        names=(line["name"], line["title"] or ""),
        workload=line["workload"],
        targets=line["targets"],
        labels=line["labels"],
    )


def _state(run: Path) -> str:
    """The state of a run without a result, as the page of the run shows it.

    A run that failed has recorded its end before its process ends, and has no result.
    """
    last = last_entry(run / JOURNAL)
    if isinstance(last, RunEnd):
        return last.state
    return "running" if run_folder.is_running(run) else "interrupted"


def _is_text(name: str) -> bool:
    return name.isprintable()


def _stamp(run: Path) -> _Stamp:
    """A value that changes when the run makes progress, ends, or is resumed."""
    journal = (run / JOURNAL).lstat()
    result = run / run_folder.RESULT
    written = result.lstat() if safe_open.is_there(result) else None
    when, size = (written.st_mtime_ns, written.st_size) if written else (0, 0)
    labelled = (run / LABELS).lstat().st_mtime_ns if safe_open.is_there(run / LABELS) else 0
    return journal.st_ino, journal.st_size, when, size, labelled


def _of_result(name: str, result: Result) -> Line:
    plan = result.run.plan
    return {
        "name": name,
        "state": result.run.state,
        "started_at": result.run.started_at,
        "title": result.run.name,
        "workload": workload_of(plan) if plan else None,
        "targets": targets_of(plan) if plan else (),
        "steps_planned": result.run.steps_planned,
        "steps_finished": result.run.steps_finished,
        **_best(result),
    }


def _best(result: Result) -> Line:
    """The highest mean rate of any level, and that level; of a search, its answer."""
    rated = [(one.tps.mean, one.concurrency) for one in levels(result.steps) if one.tps]
    tps, users = max(rated, default=(None, None))
    search = result.run.search
    at_peak = level_at_peak(search, result.steps) if search else None
    if at_peak:
        tps, users = rate_of(at_peak), at_peak.concurrency
    objective = search.objective if search else None
    return {
        "best_tps": tps,
        "best_users": users,
        "at_peak": at_peak is not None,
        "objective": str(objective) if objective else None,
        "objective_rate": search.rate.value if search and objective and search.rate else None,
        "objective_judged": bool(search and objective and (search.rate or search.beyond)),
    }


def _begin(run: Path) -> Line:
    """The contents of a journal's first line.

    Raises:
        StoreError: the line is damaged.
    """
    lines = Tail(run / JOURNAL).read(_FIRST_LINE)
    entry = lines[0].entry if lines else None
    if not isinstance(entry, RunBegin):
        return {
            "started_at": None,
            "title": None,
            "workload": None,
            "targets": (),
            "steps_planned": None,
        }
    return {
        "started_at": utc(entry.unix_s),
        "title": entry.name,
        "workload": workload_of(entry.plan),
        "targets": entry.targets,
        "steps_planned": entry.steps_planned,
    }
