"""What `prepare` says where the server takes no LOAD DATA LOCAL, as MySQL 8.0 by default."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from engine.servers import variables
from loadstone.sandbox import Sandbox
from trust.test_behind_a_proxy import Proxy

pytestmark = [pytest.mark.server, pytest.mark.slow]

SIZES = ("--tables", "1", "--table-size", "200k")
"""Enough for the progress of its rows to be shown."""


@pytest.mark.parametrize(
    ("lets_files_in", "options", "by"),
    [(0, (), "insert"), (0, ("--method", "insert"), "insert"), (1, (), "infile")],
)
def test_inserts_that_nobody_asked_for_are_explained(
    own_schema: Sandbox, tmp_path: Path, lets_files_in: int, options: tuple[str, ...], by: str
) -> None:
    person = Person(tmp_path, own_schema, careful=False)
    with variables(own_schema, local_infile=lets_files_in):
        done = person.loadstone("prepare", *person.target, *SIZES, *options)
    assert f" by {by}," in done.stdout
    notes = [line for line in done.stderr.splitlines() if "the rows go by INSERT" in line]
    assert len(notes) == (by == "insert" and not options)
    assert all("SET GLOBAL local_infile=ON" in note for note in notes)


def test_no_setting_is_advised_where_a_proxy_takes_no_files(
    own_schema: Sandbox, tmp_path: Path
) -> None:
    person = Person(tmp_path, own_schema, careful=False)
    with contextlib.closing(Proxy(own_schema.port, takes_files=False)) as proxy:
        url = person.url.replace(f":{own_schema.port}", f":{proxy.port}")
        done = person.loadstone("prepare", "--target", url, *SIZES)
    assert " by insert," in done.stdout
    (note,) = [line for line in done.stderr.splitlines() if "the rows go by INSERT" in line]
    assert note.endswith("what answers there has no LOAD DATA LOCAL")
