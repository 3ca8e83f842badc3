"""What `diagnose` prints, at a width that only tests of width care about."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.model.finding import Diagnosis, Proof
from loadstone.report.findings import as_renderable
from loadstone.report.text import as_plain
from loadstone.report.wrapping import UNLIMITED


def printed(
    found: Sequence[Diagnosis], proofs: Sequence[Proof] = (), *, width: int = UNLIMITED
) -> str:
    """The diagnoses as text without colour; nothing is wrapped unless a width is given."""
    return as_plain(as_renderable(found, proofs), width)
