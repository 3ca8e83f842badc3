"""Settings that a review of PostgreSQL advises against, and that cost a run nothing."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.of_postgresql.figures import TOTALS, a_case, at
from loadstone.analyse.advice import Machine
from loadstone.analyse.settings_review import review
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.diagnosis.diagnose import diagnosis_of

GIB = 1024**3


def test_every_cause_that_the_review_names_is_one_of_a_rule() -> None:
    bad = {"shared_buffers": "128MB", "max_wal_size": "1GB", "autovacuum": "off"}
    bad |= {"log_statement": "all", "log_min_duration_statement": "0"}
    for machine in (Machine(), Machine(memory_bytes=16 * GIB)):
        named = {one.cause for one in review(bad, machine, "postgresql")} - {None}
        assert named == {"shared-buffers-small", "max-wal-size-small", "statement-log"}
        assert named <= {rule.cause for rule in RULES_OF["postgresql"]}
    large = review({"shared_buffers": "15GB"}, Machine(memory_bytes=16 * GIB), "postgresql")
    assert [(one.variable, one.cause) for one in large] == [("shared_buffers", None)]


def test_what_was_looked_for_and_not_found_is_shown_and_what_was_found_is_not() -> None:
    shown = {one.variable for one in diagnosis_of(a_case()).without_effect}
    assert shown == {"shared_buffers", "max_wal_size"}
    reading = at(
        an_account(disk_read=0.6, on_core=0.1),
        rates={"pg_stat_database.target.blks_read": 20_000.0},
        totals={**TOTALS, "pg_stat_database.target.blks_read": 200_000.0},
    )
    shown = {one.variable for one in diagnosis_of(a_case(reading)).without_effect}
    assert shown == {"max_wal_size"}
