"""A diagnosis as text: the answer first, then each finding with what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.diagnose.unexplained import NOT_OBSERVED
from loadstone.model.finding import Diagnosis, Evidence, Finding, NotTried, Proof, Trial
from loadstone.report.numbers import digits, number_of, share

_INDENT = "      "
_FEW = 6
"""So many causes that were not evaluated are told one by one."""


def as_text(
    found: Sequence[Diagnosis], proofs: Sequence[Proof] = (), not_tried: Sequence[NotTried] = ()
) -> str:
    """All diagnoses of a run, with proofs of what the rules of today do not find any more, too.

    `not_tried`: findings whose trial was not carried out just now.
    """
    if not found:
        return "No step has figures to explain.\n"
    lines = [line for each in found for line in _lines(each, titled=len(found) > 1)]
    shown = [finding.proof for each in found for finding in each.findings if finding.proof]
    lines += proved([proof for proof in proofs if proof not in shown])
    lines += not_tried_lines(not_tried)
    return "\n".join(lines) + "\n"


def not_tried_lines(not_tried: Sequence[NotTried]) -> Iterator[str]:
    """A line each, with why."""
    yield from (f"not tried  {one.cause}: {one.why}" for one in not_tried)


def proved(proofs: Sequence[Proof]) -> Iterator[str]:
    """A line a proof."""
    yield from (f"proof {one.cause}: {proof_text(one)}" for one in proofs)


def answer(found: Sequence[Diagnosis]) -> Iterator[str]:
    """A sentence a ladder, for the end of a run's own text; none where too little was seen."""
    for each in found:
        if each.findings[0].cause == NOT_OBSERVED:
            continue
        title = f"{each.variant}, {each.workload}: " if len(found) > 1 else ""
        yield f"why   {title}{each.answer}"


def _lines(found: Diagnosis, *, titled: bool) -> Iterator[str]:
    if titled:
        yield f"{found.variant}, {found.workload}"
    yield found.answer
    yield ""
    for number, finding in enumerate(found.findings, 1):
        yield from _finding(number, finding)
    yield from _not_evaluated(found)
    if found.not_judged:
        others = ", ".join(found.not_judged)
        yield f"judged by the first of {len(found.not_judged) + 1} targets alone; not: {others}"


def _finding(number: int, finding: Finding) -> Iterator[str]:
    explains = f", explains {share(finding.share)}" if finding.share is not None else ""
    yield (
        f"{number:>2}  {finding.cause} ({finding.group}{explains}, "
        f"{share(finding.confidence)} sure)"
    )
    yield f"{_INDENT}{finding.sentence}"
    yield from (f"{_INDENT}- {_evidence(one)}" for one in finding.evidence)
    yield f"{_INDENT}remedy: {finding.remedy}"
    if finding.proof:
        yield f"{_INDENT}{proof_text(finding.proof)}"
    elif finding.trial:
        yield f"{_INDENT}to prove: {trial_text(finding.trial)}"
    elif finding.untried:
        yield f"{_INDENT}to prove: {finding.untried}"
    yield ""


def trial_text(trial: Trial) -> str:
    """What to change, as a person writes it."""
    first = trial.settings[0]
    each = ", ".join(f"{one.name}={one.value}" for one in trial.settings)
    match trial.kind:
        case "client" if first.name == "prepared":
            return "run again without --text"
        case "client" if first.name == "connect":
            return "run again over the unix socket"
        case "client":
            return f"run again with --{first.name} {first.value}"
        case "dynamic":
            return f"SET GLOBAL {each}, and run again"
        case "start":
            return f"start the server with {each}, and run again"
        case "users":
            return f"run again with --concurrency {first.value}"
        case "again":
            return "run again: what the load reads is in the buffer pool by now"


def proof_text(proof: Proof) -> str:
    """`proven: TLS costs 31 % ± 4 % of the rate: ...`, and when it was tried."""
    return f"{proof.verdict}: {proof.sentence} ({proof.at[:10]})"


def _evidence(one: Evidence) -> str:
    limit = f" (threshold {digits(one.threshold)})" if one.threshold is not None else ""
    seconds = f", {one.from_s:g} to {one.to_s:g} s" if one.from_s is not None else ""
    unit = f" {one.unit}" if one.unit else ""
    return (
        f"{one.counter} {digits(one.value)}{unit}{limit}, {number_of(one.users, 'user')}{seconds}"
    )


def _not_evaluated(found: Diagnosis) -> Iterator[str]:
    """By what is missing, the causes that need it."""
    needed: dict[str, list[str]] = {}
    for one in found.not_evaluated:
        needed.setdefault(one.needs, []).append(one.cause)
    for needs, causes in list(needed.items())[:_FEW]:
        yield f"not evaluated, for want of {needs}: {', '.join(causes)}"
    rest = sum(len(causes) for causes in list(needed.values())[_FEW:])
    if rest:
        yield f"not evaluated: {number_of(rest, 'cause')} more (--json lists them)"
