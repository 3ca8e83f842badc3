"""Limits as people write them."""

from __future__ import annotations

import pytest

from loadstone.model.limits import Limits, assumed, by_hand, limits_from, stated, values_of


def test_a_limit_has_the_unit_of_its_name() -> None:
    given = [by_hand("net_mbit=1000"), by_hand("disk_write_iops=3k"), by_hand(" cores = 8 ")]
    limits = stated(given)
    assert values_of(limits) == {"line_bytes_per_s": 125e6, "disk_write_iops": 3000, "cores": 8}
    assert set(limits.by_hand) == set(values_of(limits))


def test_what_is_assumed_takes_the_names_of_both_options() -> None:
    assert assumed("line=100M") == assumed("net_mbit=100")
    assert limits_from([assumed("answer-time=5")]).answer_s == pytest.approx(0.005)
    assert limits_from([assumed("disk_iops=3000")]).by_hand == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "disk_write_iop=3000",
            "there is no limit 'disk_write_iop': did you mean disk_write_iops?",
        ),
        ("net_mbit", "'net_mbit': write NAME=VALUE, where NAME is one of cores"),
        ("=3", "'=3': write NAME=VALUE"),
        ("net_mbit=", "'' is not a number"),
        ("net_mbit=fast", "'fast' is not a number"),
        ("cores=-1", "'-1' is not a number"),
        ("cores=0", "'0' must be above 0"),
        ("cores=nan", "'nan' is not a number"),
        ("cores=1e300", "'1e300' is not a number"),
    ],
)
def test_what_is_no_limit_gets_one_line(text: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:  # the message is compared
        by_hand(text)
    assert str(refused.value.args[0]).startswith(said)
    assert "\n" not in str(refused.value)


def test_a_later_limit_also_says_where_it_is_from() -> None:
    measured = Limits(disk_write_iops=10_000, syncs_per_s=500)
    both = measured.but(stated([("disk_write_iops", 3000.0)]))
    assert (both.disk_write_iops, both.syncs_per_s) == (3000, 500)
    assert both.by_hand == ("disk_write_iops",)
    assert both.but(Limits(disk_write_iops=9000)).by_hand == ()


def test_a_limit_of_a_newer_version_is_left_out() -> None:
    assert stated([("disk_fsyncs", 1.0), ("cores", 2.0)]).by_hand == ("cores",)
