"""Calls the program within the tests' own process: starting another costs a second of a core.

Tests of signals, streams or the environment start a process instead.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess

from loadstone.cli.errors import exit_code_of


def called(
    *words: str, folder: Path, environment: Mapping[str, str] | None = None, code: int | None = 0
) -> CompletedProcess[str]:
    """Call `loadstone WORDS…` in a folder; `code` is the expected exit code, `None` allows any.

    `environment` replaces this process's, except for the variables by which
    programs and the (empty) folder of the user's defaults are found.
    """
    with _said() as streams, contextlib.chdir(folder), _surroundings(environment):
        ended = exit_code_of(list(words))
    out, err = (stream.getvalue() for stream in streams)
    assert "Traceback" not in err, err
    assert code is None or ended == code, f"{ended}\n{err}{out}"
    return CompletedProcess(list(words), ended, out, err)


class _Stream(io.TextIOWrapper):
    """Collects text; has a binary buffer below it, as a program's stream has."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8", write_through=True)

    def getvalue(self) -> str:
        return self._bytes.getvalue().decode()


@contextlib.contextmanager
def _said() -> Iterator[tuple[_Stream, _Stream]]:
    out, err = _Stream(), _Stream()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


@contextlib.contextmanager
def _surroundings(environment: Mapping[str, str] | None) -> Iterator[None]:
    if environment is None:
        yield
        return
    before = dict(os.environ)
    kept = {
        name: before[name] for name in ("PATH", "PYTHONPATH", "XDG_CONFIG_HOME") if name in before
    }
    try:
        os.environ.clear()
        os.environ.update(kept | dict(environment))
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
