"""What a reader should know before quoting a step's numbers, one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from loadstone.model.numbers import asked, count, digits, duration, pct, rate
from loadstone.model.result import CLIENT_BOUND_SHARE, StepResult
from loadstone.report.words import ENGLISH, Messages, localize

_LATE_SHARE = 0.001
_HELD_SHARE = 0.1
WAITING_SHARE = 0.01
_DELAYED_SHARE = 0.1


def notes_of(steps: Iterable[StepResult], words: Messages = ENGLISH) -> Iterator[str]:
    """All lines, in the order of the steps."""
    steps = list(steps)
    yield from of_the_cores(steps, words)
    for step in steps:
        for line in step_notes(step, words):
            yield f"{_name(step, words)}{words.colon}{line}"


def of_the_cores(steps: Iterable[StepResult], words: Messages = ENGLISH) -> Iterator[str]:
    """One line for all steps: it is the machine that is short of cores, not a step."""
    delays = [(step.generator.run_delay_share or 0.0, step) for step in steps]
    worst, step = max(delays, key=lambda pair: pair[0], default=(0.0, None))
    if step and worst > _DELAYED_SHARE:
        yield words.note_cores.format(share=pct(worst), step=_name(step, words))


def step_notes(step: StepResult, words: Messages = ENGLISH) -> Iterator[str]:
    """What the client spoiled comes first, then what went wrong, then what is only unusual."""
    yield from (localize(note, words) for note in step.notes)
    yield from _of_the_client(step, words)
    yield from _of_its_end(step, words)
    yield from _of_errors(step, words)
    yield from _of_idle(step, words)
    response, users = step.latency.response, step.concurrency
    if response.above_range:
        longest = duration((response.max or 0) / 1000)
        yield words.note_above_range.format(number=count(response.above_range), duration=longest)
    if step.encrypted_users not in (None, 0, users):
        yield words.note_encrypted.format(number=step.encrypted_users, users=users)
    if step.compressed_users not in (None, 0, users):
        yield words.note_compressed.format(number=step.compressed_users, users=users)


def drill_notes(step: StepResult, words: Messages = ENGLISH) -> Iterator[str]:
    """How long a drill's outages were, and what became of acknowledged writes."""
    for outage in step.timeline.outages if step.timeline else ():
        if outage.outage_ms is not None:
            yield words.note_nobody_served.format(
                begin=digits(outage.last_success_s or 0.0), milliseconds=digits(outage.outage_ms)
            )
        if outage.slowest_ms is not None:
            yield words.note_slowest_user.format(
                begin=digits(outage.from_s), milliseconds=digits(outage.slowest_ms)
            )
    for verdict in step.ledger:
        yield words.note_ledger.format(
            target=verdict.target,
            acknowledged=count(verdict.acknowledged),
            lost=count(verdict.lost),
            doubled=count(verdict.doubled),
            present=count(verdict.in_doubt_present),
            absent=count(verdict.in_doubt_absent),
        )


def _of_the_client(step: StepResult, words: Messages) -> Iterator[str]:
    used = step.generator
    if used.client_bound:
        yield words.note_client_bound.format(why=_bound_by(step, words))
    held, answered = used.held_p99_us, step.latency.service.p99
    if held and answered and held / 1000 > _HELD_SHARE * answered:
        part = pct(held / 1000 / answered)
        yield words.note_held.format(held=rate(held), share=part)
    if step.connects:
        yield words.note_connects
    if step.rate:
        yield from _of_the_queue(step, words)
    elif step.connects:
        return
    elif step.due and step.late / step.due > _LATE_SHARE:
        late = pct(step.late / step.due)
        yield words.note_late.format(share=late, p99=rate(used.late_p99_us))


def _bound_by(step: StepResult, words: Messages) -> str:
    used = step.generator
    cores = words.cores_of(used.shards or 1)
    if used.cpu_share and used.cpu_share > CLIENT_BOUND_SHARE:
        return words.note_bound_by_cpu.format(share=pct(used.cpu_share), cores=cores)
    if used.ceiling_share and used.ceiling_share > CLIENT_BOUND_SHARE:
        return words.note_bound_by_ceiling.format(
            share=pct(used.ceiling_share), cores=cores, rate=rate(used.ceiling_qps)
        )
    saturated = next((each for each in step.generators if each.saturated), None)
    if saturated:
        return words.note_bound_by_generator.format(number=saturated.number, node=saturated.node)
    own, seen = (used.dispatch_p99_us or 0.0) / 1000, step.latency.response.p99
    part = words.note_part_of_p99.format(share=pct(own / seen)) if seen else ""
    return words.note_bound_by_lateness.format(late=rate(own), part=part)


def _of_the_queue(step: StepResult, words: Messages) -> Iterator[str]:
    """Open loop: what did not begin at all, or not within the window."""
    if step.waiting > WAITING_SHARE * step.due:
        yield words.note_waiting.format(events=words.events_of(step.waiting))
    if step.skipped:
        yield words.note_skipped.format(events=words.events_of(step.skipped))


def _of_its_end(step: StepResult, words: Messages) -> Iterator[str]:
    seconds = duration(step.seconds)
    if step.state == "failed":
        message = step.error.message if step.error else words.note_unknown_reason
        yield words.note_failed.format(message=message)
    elif step.state == "stopped":
        yield words.note_stopped.format(duration=seconds)
    elif step.state == "interrupted":
        yield words.note_interrupted.format(duration=seconds)
    if step.steady is False:
        yield words.note_unsettled
    if step.steady is None and step.window and step.window.method not in ("fixed", "watched"):
        yield words.note_settling_unknown.format(method=step.window.method)
    for outage in step.outages:
        if step.timeline and outage.to_s is not None:
            continue  # the timeline tells it, to the millisecond
        end = words.note_steps_end
        if outage.to_s is not None:
            end = words.note_second.format(second=digits(outage.to_s))
        yield words.note_outage.format(
            begin=digits(outage.from_s),
            end=end,
            users=words.users(outage.users),
            reason=outage.reason,
        )


def _of_errors(step: StepResult, words: Messages) -> Iterator[str]:
    if step.errors:
        said = words.note_errors.format(errors=by_code(step.errors, words))
        if step.restarts:
            said += words.note_begun_anew.format(events=words.events_of(step.restarts))
        if step.failed:
            said += words.note_given_up.format(events=words.events_of(step.failed))
        yield said
    if step.errors_outside:
        yield words.note_errors_outside.format(errors=by_code(step.errors_outside, words))
    for number, example in step.error_examples.items():
        if number not in words.error_meanings:
            said = words.note_first_error.format(number=number, message=example.message)
            if example.statement:
                said += words.note_at_statement.format(statement=example.statement)
            yield said
    if step.connect_failures:
        yield words.note_connect_failures.format(errors=by_code(step.connect_failures, words))


def _of_idle(step: StepResult, words: Messages) -> Iterator[str]:
    """Connections that say nothing are there for a reason: they are always told of."""
    if step.idle is None:
        return
    yield words.note_idle.format(open=count(step.idle.open), asked=count(step.idle.asked))
    if step.idle.lost:
        lost, opened = count(step.idle.lost), count(step.idle.opened)
        yield words.note_idle_lost.format(lost=lost, opened=opened)


def by_code(errors: Mapping[str, int], words: Messages = ENGLISH) -> str:
    """`12 × 1213 deadlock, 1 × 1205 lock wait timeout`."""
    return words.list_comma.join(
        f"{count(times)} × {number}" + (f" {meaning}" if meaning else "")
        for number, times in errors.items()
        for meaning in (words.error_meanings.get(number),)
    )


def _name(step: StepResult, words: Messages) -> str:
    parts = [words.users(step.concurrency)]
    if step.rate:
        parts.append(f"{asked(step.rate)}/s")
    if step.repeat > 1:
        parts.append(words.repeat_number.format(number=step.repeat))
    return words.list_comma.join(parts)
