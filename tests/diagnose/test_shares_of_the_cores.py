"""Notes and findings share one definition of who used the cores; sentences promise no ceiling."""

from __future__ import annotations

import re

import pytest

from diagnose.accounts import an_account, diagnosed
from diagnose.examples import FULL, FULL_OF_SERVER, IDLE, SHARED
from diagnose.healthy import Made, a_case
from loadstone.diagnosis.rules import cpu_bound, latency_bound, neighbour
from loadstone.model.language import ENGLISH
from loadstone.model.message import plain, say_in
from loadstone.report.findings import evidence_value, threshold_value
from loadstone.report.notes import of_the_cores

STARVED: dict[str, float | None] = {"cpu_share": 0.8, "shards": 1, "run_delay_share": 0.3}
CROWDED = a_case(
    Made(
        host={**FULL, "process_cpu_user": 1.6, "process_cpu_sys": 0.4},
        host_rates={"cpu.softirq_s": 0.4, "cpu.irq_s": 0.08},
        facts=SHARED,
        generator=STARVED,
    )
)
SHARE = re.compile(r"(the server|the generator|other programs|interrupts) (\d+) %")


def shares(text: str) -> dict[str, int]:
    return {name: int(part) for name, part in SHARE.findall(text)}


def test_a_note_and_a_finding_give_the_same_shares_and_interrupts_are_one_of_them() -> None:
    found = cpu_bound.judge(CROWDED)
    (note,) = of_the_cores([CROWDED.step])
    assert found
    assert shares(found.sentence) == shares(note)
    assert set(shares(note)) == {"the server", "the generator", "other programs", "interrupts"}
    busy = int(re.findall(r"(\d+) % busy", found.sentence)[0])
    assert abs(sum(shares(note).values()) - busy) <= 2  # each is rounded


def test_time_that_a_program_has_is_not_given_to_interrupts_once_more() -> None:
    """Kernels without time accounting of interrupts charge it to whom they interrupt."""
    of_programs = {"process_cpu_user": 2.4, "process_cpu_sys": 0.5}
    made = Made(
        host={**FULL, **of_programs},
        host_rates={"cpu.softirq_s": 0.5},
        facts=SHARED,
        generator=STARVED,
    )
    found = cpu_bound.judge(a_case(made))
    assert found
    assert found.sentence.startswith(
        "The server host's 4 cores are used up (97 % busy; the server 72 %, the generator 20 %, "
        "interrupts 4.5 %): "
    )


def test_cores_that_are_waited_for_longer_than_used_are_too_few_however_idle_between() -> None:
    nearly = {**FULL_OF_SERVER, "cpu_user": 0.6, "cpu_sys": 0.28, "cpu_idle": 0.12}
    waiting = an_account(on_core=0.2, waiting_for_a_core=0.45, way=0.3)
    found = diagnosed(Made(host=nearly), waiting).findings[0]
    assert found.cause == "cpu-bound"
    assert found.share == pytest.approx(0.65)
    assert "without a core, 45 % of their time, longer than on one" in found.sentence
    working = an_account(on_core=0.45, waiting_for_a_core=0.2, way=0.3)
    committing = an_account(on_core=0.1, waiting_for_a_core=0.3, log_sync=0.6)
    for account in (working, committing):
        causes = [one.cause for one in diagnosed(Made(host=nearly), account).findings]
        assert "cpu-bound" not in causes
    # A fifth of the cores is left: then it is the time of a few users that meet.
    meeting = {**nearly, "cpu_sys": 0.2, "cpu_idle": 0.2}
    causes = [one.cause for one in diagnosed(Made(host=meeting), waiting).findings]
    assert "cpu-bound" not in causes


def test_the_cores_of_other_programs_are_a_share_at_a_named_level() -> None:
    found = neighbour.judge(a_case(Made(host={**FULL, "process_cpu_user": 0.8})))
    assert found
    assert found.sentence == (
        "Other programs use 62 % of the server host's 4 cores, and none is free (16 users: 97 % "
        "busy, the server 32 %): do not compare these figures."
    )


def test_bytes_in_evidence_are_in_the_units_of_sentences() -> None:
    made = a_case().seen(plain("checkpoint_age_bytes"), 70_985_125, say_in("unit", "B"), 64 << 20)
    assert (evidence_value(made, ENGLISH), threshold_value(made, ENGLISH)) == ("67.7 MiB", "64 MiB")


def test_users_that_wait_in_turn_are_no_ceiling() -> None:
    found = latency_bound.judge(a_case(Made(host=IDLE)))
    assert found
    assert found.sentence.endswith(
        "16 users at 16 ms an event made 1,000 events a second; more users may make more."
    )
    rising = latency_bound.judge(a_case(Made(users=4, tps=300.0), Made(host=IDLE)))
    assert rising
    assert rising.sentence.endswith("made 1,000 events a second; more users make more.")
