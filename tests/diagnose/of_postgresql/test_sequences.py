"""Waits for pages are divided between sequences and whatever else sessions change."""

from __future__ import annotations

import pytest

from diagnose.accounts import an_account, by_place
from diagnose.of_postgresql.example_sequences import NUMBERED, waiting
from diagnose.of_postgresql.figures import Figures, a_case
from diagnose.of_postgresql.tables import a_sequence, a_statement, a_table
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.rules.postgresql import hot_pages, sequences
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import SequenceVisits, TableVersions

OTHERS = tuple(NUMBERED.model_copy(update={"inserted": 25_000}) for _ in range(16))
"""As many rows in sixteen tables."""


def found(made: Figures) -> dict[str, Finding]:
    return {one.cause: one for one in diagnosis_of(a_case(made)).findings}


def claimed(one: Finding) -> float:
    return by_place(one)["latch"]


def test_numbers_that_no_row_needs_are_all_of_the_waits() -> None:
    only = found(waiting(a_sequence(400_000)))
    assert claimed(only["sequences"]) == pytest.approx(0.4)
    assert "hot-pages" not in only
    assert (
        "All values of a sequence come from one page, which sessions lock one after the other: "
        "that of public.ticket (CACHE 1) 40,000 times a second." in only["sequences"].sentence
    )
    assert "ALTER SEQUENCE public.ticket CACHE 100." in str(only["sequences"].remedy)
    assert only["sequences"].trial is None
    assert "which changes no sequence" in str(only["sequences"].untried)
    foretold = only["sequences"].foretold
    assert foretold is not None and foretold.tps > 1000


def test_visits_take_the_cores_as_well() -> None:
    made = waiting(a_sequence(20_000_000))
    (one,) = (one for one in diagnosis_of(a_case(made)).findings if one.cause == "sequences")
    # 0.22 of the 1.6 cores that the users' sessions are on.
    assert by_place(one) == pytest.approx({"latch": 0.4, "on core": 0.1 * 0.22 / 1.6})
    assert "The visits themselves take 1.4 % of the users' time." in one.sentence
    # What is next to nothing is claimed as well, and no word is lost about it.
    few = found(waiting(a_sequence(400_000)))["sequences"]
    assert "The visits themselves" not in few.sentence
    assert (few.acts_on, by_place(few)["on core"] > 0) == ("server CPU", True)


def test_without_an_account_nothing_is_said_of_the_cores() -> None:
    made = waiting(a_sequence(20_000_000))
    made.step["account"] = None
    one = sequences.RULE.judge(a_case(made))
    assert one is not None and one.share == pytest.approx(6 / 16)
    assert "The visits themselves" not in one.sentence
    assert one.acts_on is None


def test_the_last_leaf_of_an_index_and_rows_of_one_page_are_no_sequence() -> None:
    for table in (NUMBERED, a_table(updated=400_000, hot_updated=400_000)):
        by_cause = found(waiting(a_sequence(400_000), tables=(table,)))
        # Its tenth of four tenths is less than what is named.
        assert claimed(by_cause["hot-pages"]) == pytest.approx(0.36)
        assert "sequences" not in by_cause
    by_cause = found(waiting(tables=(NUMBERED,)))
    assert claimed(by_cause["hot-pages"]) == pytest.approx(0.4)


def test_a_sequence_for_many_tables_has_most_of_the_waits_and_their_pages_the_rest() -> None:
    by_cause = found(waiting(a_sequence(400_000), tables=OTHERS))
    both = [claimed(by_cause[cause]) for cause in ("sequences", "hot-pages")]
    assert both == pytest.approx([0.4 * 16 / 25, 0.4 * 9 / 25])


@pytest.mark.parametrize("event", ["LWLock:BufferContent", "Buffer:BufferExclusive"])
@pytest.mark.parametrize("other", ["BufferPin:BufferPin", "Buffer:BufferShared"])
def test_waits_that_no_sequence_makes_are_all_of_hot_pages(event: str, other: str) -> None:
    means = {f"state.{event}": 3.0, f"state.{other}": 3.0}
    by_cause = found(waiting(a_sequence(400_000), tables=OTHERS, means=means))
    both = [claimed(by_cause[cause]) for cause in ("sequences", "hot-pages")]
    assert both == pytest.approx([0.2 * 16 / 25, 0.2 * 9 / 25 + 0.2])
    alone = found(waiting(a_sequence(400_000), means={f"state.{other}": 6.0}))
    assert "sequences" not in alone and claimed(alone["hot-pages"]) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("latch", "tables", "causes"),
    [
        (0.07, (NUMBERED,), {"hot-pages"}),
        (0.07, OTHERS, {"sequences"}),
        (0.049, OTHERS, set()),
        (0.049, (), set()),
    ],
)
def test_of_waits_that_are_much_together_the_larger_part_is_named(
    latch: float, tables: tuple[TableVersions, ...], causes: set[str]
) -> None:
    little = an_account(latch=latch, on_core=0.1)
    by_cause = found(waiting(a_sequence(400_000), tables=tables, account=little))
    assert by_cause.keys() & {"sequences", "hot-pages"} == causes
    assert sum(claimed(by_cause[cause]) for cause in causes) < latch


@pytest.mark.parametrize("referenced", [True, False])
def test_rows_that_are_locked_may_be_what_sessions_wait_for(referenced: bool) -> None:
    read = a_table(updated=0, fetched=400_000, referenced=referenced)
    by_cause = found(waiting(a_sequence(400_000), tables=(read,)))
    assert ("sequences" in by_cause) is not referenced
    assert ("hot-pages" in by_cause) is referenced


@pytest.mark.parametrize(
    ("end", "locks"), [("FOR UPDATE", True), ("for no key\nupdate", True), ("", False)]
)
def test_a_statement_that_locks_rows_may_be_what_sessions_wait_for(end: str, locks: bool) -> None:
    read = a_table(updated=0, fetched=400_000)
    made = waiting(a_sequence(400_000), tables=(read,))
    locking = a_statement(statement=f"SELECT c FROM sbtestN WHERE id=? {end}")
    made.step["hot_spots"] = made.step["hot_spots"].model_copy(update={"counted": (locking,)})
    by_cause = found(made)
    assert ("sequences" in by_cause) is not locks
    assert ("hot-pages" in by_cause) is locks


def called(name: str, visits: int, *, cache: int = 1) -> SequenceVisits:
    return a_sequence(visits, cache=cache).model_copy(update={"sequence": f"public.{name}"})


def test_of_several_that_are_named_the_rate_without_all_is_predicted() -> None:
    both = found(waiting(a_sequence(400_000), called("bill", 400_000, cache=20)))["sequences"]
    assert claimed(both) == pytest.approx(0.4)
    for words in ("public.ticket (CACHE 1) 40,000 times", "public.bill (CACHE 20) 40,000 times"):
        assert words in both.sentence
    for words in (
        "ALTER SEQUENCE public.ticket CACHE 100",
        "ALTER SEQUENCE public.bill CACHE 2000",
    ):
        assert words in str(both.remedy)
    alone = found(waiting(a_sequence(400_000)))["sequences"]
    assert both.foretold is not None and alone.foretold is not None
    assert both.foretold.tps == pytest.approx(alone.foretold.tps, rel=0.05)


def test_what_is_not_named_is_not_in_the_prediction() -> None:
    used = (called("bill", 400_000), a_sequence(100_000))
    for made in (waiting(*used), waiting(*reversed(used))):
        one = found(made)["sequences"]
        # A sixteenth of the waits for the other one is for this.
        assert claimed(one) == pytest.approx(0.4 * 16 / 17)
        assert "public.bill" in one.sentence and "public.ticket" not in one.sentence
        assert "ALTER SEQUENCE public.bill CACHE 100." in str(one.remedy)


def test_of_many_that_are_used_alike_some_are_named_and_the_others_are_counted() -> None:
    one = found(waiting(*(called(f"s{number}", 100_000) for number in range(12))))["sequences"]
    assert claimed(one) == pytest.approx(0.4)
    assert "public.s4 (CACHE 1) 10,000 times a second, 7 more." in one.sentence
    assert "ALTER SEQUENCE public.s4 CACHE 100, 7 more." in str(one.remedy)


def test_where_sessions_do_not_last_nothing_is_foretold_of_values_that_they_keep() -> None:
    made = waiting(a_sequence(400_000))
    made.step["connects"] = 9000
    one = found(made)["sequences"]
    assert one.foretold is None
    assert str(one.remedy).startswith("Let clients keep their connections")
    assert "ALTER SEQUENCE public.ticket CACHE 100." in str(one.remedy)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (32_766.0, "has 32,766 values, enough for 328 sessions"),
        (2.0**31 - 2, "has 2,147,483,646 values, enough for 21,474,836 sessions"),
        (2.0**63, None),
        (None, None),
    ],
)
def test_a_sequence_with_few_values_is_soon_used_up(values: float | None, said: str | None) -> None:
    small = a_sequence(400_000).model_copy(update={"values": values})
    remedy = str(found(waiting(small))["sequences"].remedy)
    assert (said or "no longer in the order") in remedy
    assert ("a bigint" in remedy) is bool(said)


def test_without_the_views_of_tables_they_are_waits_for_pages() -> None:
    made = waiting()
    made.step["hot_spots"] = None
    one = hot_pages.RULE.judge(a_case(made))
    assert one is not None and one.share == pytest.approx(0.4)
