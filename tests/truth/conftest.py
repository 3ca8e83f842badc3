"""The null server, as tests/null_server starts it."""

from __future__ import annotations

from null_server.conftest import program, start

__all__ = ["program", "start"]
