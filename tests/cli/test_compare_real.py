"""Runs of real servers compared: what was changed is reported, and nothing else."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from loadstone.model.host_environment import HOST_FACTS
from pooled import need

pytestmark = [pytest.mark.server, pytest.mark.slow]

SIZES = ("--tables", "1", "--table-size", "1000", "--concurrency", "4", "--repeats", "2")
SHORT = ("--duration", "1s", "--warmup", "0s", "--shards", "1")
CHANGED = {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2", "sort_buffer_size": "1M"}


def a_run(person: Person, name: str, settings: dict[str, str]) -> Path:
    """Against a throwaway server of its own."""
    told = [word for pair in settings.items() for word in ("--set", "=".join(pair))]
    words = ("run", "oltp_update_non_index", *SIZES, *SHORT, "--server", need("mariadb"), *told)
    person.loadstone(*words, "--name", name)
    (found,) = (person.folder / "runs").glob(f"{name}-*")
    return found


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("home"), careful=False)


@pytest.fixture(scope="module")
def before(person: Person) -> Path:
    """A run on a server with its default settings."""
    return a_run(person, "before", {})


@pytest.mark.smoke
def test_two_servers_differ_in_what_was_changed_and_in_nothing_else(
    person: Person, before: Path
) -> None:
    after = a_run(person, "after", CHANGED)
    host = json.loads((before / "environment.json").read_text())["targets"][0]["host"]
    assert host["known"]["kernel"] == platform.release()
    assert host["known"]["libc"].startswith("glibc ")
    assert host["known"].keys() | host["not_evaluated"].keys() == HOST_FACTS.keys()
    words = ("compare", before.name, after.name)
    document = person.result(*words)
    assert {row["name"] for row in document["differences"]} == CHANGED.keys()
    weights = [row["weight"] for row in document["differences"]]
    assert weights == ["unfair", "unfair", "slow"]
    (level,) = document["levels"]
    figures = [side["figures"] for side in level["sides"]]
    assert all(each["server_cpu"] > 0 and each["write_p99"] > 0 for each in figures)
    assert figures[0]["log_syncs"] > 0  # where nothing is synced, the counter is missing
    text = person.loadstone(*words).stdout
    assert "WARNING: the sides do not promise the same" in text
    assert text.index("WARNING") < text.index("oltp_update_non_index\n")


def test_a_host_that_was_changed_is_told_from_the_folder_alone(
    person: Person, before: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "another host" / "runs" / before.name
    elsewhere.parent.mkdir(parents=True)
    elsewhere.symlink_to(before)
    copied = tmp_path / "copied"
    copied.mkdir()
    for file in before.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    document = json.loads((copied / "environment.json").read_text())
    host = document["targets"][0]["host"]["known"]
    host |= {"libc": "glibc 2.31 (Debian GLIBC 2.31-13)", "io_scheduler": "none"}
    document["targets"][0]["variables"]["version"] = "10.5.23-MariaDB"
    (copied / "environment.json").write_text(json.dumps(document))
    document = person.result("compare", before.name, str(copied))
    found = [(row["group"], row["name"]) for row in document["differences"]]
    assert found == [("server", "version"), ("host", "libc"), ("host", "io_scheduler")]
    # The same folder under two names is one run, which does not differ from itself.
    person.loadstone("compare", before.name, str(elsewhere), code=2)
