"""Samples a server that somebody else drives, without any load of ours."""

from __future__ import annotations

import time
from collections.abc import Callable

from loadstone.lab.step.control import Wishes
from loadstone.lab.step.follow import POLL_S
from loadstone.lab.step.runner import Lab
from loadstone.lab.step.sampling import StepSampling
from loadstone.model.control import Remark, StopRun
from loadstone.model.plan import Plan, Step
from loadstone.model.result import Result
from loadstone.observe.sampler import Sampling, Seen
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import Settled

METHOD = "watched"
"""The window's method: everything that was sampled, as the load is not known."""

OnSeen = Callable[[Seen], None]


def watch(plan: Plan, lab: Lab, sampling: Sampling, on_seen: OnSeen) -> Result:
    """Sample for one step, until its duration is over or somebody asks for its end.

    Raises:
        StoreError: the run cannot be written any more; what was written is kept.
    """
    step = Step(number=1, workload=plan.workload.name, concurrency=1)
    recorder = lab.recorder
    looking = StepSampling(step, recorder, sampling, lab.endpoints[0], drives=False)
    wishes = Wishes(recorder.folder)
    try:
        recorder.begin_step(step)
        looking.begin()
        begun = time.monotonic()
        looking.align()
        while time.monotonic() < begun + plan.duration_s and not lab.interrupts.asked:
            time.sleep(POLL_S)
            for seen in looking.keep():
                on_seen(seen)
            # No change is possible: there is no load of ours.
            for wish in wishes.look():
                if isinstance(wish, StopRun):
                    lab.interrupts.ask()
                elif isinstance(wish, Remark):
                    recorder.note(wish.text, step)
        ended = time.monotonic()
        looking.end()
        window = Settled(
            from_s=begun - recorder.began,
            to_s=ended - recorder.began,
            steady=None,
            method=METHOD,
        )
        stopped = lab.interrupts.asked
        recorder.end_step(step, "stopped" if stopped else "finished", None, window)
        return recorder.end_run("stopped" if stopped else "finished")
    except StoreError as failure:
        recorder.give_up(failure.message)
        raise
    finally:
        sampling.close()
        recorder.close()
