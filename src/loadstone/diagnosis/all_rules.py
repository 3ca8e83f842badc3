"""All rules, by the family of the measured server."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis import rules
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rule_files import rules_in
from loadstone.diagnosis.rules import mysql, postgresql
from loadstone.model.error_codes import MYSQL, POSTGRESQL

COMMON_RULES: tuple[Rule, ...] = rules_in(rules)
"""Rules for any server."""

RULES_OF: Mapping[str, tuple[Rule, ...]] = {
    MYSQL: (*COMMON_RULES, *rules_in(mysql)),
    POSTGRESQL: (*COMMON_RULES, *rules_in(postgresql)),
}
