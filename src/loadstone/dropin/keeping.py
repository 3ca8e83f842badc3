"""`--loadstone-out`: keeps the folder of a run in addition to what the other program prints.

Server and hosts are sampled as by `loadstone run`, so that a script's run can be diagnosed too.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from loadstone.dropin.aside import aside
from loadstone.families import connect, family_of
from loadstone.lab.step.sampling import StepSampling
from loadstone.lab.tables.discover import Data
from loadstone.lab.tables.inspect import InspectedTarget, observable
from loadstone.model.message import say
from loadstone.model.observe_request import Observing
from loadstone.model.plan import Plan, Step
from loadstone.model.records import Connected, End, EngineFailure, StepRecord
from loadstone.model.target import Endpoint
from loadstone.observe.sources import sources_for
from loadstone.runner.recording import Place, begin_run, sampling_of
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.servers.redact import blank_arguments


class Keeper:
    """Writes a run of one step as `loadstone run` does."""

    def __init__(
        self, out: Path, plan: Plan, endpoints: Sequence[Endpoint], observing: Observing
    ) -> None:
        looked = [_look_at(endpoint, plan) for endpoint in endpoints]
        run_folder.check_writable(out)
        sources = sources_for([observable(one) for one in looked], observing)
        words = blank_arguments([os.fsencode(word) for word in sys.argv[1:]])
        typed = ("loadstone", *(os.fsdecode(word) for word in words))
        self._recorder = begin_run(plan, looked, Place(out, typed), sources)
        self._sampling = sampling_of(sources, self._recorder.began)
        self._server = endpoints[0]
        self._looking: StepSampling | None = None

    def begin(self, step: Step) -> None:
        """Start the step, before the load's first connection."""
        self._recorder.begin_step(step)
        if self._sampling:
            self._looking = StepSampling(step, self._recorder, self._sampling, self._server)
            self._looking.begin()

    def record(self, step: Step, record: StepRecord) -> None:
        """Record one of the engine's records, and the samples taken since the last one."""
        self._recorder.record(step, record)
        if self._looking:
            self._looking.keep()
            if isinstance(record, Connected):
                self._looking.align()

    def end(self, step: Step, end: End | None) -> None:
        """Finish the run; without a last record it was aborted."""
        state = end.reason if end else "stopped"
        try:
            if self._looking:
                self._looking.end()
            self._recorder.end_step(step, state, end.error if end else None)
            self._recorder.end_run(state)
            aside(say("the run is in {folder}", folder=str(self._recorder.folder)))
        except StoreError as failure:
            self._recorder.give_up(failure.message)
            raise
        finally:
            self.close()

    def end_before_load(self, step: Step, failure: EngineFailure | None) -> None:
        """Finish a run that has failed, or was interrupted, before its load began."""
        state: Literal["failed", "stopped"] = "failed" if failure else "stopped"
        self._recorder.begin_step(step)
        self._recorder.end_step(step, state, failure)
        self._recorder.end_run(state)
        aside(say("the run is in {folder}", folder=str(self._recorder.folder)))

    def close(self) -> None:
        """Close the samplers' connections and the files, also of a test that never began."""
        if self._sampling:
            self._sampling.close()
        self._recorder.close()


@contextlib.contextmanager
def keeper_of(
    out: Path | None, plan: Plan, endpoints: Sequence[Endpoint], observing: Observing
) -> Iterator[Keeper | None]:
    """The keeper of the run, if a folder was requested, closed at the end.

    Raises:
        TargetError: a server cannot be asked what it is.
        StoreError: the folder cannot be written.
    """
    if out is None:
        yield None
        return
    with contextlib.closing(Keeper(out, plan, endpoints, observing)) as keeper:
        yield keeper


def _look_at(endpoint: Endpoint, plan: Plan) -> InspectedTarget:
    with connect(endpoint, database=None) as connection:
        facts = family_of(endpoint.target).describe_server(connection, endpoint.target)
    data = Data(tables=plan.workload.tables, table_size=plan.workload.table_size)
    return InspectedTarget(endpoint=endpoint, facts=facts, data=data)
