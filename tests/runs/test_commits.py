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


@pytest.mark.parametrize(
    ("com_commit", "changes", "by_engine", "per_s"),
    [
        (0.0, 3000.0, 3000.0, 300.0),  # each change commits by itself
        (500.0, 3000.0, 500.0, 50.0),  # six changes in a transaction
        (10.0, 4000.0, 4010.0, 401.0),  # somebody else's COMMITs
        (10.0, 4000.0, 10.0, 1.0),  # four hundred changes in a transaction
        (0.0, 3000.0, 0.0, 0.0),  # nobody commits
        (700.0, 0.0, 700.0, 70.0),
    ],
)
def test_without_a_binary_log_a_change_without_a_commit_is_a_transaction(
    com_commit: float, changes: float, by_engine: float, per_s: float
) -> None:
    counted = {
        "com_commit": com_commit,
        "com_insert": changes / 2,
        "com_update": changes / 2,
        "com_delete": 0.0,
        "handler_commit": by_engine,
    }
    gauges = {"setting.log_bin": 0.0}
    seen = Observation(source=SERVER, from_s=0.0, to_s=10.0, deltas=counted, gauges=gauges)
    window = Window(from_s=0.0, to_s=10.0, method="fixed")
    figures = server_figures(sums_of([seen], 0.0, window)[SERVER], {}, None)
    assert figures.commits_per_s == per_s
