"""What the steps of a trial show, and how that changes its finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from analyse.made import a_step
from diagnose.healthy import Made, a_case
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.trial_verdict import Tried, cost_of, parts_of, proofs_of
from loadstone.diagnosis.trials import warm
from loadstone.experiments.schedule import schedule
from loadstone.experiments.trials import Ground, Timing, experiment_of
from loadstone.model.experiment import SandboxChoice
from loadstone.model.finding import Finding, Proof, Setting, Trial
from loadstone.model.message import say
from loadstone.model.plan import Step
from loadstone.model.result import TargetShare
from loadstone.report.findings import as_renderable, proved
from loadstone.report.text import as_plain
from loadstone.report.wrapping import UNLIMITED
from recorded import a_plan

TLS = Trial(
    kind="client",
    settings=(Setting(name="tls", before="TLSv1.3", value="disabled"),),
    subject=say("TLS"),
)
LOG = Trial(
    kind="dynamic",
    settings=(Setting(name="general_log", before="ON", value="OFF"),),
    subject=say("the general log"),
)
POOL = Trial(
    kind="start",
    settings=(Setting(name="thread_handling", before="a", value="pool-of-threads"),),
    subject=say("a thread for each connection"),
)
USERS = Trial(
    kind="users",
    settings=(Setting(name="concurrency", before="8", value="32"),),
    subject=say("having so few users"),
)
NOISE = (0.0, 0.004, -0.003, 0.002, -0.004, 0.001, 0.003, -0.002)


def finding(cause: str = "tls", trial: Trial = TLS) -> Finding:
    return Finding(
        cause=cause,
        group="setting",
        sentence=say("All connections are encrypted."),
        evidence=(),
        share=0.3,
        confidence=0.6,
        remedy=say("Connect without."),
        trial=trial,
    )


Machine = Callable[[Step], float]
"""Events a second of a step."""


def tried(
    machine: Machine,
    trial: Trial = TLS,
    *,
    units: int = 6,
    client_bound: bool | None = False,
    before: tuple[float, ...] = (),
) -> Tried:
    """A trial whose steps do what the machine says, with a little noise."""
    plan = a_plan(ladder=(8,))
    ground = Ground(plan, plan.targets[0], SandboxChoice(server="mariadb"), may_change=True)
    spent = Timing(units, 2.0, 1.0, 60.0, 80.0)
    experiment = experiment_of("tls", trial, 8, ground, spent)
    steps = []
    for planned in schedule(experiment):
        step = planned.step
        made = a_step(
            users=step.concurrency, tps=machine(step) * (1 + NOISE[step.number % len(NOISE)])
        )
        cost = made.generator.model_copy(update={"client_bound": client_bound})
        told = {"step": step.number, "variant": step.variant, "repeat": step.repeat}
        steps.append(made.model_copy(update={**told, "generator": cost}))
    return Tried(
        finding=finding(trial=trial),
        trial=trial,
        ladder=("default", "oltp_read_write"),
        users=8,
        experiment=experiment,
        steps=tuple(steps),
        at="2026-01-02T03:04:05+00:00",
        seconds=50.0,
        folder="proofs/tls-x",
        before=before,
    )


def faster_by(share: float) -> Machine:
    return lambda step: 1000 * (1 + share * step.variant.endswith("changed"))


def one(each: Tried) -> Proof:
    (proof,) = proofs_of([each])
    return proof


def test_an_effect_is_told_as_a_cost_with_its_interval() -> None:
    proof = one(tried(faster_by(0.45)))
    assert proof.verdict == "proven"
    assert proof.change == pytest.approx(0.45, abs=0.01)
    assert proof.cost == pytest.approx(0.31, abs=0.01)
    assert proof.cost_low is not None and proof.cost_high is not None
    assert proof.cost_low < 0.31 < proof.cost_high
    assert (proof.units, proof.left_out, proof.confidence) == (6, {}, 0.95)
    assert proof.sentence.startswith("TLS costs 31 % ± 0.")
    assert "with tls=disabled in place of TLSv1.3, 8 users do 1,45" in proof.sentence
    assert "; 95 %: +4" in proof.sentence and "6 rounds" in proof.sentence


def test_a_trial_whose_time_was_up_says_after_how_many_steps() -> None:
    each = tried(faster_by(0.45))
    proof = one(replace(each, steps=each.steps[:4], planned=len(each.steps)))
    assert (proof.verdict, proof.units) == ("not enough evidence", 1)
    assert "; it ended after 4 of 24 steps: a longer --prove-time runs them all)." in proof.sentence


def test_the_cost_is_the_share_that_is_missing() -> None:
    assert cost_of(1.0) == pytest.approx(0.5)
    assert cost_of(0.0) == 0.0
    assert cost_of(None) is None


def test_no_effect_refutes() -> None:
    proof = one(tried(faster_by(0.0), LOG))
    assert proof.verdict == "refuted"
    assert proof.sentence.startswith("general_log=OFF in place of ON has no effect within 3 % (")


def test_a_slower_server_refutes_as_well() -> None:
    proof = one(tried(faster_by(-0.2), LOG))
    assert proof.verdict == "refuted"
    assert "with general_log=OFF in place of ON the rate falls (-20.0 %" in proof.sentence


@pytest.mark.parametrize(
    ("spread", "more"), [(15.0, "rounds more would be enough"), (400.0, "quieter")]
)
def test_noise_is_not_enough_evidence_and_says_what_would_be_enough(
    spread: float, more: str
) -> None:
    proof = one(tried(lambda step: 1000.0 + spread * (step.number * 7 % 5), units=3))
    assert proof.verdict == "not enough evidence"
    assert proof.more is not None and proof.more > 0
    assert more in proof.sentence
    assert (f"{proof.more:,} rounds" in proof.sentence) == (proof.more <= 100)


def test_units_in_which_the_generator_was_the_limit_do_not_count() -> None:
    proof = one(tried(faster_by(0.5), client_bound=True))
    assert proof.verdict == "not enough evidence"
    assert proof.left_out == {"client-bound": 6}
    assert proof.sentence == "no unit counts (6 client-bound)."
    shards = Setting(name="shards", before="1", value="2")
    of_generator = Trial(kind="client", settings=(shards,), subject=say("so few event loops"))
    assert one(tried(faster_by(0.5), of_generator, client_bound=True)).verdict == "proven"


def test_more_users_are_compared_though_they_are_no_variant() -> None:
    proof = one(tried(lambda step: 100.0 * step.concurrency, USERS))
    assert (proof.verdict, proof.users) == ("proven", 8)
    assert proof.change == pytest.approx(3.0, abs=0.1)
    assert "with concurrency=32 in place of 8 there are 3,2" in proof.sentence


def test_blocks_are_the_units_where_a_restart_is_needed() -> None:
    proof = one(tried(faster_by(0.3), POOL, units=4))
    assert (proof.verdict, proof.units) == ("proven", 4)
    assert "4 pairs of blocks" in proof.sentence


def test_what_cannot_be_had_back_is_compared_with_the_run_itself() -> None:
    cold = (690.0, 705.0, 715.0, 690.0)
    proof = one(tried(lambda step: 1000.0, warm(), units=4, before=cold))
    assert (proof.verdict, proof.units) == ("proven", 4)
    assert proof.cost == pytest.approx(0.3, abs=0.02)
    assert proof.sentence.startswith("the cold buffer pool costs 30 % ± ")
    assert "4 windows after the run's own, not alternating" in proof.sentence
    assert one(tried(lambda step: 700.0, warm(), units=4, before=cold)).verdict == "refuted"
    nothing = one(tried(lambda step: 700.0, warm(), units=4))
    assert (nothing.verdict, nothing.tps_before) == ("not enough evidence", None)


def test_a_window_is_taken_apart_evenly() -> None:
    assert parts_of([1.0, 3.0, 5.0, 7.0], 2) == (2.0, 6.0)
    assert parts_of([1.0, 2.0, 3.0, 4.0, 5.0], 2) == (1.5, 4.0)
    assert parts_of([1.0, 2.0], 4) == (1.0, 2.0)
    assert parts_of([], 4) == ()


def test_what_it_costs_to_keep_is_said_with_the_gain() -> None:
    relaxed = LOG.model_copy(update={"costs": "commits may be lost"})
    assert one(tried(faster_by(0.3), relaxed)).sentence.endswith("If kept, commits may be lost.")


def test_chances_are_corrected_for_all_trials_together() -> None:
    alone = one(tried(faster_by(0.05), units=3))
    together = proofs_of([tried(faster_by(0.05), units=3)] * 4)[0]
    assert alone.p_value is not None and together.p_value is not None
    assert together.p_value == pytest.approx(4 * alone.p_value)


def logged(proof: Proof | None = None) -> Finding:
    """The first finding of a server that logs all statements and has idle cores."""
    case = a_case(Made(), variables={"general_log": "ON"})
    proofs = [proof] if proof else []
    return diagnosis_of(case, proofs).findings[0]


def of_log(machine: Machine, **changes: object) -> Proof:
    proof = one(tried(machine, LOG))
    return proof.model_copy(update={"cause": "general-log", **changes})


def test_a_proven_finding_is_surer() -> None:
    assert logged().cause == "general-log"
    assert logged().confidence < 0.95
    found = logged(of_log(faster_by(0.4)))
    assert (found.cause, found.confidence) == ("general-log", 0.95)
    assert found.proof is not None and found.proof.verdict == "proven"


def test_a_refuted_finding_is_no_answer() -> None:
    proof = of_log(faster_by(0.0))
    assert logged(proof).cause != "general-log"
    case = a_case(Made(), variables={"general_log": "ON"})
    last = diagnosis_of(case, [proof]).findings[-1]
    assert (last.cause, last.group, last.is_refuted) == ("general-log", "note", True)
    assert last.confidence <= 0.05


def test_a_remedy_without_effect_may_leave_the_cause_as_it_is() -> None:
    trial = LOG.model_copy(update={"refutes": False})
    found = logged(of_log(faster_by(0.0), trial=trial))
    assert (found.cause, found.group) == ("general-log", "setting")
    assert one(tried(faster_by(0.0), trial)).sentence.endswith("no remedy; the cause stands.")


def test_a_proof_of_another_change_or_ladder_says_nothing() -> None:
    assert logged(of_log(faster_by(0.4), trial=TLS)).proof is None
    assert logged(of_log(faster_by(0.4), workload="oltp_insert")).proof is None


def test_targets_that_were_not_judged_are_named() -> None:
    urls = [f"mysql://bench@db{number}/sbtest" for number in (1, 2, 3)]
    shares = tuple(
        TargetShare(
            target=url,
            server_version=None,
            events=1,
            queries=1,
            errors=0,
            connect_failures=0,
            users=1,
        )
        for url in urls
    )
    found = diagnosis_of(a_case(Made(step={"targets": shares})))
    assert found.not_judged == tuple(urls[1:])
    said = f"judged by the first of 3 targets alone; not: {urls[1]}, {urls[2]}"
    assert as_plain(as_renderable([found])).splitlines()[-1] == said
    assert "judged" not in as_plain(
        as_renderable([diagnosis_of(a_case(Made(step={"targets": shares[:1]})))])
    )


def test_the_text_shows_the_proof_in_place_of_what_to_try() -> None:
    proof = of_log(faster_by(0.4))
    case = a_case(Made(), variables={"general_log": "ON"})
    text = as_plain(as_renderable([diagnosis_of(case, [proof])], [proof]), UNLIMITED)
    assert f"      proven: {proof.sentence} (2026-01-02)" in text
    assert "to prove: SET GLOBAL general_log" not in text
    assert "\nproof " not in text
    gone = as_plain(as_renderable([diagnosis_of(a_case(Made()))], [proof]), UNLIMITED)
    assert "\n".join(proved([proof])) in gone, "a proof of what is not found any more is kept"
