"""Each rule of PostgreSQL names its cause, is silent in a near case, and says what it lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.healthy import above_notes
from diagnose.of_postgresql.example_work import READ_WHOLE, SCANNED
from diagnose.of_postgresql.figures import a_case, at
from diagnose.of_postgresql.found import EXAMPLES
from diagnose.of_postgresql.tables import a_statement, a_table, counted
from diagnose.test_in_chinese import assert_has_chinese, spoken
from loadstone.diagnosis.all_rules import COMMON_RULES, RULES_OF
from loadstone.diagnosis.context import Missing
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.no_trial import with_reason
from loadstone.diagnosis.rules.postgresql import (
    lock_manager,
    missing_index,
    planning,
    temporary_files,
    wal_insertion,
)
from loadstone.diagnosis.titles import TITLES
from loadstone.diagnosis.trials import same
from loadstone.model.hot_spots import HotSpots
from loadstone.model.language import in_language
from loadstone.report.findings import trial_text

CHINESE = in_language("zh")
_IDS = [example.cause for example in EXAMPLES]
_LACKING = [example for example in EXAMPLES if example.needs]
_LACKING_IDS = [example.cause for example in _LACKING]


@pytest.mark.parametrize("example", EXAMPLES, ids=_IDS)
def test_the_cause_is_named_with_its_figures_in_both_languages(example: Example) -> None:
    found = example.rule.judge(example.fires)
    assert found is not None
    assert found.cause == example.cause
    assert found.evidence
    assert 0 < found.confidence <= 1
    assert found.share is None or 0 < found.share <= 1
    assert any(digit in found.sentence for digit in "0123456789")
    for said in spoken(with_reason(found)):
        assert_has_chinese(said)


@pytest.mark.parametrize("example", EXAMPLES, ids=_IDS)
def test_next_to_it_nothing_is_named(example: Example) -> None:
    assert example.rule.judge(example.silent) is None


@pytest.mark.parametrize("example", EXAMPLES, ids=_IDS)
def test_a_healthy_server_is_not_accused(example: Example) -> None:
    found = example.rule.judge(a_case())
    assert found is None or found.group == "note"


@pytest.mark.parametrize("example", EXAMPLES, ids=_IDS)
def test_its_time_is_claimed_where_it_was_seen(example: Example) -> None:
    """No finding claims more than there is, nor what another one has."""
    for found in diagnosis_of(example.fires).findings:
        account = example.fires.step.account
        if account is not None:
            assert sum(one.share for one in found.claims) <= 1.0


@pytest.mark.parametrize("example", _LACKING, ids=_LACKING_IDS)
def test_what_was_not_counted_is_missed_by_name(example: Example) -> None:
    with pytest.raises(Missing) as missing:
        example.rule.judge(example.lacks)
    assert missing.value.what == example.needs
    assert_has_chinese(missing.value.what)


@pytest.mark.parametrize("example", EXAMPLES, ids=_IDS)
def test_a_trial_changes_a_setting_that_the_server_has(example: Example) -> None:
    found = example.rule.judge(example.fires)
    trial = found.trial if found else None
    for setting in trial.settings if trial and trial.kind in ("dynamic", "start") else ():
        assert setting.before is not None
        assert not same(setting.before, setting.value)
        assert trial is not None
        assert trial.risks_commits == (setting.name == "synchronous_commit")


def test_what_to_change_is_said_in_the_server_s_own_statements() -> None:
    by_cause = {example.cause: example.rule.judge(example.fires) for example in reversed(EXAMPLES)}
    said = {
        cause: trial_text(found.trial) for cause, found in by_cause.items() if found and found.trial
    }
    reloaded = "; SELECT pg_reload_conf(), and run again"
    assert said["temporary-files"] == f"ALTER SYSTEM SET work_mem = '1MB'{reloaded}"
    assert said["commit-flush"] == f"ALTER SYSTEM SET synchronous_commit = 'off'{reloaded}"
    assert "in the caches" in said["cold-caches"]
    assert said["shared-buffers-small"].startswith("start the server with shared_buffers=")
    assert not [text for text in said.values() if "GLOBAL" in text or "buffer pool" in text]


def test_settings_that_keep_the_planner_from_indexes_are_named_and_tried() -> None:
    scanned = at(rates=SCANNED, step=READ_WHOLE)
    variables = {
        "enable_bitmapscan": "off",
        "enable_indexscan": "on",
        "random_page_cost": "1.1",
        "cpu_index_tuple_cost": "0.3",
        "seq_page_cost": "0.002",
        "cpu_tuple_cost": "0.01",
    }
    found = missing_index.RULE.judge(a_case(scanned, variables=variables))
    assert found is not None and found.trial is not None
    named = "enable_bitmapscan=off, cpu_index_tuple_cost=0.3, seq_page_cost=0.002"
    assert f"Settings keep the planner from indexes: {named}." in found.sentence
    assert {one.name: one.value for one in found.trial.settings} == {
        "enable_bitmapscan": "on",
        "cpu_index_tuple_cost": "0.005",
        "seq_page_cost": "1",
    }
    usual = missing_index.RULE.judge(a_case(scanned))
    assert usual is not None and usual.trial is None
    assert "planner" not in usual.sentence


def test_pages_that_are_cheap_in_any_order_keep_no_planner_from_indexes() -> None:
    scanned = at(rates=SCANNED, step=READ_WHOLE)
    variables = {"random_page_cost": "0.1", "seq_page_cost": "0.1"}
    found = missing_index.RULE.judge(a_case(scanned, variables=variables))
    assert found is not None and found.trial is None


def test_entries_of_an_index_that_is_read_alone_are_no_scan_of_a_table() -> None:
    step = {**READ_WHOLE, "hot_spots": HotSpots(versions=(a_table(scanned=5000),))}
    assert missing_index.RULE.judge(a_case(at(rates=SCANNED, step=step))) is None


def test_changes_that_wait_for_full_buffers_of_the_log_are_told_to_make_them_larger() -> None:
    means = {"state.LWLock:WALInsert": 4.5}
    rates: dict[str, float | None] = {"pg_stat_wal.wal_buffers_full": 8000.0}
    full = at(an_account(latch=0.4, on_core=0.1), means=means, rates=rates)
    found = wal_insertion.RULE.judge(a_case(full))
    assert found is not None and found.trial is not None
    assert [one.name for one in found.trial.settings] == ["wal_buffers"]
    other = wal_insertion.RULE.judge(a_case(at(an_account(latch=0.4, on_core=0.1), means=means)))
    assert other is not None and other.trial is None


def test_each_rule_has_an_example_and_a_title_in_both_languages() -> None:
    own = {rule.cause for rule in RULES_OF["postgresql"]} - {rule.cause for rule in COMMON_RULES}
    assert own == {example.rule.cause for example in EXAMPLES}
    assert all(CHINESE.knows(TITLES[cause]) for cause in own)


def test_a_cause_that_both_families_have_has_one_title() -> None:
    titles: dict[str, str] = {}
    for rules in RULES_OF.values():
        for rule in rules:
            for cause, title in rule.titles.items():
                assert titles.setdefault(cause, title) == title


def test_a_healthy_server_has_notes_only() -> None:
    assert above_notes(diagnosis_of(a_case())) == []


def test_statements_that_spend_the_most_are_named_by_what_they_spend() -> None:
    sorting = a_statement(
        statement="SELECT c FROM sbtestN ORDER BY c",
        calls=20,
        rows=20,
        pages_hit=40_000,
        temp_pages=9000,
    )
    # Five scans a second of 2,000 pages: frequent lookups and changes come to more pages.
    reading = a_statement(
        statement="SELECT c FROM sbtestN WHERE k=?", calls=50, rows=50, pages_hit=100_000
    )
    lookup = a_statement(calls=200_000, rows=200_000, pages_hit=800_000)
    change = a_statement(
        statement="UPDATE sbtestN SET k=k+? WHERE id=?",
        calls=20_000,
        rows=20_000,
        pages_hit=240_000,
        wal_bytes=6_000_000,
    )
    counts = (lookup, change, sorting, reading)
    spots = HotSpots(versions=(a_table(scanned=90_000_000),), counted=counts)
    step = {**READ_WHOLE, "hot_spots": spots}
    scanned = missing_index.RULE.judge(a_case(at(rates=SCANNED, step=step)))
    assert scanned is not None and f"Most by: {reading.statement}" in scanned.sentence
    files: dict[str, float | None] = {
        "pg_stat_database.target.temp_bytes": 4e8,
        "pg_stat_database.target.temp_files": 400.0,
    }
    sorted_out = temporary_files.RULE.judge(a_case(at(rates=files, step=step)))
    assert sorted_out is not None and f"Most by: {sorting.statement}" in sorted_out.sentence


def test_planning_is_tried_without_in_the_way_that_the_load_allows() -> None:
    planned = at(step={"hot_spots": counted(a_statement(plans=160_000, plan_s=32.0))})
    locked = {"pg_locks.most_of_a_session": 900.0}
    many = at(step={"hot_spots": planned.step["hot_spots"]}, highest=locked)
    tried = {}
    for protocol in ("prepared", "text", "extended", "pipelined"):
        found = planning.RULE.judge(replace(a_case(many), drive={"protocol": protocol}))
        assert found is not None
        assert "up to 900 tables, partitions and indexes locked at once" in found.sentence
        assert found.trial is None or not found.trial.refutes, "the time is measured"
        settings = found.trial.settings if found.trial else ()
        tried[protocol] = [(one.name, one.value) for one in settings]
    assert tried == {
        "prepared": [("plan_cache_mode", "force_generic_plan")],
        "text": [("prepared", "on")],
        "extended": [],
        "pipelined": [("plan_cache_mode", "force_generic_plan")],
    }


@pytest.mark.parametrize(
    ("version", "limit", "most", "sessions", "wanted"),
    [
        ("18.1", "64", 700.0, "100", "2048"),
        ("18.1", "1024", 700.0, "100", None),
        ("15.18 (Debian 15.18-0+deb12u1)", "64", 700.0, "100", None),
        ("18.1", "64", 60.0, "100", None),
        # Nobody of the load was seen.
        ("18.1", "64", 0.0, "100", None),
        # 16,384 locks for each of so many sessions are 6 GB.
        ("18.1", "64", 5000.0, "1000", None),
        ("18.1", "64", 5000.0, "100", "16384"),
    ],
)
def test_more_places_for_locks_are_tried_where_a_setting_gives_them(
    version: str, limit: str, most: float, sessions: str, wanted: str | None
) -> None:
    waiting = at(
        an_account(latch=0.4, on_core=0.1),
        means={"state.LWLock:LockManager": 4.5},
        highest={"pg_locks.most_of_a_session": most},
        host={"memory_available_bytes": 4e9},
    )
    variables = {
        "server_version": version,
        "max_locks_per_transaction": limit,
        "max_connections": sessions,
    }
    found = lock_manager.RULE.judge(a_case(waiting, variables=variables))
    assert found is not None
    tried = [one.value for one in found.trial.settings] if found.trial else []
    assert tried == ([wanted] if wanted else [])


def test_scans_by_plans_without_values_are_tried_with_plans_for_them() -> None:
    scanned = at(rates=SCANNED, step=READ_WHOLE)
    generic = {"plan_cache_mode": "force_generic_plan"}
    prepared = {"protocol": "prepared"}
    found = missing_index.RULE.judge(replace(a_case(scanned, variables=generic), drive=prepared))
    assert found is not None and found.trial is not None
    assert found.cause == "generic-plans"
    assert [(one.name, one.value) for one in found.trial.settings] == [("plan_cache_mode", "auto")]
    # What is sent as text is planned with its values, as may be what others drive, and other
    # settings say more.
    others_load = a_case(scanned, variables=generic)
    as_text = replace(others_load, drive={"protocol": "text"})
    ruled_out = a_case(scanned, variables={**generic, "enable_bitmapscan": "off"})
    for other in (others_load, as_text, replace(ruled_out, drive=prepared)):
        named = missing_index.RULE.judge(other)
        assert named is not None and named.cause == "missing-index"
    # Plans without values that use an index read no row for nothing.
    looked_up = replace(a_case(variables=generic), drive=prepared)
    assert missing_index.RULE.judge(looked_up) is None


def test_plans_that_a_setting_keeps_already_are_no_remedy_for_planning() -> None:
    planned = at(step={"hot_spots": counted(a_statement(plans=160_000, plan_s=32.0))})
    usual = planning.RULE.judge(a_case(planned))
    assert usual is not None and "plan_cache_mode=force_generic_plan" in usual.remedy
    generic = {"plan_cache_mode": "force_generic_plan"}
    found = planning.RULE.judge(a_case(planned, variables=generic))
    assert found is not None and found.trial is None
    assert "force_generic_plan" not in found.remedy


@pytest.mark.parametrize(("tables", "rows", "share"), [(60.0, 20.0, 0.3), (0.0, 40.0, None)])
def test_waits_for_rows_are_no_tables(tables: float, rows: float, share: float | None) -> None:
    shared = {"pg_locks.shared.relation": tables, "pg_locks.shared.rows": rows}
    waiting = at(
        an_account(latch=0.4, on_core=0.1), means={"state.LWLock:LockManager": 4.5, **shared}
    )
    found = lock_manager.RULE.judge(a_case(waiting))
    assert (None if found is None else found.share) == (share and pytest.approx(share))
