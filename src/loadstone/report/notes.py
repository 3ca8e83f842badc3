"""What to know before quoting a step's numbers, one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from loadstone.analyse.cores import interrupt_cores, other_cores, process_cores
from loadstone.model.asked_rate import asked_per_second
from loadstone.model.figure import Count, Percent, Rate, Seconds
from loadstone.model.lost_connection import reason_said
from loadstone.model.message import Joined, Message, listed, say, user_count
from loadstone.model.observed import SHARED_HOST
from loadstone.model.plan import WATCHED
from loadstone.model.result import CLIENT_BOUND_SHARE, RunInfo, StepResult
from loadstone.report.grouped_notes import grouped
from loadstone.report.names import ERROR_MEANINGS, core_count, event_count
from loadstone.report.wall_time import wall_time_notes

_LATE_SHARE = 0.001
_HELD_SHARE = 0.1
WAITING_SHARE = 0.01
_DELAYED_SHARE = 0.1
_NAMED_SHARE = 0.01
_NEEDED_FOR_P95, _NEEDED_FOR_P99 = 20, 100
"""Of fewer events the percentile is the slowest of all."""


def run_notes(run: RunInfo) -> Iterator[Message]:
    """The notes from while it ran, and where its wall time went if much of it was not the load."""
    yield from run.notes
    yield from wall_time_notes(run.wall_time)


def notes_of(steps: Sequence[StepResult]) -> Iterator[Message]:
    """Each kind of note once, with the steps that it is about."""
    yield from of_the_cores(steps)
    named = ((_name(step), note) for step in steps for note in step_notes(step))
    yield from grouped(named, len(steps))


def of_the_cores(steps: Iterable[StepResult]) -> Iterator[Message]:
    """One line for all steps, since a lack of cores concerns the machine, not a step."""
    delays = [(step.generator.run_delay_share or 0.0, step) for step in steps]
    worst, step = max(delays, key=lambda pair: pair[0], default=(0.0, None))
    if step and worst > _DELAYED_SHARE:
        waited = {"share": Percent(worst), "step": _name(step)}
        programs = Joined(_on_its_cores(step))
        if not programs.parts:
            yield say(
                "the generator waited for a core for up to {share} of the time ({step}): that "
                "is part of the latencies",
                **waited,
            )
            return
        yield say(
            "the generator waited for a core for up to {share} of the time ({step}): that is "
            "part of the latencies; its host's cores went to: {programs}",
            **waited,
            programs=programs,
        )


def _on_its_cores(step: StepResult) -> Iterator[Message]:
    """Who used the cores of the generator's host, as shares of all of them, the most first."""
    is_shared = bool(step.host and step.host.facts.get(SHARED_HOST) == "yes")
    host = step.generator_host or (step.host if is_shared else None)
    if host is None or not host.cores or host.cpu_user is None or host.cpu_sys is None:
        return
    server = process_cores(step) or 0.0 if is_shared else 0.0
    own = (step.generator.cpu_share or 0.0) * (step.generator.shards or 0)
    busy = (host.cpu_user + host.cpu_sys) * host.cores
    others = other_cores(host, busy, server + own) / host.cores
    interrupts = interrupt_cores(host, busy, server + own) / host.cores
    steal = host.cpu_steal or 0.0
    used = (
        (server / host.cores, say("the server {share}", share=Percent(server / host.cores))),
        (own / host.cores, say("the generator {share}", share=Percent(own / host.cores))),
        (others, say("other programs {share}", share=Percent(others))),
        (interrupts, say("interrupts {share}", share=Percent(interrupts))),
        (steal, say("the hypervisor (steal) {share}", share=Percent(steal))),
    )
    for share, said in sorted(used, key=lambda pair: -pair[0]):
        if share >= _NAMED_SHARE:
            yield said


def step_notes(step: StepResult) -> Iterator[Message]:
    """Notes on disturbance by the client first, then on errors, then on what is only unusual."""
    yield from step.notes
    yield from _of_the_client(step)
    yield from _of_its_end(step)
    yield from _of_errors(step)
    yield from _of_idle(step)
    yield from _of_few(step)
    response, users = step.latency.response, step.concurrency
    if response.above_range:
        longest = Seconds((response.max or 0) / 1000)
        yield say(
            "{number} response times were above the range of one hour; the longest took {duration}",
            number=Count(response.above_range),
            duration=longest,
        )
    if step.encrypted_users not in (None, 0, users):
        yield say(
            "only {number} of {users} connections are encrypted",
            number=step.encrypted_users,
            users=users,
        )
    if step.compressed_users not in (None, 0, users):
        yield say(
            "only {number} of {users} connections are compressed",
            number=step.compressed_users,
            users=users,
        )


def _of_few(step: StepResult) -> Iterator[Message]:
    """Percentiles need events beyond them."""
    number = step.latency.response.count
    if 1 < number < _NEEDED_FOR_P95:
        yield say("only {events}: p95 and p99 are the slowest of them", events=event_count(number))
    elif 1 < number < _NEEDED_FOR_P99:
        yield say("only {events}: p99 is the slowest of them", events=event_count(number))


def drill_notes(step: StepResult) -> Iterator[Message]:
    """How long a drill's outages were, and the outcome of acknowledged writes."""
    for outage in step.timeline.outages if step.timeline else ():
        if outage.outage_ms is not None:
            yield say(
                "nobody was served for {milliseconds} ms from {begin} s on",
                begin=Rate(outage.last_success_s or 0.0),
                milliseconds=Rate(outage.outage_ms),
            )
        if outage.slowest_ms is not None:
            yield say(
                "in the outage from {begin} s on the slowest user waited {milliseconds} ms",
                begin=Rate(outage.from_s),
                milliseconds=Rate(outage.slowest_ms),
            )
    for verdict in step.ledger:
        yield say(
            "ledger at {target}: of {acknowledged} acknowledged entries {lost} lost, "
            "{doubled} doubled; of those in doubt {present} present, {absent} missing",
            target=verdict.target,
            acknowledged=Count(verdict.acknowledged),
            lost=Count(verdict.lost),
            doubled=Count(verdict.doubled),
            present=Count(verdict.in_doubt_present),
            absent=Count(verdict.in_doubt_absent),
        )


def _of_the_client(step: StepResult) -> Iterator[Message]:
    used = step.generator
    if used.client_bound:
        yield say("client-bound: {why}", why=_bound_by(step))
    held, answered = used.held_p99_us, step.latency.service.p99
    if held and answered and held / 1000 > _HELD_SHARE * answered:
        yield say(
            "answers waited up to {held} ms (p99) until the generator looked at "
            "them, which is {share} of the p99 shown",
            held=Rate(held / 1000),
            share=Percent(held / 1000 / answered),
        )
    if step.connects:
        yield say(
            "events wait for their new connection: response times contain the "
            "connecting, service times do not"
        )
    if step.rate:
        yield from _of_the_queue(step)
    elif step.connects:
        return
    elif step.due and step.late / step.due > _LATE_SHARE:
        yield say(
            "the generator started {share} of the events more than 1 ms late; response times "
            "contain that, service times do not",
            share=Percent(step.late / step.due),
        )


def _bound_by(step: StepResult) -> Message:
    used = step.generator
    cores = core_count(used.shards or 1)
    if used.cpu_share and used.cpu_share > CLIENT_BOUND_SHARE:
        return say(
            "the generator used {share} of {cores}; the rate is a floor, not the server's limit",
            share=Percent(used.cpu_share),
            cores=cores,
        )
    if used.ceiling_share and used.ceiling_share > CLIENT_BOUND_SHARE:
        return say(
            "the generator was at {share} of its maximum on {cores} ({rate} statements a second); "
            "the rate is a floor, not the server's limit",
            share=Percent(used.ceiling_share),
            cores=cores,
            rate=Rate(used.ceiling_qps),
        )
    saturated = next((each for each in step.generators if each.saturated), None)
    if saturated:
        return say(
            "generator {number} on {node} was saturated; the rate is a floor, not the server's "
            "limit",
            number=saturated.number,
            node=saturated.node,
        )
    own, share = (used.dispatch_p99_us or 0.0) / 1000, own_share(step)
    if share is None:
        return say(
            "the generator itself started events {late} ms late (p99); the tail of the "
            "response times is partly its own",
            late=Rate(own),
        )
    return say(
        "the generator itself started events {late} ms late (p99), which is {share} of the "
        "p99 shown; the tail of the response times is partly its own",
        late=Rate(own),
        share=Percent(share),
    )


def own_share(step: StepResult) -> float | None:
    """The generator's own lateness as a share of the p99 that is shown."""
    own_us, seen_ms = step.generator.dispatch_p99_us, step.latency.response.p99
    return (own_us or 0.0) / 1000 / seen_ms if seen_ms else None


def _of_the_queue(step: StepResult) -> Iterator[Message]:
    """Notes on events of an open loop that started late or not at all."""
    if step.waiting > WAITING_SHARE * step.due:
        yield say(
            "{events} still waited when the window ended: the queue grew",
            events=event_count(step.waiting),
        )
    if step.skipped:
        yield say(
            "{events} found the backlog full and were skipped", events=event_count(step.skipped)
        )


def _of_its_end(step: StepResult) -> Iterator[Message]:
    seconds = Seconds(step.seconds)
    if step.state == "failed":
        message = step.error.message if step.error else say("for an unknown reason")
        yield say("failed: {message}", message=message)
    elif step.state == "stopped" and step.workload != WATCHED:  # a watch has no other end
        yield say("stopped on request after {duration} of the window", duration=seconds)
    elif step.state == "interrupted":
        yield say("not finished; the figures are of the {duration} there are", duration=seconds)
    if step.steady is False:
        yield say("never settled: its rate counts in no mean; try a longer --duration")
    if step.steady is None and step.window and step.window.method not in ("fixed", "watched"):
        yield say("whether it settled was not evaluated: {method}", method=step.window.method)
    for outage in step.outages:
        if step.timeline and outage.to_s is not None:
            continue  # the timeline shows it, to the millisecond
        end = say("the step's end")
        if outage.to_s is not None:
            end = say("{second} s", second=Rate(outage.to_s))
        yield say(
            "outage from {begin} s to {end}, {users}: {reason}",
            begin=Rate(outage.from_s),
            end=end,
            users=user_count(outage.users),
            reason=reason_said(outage.reason),
        )


def _of_errors(step: StepResult) -> Iterator[Message]:
    if step.errors:
        clauses: list[Message] = [say("errors: {errors}", errors=by_code(step.errors))]
        if step.restarts:
            clauses.append(say("{events} retried", events=event_count(step.restarts)))
        if step.failed:
            clauses.append(say("{events} given up", events=event_count(step.failed)))
        yield say("{errors}", errors=Joined(clauses, "clauses"))
    if step.errors_outside:
        yield say(
            "errors before and after the window: {errors}",
            errors=by_code(step.errors_outside),
        )
    for number, example in step.error_examples.items():
        if number not in ERROR_MEANINGS:
            fields = {"number": number, "message": example.message}
            said = say("the first error {number}: {message}", **fields)
            if example.statement:
                said = say(
                    "the first error {number}: {message}, at {statement}",
                    statement=example.statement,
                    **fields,
                )
            yield said
    if step.connect_failures:
        yield say(
            "connection attempts that failed: {errors}",
            errors=by_code(step.connect_failures),
        )


def _of_idle(step: StepResult) -> Iterator[Message]:
    """Notes on idle connections, which are always reported."""
    if step.idle is None:
        return
    yield say(
        "{open} of {asked} idle connections were held alongside the users",
        open=Count(step.idle.open),
        asked=Count(step.idle.asked),
    )
    if step.idle.lost:
        yield say(
            "the server or the network closed {lost} idle connections, and {opened} were "
            "opened again",
            lost=Count(step.idle.lost),
            opened=Count(step.idle.opened),
        )


def by_code(errors: Mapping[str, int]) -> Joined:
    """`12 × 1213 deadlock, 1 × 1205 lock wait timeout`."""
    return Joined(_times(code, number) for code, number in errors.items())


def _times(code: str, number: int) -> Message:
    meaning = ERROR_MEANINGS.get(code)
    if meaning is None:
        return say("{times} × {code}", times=Count(number), code=code)
    return say("{times} × {code} {meaning}", times=Count(number), code=code, meaning=meaning)


def _name(step: StepResult) -> Message:
    parts = [user_count(step.concurrency)]
    if step.rate:
        parts.append(asked_per_second(step.rate))
    if step.repeat > 1:
        parts.append(say("repeat {number}", number=step.repeat))
    return listed(*parts)
