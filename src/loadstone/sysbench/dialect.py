"""Translates the options of 0.4 and 0.5 into those of 1.0, for the tests of those versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loadstone.sysbench.oltp.tests import STATEMENT_COUNTS, Bundled
from loadstone.workloads.scripts import values

_RENAMED = {
    "oltp_tables_count": "tables",
    "oltp_num_tables": "tables",
    "mysql_table_engine": "mysql_storage_engine",
    "oltp_dist_type": "rand_type",
    "oltp_dist_pct": "rand_spec_pct",
    "oltp_dist_res": "rand_spec_res",
    "oltp_dist_iter": "rand_spec_iter",
}
_WITHOUT_PREFIX = (
    "table_size",
    "skip_trx",
    "auto_inc",
    "secondary",
    "create_secondary",
    "range_size",
    "range_selects",
    *STATEMENT_COUNTS,
)
_NEW_NAMES = _RENAMED | {f"oltp_{name}": name for name in _WITHOUT_PREFIX}

_NONTRX = {
    "select": "oltp_point_select",
    "update_key": "oltp_update_index",
    "update_nokey": "oltp_update_non_index",
    "insert": "oltp_insert",
    "delete": "oltp_delete",
}


def in_words_of_1_0(given: Mapping[str, str]) -> dict[str, str]:
    """The same options by their names in 1.0; those that 1.0 dropped are left out."""
    renamed: dict[str, str] = {}
    for key, text in given.items():
        if key in _NEW_NAMES:
            renamed[_NEW_NAMES[key]] = text
        elif not key.startswith("oltp_"):
            renamed[key] = text
    return renamed


def as_asked(test: Bundled, given: Mapping[str, str]) -> Bundled:
    """The test that `--oltp-test-mode`, `--oltp-read-only` and the like make of `oltp.lua`."""
    if test.name != "oltp":
        return test
    mode = given.get("oltp_test_mode", "complex")
    if mode == "simple":
        return replace(test, workload="oltp_point_select")
    if mode == "nontrx":
        return replace(test, workload=_NONTRX.get(given.get("oltp_nontrx_mode", ""), _ANY_NONTRX))
    if values.switch(given.get("oltp_read_only", "off")):
        return replace(test, workload="oltp_read_only")
    if values.switch(given.get("oltp_write_only", "off")):
        return replace(test, workload="oltp_write_only")
    return test


_ANY_NONTRX = "oltp_point_select"
