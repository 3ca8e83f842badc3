"""Searches for a secret in all that a program writes, shows and passes on."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import threading
import urllib.parse
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import polars

from trust.tally import COUNTS


def forms_of(secret: str) -> set[bytes]:
    """Forms in which the secret may appear: as it is, escaped, quoted, encoded."""
    raw = secret.encode()
    texts = {secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1], repr(secret)}
    return {
        *(text.encode() for text in texts),
        raw.hex().encode(),
        base64.b64encode(raw).rstrip(b"="),
        secret.encode("utf-16-le"),
        secret[::-1].encode(),
    }


def found_in(secret: str, parts: Iterable[tuple[str, bytes]]) -> list[str]:
    """The names of the parts that contain the secret."""
    forms = forms_of(secret)
    found = []
    for name, data in parts:
        COUNTS["bytes searched"] += len(data)
        if any(form in data for form in forms):
            found.append(name)
    COUNTS["secrets found"] += len(found)
    return found


def files_below(folder: Path) -> Iterable[tuple[str, bytes]]:
    """The name and content of each file, and the content of packed ones."""
    for path in sorted(folder.rglob("*")):
        yield f"the name of {path}", str(path).encode()
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield str(path), data
        if path.suffix == ".parquet":
            yield f"{path}, unpacked", polars.read_parquet(path).write_csv().encode()
        if path.suffix == ".hlog":
            yield f"{path}, unpacked", b"\n".join(_unpacked(data))


def _unpacked(hlog: bytes) -> Sequence[bytes]:
    """The histograms of an interval log, unpacked: base64 of zlib."""
    found = []
    for line in hlog.splitlines():
        with contextlib.suppress(ValueError, zlib.error):
            found.append(zlib.decompress(base64.b64decode(line.rpartition(b",")[2])[8:]))
    return found


@dataclass
class _Shown:
    """The contents of one file of a process, each once."""

    first: bytes
    since: list[bytes] = field(default_factory=list)
    """All from the first change on; the initial content only if it came back."""

    def note(self, data: bytes) -> None:
        if (self.since or data != self.first) and data not in self.since:
            self.since.append(data)


class Watching:
    """Repeatedly reads what every user can see of a process and its children."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._shown: dict[tuple[str, int], _Shown] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def seen(self) -> list[tuple[str, bytes]]:
        """Everything that was visible at any look, each content once.

        The program's own initial arguments and environment are left out if they were changed: it
        has to read them before it can blank them (docs/reliability.md).
        """
        found = []
        for (file, pid), shown in self._shown.items():
            is_own = pid == self.pid
            name = f"{file} of {'the program' if is_own else f'its child {pid}'}"
            began = [] if is_own and shown.since else [shown.first]
            found += [(name, data) for data in (*began, *shown.since)]
        return found

    def _look(self) -> None:
        while not self._over.wait(0.03):
            for pid in (self.pid, *_children(self.pid)):
                self._note(pid)

    def _note(self, pid: int) -> None:
        # A core file is named after `comm`.
        for file in ("cmdline", "environ", "comm"):
            # A process that has ended has neither.
            with contextlib.suppress(OSError):
                if data := Path(f"/proc/{pid}/{file}").read_bytes():
                    self._shown.setdefault((file, pid), _Shown(data)).note(data)


def _children(pid: int) -> list[int]:
    """The children of all its threads, and their children."""
    found: list[int] = []
    # A process or a thread that has ended has none: it may end between any two lines of this.
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                listed = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                for child in map(int, listed.split()):
                    found += [child, *_children(child)]
    return found
