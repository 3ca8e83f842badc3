"""A lab on the scripted engine, and an observer that records."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from loadstone.analyse.steady import truncation
from loadstone.lab.protection.watch import Ground
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.loop import Outcome, drive_steps
from loadstone.lab.step.order import InOrder, OfPlan, steps_of
from loadstone.lab.step.runner import Lab
from loadstone.model.plan import Plan, Step
from loadstone.model.records import Connected, Sample
from loadstone.model.result import StepResult
from loadstone.model.target import Credentials, Endpoint, Target
from loadstone.observe.others import Others
from recorded import SECRET, recorder_for


class Remembers:
    """An observer that keeps all that is reported to it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.results: list[StepResult] = []

    def on_step_begin(self, step: Step) -> None:
        self.told.append(f"begin {step.number}")

    def on_connected(self, step: Step, connected: Connected) -> None:
        self.told.append(f"connected {connected.users}")

    def on_sample(self, step: Step, sample: Sample) -> None:
        self.told.append(f"{sample.phase} {sample.to_s:g}")

    def on_step_end(self, step: Step, result: StepResult) -> None:
        self.told.append(f"end {step.number} {result.state}")
        self.results.append(result)

    def on_more_steps(self, number: int) -> None:
        self.told.append(f"more {number}")

    def on_note(self, text: str) -> None:
        self.told.append(f"note {text}")


def lab_for(out: Path, plan: Plan) -> tuple[Lab, Remembers]:
    credentials = Credentials(password=SecretStr(SECRET))
    endpoints = tuple(Endpoint(target=one, credentials=credentials) for one in plan.targets)
    observer = Remembers()
    lab = Lab(endpoints, recorder_for(out, plan), observer, Interrupts(), truncation)
    return lab, observer


def drive(plan: Plan, lab: Lab) -> Outcome:
    """Run all steps of a plan's ladder."""
    return drive_steps(OfPlan(plan, InOrder(steps_of(plan)), lab), lab)


def ground_of(host: str) -> Ground:
    """A server of a user, as the lab's ground."""
    endpoint = Endpoint(
        target=Target(host=host, user="bench", database="sbtest"),
        credentials=Credentials(password=SecretStr(SECRET)),
    )
    others = Others(sees_all=True, has_statements=False, account=("bench", "localhost"))
    return Ground(endpoint, is_throwaway=False, others=others, server=host)
