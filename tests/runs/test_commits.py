"""Commits of a server that counts numbers of transactions and, up to a second late, its commits."""

from __future__ import annotations

import pytest

from loadstone.model.observed import Observation, SourceName
from loadstone.model.result import Window
from loadstone.runs.source_figures import server_figures, sums_of

SERVER = SourceName(role="server")


@pytest.mark.parametrize(
    ("seconds", "writing", "reported", "per_s"),
    [
        (2.0, 700.0, 310.0, 350.0),  # the last second's commits are not reported yet
        (10.0, 3000.0, 1000.0, 100.0),  # two savepoints in each transaction
        (10.0, 1000.0, 5000.0, 100.0),  # most transactions only read
        (1.0, 100.0, 0.0, 100.0),
    ],
)
def test_more_than_all_commits_can_be_are_savepoints(
    seconds: float, writing: float, reported: float, per_s: float
) -> None:
    counted = {"transactions_writing": writing, "pg_stat_database.xact_commit": reported}
    seen = Observation(source=SERVER, from_s=0.0, to_s=seconds, deltas=counted, gauges={})
    window = Window(from_s=0.0, to_s=seconds, method="fixed")
    figures = server_figures(sums_of([seen], 0.0, window)[SERVER], {}, None)
    assert figures.commits_per_s == per_s
