"""Steps driven in this process, each as the row that a run has of it: no file, no other program."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from benches.processes import ProgramFailed
from loadstone import __version__, engine
from loadstone.experiments.variants import step_plan
from loadstone.model.engine_plan import step_document
from loadstone.model.experiment import Experiment
from loadstone.model.observed import Observation, SourceName
from loadstone.model.plan import Drive, Step
from loadstone.model.records import AnyStepRecord, End, LatencyNs, Sample
from loadstone.model.result import StepResult, Window
from loadstone.model.target import Endpoint
from loadstone.observe.local import LocalHost
from loadstone.observe.sampler import deltas
from loadstone.runs import hlog
from loadstone.runs.journal import EngineEntry, RunBegin, StepBegin, StepEnd
from loadstone.runs.steplog import StepLog
from loadstone.runs.summaries import summarise

_HERE = SourceName(role="generator-host")
_SILENT_S = 20.0


class Stepping:
    """Drives the steps of an experiment on one event loop, and observes this host."""

    def __init__(self, experiment: Experiment, endpoints: Mapping[str, Endpoint]) -> None:
        """`endpoints`: where each variant is measured."""
        self._experiment = experiment
        self._endpoints = endpoints
        self._host = LocalHost(_HERE)
        self._began = time.monotonic()

    def close(self) -> None:
        """Close the host's files."""
        self._host.close()

    def drive(self, step: Step) -> StepResult:
        """Run one step.

        Raises:
            ProgramFailed: it did not finish.
        """
        endpoint = self._endpoints[step.variant]
        drive = Drive(seed=self._experiment.seed)
        plan = step_plan(self._experiment, self._experiment.workloads[0], [endpoint.target], drive)
        samples: list[Sample] = []
        seen: list[Observation] = []
        begin = StepBegin(at_s=self._now(), step=step, journal_from=0, hlog_from=0)
        log = StepLog(begin, lambda: iter(samples), lambda: iter(seen))
        before = self._host.read()
        for record in records_of(engine.start(step_document(plan, step, [endpoint]))):
            log.add(EngineEntry(at_s=self._now(), step=step.number, record=record))
            if isinstance(record, Sample):
                samples.append(record)
        after = self._host.read()
        seen.append(
            Observation(
                source=_HERE,
                from_s=before.at_s - self._began,
                to_s=after.at_s - self._began,
                deltas=deltas(before, after),
                gauges=after.gauges,
            )
        )
        log.add(StepEnd(at_s=self._now(), step=step.number, state="finished"))
        return summarise(log, self._run(endpoint), lambda window: _latencies(samples, window))

    def _now(self) -> float:
        return time.monotonic() - self._began

    def _run(self, endpoint: Endpoint) -> RunBegin:
        return RunBegin(
            unix_s=time.time() - self._now(),
            id=self._experiment.name,
            name=self._experiment.name,
            loadstone=__version__,
            plan={},
            targets=(endpoint.target.url,),
            server_versions=(None,),
            steps_planned=None,
        )


def records_of(job: engine.StepJob) -> Iterator[AnyStepRecord]:
    """All records of a step that finishes.

    Raises:
        ProgramFailed: it does not.
    """
    while True:
        record = job.next(_SILENT_S)
        if record is None:
            job.stop()
            raise ProgramFailed(f"the engine has said nothing for {_SILENT_S:g} s")
        yield record
        if isinstance(record, End):
            if record.reason != "finished":
                said = record.error.message if record.error else record.reason
                raise ProgramFailed(f"a step did not come to its end: {said}")
            return


def _latencies(samples: list[Sample], window: Window) -> dict[str, LatencyNs]:
    lines = (line for sample in samples for line in sample.hlog)
    merged = engine.merge_hlog(hlog.within(lines, window, 0.0))
    return {hlog.meaning_of(tag): latency for tag, latency in merged.items()}
