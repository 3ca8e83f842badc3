"""The table of names: what each server calls a counter; nothing is invented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadstone.model.observed import Reading
from loadstone.observe.mysql.counters import COUNTERS, GAUGES, canonical
from loadstone.observe.mysql.server import derived, log_writes_are_synced


def told(**raw: float) -> Reading:
    """The reading of a source after renaming; double underscores in names stand for dots."""
    gauges = {name.replace("__", "."): value for name, value in raw.items()}
    return canonical(Reading(at_s=1.0, gauges=gauges))


def test_each_name_stands_in_the_table_once() -> None:
    names = [entry.name for entry in (*COUNTERS, *GAUGES)]
    assert len(names) == len(set(names))


def test_a_counter_is_no_gauge_and_a_gauge_no_counter() -> None:
    reading = told(status__com_commit=7, status__threads_running=3)
    assert reading.counters == {"com_commit": 7.0}
    assert reading.gauges == {"threads_running": 3.0}


def test_the_first_name_that_the_server_has_wins() -> None:
    assert told(status__innodb_os_log_fsyncs=5, file__redo__syncs=9).counters["log_syncs"] == 5
    assert told(file__redo__syncs=9).counters["log_syncs"] == 9
    mysql = told(status__rpl_semi_sync_source_yes_tx=4)
    mariadb = told(status__rpl_semi_sync_master_yes_tx=4)
    assert mysql.counters == mariadb.counters == {"semi_sync_yes": 4.0}


def test_what_a_server_does_not_have_is_missing_and_not_nought() -> None:
    assert told().counters == {}
    assert "log_syncs" not in told(status__innodb_data_fsyncs=3).counters


def test_units_are_ours() -> None:
    assert told(status__innodb_row_lock_time=1500).counters["row_lock_time_s"] == 1.5
    waited = told(status__rpl_semi_sync_master_tx_wait_time=2_000_000)
    assert waited.counters["semi_sync_wait_s"] == pytest.approx(2.0)


def test_a_difference_needs_both_of_its_parts() -> None:
    current = {"status.innodb_redo_log_current_lsn": 900.0}
    both = current | {"status.innodb_redo_log_checkpoint_lsn": 300.0}
    assert canonical(Reading(1.0, gauges=both)).gauges["checkpoint_age_bytes"] == 600
    assert "checkpoint_age_bytes" not in canonical(Reading(1.0, gauges=current)).gauges


def test_what_is_no_row_of_the_table_stays_a_gauge() -> None:
    reading = canonical(Reading(1.0, gauges={"state.updating": 2.0, "status.unknown": 9.0}))
    assert reading.gauges == {"state.updating": 2.0}


def test_each_name_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "observing.md").read_text()
    named = set(re.findall(r"`([\w.]+)`", text))
    families = ("com_", "handler_")
    names = [entry.name for entry in (*COUNTERS, *GAUGES)]
    missing = [name for name in names if name not in named and not name.startswith(families)]
    assert not missing


def test_syncs_follow_from_the_settings_of_the_moment() -> None:
    counted = {"status.innodb_log_writes": 9.0, "status.binlog_group_commits": 5.0}
    durable = {"setting.innodb_flush_log_at_trx_commit": 1.0, "setting.sync_binlog": 1.0}
    lazy = {"setting.innodb_flush_log_at_trx_commit": 2.0, "setting.sync_binlog": 0.0}
    both = derived(counted | durable, synced_at={1.0})
    assert both == {"derived.log_syncs": 9.0, "derived.binlog_syncs": 5.0}
    assert derived(counted | lazy, synced_at={1.0}) == {}
    assert derived(counted, synced_at={1.0}) == {}
    assert "derived.log_syncs" not in derived(counted | durable, synced_at=())


def test_writes_of_the_log_that_wait_for_the_disk_are_syncs() -> None:
    known = {"version": "8.0.31", "innodb_flush_method": "O_DSYNC"}
    written = {"status.innodb_log_writes": 9.0, "setting.innodb_flush_log_at_trx_commit": 2.0}
    assert derived(written, synced_at=log_writes_are_synced(known)) == {"derived.log_syncs": 9.0}
    assert derived(written, synced_at=log_writes_are_synced({"version": "8.0.31"})) == {}
