"""The settings of MySQL and MariaDB that decide whether a commit is durable."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.analyse.mysql.managed import not_judged

DECIDING = (
    "log_bin",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "innodb_doublewrite",
    "rpl_semi_sync_source_enabled",
)
"""The deciding settings, the most important first."""

LASTING = {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1"}


def losing(variables: Mapping[str, str]) -> list[str]:
    """Those of the current settings with which a crash may lose commits.

    Settings in whose place a managed service's storage decides are left out.
    """
    left_out = not_judged(variables)
    variables = {name: value for name, value in variables.items() if name not in left_out}
    wanted = {"innodb_flush_log_at_trx_commit": ("1",), "innodb_doublewrite": ("ON", "1")}
    if variables.get("log_bin", "").upper() in ("ON", "1"):
        wanted["sync_binlog"] = ("1",)
    wrong = [
        f"{name}={variables[name]}"
        for name, good in wanted.items()
        if name in variables and variables[name].upper() not in good
    ]
    without_log = variables.get("log_bin", "").upper() in ("OFF", "0")
    wrong += ["log_bin=OFF"] if without_log else []
    return wrong
