"""The documents for running a run again: read once, checked for their seals, then parsed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.model.message import say
from loadstone.runs import safe_open, signature
from loadstone.runs.errors import StoreError
from loadstone.runs.recorder import Asked, parse_asked
from loadstone.runs.run_folder import ENVIRONMENT, RUN, parse_environment


@dataclass(frozen=True)
class Vouched:
    """Documents that are vouched for: by Loadstone's seal, or by the user's word."""

    asked: Asked
    environment: dict[str, Any]
    """Empty if there was none."""


def read(run: Path, *, trusted: bool) -> Vouched:
    """Read run.json and environment.json; with `trusted`, the user vouches for both.

    Raises:
        NotOurs: one of them is not what this user's Loadstone wrote for this run.
        StoreError: one cannot be read, or is damaged.
    """
    found = {name: _contents(run / name) for name in (RUN, ENVIRONMENT)}
    if not trusted:
        signature.check(
            run, {name: content for name, content in found.items() if content is not None}
        )
    asked, environment = found[RUN], found[ENVIRONMENT]
    if asked is None:
        raise StoreError(
            say("{run} has no {file}: what was asked of the run is not known", run=run, file=RUN)
        )
    return Vouched(
        parse_asked(asked, run / RUN),
        {} if environment is None else parse_environment(environment, run / ENVIRONMENT),
    )


def _contents(path: Path) -> bytes | None:
    try:
        return safe_open.contents(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error
