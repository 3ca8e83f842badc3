"""Options for several workloads at once, and for phases: understood, or refused with the reason."""

from __future__ import annotations

import click
import pytest

from loadstone.cli.options.mix import is_mix, ladder_of, members_of
from loadstone.cli.options.types import Phases
from loadstone.model.plan import Zipfian


def test_one_workload_is_no_mix_unless_it_is_written_as_a_member() -> None:
    assert not is_mix(["oltp_read_write"])
    assert is_mix(["oltp_read_write:table_size=10k"])
    assert is_mix(["oltp_read_write", "hot_row"])


def test_a_member_keeps_what_is_its_own() -> None:
    shop, report = members_of(
        [
            "oltp_read_write:weight=9,skip-trx=on",
            "oltp_read_only:as=report,users=2,think=10s,table-size=10k,range_size=1000,"
            "distribution=zipfian:exponent=1.2",
        ]
    )
    assert (shop.workload, shop.name, shop.weight, shop.users) == ("oltp_read_write",) * 2 + (
        9,
        None,
    )
    assert shop.options == ("skip_trx=on",)
    assert (report.name, report.users, report.weight, report.think_s) == ("report", 2, None, 10.0)
    assert report.sizes == {"table_size": 10_000, "distribution": Zipfian(exponent=1.2)}
    assert report.options == ("range_size=1000",)


def test_one_that_says_neither_is_drawn_as_often_as_another() -> None:
    assert [member.weight for member in members_of(["hot_row", "oltp_insert"])] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b:users"], "b:users: 'users': write NAME=VALUE"),
        (["a", "b:users="], "b:users=: 'users=': write NAME=VALUE"),
        (["a", "b:users=2,,x=1"], "b:users=2,,x=1: '': write NAME=VALUE"),
        (["a", "b:users=none"], "b:users=none: users: 'none' is not a whole number"),
        (["a", "b:users=2,users=3"], "users occurs twice"),
        (["a", "b:users=2,weight=1"], "either users of its own or a weight"),
        (["a", "b:weight=0"], "weight: '0' is not a number above 0"),
        (["a", "b:weight=nan"], "weight: 'nan' is not a number above 0"),
        (["a", "b:think=5s"], "think needs users of its own"),
        (["a", "b:users=1,think=5 days"], "think: '5 days' is not a time"),
        (["a", "b:tables=x"], "tables: 'x' is not a whole number"),
        (
            ["a", "b:distribution=normal"],
            'distribution: "normal" is not a distribution: there are uniform',
        ),
        (["a", "b:as=my report"], "as=my report: a name consists of letters"),
        (["a", "a:users=2"], "a occurs twice: rename one, as in a:as=report"),
        (["a"] * 65, "65 workloads at once are too many"),
    ],
)
def test_what_cannot_be_a_member_is_named_in_one_line(words: list[str], said: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        members_of(words)
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_users_of_members_come_on_top_of_the_others() -> None:
    beside = members_of(["hot_row", "oltp_insert:users=2"])
    assert ladder_of(beside, (1, 8), 64) == (3, 10)
    assert ladder_of(beside, None, 64) == (66,)
    own = members_of(["hot_row:users=5", "oltp_insert:users=2"])
    assert ladder_of(own, None, 64) == (7,)
    with pytest.raises(click.UsageError, match="--concurrency is for workloads without users"):
        ladder_of(own, (8,), 64)


def test_phases_are_read_in_their_order() -> None:
    found = Phases().convert("warm 60s 16, ramp 2m 16..256, spike 30s 1k, soak 1h 128", None, None)
    assert [(one.name, one.seconds, one.users) for one in found] == [
        ("warm", 60, (16, 16)),
        ("ramp", 120, (16, 256)),
        ("spike", 30, (1000, 1000)),
        ("soak", 3600, (128, 128)),
    ]
    assert [one.is_warmup for one in found] == [True, False, False, False]
    assert [str(one) for one in found] == ["16", "16..256", "1000", "128"]


def test_a_rate_has_its_unit() -> None:
    found = Phases().convert("low 10s 1k/s, climb 1m 1k..8.5k/s, warm 5s 0/s", None, None)
    assert [one.rate for one in found] == [(1000, 1000), (1000, 8500), (0, 0)]
    # A warm-up can only be the first phase.
    assert not any(one.is_warmup for one in found)
    assert str(found[1]) == "1000..8500/s"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "phase 1, '': a phase is a name, a time and a level"),
        ("warm 60s", "phase 1, 'warm 60s': a phase is a name, a time"),
        ("warm 5s 1, ramp 5s 1..2..3", "phase 2, 'ramp 5s 1..2..3': '1..2..3' is neither"),
        ("a 5s many", "'many' is neither users nor a rate"),
        ("a soon 5", "'soon' is not a time of whole seconds"),
        ("a 500ms 5", "'500ms' is not a time of whole seconds"),
        ("a 0s 5", "'0s' is not a time of whole seconds"),
        ("a 5s 1.5", "users are whole numbers"),
        ("a 5s 2m", "'2m' is too much: at most 1,000,000"),
        ("a/b 5s 1", "'a/b': a name has letters"),
        ("a 5s 1, b 5s 100/s", "phase 2, 'b 5s 100/s': users and events a second"),
        ("warm 5s 16", "nothing but warm-up"),
        ("a 5s 0, b 5s 0", "no phase has any users or events"),
    ],
)
def test_what_cannot_be_a_phase_is_named_with_its_place(written: str, said: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        Phases().convert(written, None, None)
    assert said in caught.value.message
    assert "\n" not in caught.value.message
