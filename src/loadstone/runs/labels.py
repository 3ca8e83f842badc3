"""labels.json: words that a user gave a run, to find it again.

The file is one of its own, so that everything that the run recorded stays as it was sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.runs import atomic, safe_open
from loadstone.runs.errors import StoreError

LABELS = "labels.json"

MOST = 20
LONGEST = 64
"""In characters."""

_LARGEST = 16 * 1024


def a_label(text: str) -> str:
    """A label as it is kept.

    Raises:
        ValueError: it is empty, too long, or not of one printable line.
    """
    label = text.strip()
    if not label or len(label) > LONGEST or not label.isprintable():
        raise ValueError(say("a label has 1 to {longest} characters in one line", longest=LONGEST))
    return label


class _Labels(Frozen):
    labels: Annotated[tuple[Annotated[str, AfterValidator(a_label)], ...], Field(max_length=MOST)]


def read_labels(run: Path) -> tuple[str, ...]:
    """A run's labels; empty if it has none.

    Raises:
        StoreError: the file exists and cannot be read.
    """
    path = run / LABELS
    try:
        return _Labels.model_validate_json(safe_open.contents(path, _LARGEST)).labels
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error
    except ValidationError as error:
        raise StoreError(
            say("cannot read {path}: it is damaged, or of another version of Loadstone", path=path),
            say("remove it; loadstone runs label makes it again"),
        ) from error


def write_labels(run: Path, labels: Sequence[str]) -> None:
    """Write all labels of a run, replacing what was.

    Raises:
        StoreError: there are too many, or the file cannot be written.
    """
    if len(labels) > MOST:
        raise StoreError(
            say(
                "a run has at most {most} labels, and this would be {number}",
                most=MOST,
                number=len(labels),
            )
        )
    document = _Labels(labels=tuple(labels)).model_dump_json()
    atomic.write_bytes(run / LABELS, document.encode() + b"\n")
