"""Runs of real servers beside each other: what was changed is told, and nothing else."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.test_run_real import has_server, loadstone
from loadstone.model.surroundings import HOST_FACTS

pytestmark = pytest.mark.server

if not has_server():
    pytest.skip("no database server here", allow_module_level=True)

SIZES = ("--tables", "1", "--table-size", "1000", "--concurrency", "4", "--repeats", "2")
SHORT = ("--duration", "1s", "--warmup", "0s", "--shards", "1")
CHANGED = {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2", "sort_buffer_size": "1M"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path


def a_run(home: Path, name: str, settings: dict[str, str]) -> Path:
    """Against a throwaway server of its own."""
    told = [word for pair in settings.items() for word in ("--set", "=".join(pair))]
    words = ("run", "oltp_update_non_index", *SIZES, *SHORT, "--server", "mariadb", *told)
    loadstone(*words, "--name", name, server=None, home=home)
    (found,) = (home / "runs").glob(f"{name}-*")
    return found


def test_two_servers_differ_in_what_was_changed_and_in_nothing_else(home: Path) -> None:
    before, after = a_run(home, "before", {}), a_run(home, "after", CHANGED)
    host = json.loads((before / "environment.json").read_text())["targets"][0]["host"]
    assert host["known"]["kernel"] == platform.release()
    assert host["known"]["libc"].startswith("glibc ")
    assert host["known"].keys() | host["not_evaluated"].keys() == HOST_FACTS.keys()
    words = ("compare", before.name, after.name)
    document: dict[str, Any] = json.loads(
        loadstone(*words, "--json", server=None, home=home).stdout
    )
    assert {row["name"] for row in document["differences"]} == CHANGED.keys()
    weights = [row["weight"] for row in document["differences"]]
    assert weights == ["unfair", "unfair", "slow"]
    (level,) = document["levels"]
    figures = [side["figures"] for side in level["sides"]]
    assert all(each["server_cpu"] > 0 and each["write_p99"] > 0 for each in figures)
    assert figures[0]["log_syncs"] > 0  # where nothing is synced, its counter says nothing
    text = loadstone(*words, server=None, home=home).stdout
    assert "WARNING: the sides do not promise the same" in text
    assert text.index("WARNING") < text.index("oltp_update_non_index\n")


def test_a_host_that_was_changed_is_told_from_the_folder_alone(home: Path) -> None:
    run = a_run(home, "here", {})
    elsewhere = home / "another host" / "runs" / run.name
    elsewhere.parent.mkdir(parents=True)
    elsewhere.symlink_to(run)
    copied = home / "copied"
    copied.mkdir()
    for file in run.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    document = json.loads((copied / "environment.json").read_text())
    host = document["targets"][0]["host"]["known"]
    host |= {"libc": "glibc 2.31 (Debian GLIBC 2.31-13)", "io_scheduler": "none"}
    document["targets"][0]["variables"]["version"] = "10.5.23-MariaDB"
    (copied / "environment.json").write_text(json.dumps(document))
    done = loadstone("compare", run.name, str(copied), "--json", server=None, home=home)
    found = [(row["group"], row["name"]) for row in json.loads(done.stdout)["differences"]]
    assert found == [("server", "version"), ("host", "libc"), ("host", "io_scheduler")]
    # The same folder under two names is one run, which does not differ from itself.
    loadstone("compare", run.name, str(elsewhere), server=None, home=home, code=2)
