"""Expressions of pgbench's scripts have the values that pgbench gives them, to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.driving import events
from postgres.server import Server
from postgres.test_pgbench import pgbench, run, scripted

pytestmark = [pytest.mark.server, pytest.mark.slow]

# https://www.postgresql.org/docs/15/pgbench.html, the tables of operators and functions; random
# numbers aside.
DOCUMENTED = (
    "TRUE or FALSE", "TRUE and FALSE", "not FALSE", "5 = 4", "5 <> 4", "5 != 5", "5 < 4", "5 <= 4",
    "5 > 4", "5 >= 4", "1 | 2", "1 # 3", "1 & 3", "~ 1", "1 << 2", "8 >> 2", "5 + 4", "3 - 2.0",
    "5 * 4", "5 / 3", "3 % 2", "- 2.0", "abs(-17)", "debug(5432.1)", "double(5432)", "exp(1.0)",
    "greatest(5, 4, 3, 2)", "hash(10, 5432)", "hash_fnv1a(10, 5432)", "hash_murmur2(10, 5432)",
    "int(5.4 + 3.8)", "least(5, 4, 3, 2.1)", "ln(2.718281828459045)", "mod(54, 32)", "pow(2.0, 10)",
    "power(2.0, 10)", "sqrt(2.0)",
)  # fmt: skip

MORE = (
    "pi()", "0.1 + 0.2", "1e300 * 10", "1.0 / 3", "-7 / 2", "-7 % 2", "7 % -2", "2 + 3 * 4 - 6 / 2",
    "1 << 62", "-1 >> 1", "~ 5 & 7 | 8 # 1", "permute(0, 4, 1)", "permute(7, 1000000007, 42)",
    "permute(-3, 10, 5)", "hash(-1, 0)", "hash_fnv1a(123456789, 7)", "int(-2.5)", "int(2.5)",
    "int(-0.4)", "double(-3) / 2", "abs(-0.5)", "greatest(1, 2.5)", "least(-1, -1.5)", "exp(-1)",
    "ln(10)", "sqrt(3)", "pow(2, -1)", "pow(0, 0)", "power(-2, 3)", "mod(-54, 32)", "1 = 1.0",
    "1 <> 2 and 2 < 3", "not (1 > 2 or 3 >= 3)", "NULL IS NULL", "1 IS NOT NULL", "(1 = 1) IS TRUE",
    "(1 = 2) IS NOT TRUE", "NULL ISNULL", "2 NOTNULL", "(1 = 2) IS FALSE",
    "CASE WHEN 1 > 2 THEN 10 WHEN 2 > 1 THEN 20 ELSE 30 END", "CASE WHEN FALSE THEN 1 END IS NULL",
    "TRUE or NULL", "9223372036854775807", "-9223372036854775807 - 1", "1 + \\\n  2", "~ 1 + 2",
    "2 * ~1 + 3", "- ~ ~ 1 + 2", "8 - ~ 2 * 3",
)  # fmt: skip


def test_they_are_pgbenchs(server: Server, database: str, tmp_path: Path) -> None:
    texts = (*DOCUMENTED, *MORE)
    server.asked("CREATE TABLE found (place int, value text)", database)
    server.asked("GRANT ALL ON found TO PUBLIC", database)
    script = "".join(
        f"\\set found {text}\nINSERT INTO found VALUES ({place}, CAST(:found AS text));\n"
        for place, text in enumerate(texts)
    )
    (tmp_path / "script").write_text(script)
    pgbench(server, "-n", "-t", "1", "-f", str(tmp_path / "script"), database)
    theirs = values(server, database)
    step = run(server, database, scripted(script), users=1, stop=events(1))
    assert not step.errors_said
    assert dict(zip(texts, values(server, database), strict=True)) == dict(
        zip(texts, theirs, strict=True)
    )


def values(server: Server, database: str) -> list[str]:
    """What a run has found; the next one begins with nothing."""
    found = server.asked("SELECT value FROM found ORDER BY place", database)
    server.asked("TRUNCATE found", database)
    return [value for (value,) in found]
