"""The lines of log files, from known transactions."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from loadstone.model.pgbench import LoggedEvent, Outcome
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.transaction_log import opened, thread_of
from pgbench.made import benchmark

NOON_US = 1_795_759_200_000_000


def event(
    user: int,
    at_s: float,
    outcome: Outcome = "ok",
    *,
    lag_us: int | None = None,
    tries: int = 1,
) -> LoggedEvent:
    end_us = NOON_US + round(at_s * 1e6)
    return LoggedEvent(user, 7, 0, end_us, 1500, lag_us, tries, outcome)


def written(folder: Path, words: str, *events: LoggedEvent, end_s: float = 0.0) -> list[list[str]]:
    """The lines of each file, by the number of its thread."""
    asked = benchmark(f"-l --log-prefix={folder}/log {words}")
    with opened(asked, (0, 2), None) as log:
        assert log is not None
        log.begin(NOON_US / 1e6 + 0.4)
        log.add(events)
        log.end(NOON_US / 1e6 + end_s)
    paths = sorted(folder.iterdir(), key=lambda path: (len(path.name), path.name))
    return [path.read_text().splitlines() for path in paths]


def test_a_line_for_each_transaction_in_the_order_of_their_ends(tmp_path: Path) -> None:
    lines = written(tmp_path, "-c 2", event(1, 0.5), event(0, 0.25)._replace(member=1))
    assert lines == [["0 7 1500 2 1795759200 250000", "1 7 1500 0 1795759200 500000"]]


def test_columns_of_an_open_loop_and_of_retries(tmp_path: Path) -> None:
    lines = written(
        tmp_path,
        "-R 9 -L 5 --max-tries=3",
        event(0, 0.1, lag_us=20),
        event(0, 0.2, "skipped", lag_us=None),
        event(0, 0.3, "deadlock", lag_us=30, tries=3),
    )
    assert lines == [
        [
            "0 7 1500 0 1795759200 100000 20 0",
            "0 7 skipped 0 1795759200 200000 0 0",
            "0 7 failed 0 1795759200 300000 30 2",
        ]
    ]


def test_failures_by_type_and_none_of_aborted_clients(tmp_path: Path) -> None:
    events = (event(0, 0.1, "serialization"), event(0, 0.2, "deadlock"), event(0, 0.3, "failed"))
    assert written(tmp_path, "--failures-detailed", *events) == [
        ["0 7 serialization 0 1795759200 100000", "0 7 deadlock 0 1795759200 200000"]
    ]


def test_each_thread_has_a_file_and_the_first_ones_more_clients(tmp_path: Path) -> None:
    lines = written(tmp_path, "-c 5 -j 3", *(event(client, client) for client in range(5)))
    assert [[line.split()[0] for line in each] for each in lines] == [["0", "1"], ["2", "3"], ["4"]]
    asked = benchmark("-c 4 -j 4")
    assert [thread_of(client, asked) for client in range(4)] == [0, 1, 2, 3]


def test_intervals_are_written_when_they_are_over(tmp_path: Path) -> None:
    lines = written(
        tmp_path,
        "--aggregate-interval=2 -R 9 -L 5 --max-tries=3 --failures-detailed",
        event(0, 0.5, lag_us=10),
        event(0, 1.5, lag_us=30, tries=2),
        event(0, 1.6, "skipped"),
        event(0, 1.7, "serialization", lag_us=70, tries=3),
        event(0, 6.5, lag_us=10),
        end_s=7.9,
    )
    assert lines == [
        [
            "1795759200 2 3000 4500000 1500 1500 40 1000 10 30 1 2 3 1 0",
            "1795759202 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            "1795759204 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
        ]
    ]


def test_a_share_is_drawn_here_where_the_engine_reports_all(tmp_path: Path) -> None:
    asked = benchmark(f"-l --log-prefix={tmp_path}/log --sampling-rate=0.1")
    with opened(asked, (0,), random.Random(1)) as log:
        assert log is not None
        log.add(event(0, 0.001 * number) for number in range(2000))
    (path,) = tmp_path.iterdir()
    # Binomial with 0.1: six standard deviations are 80.
    assert abs(len(path.read_text().splitlines()) - 200) < 80


def test_a_log_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    asked = benchmark(f"-l --log-prefix={tmp_path}/no/log")
    with pytest.raises(Failed, match="could not open logfile"), opened(asked, (0,), None):
        pass
