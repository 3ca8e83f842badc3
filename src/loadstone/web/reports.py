"""The report of a run, and what any document of the report's making may do when it is served."""

from __future__ import annotations

from pathlib import Path

from loadstone.report.html import as_html
from loadstone.report.opened import Run
from loadstone.report.words import Lang

DOCUMENT_POLICY = "sandbox allow-scripts allow-popups; frame-ancestors 'none'"
"""It has a policy of its own, which lets its two scripts run by their hashes. Here it is given an
origin of its own too: whatever it does, it cannot ask this server for anything."""


def report_of(run: Path, lang: Lang) -> str:
    """The whole document; a run that goes on is shown as far as it has come.

    Raises:
        StoreError: a file of the run cannot be read.
    """
    return as_html(Run(run), lang)


__all__ = ["DOCUMENT_POLICY", "Lang", "report_of"]
