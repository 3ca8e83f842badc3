"""Breakdowns of a step: by workload of a mix, by phase, and for connections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loadstone.model.plan import MixMember, Phase
from loadstone.model.records import LatencyNs
from loadstone.model.result import (
    IdleConnections,
    LatencyMs,
    LatencyPair,
    MemberResult,
    PhaseResult,
    Window,
)
from loadstone.runs.aggregates import ExactLatency, MemberSums, Sums, add_up_each, by_number
from loadstone.runs.hlog import UNFINISHED
from loadstone.runs.steplog import StepLog

_NOTHING = LatencyNs()


def latency_pair(
    response: ExactLatency, service: ExactLatency, merged: Mapping[str, LatencyNs], of: str = ""
) -> LatencyPair:
    """Both latencies: quantiles from the merged histograms, the rest exact.

    `of` is the suffix of their names in the latency log.
    """
    exact = {"response": response, "service": service}
    return LatencyPair.model_validate(
        {name: _latency(each, merged, f"{name}{of}") for name, each in exact.items()}
    )


def _latency(exact: ExactLatency, merged: Mapping[str, LatencyNs], name: str) -> LatencyMs:
    """With the figures that depend on events without an end."""
    ended = LatencyMs.from_ns(exact.with_quantiles_of(merged.get(name, _NOTHING)))
    changed = merged.get(f"{UNFINISHED}{name}")
    return ended.changed(LatencyMs.from_ns(changed)) if changed else ended


def members_of(
    plan: Mapping[str, Any], sums: Sums, merged: Mapping[str, LatencyNs]
) -> tuple[MemberResult, ...]:
    """The workloads of a mix; empty if the step is not a mix, or nothing of it was measured."""
    asked = [MixMember.model_validate(one) for one in plan.get("mix") or ()]
    return tuple(
        _member(one, sums.members[one.name], sums.seconds, merged)
        for one in asked
        if one.name in sums.members
    )


def _member(
    asked: MixMember, sums: MemberSums, seconds: float, merged: Mapping[str, LatencyNs]
) -> MemberResult:
    counts, last = sums.total, sums.last
    assert last is not None  # there are sums, so a sample was added
    return MemberResult(
        name=asked.name,
        workload=asked.workload.name,
        users=asked.users,
        weight=asked.weight,
        tps=counts.events / seconds if seconds else None,
        qps=counts.queries / seconds if seconds else None,
        **counts.model_dump(exclude={"retried"}),
        errors=by_number(sums.errors),
        waiting=last.tally.waiting,
        latency=latency_pair(sums.response, sums.service, merged, f"-of-{asked.name}"),
        tally=last.tally,
    )


def phases_of(
    plan: Mapping[str, Any], log: StepLog, quantiles: Callable[[Window], Mapping[str, LatencyNs]]
) -> tuple[PhaseResult, ...]:
    """The phases that a step reached, in their order."""
    asked = [Phase.model_validate(one) for one in plan.get("phases") or ()]
    if not asked:
        return ()
    windows, begin = [], 0.0
    for phase in asked:
        end = begin + phase.seconds
        held = log.held_within(begin, end)
        windows.append(Window(from_s=begin, to_s=end, method="phase", held=held))
        begin = end
    summed = add_up_each(log.samples(), windows)
    return tuple(
        _phase(phase, window, sums, quantiles(window))
        for phase, window, sums in zip(asked, windows, summed, strict=True)
        if sums.last
    )


def _phase(
    asked: Phase, window: Window, sums: Sums, merged: Mapping[str, LatencyNs]
) -> PhaseResult:
    counts = sums.total
    fields = {"events", "failed", "restarts", "skipped", "reconnects"}
    return PhaseResult(
        name=asked.name,
        from_s=window.from_s,
        to_s=sums.last.to_s if sums.last else window.to_s,
        users=asked.users,
        rate=asked.rate,
        **counts.model_dump(include=fields),
        tps=counts.events / sums.seconds if sums.seconds else None,
        qps=counts.queries / sums.seconds if sums.seconds else None,
        errors=by_number(sums.errors),
        latency=latency_pair(sums.response, sums.service, merged),
    )


def idle_of(plan: Mapping[str, Any], sums: Sums) -> IdleConnections | None:
    """The idle connections; `None` if none were asked for, or none were seen."""
    asked = (plan.get("drive") or {}).get("idle")
    return IdleConnections(asked=asked, **sums.idle.model_dump()) if asked and sums.idle else None


def connect_of(merged: Mapping[str, LatencyNs]) -> LatencyMs | None:
    """Time to connect, of connections opened in the window; `None` if there were none."""
    return LatencyMs.from_ns(merged["connect"]) if "connect" in merged else None
