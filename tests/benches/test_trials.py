"""How verdicts of trials are counted, and the truth that they are compared with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benches import stamps, trials
from benches.stamps import RECORD
from benches.verdicts import Drift, Trial, Word, alike_table, apart_table, drift_table, truth_of
from loadstone.model.experiment import Rules
from loadstone.model.target import Endpoint, Target

WORD = Word("no difference", None, 0.0, -0.01, 0.01, 0.4, 3, 0)


def logged(path: Path, steps: list[float], users: int) -> Path:
    """The log of a server that answered at these rates, one step after the other."""
    records = []
    now_ns = 10**12
    for step, rate in enumerate(steps):
        for answer in range(1000):
            now_ns += round(1e9 / rate)
            connection = 1 + step * users + answer % users
            records.append((connection, 0, 1, 0, now_ns, now_ns, now_ns))
        records.append((connection, 5, 0, 0, now_ns, now_ns, now_ns + 10**9))  # a login
    path.write_bytes(b"NULLLOG1".ljust(32, b"\0") + np.array(records, RECORD).tobytes())
    return path


def test_the_rate_of_each_step_is_read_in_the_log(tmp_path: Path) -> None:
    log = logged(tmp_path / "a.log", [4000.0, 5000.0], users=4)
    assert stamps.rates(log, 4) == pytest.approx([4000, 5000], rel=1e-5)


def test_the_truth_is_that_of_all_trials_together() -> None:
    def trial(a: float, b: float) -> Trial:
        return Trial("3 % longer", 0, WORD, WORD, 6, {}, {"a": [a], "b": [b]})

    assert truth_of([trial(1000, 960), trial(1000, 980)]) == pytest.approx(-0.03, abs=1e-4)


def test_an_alarm_is_a_small_p_value_whatever_word_was_said() -> None:
    words = [WORD, replace(WORD, p_value=0.01), replace(WORD, word="slower", p_value=0.001)]
    made = [Trial("null server", at, word, word, 6, {}, {}) for at, word in enumerate(words)]
    assert "| 2 of 3 (66.7 %) |" in alike_table(made)


def test_an_interval_holds_the_truth_or_not() -> None:
    slower = replace(WORD, word="slower", relative=-0.03, low=-0.05, high=-0.02, p_value=0.01)
    truth = {"a": [1000.0], "b": [970.0]}
    made = [
        Trial("3 % longer", 0, slower, slower, 6, {}, truth),
        Trial("3 % longer", 1, WORD, slower, 14, {}, truth),
        Trial("3 % longer", 2, replace(WORD, low=None, high=None), WORD, 10, {}, truth),
    ]
    row = apart_table(made).splitlines()[2]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells[1:4] == ["3", "-3.00 %", "1 of 3 (33.3 %)"]
    assert cells[5:7] == ["1 of 3 (33.3 %)", "2 of 3 (66.7 %)"]
    assert cells[-1] == "10"


def test_a_drift_is_a_difference_only_where_a_comes_first() -> None:
    one = Endpoint(target=Target(host="127.0.0.1", port=3306))
    experiment = trials.experiment_of(
        {"a": one, "b": one}, 4, (0.4, 0.1), repeats=8, rules=Rules(level=0.01)
    )
    rates = [1000 - 30 * step + (-1) ** step for step in range(16)]
    turns, blocks = trials.in_both_orders(experiment, rates)
    assert not turns.is_alarm(0.01)
    assert turns.relative == pytest.approx(0, abs=0.005)
    assert blocks.is_alarm(0.01)
    assert blocks.relative is not None and blocks.relative < -0.2
    lines = drift_table([Drift(0, tuple(rates), turns, blocks)]).splitlines()
    assert "0 of 1" in lines[2]
    assert "1 of 1" in lines[3]
