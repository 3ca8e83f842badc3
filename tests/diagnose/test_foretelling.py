"""The rate that a finding's remedy is predicted to bring: when, how much, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from diagnose.examples import EXAMPLES
from diagnose.healthy import Made, a_case
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.foretelling import ENDED, PARTLY, with_foretold
from loadstone.diagnosis.trials import more_users
from loadstone.model.account import Account, AccountEntry, Place
from loadstone.model.ceilings import Ceiling, Resource, StepCeilings
from loadstone.model.finding import Claim, Finding, Proof, Setting, Trial
from loadstone.model.message import say
from loadstone.model.plan import Rate
from loadstone.model.predicted import Foretold
from loadstone.report.findings import answer, as_renderable, proof_text
from loadstone.report.text import as_plain
from loadstone.report.wrapping import UNLIMITED

TLS = Trial(
    kind="client",
    settings=(Setting(name="tls", before="TLSv1.3", value="disabled"),),
    subject=say("TLS"),
)
SHARES: dict[Place, float] = {"way": 0.5, "on core": 0.1, "log sync": 0.4}


def an_account(shares: dict[Place, float] = SHARES, users: int = 16) -> Account:
    entries = tuple(
        AccountEntry(
            place=place, users=users * share, share=share, known="counted", low=None, high=None
        )
        for place, share in shares.items()
    )
    return Account(
        users=users, seconds=10.0, view="threads", looks=200.0, entries=entries, unnamed=0.0,
        beyond=0.0,
    )  # fmt: skip


def the_case(**step: object) -> Case:
    """16 users, 1,000 events a second, 16 ms each."""
    return a_case(Made(step={"account": an_account(), **step}))


def the_finding(
    cause: str = "tls", trial: Trial | None = TLS, claims: Sequence[Claim] = ()
) -> Finding:
    return Finding(
        cause=cause, group="setting", sentence=say("All connections are encrypted."), evidence=(),
        share=0.3, confidence=0.6, remedy=say("Connect without."), trial=trial,
        claims=tuple(claims) or (Claim(place="way", share=0.2), Claim(place="way", share=0.1)),
    )  # fmt: skip


def test_the_claimed_time_is_gone_with_the_trial() -> None:
    foretold = with_foretold(the_finding(), the_case()).foretold
    assert foretold is not None
    # 0.3 of 16 ms are removed, and a little of what that slowed.
    assert 1000 / 0.7 < foretold.tps < 1000 / 0.65
    assert (foretold.low <= foretold.tps <= foretold.high, foretold.now) == (True, 1000)


def test_a_ceiling_that_is_near_limits_the_rate() -> None:
    case = the_case()
    low = Ceiling(
        resource="network from the server", events_per_s=1100.0, used=0.9, how=say("a line")
    )
    found = StepCeilings(step=1, concurrency=16, tps=1000.0, ceilings=(low,))
    foretold = with_foretold(the_finding(), replace(case, ceilings={1: found})).foretold
    assert foretold is not None and foretold.tps == pytest.approx(1100)
    # Not of a change that is about the line itself.
    own: Resource = "network from the server"
    about = the_finding().model_copy(update={"acts_on": own})
    around = with_foretold(about, replace(case, ceilings={1: found})).foretold
    assert around is not None and around.tps > 1300


@pytest.mark.parametrize(
    "step", [{"account": None}, {"rate": Rate(rate=1000.0)}, {"tps": None}], ids=str
)
def test_without_an_account_or_in_an_open_loop_nothing_is_predicted(
    step: dict[str, object],
) -> None:
    case = the_case()
    changed = replace(case, step=case.step.model_copy(update=step))
    assert with_foretold(the_finding(), changed).foretold is None


def test_a_remedy_that_removes_an_unknown_part_predicts_nothing() -> None:
    case = the_case()
    assert with_foretold(the_finding("cpu-bound"), case).foretold is None
    disk = the_finding("disk-cap", trial=None).model_copy(update={"acts_on": "disk reads"})
    assert with_foretold(disk, case).foretold is None
    compressed = Trial(
        kind="client",
        settings=(Setting(name="compression", before="off", value="zlib"),),
        subject=say("bytes"),
    )
    assert with_foretold(the_finding("line-full", compressed), case).foretold is None


def test_what_ends_by_itself_needs_no_trial() -> None:
    assert with_foretold(the_finding("table-locks", trial=None), the_case()).foretold is not None
    # The limit of a control group does; what a quicker disk brings is unknown.
    assert with_foretold(the_finding("disk-cap", trial=None), the_case()).foretold is not None


def test_without_its_quota_a_server_has_the_cores_of_its_host() -> None:
    """1.9 cores are its quota, and the host has four."""
    shares: dict[Place, float] = {"on core": 0.12, "waiting for a core": 0.88}
    host = {"cpu_user": 0.4, "cpu_sys": 0.1, "cpu_idle": 0.5, "cpu_iowait": 0.0}
    own = {"process_cpu_user": 1.3, "process_cpu_sys": 0.6}
    limited = Made(
        host={**host, **own},
        host_means={"cgroup.cpu_cores": 1.9},
        step={"account": an_account(shares)},
    )
    claims = [Claim(place="waiting for a core", share=0.8)]
    found = with_foretold(the_finding("cpu-throttled", None, claims), a_case(limited)).foretold
    # Two of four cores are busy.
    assert found is not None and found.low <= 2000 <= found.tps


def test_a_host_of_its_own_has_all_cores_for_the_load() -> None:
    # 0.5 of 4 cores are the load's; another program uses the rest.
    busy = {"cpu_user": 0.7, "cpu_sys": 0.25, "cpu_idle": 0.05, "cpu_iowait": 0.0}
    own = {"process_cpu_user": 1.3, "process_cpu_sys": 0.6}
    shares: dict[Place, float] = {"way": 0.1, "on core": 0.1, "waiting for a core": 0.8}
    case = a_case(Made(host={**busy, **own}, step={"account": an_account(shares)}))
    claims = [Claim(place="waiting for a core", share=0.6)]
    found = with_foretold(the_finding("noisy-neighbour", None, claims), case).foretold
    # The load uses 2 of the 2.1 cores that are left to it, of 4: the rate is nearly doubled.
    assert found is not None and 1500 < found.tps < 2100


def test_more_users_are_predicted_without_claims() -> None:
    case = the_case()
    few = the_finding("few-users", more_users(case, 4)).model_copy(update={"claims": ()})
    foretold = with_foretold(few, case).foretold
    # 2 of 4 cores are busy: they allow twice the rate, and more if an event then takes less.
    assert foretold is not None and foretold.low == pytest.approx(2000, rel=0.05)
    assert 2000 < foretold.high < 3500


def test_causes_are_those_of_rules() -> None:
    known = {cause for rules in RULES_OF.values() for rule in rules for cause in rule.titles}
    assert known >= PARTLY | ENDED
    with_trials = {
        example.cause
        for example in EXAMPLES
        if (found := example.rule.judge(example.fires)) and found.trial
    }
    assert not with_trials & ENDED


def test_the_diagnosis_of_a_step_with_an_account_predicts_and_says_so() -> None:
    case = the_case()
    found = diagnosis_of(case)
    assert [one.cause for one in found.findings] == ["few-users"]
    foretold = found.findings[0].foretold
    assert foretold is not None
    text = as_plain(as_renderable([found]), UNLIMITED)
    assert "With concurrency=64 in place of 16: " in text
    assert " events a second predicted (80 %), 1,000 now." in text
    assert "predicted (80 %)" in list(answer([found]))[1]


def test_a_remedy_without_a_trial_is_named_so() -> None:
    found = diagnosis_of(the_case())
    finding = with_foretold(the_finding("table-locks", trial=None), the_case())
    shown = found.model_copy(update={"findings": (finding,)})
    assert "With the remedy: 1," in as_plain(as_renderable([shown]), UNLIMITED)


def test_a_proof_shows_what_was_predicted_next_to_what_was_measured() -> None:
    proof = Proof(
        variant="default", workload="oltp_read_write", cause="tls", users=8, trial=TLS,
        verdict="proven", sentence=say("TLS costs 31 %."), change=0.3, change_low=None,
        change_high=None, cost=0.23, cost_low=None, cost_high=None, confidence=0.95, p_value=0.01,
        tps_before=101.0, tps_changed=131.0, units=6, left_out={}, more=None,
        at="2026-01-02T03:04:05+00:00", seconds=50.0, steps="proofs/tls-x",
        foretold=Foretold(tps=129.0, low=118.0, high=140.0, now=101.0),
    )  # fmt: skip
    assert proof_text(proof) == (
        "proven: TLS costs 31 %. Predicted 118 to 140 events a second, measured 131. (2026-01-02)"
    )
    unknown = proof.model_copy(update={"foretold": None})
    assert proof_text(unknown) == "proven: TLS costs 31 %. (2026-01-02)"


def test_a_prediction_is_of_the_change_and_not_of_the_machine_s_own_rate() -> None:
    foretold = Foretold(tps=129.0, low=118.0, high=140.0, now=101.0)
    assert foretold.from_rate(202.0) == Foretold(tps=258.0, low=236.0, high=280.0, now=202.0)


def test_what_ends_a_cause_ends_its_symptoms() -> None:
    case = the_case()
    alone = with_foretold(the_finding(), case).foretold
    symptom = Claim(place="log sync", share=0.2)
    both = with_foretold(the_finding(), case, (), [symptom]).foretold
    assert alone is not None and both is not None
    # 0.3 and 0.2 of 16 ms.
    assert both.tps == pytest.approx(2000, rel=0.1) and both.tps > 1.2 * alone.tps
