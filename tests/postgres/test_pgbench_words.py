"""What pgbench refuses in scripts, and why it ends clients, in the words of Debian's program."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from postgres.server import Server
from postgres.test_beside_pgbench import Beside, Said

pytestmark = [pytest.mark.server, pytest.mark.slow]

VARIABLES = (
    "-Dword=abc -Dnothing=null -Dyes=Y -Dno=of -Dhalf=0.5 -Dleast=-9223372036854775808"
    " -Dmost=9223372036854775807 -Dneither=o -Dalmost=falsey -Dsigned=+7 -Dclient_id=41"
)

REFUSED = {
    "no end of a branch": "SELECT 1;\n\\if :half\nSELECT 2;\n",
    "no begin of a branch": "\\set a 1\n\\endif\n",
    "another branch without a begin": "\\elif 2\n",
    "the last branch twice": "\\if 1\n\\else\n\\else\n\\endif\n",
    "a branch after the last": "\\if 1\n\\else\n\\elif 3\n\\endif\n",
    "no condition": "\\if\n\\endif\n",
    "half a condition": "SELECT 1;\n\\if 2 >\n\\endif\n",
    "a word behind else": "\\if 0\n\\else  maybe\n\\endif\n",
    "a word behind endif": "\\if 0\n\\endif now or never\n",
    "a word behind a pipeline": "\\startpipeline soon\n",
    "half a sum": "\\set total 3 +\n",
    "an open parenthesis": "   \\set   total   (3 + 4\n",
    "a number too many": "\\set total 3 4\n",
    "no expression": "\\set total\n",
    "no variable": "\\set\n",
    "no such function": "\\set total 1 + median(3, 4)\n",
    "a word alone": "\\set total banana\n",
    "too few parameters": "\\set total mod(7)\n",
    "too many parameters": "\\set total sqrt(2, 3) + 1\n",
    "a comparison of a comparison": "\\set total 1 < 2 <= 3\n",
    "nothing to choose from": "\\set total least()\n",
    "a hash of nothing": "\\set total hash()\n",
    "a sign that is none": "\\set total 7 ! 2\n",
    "an integer that is too large": "\\set total 1 + 123456789012345678901\n",
    "an integer that needs a sign": "\\set total 9223372036854775808\n",
    "a double that is too large": "\\set total 2.5e400\n",
    "a case without its end": "\\set total case when true then 2\n",
    "a continued command": "\\set total 1 + \\\n  2 + median(3)\nSELECT 1;\n",
    "no program": "\\shell\n",
    "a variable without a program": "\\setshell total\n",
    "too many words": "\\shell echo" + " again" * 255 + "\n",
    "no time": "\\sleep\n",
    "a unit that is none": "\\sleep 3 weeks\n",
    "a unit that is none, joined": "\\sleep 3h\n",
    "too many times": "\\sleep 3 s 4\n",
    "no such command": "SELECT 1;\n\n  \\repeat  twice\n",
    "rows of nothing": "\\gset\n",
    "rows of an expression": "\\set total 3\n\\gset\n",
    "rows twice": "SELECT 1 AS one \\gset\n\\gset\n",
    "all rows of nothing": "\\aset\n",
    "a time that is none": "\\sleep soon ms\n",
    "two units": "\\sleep 3ms ms\n",
    "a letter that is no ASCII": "\\set total 1 + \u00fc\n",
    "an end without a line's end": "\\set total (1",
    "a condition and a command": "\\else\n\\repeat\n",
    "two prefixes": "SELECT 1 AS one \\gset my your\n",
    "only a comment": "-- nothing to do\n",
}
"""By what is wrong, a script that pgbench does not start."""

ABORTED = {
    "a division": "\\set total 3 / 0\n",
    "a remainder": "\\set total 3 % 0\n",
    "no such variable": "\\set total :nowhere + 1\n",
    "a word as a number": "\\set total :word * 2\n",
    "almost a boolean": "\\set total :almost or true\n",
    "a prefix of both on and off": "\\set total not :neither\n",
    "a sum": "\\set total :most + 1\n",
    "a difference": "\\set total :least - 1\n",
    "a product": "\\set total :most * 2\n",
    "a quotient": "\\set total :least / -1\n",
    "a double as an integer": "\\set total int(3e40)\n",
    "a boolean as an integer": "\\set total true + 3\n",
    "a boolean as a double": "\\set total sqrt(false)\n",
    "a double as a boolean": "\\set total not 0.5\n",
    "an integer as a boolean": "\\set total 3 and true\n",
    "too many parameters": f"\\set total greatest({', '.join(map(str, range(17)))})\n",
    "an empty range": "\\set total random(9, 8)\n",
    "a range that is too large": "\\set total random(:least, :most)\n",
    "a range that is just too large": "\\set total random(0, :most)\n",
    "a gaussian parameter": "\\set total random_gaussian(1, 9, 1.5)\n",
    "an exponential parameter": "\\set total random_exponential(1, 9, -2)\n",
    "a zipfian parameter": "\\set total random_zipfian(1, 9, 1)\n",
    "a permutation of nothing": "\\set total permute(3, 0)\n",
    "no name of a variable": "\\set a-b 3\n",
    "a condition": "\\if :nowhere\n\\endif\n",
    "a time that no variable has": "\\sleep :nowhere ms\n",
    "a time that is a word": "\\sleep :word ms\n",
    "a time that is nothing": "\\set nil null\n\\sleep :nil ms\n",
    "a program's variable": "\\shell echo :nowhere\n",
    "no integer of a program": "\\setshell total printf three\n",
    "no row": "SELECT 1 AS one WHERE false \\gset\n",
    "two rows": "SELECT 1 AS one UNION ALL SELECT 2 \\gset\n",
    "no rows at all": "SET work_mem TO '5MB' \\gset\n",
    "a second statement with too many rows": (
        "SELECT 1 AS one \\; SELECT generate_series(1, 3) AS two \\gset\n"
    ),
    "a column without a name": "SELECT 3 \\gset\n",
    "a column's name with a space": 'SELECT 3 AS "a b" \\gset\n',
    "a column's name with a space, of all": 'SELECT 3 AS "a b" \\aset\n',
    "a prefix that is no name": "SELECT 3 AS one \\gset my-\n",
    "rows that nobody sends": "CREATE TEMP TABLE copied (a int);\nCOPY copied FROM STDIN;\n",
}
"""By what goes wrong, a script that ends its client."""


def by_both(
    server: Server, database: str, folder: Path, scripts: dict[str, str]
) -> tuple[dict[str, Said], dict[str, Said]]:
    """What each program said of each script."""
    programs = Beside(server, database, folder)
    theirs, ours = {}, {}
    for name, script in scripts.items():
        (folder / "script").write_text(script)
        line = f"-n -t 1 {VARIABLES} -f DIR/script"
        theirs[name], ours[name] = programs.both(line)
    return theirs, ours


def test_scripts_are_refused_in_the_same_words(
    server: Server, database: str, tmp_path: Path
) -> None:
    theirs, ours = by_both(server, database, tmp_path, REFUSED)
    assert {said.code for said in theirs.values()} == {1}
    assert ours == theirs


def test_clients_end_with_the_same_words(server: Server, database: str, tmp_path: Path) -> None:
    theirs, ours = by_both(server, database, tmp_path, ABORTED)
    assert {said.code for said in theirs.values()} == {2}
    assert {name: (said.code, said.err) for name, said in ours.items()} == {
        name: (said.code, said.err) for name, said in theirs.items()
    }
    assert all("processed: 0/1" in said.out for said in (*theirs.values(), *ours.values()))


VALUES = (
    "7 / 2", "7 / 2.0", "-3", "1.0 / 3", "2.5e40", "pow(-3, 3)", "pow(2.0, 0.5)", "3 = 3.0",
    "not true", "null", "null + 1", "true and null", "3 is null", "null notnull",
    "(2 > 1) is true", ":nothing", ":yes", ":no", ":half", ":signed", ":least", ":signed + :half",
    "greatest(1, 2.5)", "least(3, null)", "case when null then 1 else 2 end", "1.5 * 2", "~ 5",
    "debug(1) + debug(2.5)", "abs(:signed - 10)", "int(2.5)", "double(7)", "hash(5, 7)",
    "random(3, 3)", ":client_id + 1",
)  # fmt: skip
"""Expressions of all types."""

ROWS = """\
SELECT 1 AS one, 2.5::float8 AS two, true AS three, '17' AS five \\gset
\\set a debug(:one) + debug(:two) + debug(:five)
\\set a debug(:three is true)
SELECT 3 AS one, 4 AS one \\gset my_
\\set a debug(:my_one)
SELECT \\gset
\\; \\; SELECT 5 AS one \\; SELECT 6 AS one \\; \\gset
\\set a debug(:one)
SELECT 7 AS one \\; SELECT 8 AS two WHERE false \\; SELECT 9 AS three \\aset
\\set a debug(:one) + debug(:two) + debug(:three)
SELECT generate_series(1, 3) AS one \\aset
\\set a debug(:one)
"""
"""Rows of one and of several statements."""


def test_values_are_shown_as_pgbench_shows_them(
    server: Server, database: str, tmp_path: Path
) -> None:
    script = "".join(f"\\set a debug({text})\n" for text in VALUES)
    scripts = {"values": f"{script}SELECT 1;\n", "rows": ROWS}
    theirs, ours = by_both(server, database, tmp_path, scripts)
    assert {said.code for said in theirs.values()} == {0}
    assert {name: (said.code, said.err) for name, said in ours.items()} == {
        name: (said.code, said.err) for name, said in theirs.items()
    }


def test_scripts_without_statements_run(server: Server, database: str, tmp_path: Path) -> None:
    scripts = {
        "sleeps": "\\sleep 2ms\n",
        "sets": "\\set a 1\n\\if :a\n\\set b debug(:a)\n\\endif\n",
        "runs": "\\shell true\n\\setshell a echo 3\n\\set b debug(:a)\n",
        "sleeps as a variable says": "\\set a 1.5\n\\sleep :a ms\n\\sleep :signed us\n",
    }
    theirs, ours = by_both(server, database, tmp_path, scripts)
    for name, said in ours.items():
        assert said.code == theirs[name].code == 0
        assert said.err == theirs[name].err
        assert "processed: 1/1" in said.out


def test_sessions_have_the_settings_of_the_environment(
    server: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "script").write_text(
        "SELECT current_setting('work_mem') = '5MB' AS set,"
        " current_setting('default_transaction_isolation') = 'repeatable read' AS isolated \\gset\n"
        "\\set a debug(:set and :isolated)\n"
    )
    options = "-c work_mem=5MB --default-transaction-isolation=repeatable\\ read"
    monkeypatch.setenv("PGOPTIONS", options)
    for line in ("-n -t 2 -f DIR/script", "-n -t 2 -C -M prepared -f DIR/script"):
        theirs, ours = Beside(server, database, tmp_path).both(line)
        assert ours.err == theirs.err
        assert "boolean true" in ours.err
        assert ours.code == 0


def test_each_error_is_shown_where_that_is_asked_for(
    server: Server, database: str, tmp_path: Path
) -> None:
    raises = "DO $$BEGIN RAISE EXCEPTION 'no luck' USING ERRCODE = '%s'; END$$;\n"
    (tmp_path / "one").write_text("SELECT 1;\n" + raises % "40001")
    (tmp_path / "two").write_text("\\set a 1\nBEGIN;\n" + raises % "40P01" + "END;\n")
    for words in ("--max-tries=3", "--max-tries=1", "--max-tries=2 -M prepared"):
        for script in ("one", "two"):
            line = f"-n -t 2 --verbose-errors {words} -f DIR/{script}"
            theirs, ours = (
                [each for each in said.err.splitlines() if each.startswith("pgbench: client")]
                for said in Beside(server, database, tmp_path).both(line)
            )
            assert len(ours) >= 4
            assert ours == theirs
