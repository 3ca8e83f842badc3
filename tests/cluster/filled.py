"""A server to fill with tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox

_QUICK = {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "0"}
"""What is loaded has to survive nothing."""


def quick_mariadb(state: Path) -> Iterator[Sandbox]:
    """Started, with what it needs in this folder, and ended; skips where there is none."""
    try:
        find_server("mariadb")
    except SandboxError as error:
        pytest.skip(error.message)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with start_sandbox(SandboxSpec(server="mariadb", settings=_QUICK)) as sandbox:
            yield sandbox
