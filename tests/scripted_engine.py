"""A stand-in for the extension module that replays records, without any server.

`install()` puts it in the place of `loadstone._engine`, also in another process. Its histograms are
lists of values in plain JSON, so that merging them is exact.
"""

from __future__ import annotations

import base64
import json
import math
import re
import sys
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]


class PlanError(ValueError):
    """The counterpart of the engine's error."""


def latency(values_ns: list[int]) -> Record:
    """A summary as the engine makes it."""
    if not values_ns:
        return {"count": 0, "above_range": 0}
    ordered = sorted(values_ns)

    def at(quantile: float) -> int:
        return ordered[max(math.ceil(quantile * len(ordered)), 1) - 1]

    return {
        "count": len(ordered),
        "min": ordered[0],
        "mean": sum(ordered) / len(ordered),
        "p50": at(0.5),
        "p90": at(0.9),
        "p95": at(0.95),
        "p99": at(0.99),
        "p999": at(0.999),
        "max": ordered[-1],
        "above_range": 0,
    }


def hlog_line(tag: str, from_s: float, to_s: float, values_ns: list[int]) -> str:
    """A line of the interval log; its histogram is the values themselves."""
    packed = base64.b64encode(json.dumps(values_ns).encode()).decode()
    largest = max(values_ns) / 1e6
    return f"Tag={tag},{from_s:.6f},{to_s - from_s:.6f},{largest:.3f},HISTF{packed}"


@dataclass
class Script:
    """What a step does: how many events a second, and how long each takes."""

    tps: Callable[[int, int], int] = lambda users, second: 10 * users
    latency_ns: Callable[[int, int], int] = lambda users, second: 1_000_000 * users
    real_time: bool = False
    end_error: Record | None = None
    fail_at_s: int | None = None
    outages: list[Record] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    broken_tally: bool = False
    before_connect: Callable[[Record], Record | None] = lambda plan: None


SCRIPT = Script()
PLANS: list[Record] = []


class Drive:
    """A step that is replayed second by second."""

    def __init__(self, plan: Record) -> None:
        self.plan = plan
        self.stopping = False
        self._users = plan["users"]
        self.held = False
        self._set_rate: float | None = None
        self._records = self._make()
        self._stashed: Record | None = None
        self._ended = False

    def next(self, timeout_s: float) -> str | None:
        if self._ended:
            time.sleep(timeout_s)
            return None
        if SCRIPT.real_time:
            time.sleep(min(timeout_s, 0.02))
        record = next(self._records, None)
        if record is None:
            self._ended = True
            return None
        return json.dumps(record)

    def stop(self) -> None:
        self.stopping = True

    def set_users(self, users: int) -> None:
        if users > self.plan["users"]:
            raise PlanError(f"users: 1 to {self.plan['users']} in this step")
        self._users = users

    def hold(self, held: bool) -> None:
        self.held = held

    def set_rate(self, rate: float) -> None:
        if self.plan["arrival"]["kind"] == "closed":
            raise PlanError("rate: a closed loop has none")
        self._set_rate = rate

    def _make(self) -> Iterator[Record]:
        plan = self.plan
        refused = SCRIPT.before_connect(plan)
        if refused:
            yield self._end("failed", 0.1, 0, refused)
            return
        users = plan["users"]
        yield {
            "kind": "connected",
            "seconds": 0.1,
            "users": users,
            "encrypted_users": 0,
            "tls": None,
            "server_version": "10.11.0-scripted",
            "connect_failures": {},
        }
        yield from SCRIPT.outages
        stop = plan["stop"]
        seconds = round(stop["warmup_s"] + stop["duration_s"])
        done = 0
        for second in range(seconds):
            if SCRIPT.fail_at_s == second:
                yield self._end("failed", float(second), done, SCRIPT.end_error)
                return
            events = min(SCRIPT.tps(self._users, second), int(self._rate))
            done += events
            phase = "warmup" if second < stop["warmup_s"] else "window"
            yield self._sample(phase, second, events, done)
            if self.stopping:
                yield self._end("stopped", second + 1.0, done)
                return
        yield self._end("finished", float(seconds), done)

    @property
    def _rate(self) -> float:
        """The most events a second that are due."""
        if self._set_rate is not None:
            return self._set_rate
        return float(self.plan["arrival"].get("rate", 1e9))

    def _due(self, events: int) -> int:
        """In the closed loop, as many as are done."""
        return int(min(self._rate, 1e8)) if self._rate < 1e9 else events

    def _end(self, reason: str, seconds: float, done: int, error: Record | None = None) -> Record:
        return {
            "kind": "end",
            "reason": reason,
            "error": error,
            "seconds": seconds,
            "tally": self._tally(done, in_flight=0),
        }

    def _tally(self, done: int, in_flight: int) -> Record:
        started = done + in_flight + (1 if SCRIPT.broken_tally else 0)
        return {
            "due": started,
            "waiting": 0,
            "started": started,
            "skipped": 0,
            "in_flight": in_flight,
            "succeeded": done,
            "failed": 0,
        }

    def _sample(self, phase: str, second: int, events: int, done: int) -> Record:
        users = self.plan["users"]
        tag = self.plan["tag"]
        value = SCRIPT.latency_ns(users, second)
        values = [value + 1000 * index for index in range(events)]
        summary = latency(values)
        targets = len(self.plan["targets"])
        return {
            "kind": "sample",
            "phase": phase,
            "from_s": float(second),
            "to_s": second + 1.0,
            "tally": self._tally(done, users),
            "counts": {
                "events": events,
                "failed": 0,
                "restarts": 0,
                "reads": 14 * events,
                "writes": 4 * events,
                "other": 2 * events,
                "due": self._due(events),
                "late": 0,
                "skipped": 0,
                "reconnects": 0,
                "bytes_in": 1000 * events,
                "bytes_out": 100 * events,
            },
            "errors": dict(SCRIPT.errors),
            "connect_failures": {},
            "users": users,
            "targets": [
                {
                    "events": events // targets,
                    "queries": 20 * events // targets,
                    "errors": 0,
                    "connect_failures": 0,
                    "users": users // targets,
                }
                for _ in range(targets)
            ],
            "latency_ns": {"response": summary, "service": summary},
            "generator": {
                "cpu_us": 100 * events,
                "wall_us": 1_000_000,
                "late_ns_p99": 0,
                "shards": self.plan["shards"],
            },
            "hlog": [
                hlog_line(f"{tag}/{meaning}", second, second + 1.0, values)
                for meaning in ("response", "service", "read")
                if values
            ],
        }


class Load:
    """A load whose tables fill at once."""

    def __init__(self, plan: Record) -> None:
        layout = plan["layout"]
        self._rows = layout["tables"] * layout["table_size"]
        self._records = iter(self._make(layout["tables"]))

    def next(self, timeout_s: float) -> str | None:
        record = next(self._records, None)
        return None if record is None else json.dumps(record)

    def stop(self) -> None:
        """Nothing is under way between two records."""

    def _make(self, tables: int) -> Iterator[Record]:
        for done in (0, self._rows // 2, self._rows):
            yield {
                "kind": "progress",
                "seconds": 1.0,
                "rows": done,
                "rows_total": self._rows,
                "phase": "rows",
                "tables_done": tables * done // self._rows,
                "method": "infile",
            }
        yield {
            "kind": "end",
            "reason": "finished",
            "error": None,
            "seconds": 2.0,
            "rows": self._rows,
            "rows_loaded": self._rows,
            "method": "infile",
            "cpu_us": 5,
        }


def start(plan: str) -> Drive:
    document = json.loads(plan)
    PLANS.append(document)
    return Drive(document)


def load(plan: str) -> Load:
    return Load(json.loads(plan))


def check_plan(plan: str) -> None:
    document = json.loads(plan)
    members = document.get("members") or [document]
    known = {each["name"] for each in json.loads(workloads())}
    for name in (member["workload"]["name"] for member in members):
        if name not in known:
            raise PlanError(f"workload.name: {name}")


def workloads() -> str:
    oltp: Record = {"point_selects": 10, "range_size": 100, "skip_trx": False}
    return json.dumps(
        [
            {
                "name": name,
                "summary": f"{name}, replayed",
                "options": options,
                "writes": name != "oltp_point_select",
                "layout": layout,
            }
            for name, options, layout in (
                ("oltp_read_write", oltp, "sbtest"),
                ("oltp_point_select", {}, "sbtest"),
                ("hot_row", {"hot_rows": 1}, "hot"),
            )
        ]
    )


def merge_hlog(lines: list[str]) -> str:
    values: dict[str, list[int]] = {}
    for line in lines:
        tag, _, _, _, histogram = line.split(",")
        try:
            unpacked = json.loads(base64.b64decode(histogram.removeprefix("HISTF"), validate=True))
        except ValueError as error:
            raise ValueError(f"not a line of an interval log: {line}") from error
        values.setdefault(tag.removeprefix("Tag="), []).extend(unpacked)
    return json.dumps({tag: latency(of_tag) for tag, of_tag in values.items()})


def hlog_counts(lines: list[str]) -> str:
    counted: dict[str, Counter[int]] = {}
    for line in lines:
        tag, _, _, _, histogram = line.split(",")
        values = json.loads(base64.b64decode(histogram.removeprefix("HISTF"), validate=True))
        counted.setdefault(tag.removeprefix("Tag="), Counter()).update(values)
    return json.dumps({tag: sorted(counts.items()) for tag, counts in counted.items()})


def hlog_rows(lines: list[str], edges_ns: list[int]) -> str:
    rows = [[0] * len(edges_ns) for _ in lines]
    for line, row in zip(lines, rows, strict=True):
        for counts in json.loads(hlog_counts([line])).values():
            for value, times in counts:
                row[max(bisect_right(edges_ns, value) - 1, 0)] += times
    return json.dumps(rows)


OF_A_SECOND = re.compile(
    rb'\{"kind":"(?:observed"|engine","at_s":[^,]*,"step":[^,]*,"record":\{"kind":"sample")'
)
"""How lines of a journal begin that have the figures of a second."""


def other_lines(
    path: str, from_byte: int, until: int, most: int
) -> tuple[list[tuple[int, bytes]], int]:
    found: list[tuple[int, bytes]] = []
    with open(path, "rb") as journal:
        journal.seek(at := from_byte)
        for line in journal:
            held = sum(len(one) for _, one in found)
            if at >= until or held >= most or not line.endswith(b"\n"):
                break
            if not OF_A_SECOND.match(line):
                found.append((at, line))
            at += len(line)
    return found, at


def hlog_header(start_unix_s: float) -> str:
    return (
        "#[Histogram log format version 1.3]\n"
        f"#[StartTime: {start_unix_s:.3f} (seconds since epoch)]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    )


def version() -> str:
    return "0.0.0"


def build_info() -> str:
    return json.dumps({"version": "0.0.0", "profile": "scripted", "tls": "none"})


def install() -> None:
    """Replace the extension module in this process."""
    sys.modules["loadstone._engine"] = sys.modules[__name__]
