"""All rules: for hosts, networks and the generator, and for each server family.

The order only matters where two findings have the same weight.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules import (
    client_bound,
    cpu_bound,
    disk_cap,
    latency_bound,
    line_full,
    neighbour,
    packet_loss,
    paused,
    swapping,
    throttled,
    tls,
)
from loadstone.diagnosis.rules.mysql import MYSQL_RULES
from loadstone.model.error_codes import MYSQL

COMMON_RULES: tuple[Rule, ...] = (
    client_bound.RULE,
    neighbour.RULE,
    neighbour.STEAL_RULE,
    swapping.RULE,
    paused.RULE,
    throttled.RULE,
    throttled.PINNED_RULE,
    cpu_bound.RULE,
    cpu_bound.ONE_CORE_RULE,
    line_full.RULE,
    disk_cap.RULE,
    packet_loss.RULE,
    tls.RULE,
    latency_bound.RULE,
)
"""Rules for any server."""

RULES_OF: Mapping[str, tuple[Rule, ...]] = {MYSQL: (*COMMON_RULES, *MYSQL_RULES)}
"""By the family of the measured server."""
