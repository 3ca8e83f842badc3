"""The requested rate of an open loop in texts."""

from __future__ import annotations

from loadstone.model.asked_rate import asked, asked_per_second
from loadstone.model.language import in_language
from loadstone.model.plan import Rate

_STEADY = Rate(rate=2500)
_RAMP = Rate(rate=2000, to=6000, over_s=3)


def test_a_ramp_has_both_ends_and_its_time_and_the_unit_stays_with_the_rate() -> None:
    assert [asked(each) for each in (_STEADY, _RAMP)] == ["2,500", "2,000..6,000 in 3 s"]
    with_units = [asked_per_second(each) for each in (_STEADY, _RAMP)]
    assert with_units == ["2,500/s", "2,000..6,000/s in 3 s"]


def test_a_ramp_is_translated() -> None:
    chinese = in_language("zh")
    assert chinese(asked(_RAMP)) == "2,000..6,000（历时 3 s）"
    assert chinese(asked_per_second(_RAMP)) == "2,000..6,000/秒（历时 3 s）"
