"""What a null server's own log says of the load: the truth that a comparison is checked against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

_HEAD_BYTES = 32
RECORD = np.dtype(
    [
        ("connection", "<u4"),
        ("kind", "u1"),
        ("outcome", "u1"),
        ("errno", "<u2"),
        ("received_ns", "<u8"),
        ("due_ns", "<u8"),
        ("sent_ns", "<u8"),
    ]
)
"""crates/null-server/README.md, "Log"."""

_EXECUTE, _ROWS = 0, 1
_LEFT_OUT = 0.1
"""The share of a step's answers to ignore at its start and end, where users come and go."""


def rates(log: Path, users: int) -> list[float]:
    """Answers per second of each step, by the times at which the server sent them.

    Each step opens a connection for each user; they are numbered in order of arrival.
    """
    stamps = np.fromfile(log, dtype=RECORD, offset=_HEAD_BYTES)
    answers = stamps[(stamps["kind"] == _EXECUTE) & (stamps["outcome"] == _ROWS)]
    steps = (answers["connection"] - 1) // users
    return [_rate(np.sort(answers["sent_ns"][steps == step])) for step in np.unique(steps)]


def _rate(sent_ns: npt.NDArray[np.uint64]) -> float:
    low, high = int(_LEFT_OUT * len(sent_ns)), int((1 - _LEFT_OUT) * len(sent_ns))
    return float((high - low) / (int(sent_ns[high]) - int(sent_ns[low])) * 1e9)


def effect(a: Sequence[float], b: Sequence[float]) -> float:
    """B / A - 1 of geometric means, as effects are computed."""
    return math.expm1(fmean(map(math.log, b)) - fmean(map(math.log, a)))
