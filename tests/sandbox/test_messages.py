"""What the sandbox says to a person is said in each language."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from loadstone.model.language import in_language
from loadstone.sandbox import server
from loadstone.sandbox.binaries import ways_to_missing
from loadstone.sandbox.disk import Disk
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.server import _why_it_ended

CHINESE = in_language("zh")


def test_a_server_that_does_not_start_says_so_in_chinese_with_its_own_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = "2026-11-25 [ERROR] unknown variable 'foo=1'\n2026-11-25 [ERROR] Aborting\n"
    monkeypatch.setattr(server, "_read", lambda path: log)
    place = SimpleNamespace(error_log=Path("log"), family="mysql")
    error = _why_it_ended(place)  # type: ignore[arg-type]
    assert isinstance(error, SandboxError)
    assert error.hint is not None
    assert CHINESE(error.message) == "服务器无法启动：unknown variable 'foo=1'"
    assert CHINESE(error.hint).startswith("请检查 --set；")


def test_where_a_disk_lies_and_how_to_get_a_server_are_said_in_chinese() -> None:
    disk = Disk(filesystem="tmpfs", device="tmpfs", mount=Path("/run"), free_bytes=1)
    assert CHINESE(disk.description).startswith("tmpfs 上的 tmpfs（/run）：在内存中")
    how = ways_to_missing(())["mysql-5.7"]
    assert CHINESE(how) == "tools/get-server mysql-5.7（不改动系统目录）"
