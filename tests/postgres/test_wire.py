"""The protocol of crates/wire-postgres, spoken to a real server by its example `talk`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from postgres.server import PASSWORD, Server

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.server]

Talk = Callable[..., dict[str, str]]


@pytest.fixture(scope="module")
def program() -> Path:
    """The example, built if its sources have changed, of what `cargo test` has compiled."""
    words = ["cargo", "build", "--quiet", "--workspace", "--example", "talk"]
    subprocess.run(words, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "debug/examples/talk"


@pytest.fixture(scope="module")
def talk(program: Path, server: Server) -> Talk:
    """Runs the example; returns what it has found, or its error as `error`."""

    def run(what: str, user: str = "by_scram", **more: str) -> dict[str, str]:
        target = {"port": str(server.port), "user": user, "password": PASSWORD}
        target |= {"database": "postgres"} | more
        if more.get("tls", "never") != "never":
            target["ca"] = str(server.authority)
        words = [str(program), what, *(f"{name}={value}" for name, value in target.items())]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        if done.returncode:
            return {"error": done.stderr.strip().removeprefix("error: ")}
        return dict(line.split("=", 1) for line in done.stdout.splitlines())

    return run


@pytest.mark.parametrize(
    ("user", "more", "method", "encrypted"),
    [
        ("by_trust", {}, "trust", "false"),
        ("by_scram", {}, "scram-sha-256", "false"),
        ("by_scram", {"tls": "offered"}, "scram-sha-256-plus", "true"),
        ("by_scram", {"tls": "must", "bound": "require"}, "scram-sha-256-plus", "true"),
        ("by_scram", {"tls": "must", "bound": "disable"}, "scram-sha-256", "true"),
        ("only_tls", {"tls": "must"}, "scram-sha-256-plus", "true"),
        ("by_md5", {}, "md5", "false"),
        ("by_md5", {"tls": "must"}, "md5", "true"),
        ("by_password", {"tls": "must"}, "password", "true"),
    ],
)
def test_each_way_to_log_in(
    talk: Talk, user: str, more: dict[str, str], method: str, encrypted: str
) -> None:
    found = talk("login", user, **more)
    version = found.pop("server_version")
    assert int(version.split(".")[0]) >= 13
    expected = {"auth_method": method, "encrypted": encrypted}
    assert found == expected | {"has_process": "true", "encoding": "UTF8"}


@pytest.mark.parametrize(
    ("user", "more", "reason"),
    [
        ("by_scram", {"password": "wrong"}, "password authentication failed"),
        ("by_md5", {"password": "wrong"}, "password authentication failed"),
        ("by_scram", {"password": ""}, "none is given"),
        ("by_scram", {"bound": "require"}, "there is no TLS session"),
        ("by_trust", {"tls": "must", "bound": "require"}, "does not ask for SCRAM"),
        ("by_password", {}, "others could read it"),
        ("only_tls", {}, "(28000)"),
        ("by_scram", {"database": "missing"}, "(3D000)"),
    ],
)
def test_logins_that_are_refused_say_why(
    talk: Talk, user: str, more: dict[str, str], reason: str
) -> None:
    assert reason in talk("login", user, **more)["error"]


def test_statements_as_text_prepared_and_in_pipelines(talk: Talk) -> None:
    expected = {
        "inserted": "5",
        "nothing": "0",
        "updated": "2",
        "selected": "6",
        "first_row": "Some([Some([49]), None])",
        "warnings": "1",
        "literals": "[true, true]",
        "prepared_inserted": "1",
        "prepared_selected": "1",
        "prepared_values": "[Ok(Bytes([45, 55])), Ok(Bytes([48, 46, 49])), "
        "Ok(Bytes([115, 101, 118, 101, 110]))]",
        "undescribed": "true",
        "closed": "26000",
        "binary_values": "0.1 8",
        "pipelined": "50",
        "pipelined_deleted": "50",
        "pipelined_failure": "23505",
        "pipelined_left": "[[Some([53, 48])]]",
        "states": "42601 42P01 22012 23505 25P02 23505 22P02",
        "begun": "true",
        "failed": "true",
        "commit_rolled_back": "true",
    }
    assert talk("statements") == expected
    assert talk("statements", tls="must") == expected


def test_rows_are_copied_in_and_out_as_text_and_in_binary(talk: Talk) -> None:
    # 0 to 999 and their quarters, and a row of NULLs.
    intact = "1001 1000 499500 124875 1 t"
    assert talk("copies") == {
        "copied": "1001",
        "intact": intact,
        "copied_binary": "1001",
        "intact_binary": intact,
        "copied_out": "1001 0",
        "first_out": "Some([Some([48, 10])])",
        "failures": "22P02 57014",
    }


def test_a_statement_is_canceled_and_a_connection_terminated(talk: Talk) -> None:
    found = talk("cancels")
    assert (found["answer"], found["canceled"]) == ("0", "57014")
    assert found["terminated"].endswith("(57P01)")
