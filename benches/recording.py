"""What recording one event costs, by criterion: the clock, the counters and the histograms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benches.place import ROOT, TARGET, Place
from benches.processes import run
from benches.progress import say
from benches.report import Report
from benches.tables import table

TARGET_NS = 150
_EVENT = "record an event of a closed loop"
# Criterion names folders after its benches.
_BENCHES = {
    _EVENT: f"< {TARGET_NS}",
    "record an event of an open loop": f"< {TARGET_NS}",
    "record a latency": "",
    "read the clock": "",
}


def measure(place: Place) -> Report:
    """The whole way of an event through the meter, and its parts."""
    say("recording: building and measuring")
    criterion = place.folder / "criterion"
    _cargo(criterion, "bench", "--package", "loadstone-measure", "--bench", "recording")
    whole = ["--package", "loadstone-drive", "--lib"]
    _cargo(criterion, "test", "--release", *whole, "--", "--ignored", "recording_an_event")
    found = {name: estimate(criterion / name / "new" / "estimates.json") for name in _BENCHES}
    rows = [
        [name, f"{one['median']:.1f} ({one['least']:.1f}–{one['greatest']:.1f})", _BENCHES[name]]
        for name, one in found.items()
    ]
    return Report(
        title="The cost of recording",
        tables=(table(["", "ns", "wanted"], rows),),
        readings=[{"name": name, **one} for name, one in found.items()],
        notes=(
            "Criterion's median, with its confidence interval of 95 %. An event is one of a single"
            " statement: two readings of the clock, tally and counts, and three histograms of the"
            " closed loop or six of the open one. Latencies spread over 20 µs to 2 ms.",
        ),
    )


def estimate(path: Path) -> dict[str, Any]:
    """Nanoseconds, from a file that criterion wrote."""
    median = json.loads(path.read_text())["median"]
    interval = median["confidence_interval"]
    return {
        "median": median["point_estimate"],
        "least": interval["lower_bound"],
        "greatest": interval["upper_bound"],
    }


def _cargo(criterion: Path, *words: str) -> None:
    command, *others = words
    manifest = ["--quiet", "--manifest-path", str(ROOT / "Cargo.toml")]
    home = {"CRITERION_HOME": str(criterion), "CARGO_TARGET_DIR": str(TARGET)}
    run(["cargo", command, *manifest, *others], environment=home)
