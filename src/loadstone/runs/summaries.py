"""Computes the numbers people quote from a step's records: pure, and used for every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from loadstone.model.account import Account
from loadstone.model.error_codes import MYSQL
from loadstone.model.figure import Number
from loadstone.model.message import Message, say
from loadstone.model.observed import SHARED_HOST, Role, SourceName, SourceState, read_of
from loadstone.model.plan import WATCHED
from loadstone.model.records import LatencyNs
from loadstone.model.result import (
    CLIENT_BOUND_SHARE,
    CLIENT_LATE_SHARE,
    FLIGHT,
    ErrorExample,
    GeneratorCost,
    HostFigures,
    LatencyMs,
    LevelChange,
    ObservedTarget,
    OutageLine,
    ServerFigures,
    StepResult,
    TargetShare,
    Window,
)
from loadstone.runs.account import Driven, account_of, driven
from loadstone.runs.account_course import CourseSums, RatedSeconds
from loadstone.runs.aggregates import Sums, add_up, by_number
from loadstone.runs.breakdowns import connect_of, idle_of, latency_pair, members_of, phases_of
from loadstone.runs.generators import generator_shares
from loadstone.runs.journal import RunBegin
from loadstone.runs.rate_interval import half_width
from loadstone.runs.source_figures import (
    SourceSums,
    host_figures,
    observing_cost,
    server_figures,
    sums_of,
    too_coarse,
)
from loadstone.runs.steplog import StepLog
from loadstone.runs.timeline import timeline_of

Quantiles = Callable[[Window], Mapping[str, LatencyNs]]
"""Latencies of a window, from the latency log: by `response`, `read`, `error-1213` and so on."""


def summarise(log: StepLog, run: RunBegin, quantiles: Quantiles) -> StepResult:
    """The step's row in result.json."""
    window = log.window or _watched_window(log)
    sums = add_up(log.samples(), window)
    merged = quantiles(window) if window else {}
    counts, seconds = sums.total, sums.seconds
    settled = log.end.settled if log.end else None
    observed, silent = _observed(log, run, sums, window, merged)
    return StepResult(
        step=log.step.number,
        variant=log.step.variant,
        workload=log.step.workload,
        concurrency=log.step.concurrency,
        rate=log.step.rate,
        repeat=log.step.repeat,
        state=log.state,
        error=log.end.error if log.end else None,
        started_at=utc(run.unix_s + log.begin.at_s),
        seconds=seconds,
        window=window,
        steady=settled.steady if settled else None,
        tps=counts.events / seconds if seconds else None,
        tps_half_width=half_width(sums.rates),
        qps=counts.queries / seconds if seconds else None,
        **counts.model_dump(exclude={"retried"}),
        errors=by_number(sums.errors),
        errors_outside=by_number(sums.errors_outside),
        error_examples=_examples(log),
        connect_failures=_connect_failures(log, sums),
        latency=latency_pair(sums.response, sums.service, merged),
        statements=_of_classes(merged),
        kinds=_of_kinds(merged),
        connect=connect_of(merged),
        idle=idle_of(run.plan, sums),
        members=members_of(run.plan, sums, merged),
        phases=phases_of(run.plan, log, quantiles),
        tpmc=_tpmc(log, merged, seconds),
        error_latency=_of_errors(merged),
        waiting=sums.last.tally.waiting if sums.last else 0,
        users=sums.last.users if sums.last else 0,
        encrypted_users=log.connected.encrypted_users if log.connected else None,
        tls=log.connected.tls if log.connected else None,
        compressed_users=log.connected.compressed_users if log.connected else None,
        compression=log.connected.compression if log.connected else None,
        connect_seconds=log.connected.seconds if log.connected else None,
        tally=log.tally,
        tally_balances=log.unbalanced is None if log.tally else None,
        outages=tuple(OutageLine(**outage.model_dump(exclude={"kind"})) for outage in log.outages),
        timeline=timeline_of(log.samples, log.step.concurrency, _family(run))
        if _is_drill(run)
        else None,
        ledger=log.ledger,
        targets=_shares(run, sums),
        generator=_generator(log, run, sums, merged),
        generators=generator_shares(log.generators, sums.generators, sums.seconds),
        **observed,
        hot_spots=log.hot_spots,
        changes=tuple(log.changes),
        held=tuple(log.held),
        notes=(*_notes(log, sums, merged), *silent),
    )


def _is_drill(run: RunBegin) -> bool:
    """Whether the run was asked to report users' pauses."""
    drive = run.plan.get("drive")
    return isinstance(drive, dict) and drive.get("pauses_s") is not None


def _family(run: RunBegin) -> str:
    """The family of the run's servers, which a plan does not write if it is the first one."""
    targets = run.plan.get("targets")
    first = targets[0] if isinstance(targets, list) and targets else None
    return str(first.get("family", MYSQL)) if isinstance(first, dict) else MYSQL


def _watched_window(log: StepLog) -> Window | None:
    """The window of a killed step without load: everything that was observed."""
    if log.connected is not None:
        return None
    times = [(seen.from_s, seen.to_s) for seen in log.observations()]
    if not times:
        return None
    begin, end = min(begin for begin, _ in times), max(end for _, end in times)
    return Window(from_s=begin, to_s=end, method="watched")


def _observed(
    log: StepLog,
    run: RunBegin,
    sums: Sums,
    window: Window | None,
    merged: Mapping[str, LatencyNs],
) -> tuple[dict[str, Any], list[Message]]:
    """The fields computed from servers and hosts, and why some of these say nothing."""
    course = _course(log, run, sums, window) if window else None
    sources = (
        sums_of(log.observations(), log.load_began_s, window, course.add if course else None)
        if window
        else {}
    )
    reasons = {name: too_coarse(found, window) for name, found in sources.items()} if window else {}
    notes = [
        say("{what} not evaluated: {why}", what=read_of(name), why=why)
        for name, why in reasons.items()
        if why
    ]
    sources = {name: found for name, found in sources.items() if not reasons[name]}
    rate = sums.total.events / sums.seconds if sums.seconds else None
    facts = log.source_facts

    def server(target: int) -> ServerFigures | None:
        name = SourceName(role="server", target=target)
        found = sources.get(name)
        looked = sources.get(SourceName(role="sessions", target=target))
        return server_figures(found, facts.get(str(name), {}), rate, looked) if found else None

    def host(role: Role, target: int = 0) -> HostFigures | None:
        name = SourceName(role=role, target=target)
        found = sources.get(name)
        return host_figures(found, facts.get(str(name), {}), rate) if found else None

    account = _account(log, run, sums, merged, sources)
    if account and course:
        load = _driven(log, run, sums, merged)
        course_fields = {"slow": course.slow(load), "course": course.course(load)}
        account = account.model_copy(update=course_fields)
    others = tuple(
        ObservedTarget(target=url, server=server(number), host=host("server-host", number))
        for number, url in enumerate(run.targets)
        if number
    )
    fields = {
        "server": server(0),
        "host": host("server-host"),
        "generator_host": host(_generators_host(facts)),
        "other_targets": others,
        "observing": observing_cost(sources),
        "account": account,
    }
    return fields, notes


def _account(
    log: StepLog,
    run: RunBegin,
    sums: Sums,
    merged: Mapping[str, LatencyNs],
    sources: Mapping[SourceName, SourceSums],
) -> Account | None:
    """Where the users' time went; `None` unless the sessions of all servers were looked at."""
    names = [SourceName(role="sessions", target=number) for number in range(len(run.targets))]
    looked = [sources[name] for name in names if name in sources]
    if len(looked) < len(names) or not sums.seconds or log.step.workload == WATCHED:
        return None
    facts = [log.source_facts.get(str(name), {}) for name in names]
    load = _driven(log, run, sums, merged)
    hosts = [sources.get(SourceName(role="server-host", target=name.target)) for name in names]
    return account_of(load, looked, facts, hosts)


def _driven(log: StepLog, run: RunBegin, sums: Sums, merged: Mapping[str, LatencyNs]) -> Driven:
    return driven(log.step, sums.seconds, sums.cpu_us / 1e6, run.plan, merged)


def _course(log: StepLog, run: RunBegin, sums: Sums, window: Window) -> CourseSums | None:
    """Adds up the account by seconds; `None` where there is no load of ours."""
    if log.step.workload == WATCHED or not sums.spans:
        return None
    rate = log.step.rate
    is_even = not run.plan.get("phases") and (rate is None or rate.to is None)
    due = sums.due_rates if rate else None
    seconds = RatedSeconds.of(sums.spans, sums.rates, due, is_even=is_even)
    return CourseSums(seconds, window, log.source_facts.get("server-host", {}))


def _generators_host(facts: Mapping[str, Mapping[str, str]]) -> Role:
    """The source for this machine: the server's host if they are the same."""
    shared = facts.get("server-host", {}).get(SHARED_HOST) == "yes"
    return "server-host" if shared else "generator-host"


def utc(unix_s: float) -> str:
    """A time in the format of result.json."""
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds")


def _examples(log: StepLog) -> dict[str, ErrorExample]:
    return {
        error.code: ErrorExample(message=error.message, statement=error.statement)
        for error in log.first_errors
    }


def _connect_failures(log: StepLog, sums: Sums) -> dict[str, int]:
    before = Counter(log.connected.connect_failures if log.connected else {})
    return by_number(before + sums.connect_failures_anywhere)


def _of_classes(merged: Mapping[str, LatencyNs]) -> dict[str, LatencyMs]:
    classes = ("read", "write", "other", FLIGHT)
    return {name: LatencyMs.from_ns(merged[name]) for name in classes if name in merged}


def _of_kinds(merged: Mapping[str, LatencyNs]) -> dict[str, LatencyMs]:
    return {
        name.removeprefix("kind-"): LatencyMs.from_ns(latency)
        for name, latency in sorted(merged.items())
        if name.startswith("kind-")
    }


def _tpmc(log: StepLog, merged: Mapping[str, LatencyNs], seconds: float) -> float | None:
    """New-Orders per minute; `None` for any workload but TPC-C."""
    if log.step.workload != "tpcc" or not seconds:
        return None
    orders = merged.get("kind-new_order", LatencyNs())
    return orders.count * 60.0 / seconds


def _of_errors(merged: Mapping[str, LatencyNs]) -> dict[str, LatencyMs]:
    return {
        name.removeprefix("error-"): LatencyMs.from_ns(latency)
        for name, latency in sorted(merged.items())
        if name.startswith("error-")
    }


def _generator(
    log: StepLog, run: RunBegin, sums: Sums, merged: Mapping[str, LatencyNs]
) -> GeneratorCost:
    if sums.last is None or not sums.seconds or not sums.last.generator.shards:
        return GeneratorCost.model_validate(dict.fromkeys(GeneratorCost.model_fields))
    queries = sums.total.queries
    shards = sums.last.generator.shards
    could_us = 1e6 * shards * sums.seconds
    ceiling = _ceiling_qps(log, run, shards)
    shares = {
        "cpu_share": sums.cpu_us / could_us,
        "ceiling_share": queries / sums.seconds / ceiling if ceiling else None,
    }
    dispatch_us = _p99_us(merged.get("dispatch"))
    return GeneratorCost(
        cpu_us_per_query=sums.cpu_us / queries if queries else None,
        late_p99_us=_p99_us(merged.get("late")),
        dispatch_p99_us=dispatch_us,
        held_p99_us=_p99_us(merged.get("held")),
        run_delay_share=None if sums.run_delay_us is None else sums.run_delay_us / could_us,
        shards=shards,
        ceiling_qps=ceiling,
        **shares,
        client_bound=any((share or 0.0) > CLIENT_BOUND_SHARE for share in shares.values())
        or _is_late(dispatch_us, _p99_us(merged.get("response")))
        or any(each.is_saturated for each in sums.generators.values()),
    )


def _ceiling_qps(log: StepLog, run: RunBegin, shards: int) -> float | None:
    """The maximum for so many event loops, each with its own core."""
    # The ceiling does not apply to compressed connections: it would be far too high.
    if run.ceilings is None or (log.connected and log.connected.compressed_users):
        return None
    encrypted = bool(log.connected and log.connected.encrypted_users)
    of_core = run.ceilings.queries_per_core(encrypted=encrypted)
    return of_core * shards if of_core else None


def _is_late(own_us: float | None, response_us: float | None) -> bool:
    return bool(own_us and response_us and own_us > CLIENT_LATE_SHARE * response_us)


def _p99_us(latency: LatencyNs | None) -> float | None:
    return latency.p99 / 1000 if latency and latency.p99 is not None else None


def _shares(run: RunBegin, sums: Sums) -> tuple[TargetShare, ...]:
    return tuple(
        TargetShare(target=target, server_version=version, **sums.target(index).model_dump())
        for index, (target, version) in enumerate(
            zip(run.targets, run.server_versions, strict=True)
        )
    )


def _change_note(change: LevelChange) -> Message:
    told = {"at": round(change.at_s), "value": Number(change.value)}
    if change.what == "users":
        return say(
            "changed by hand at {at} s: {value} users from then on; the figures are of the seconds "
            "before",
            **told,
        )
    return say(
        "changed by hand at {at} s: {value} events/s due from then on; the figures are of the "
        "seconds before",
        **told,
    )


def _held_notes(log: StepLog) -> list[Message]:
    """One note for all times in which the load was held back, as there may be many."""
    if not log.held:
        return []
    last_s = max((sample.to_s for sample in log.samples()), default=0.0)
    parts = log.held_within(0.0, max(last_s, log.held[-1].from_s))
    seconds = sum(end - begin for begin, end in parts)
    which = ", ".join(dict.fromkeys(each.condition for each in log.held))
    return [
        say(
            "held back for {seconds} s of the load by --max-load '{conditions}': these seconds are "
            "in no figure, and what the server did between them is not its capacity",
            seconds=round(seconds),
            conditions=which,
        )
    ]


def _source_note(state: SourceState, load_began_s: float) -> Message:
    told = {"what": read_of(state.source), "at": max(round(state.at_s - load_began_s), 0)}
    if state.lost:
        return say(
            "{what} could not be read from {at} s of the load on: {why}", **told, why=state.why
        )
    return say("{what} could be read again from {at} s of the load on", **told)


def _in_clear(log: StepLog) -> Iterator[Message]:
    """Connections that were to be encrypted if that were possible, and are not."""
    if log.connected and log.connected.why_in_clear:
        yield say(
            "not encrypted, although the server offers TLS: {why}. `--tls-version TLSv1.1` allows "
            "what the oldest servers speak",
            why=log.connected.why_in_clear,
        )
    if log.connected and log.connected.refused_over_tls:
        yield say(
            "not encrypted: the server refuses logins over TLS ({why}), and takes them without",
            why=log.connected.refused_over_tls,
        )


def _notes(log: StepLog, sums: Sums, merged: Mapping[str, LatencyNs]) -> tuple[Message, ...]:
    notes = [
        *_in_clear(log),
        *map(_change_note, log.changes),
        *_held_notes(log),
        *log.notes,
        *(_source_note(state, log.load_began_s) for state in log.source_states),
    ]
    if log.unbalanced:
        notes.append(
            say("error: the counters of the generator do not add up ({what})", what=log.unbalanced)
        )
    recorded, kept = sums.response.count, merged.get("response", LatencyNs()).count
    if recorded != kept:
        notes.append(
            say(
                "latency.hlog holds {kept} of the window's {all} response times; the percentiles "
                "are of those",
                kept=kept,
                all=recorded,
            )
        )
    return tuple(notes)
