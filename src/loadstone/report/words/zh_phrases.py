"""All phrases of Simplified Chinese."""

from __future__ import annotations

from loadstone.report.words.phrases import Phrase
from loadstone.report.words.zh_ceilings import CEILINGS
from loadstone.report.words.zh_evidence import EVIDENCE
from loadstone.report.words.zh_findings import FINDINGS
from loadstone.report.words.zh_notes import NOTES
from loadstone.report.words.zh_proofs import PROOFS
from loadstone.report.words.zh_remedies import REMEDIES
from loadstone.report.words.zh_settings import SETTINGS

PHRASES: tuple[Phrase, ...] = (
    *FINDINGS,
    *REMEDIES,
    *EVIDENCE,
    *CEILINGS,
    *PROOFS,
    *SETTINGS,
    *NOTES,
)
"""What the rules find and advise, what they rest on, what is reckoned, proved and noted."""
