"""Looks for a secret in all that a program writes, shows and hands on to others."""

from __future__ import annotations

import base64
import contextlib
import json
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
    """The ways in which it could stand somewhere: as it is, escaped, quoted, encoded."""
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
    """The names of the parts that have it."""
    forms = forms_of(secret)
    found = []
    for name, data in parts:
        COUNTS["bytes searched"] += len(data)
        if any(form in data for form in forms):
            found.append(name)
    COUNTS["secrets found"] += len(found)
    return found


def files_below(folder: Path) -> Iterable[tuple[str, bytes]]:
    """Each file's name and content, and what is in those that are packed."""
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
    """The histograms of an interval log: base64 of zlib."""
    found = []
    for line in hlog.splitlines():
        with contextlib.suppress(ValueError, zlib.error):
            found.append(zlib.decompress(base64.b64decode(line.rpartition(b",")[2])[8:]))
    return found


@dataclass
class _Shown:
    """What one file of a process had, each content once."""

    first: bytes
    since: list[bytes] = field(default_factory=list)
    """All from the first change on; what it began with is among them only where it came again."""

    def note(self, data: bytes) -> None:
        if (self.since or data != self.first) and data not in self.since:
            self.since.append(data)


class Watching:
    """What everybody can see of a process and those that it starts, looked at again and again."""

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
        """Whatever was shown at any look, each content once.

        But for what the program itself began with, where that was changed: its own arguments and
        environment it has to read before it can blank them (docs/reliability.md).
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
        # A core file is named after what `comm` says.
        for file in ("cmdline", "environ", "comm"):
            # A process that has ended has neither.
            with contextlib.suppress(OSError):
                if data := Path(f"/proc/{pid}/{file}").read_bytes():
                    self._shown.setdefault((file, pid), _Shown(data)).note(data)


def _children(pid: int) -> list[int]:
    """Those of all its threads, and theirs."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, listed.read_text().split()):
                found += [child, *_children(child)]
    return found
