"""proofs.json: the results of trials of a run's findings, in addition to its own measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from loadstone.model.finding import Proof
from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.runs import atomic, safe_open
from loadstone.runs.errors import StoreError

PROOFS = "proofs.json"

STEPS = "proofs"
"""The folder in the run's folder that holds the steps of each trial as a separate run."""


class Proofs(Frozen):
    """The file."""

    version: Literal[1] = 1
    proofs: tuple[Proof, ...]


def read_proofs(run: Path) -> tuple[Proof, ...]:
    """The proofs of a run; empty if nothing was tried.

    Raises:
        StoreError: the file exists and cannot be read.
    """
    path = run / PROOFS
    try:
        return Proofs.model_validate_json(safe_open.document(path)).proofs
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error
    except ValidationError as error:
        raise StoreError(
            say("cannot read {path}: it is damaged, or of another version of Loadstone", path=path),
            say("remove it; loadstone diagnose --prove makes it again"),
        ) from error


def write_proofs(run: Path, proofs: Sequence[Proof]) -> None:
    """Write all proofs of a run, replacing earlier ones.

    Raises:
        StoreError: the file cannot be written.
    """
    document = Proofs(proofs=tuple(proofs)).model_dump_json(indent=2)
    atomic.write_bytes(run / PROOFS, document.encode() + b"\n")


def merged(before: Sequence[Proof], new: Sequence[Proof]) -> list[Proof]:
    """The new proofs, and the earlier ones that none of them replaces."""
    again = {(proof.ladder, proof.cause) for proof in new}
    return [proof for proof in before if (proof.ladder, proof.cause) not in again] + list(new)
