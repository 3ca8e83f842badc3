"""A throwaway server belongs to us, also if a file names it by its address: no consent is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.model.exit_codes import ExitCode
from loadstone.sandbox import Sandbox
from pooled import KINDS, Pool
from trust.experiments import CHANGED, experiment

pytestmark = [pytest.mark.server, pytest.mark.slow]

SIZES = ("--tables", "1", "--table-size", "100")


def environment(server: Sandbox, home: Path, *, is_its_owner: bool) -> dict[str, str]:
    """The environment of the user who started the sandbox, or of one to whom it is any server."""
    state = server.folder.parents[2] if is_its_owner else home
    password = server.tcp.credentials.reveal()
    return {"HOME": str(home), "XDG_STATE_HOME": str(state), "LOADSTONE_PASSWORD": password}


@pytest.mark.parametrize("kind", KINDS)
def test_its_tables_go_and_its_variables_are_set_without_yes(
    kind: str, pool: Pool, tmp_path: Path
) -> None:
    with pool.schema(kind) as server:
        url = server.tcp.target.url
        (tmp_path / "on_it.toml").write_text(experiment(url, CHANGED, "300ms"))
        owner = environment(server, tmp_path, is_its_owner=True)
        called("prepare", "--target", url, *SIZES, folder=tmp_path, environment=owner)
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {server.state.database}.stray (id INT PRIMARY KEY)")
        words = ("experiment", "on_it.toml")
        someone = environment(server, tmp_path, is_its_owner=False)
        said = called(*words, folder=tmp_path, environment=someone, code=ExitCode.GUARD)
        assert "--yes" in said.stderr
        said = called(*words, folder=tmp_path, environment=owner)
        assert ": drops where they exist, and makes sbtest1" in said.stderr
