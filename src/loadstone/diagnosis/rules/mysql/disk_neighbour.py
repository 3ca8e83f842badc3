"""Others use the disk that holds the server's data."""

from __future__ import annotations

from loadstone.diagnosis.others_on_disk import rule_of
from loadstone.diagnosis.rules.mysql.commit_flush import commit_share

RULE = rule_of(commit_share)
