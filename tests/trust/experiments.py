"""An experiment file for an ordinary server."""

from __future__ import annotations

AS_TEXT = "client = { prepared = false }"
CHANGED = "dynamic = { max_connect_errors = 200 }"


def experiment(url: str, level: str, duration: str, first: str = "") -> str:
    """One factor of two levels, of which the second is `level`; it writes to one table."""
    return f"""\
duration = "{duration}"
warmup = "0s"
ladder = [2]
repeats = 2
[target]
url = "{url}"
[[workload]]
name = "oltp_update_non_index"
tables = 1
table_size = 100
[factor.changed.no]
{first}
[factor.changed.yes]
{level}
"""
