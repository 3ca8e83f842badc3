"""A run of another system, in its own network, compared with one of this by their folders alone."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from loadstone.analyse.mysql.differences import VERSIONS
from loadstone.model.target import Tls
from loadstone.sandbox import SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.sandbox.network import namespace
from pooled import need
from sandbox.test_other_systems import copied

pytestmark = [pytest.mark.server, pytest.mark.slow]

HERE = f"debian-{platform.freedesktop_os_release().get('VERSION_CODENAME')}"
UNPACKED = sorted(
    root
    for root in (Path(__file__).parents[2] / ".cache").glob("debian-*")
    if root.name != HERE  # its libc is this host's
)
"""By tools/get-debian."""

SIZES = ("--tables", "1", "--table-size", "1000")
SHORT = ("--concurrency", "4", "--duration", "1s", "--warmup", "0s", "--shards", "1")
CHANGED = {
    "sync_binlog": "0",
    "innodb_flush_log_at_trx_commit": "2",
    "innodb_io_capacity": "400",
    "sort_buffer_size": "1M",
}
OF_A_NAMESPACE = {"skip_name_resolve": "ON"}
"""No name server is reached from one: sandboxes set it there, so it is set on both sides."""


def a_run(home: Path, name: str, spec: SandboxSpec) -> Path:
    """A run against a server of its own, which is gone afterwards."""
    place = home / name
    place.mkdir()
    with start_sandbox(spec) as server:
        person = Person(place, server, careful=False)
        # Only on loopback would it be without TLS.
        target = ("--target", server.endpoint(tls=Tls(mode="required")).target.url)
        person.loadstone("prepare", *target, "--yes", *SIZES)
        words = ("run", "oltp_update_non_index", *target, *SIZES, *SHORT, "--name", name)
        person.loadstone(*words)
    return person.only_run()


def a_far_run(home: Path, root: Path) -> Path:
    """A run from a second host: its own network, libc, build and settings."""
    with ExitStack() as stack:
        try:
            line = stack.enter_context(namespace())
        except SandboxError as error:
            pytest.skip(f"not evaluated: no network namespace can be made ({error})")
        settings = CHANGED | OF_A_NAMESPACE
        spec = SandboxSpec(server="mariadb", root=root, namespace=line, settings=settings)
        return a_run(home, "there", spec)


def compared(home: Path, here: Path, there: Path) -> dict[str, Any]:
    """Compare both folders on a machine that has only them."""
    copies = [home / "sent" / run.name for run in (here, there)]
    for run, copy in zip((here, there), copies, strict=True):
        shutil.copytree(run, copy)
        shutil.rmtree(run)
    return Person(home, careful=False).result("compare", *map(str, copies))


def by_group(document: Mapping[str, Any]) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = {}
    for row in document["differences"]:
        groups.setdefault(row["group"], set()).add(row["name"])
    return groups


def variables_of(run: Path) -> dict[str, str]:
    document = json.loads((run / "environment.json").read_text())
    found: dict[str, str] = document["targets"][0]["variables"]
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    if os.geteuid() != 0:
        pytest.skip("not evaluated: only root makes network namespaces")
    need("mariadb")
    return tmp_path


def test_what_differs_is_told_and_nothing_that_does_not(home: Path) -> None:
    here = a_run(home, "here", SandboxSpec(server="mariadb", settings=OF_A_NAMESPACE))
    comment = variables_of(here)["version_comment"]
    there = a_far_run(home, another_build(home / "system", comment))
    document = compared(home, here, there)
    assert by_group(document) == {
        "setting": set(CHANGED),
        "server": {"version_comment"},
        "host": {"libc"},
    }
    # A pair of virtual interfaces has no speed; what this kernel hides is missing on both sides.
    unknown = {label for label, sides in document["not_evaluated"].items() if len(sides) == 1}
    assert unknown <= {"NIC speed"}
    (libc,) = (row for row in document["differences"] if row["name"] == "libc")
    before, after = (libc["values"][side["name"]] for side in document["sides"])
    assert ("another build" in before, "another build" in after) == (False, True)
    unfair = [row["name"] for row in document["differences"] if row["weight"] == "unfair"]
    assert set(unfair) == {"sync_binlog", "innodb_flush_log_at_trx_commit"}
    assert document["differences"][0]["weight"] == "unfair", "those stand on top"


def another_build(root: Path, comment: str) -> Path:
    """This system's server and libraries in a folder, as if they were another build.

    Only the version texts of the server and of libc differ: all else is the same, and nothing else
    may be reported as different.
    """
    root.mkdir()
    copied(find_server("mariadb").program, root)
    server = root / "usr/sbin/mariadbd"
    content = server.read_bytes()
    assert comment.encode() in content
    server.write_bytes(content.replace(comment.encode(), comment[::-1].encode()))
    (libc,) = root.rglob("libc.so.6")
    banner = re.compile(rb"(GNU C Library \()([^)\n]+)")
    content, replaced = banner.subn(
        lambda found: found[1] + b"another build".ljust(len(found[2]), b".")[: len(found[2])],
        libc.read_bytes(),
    )
    assert replaced
    libc.write_bytes(content)
    return root


@pytest.mark.parametrize("root", UNPACKED, ids=lambda root: root.name)
def test_another_release_is_told_by_its_libc_and_its_build(home: Path, root: Path) -> None:
    here = a_run(home, "here", SandboxSpec(server="mariadb", settings=OF_A_NAMESPACE))
    there = a_far_run(home, root)
    ours, theirs = variables_of(here), variables_of(there)
    groups = by_group(compared(home, here, there))
    assert set(CHANGED) <= groups["setting"]
    assert {"version"} <= groups["server"] <= VERSIONS.keys()
    assert groups["host"] == {"libc"}
    assert groups.keys() <= {"setting", "server", "host"}
    # Two versions have other defaults: the differences reported next to the changes are real.
    same = {name for name in ours.keys() & theirs.keys() if ours[name] == theirs[name]}
    assert not groups["setting"] & same
