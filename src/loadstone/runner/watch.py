"""Watches a server while another program drives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from loadstone.analyse.steady import truncation
from loadstone.families import require
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.runner import Lab
from loadstone.lab.step.watch import watch as watch_step
from loadstone.lab.tables.inspect import look_at_server, observable
from loadstone.model.frozen import Frozen
from loadstone.model.observe_request import Observing
from loadstone.model.plan import WATCHED, Plan, WarmupSeconds, WorkloadSpec
from loadstone.model.target import Endpoint
from loadstone.observe.sampler import Sampling, Seen
from loadstone.observe.sources import check_places, sources_for
from loadstone.runner.finished import Finished
from loadstone.runner.recording import Place, begin_run
from loadstone.runner.view import Silence, View
from loadstone.runs import run_folder


class WatchRequest(Frozen):
    """The options of a watch."""

    name: str = WATCHED
    duration_s: float = 60.0
    """Maximum duration."""
    observing: Observing = Observing()
    out: Path = Path("runs")


def watch(
    asked: WatchRequest, endpoints: Sequence[Endpoint], view: View, on_seen: Callable[[Seen], None]
) -> Finished:
    """Read the counters of servers and their hosts each second, without any load of ours.

    `on_seen` is called with each observation as it comes.

    Raises:
        SourceError: a source of counters is invalid.
        NotSupported: a server's counters cannot be read.
        TargetError: a server cannot be reached.
        StoreError: nothing can be stored.
    """
    check_places(asked.observing, len(endpoints))
    for endpoint in endpoints:
        require(endpoint.target, "watching")
    run_folder.check_writable(asked.out)
    looked = [look_at_server(endpoint) for endpoint in endpoints]
    sources = sources_for([observable(one) for one in looked], asked.observing, drives=False)
    plan = _plan(asked, endpoints)
    recorder = begin_run(plan, looked, Place(asked.out, view.command_line), sources)
    view.begun(recorder.folder)
    with Interrupts() as interrupts:
        lab = Lab(tuple(endpoints), recorder, Silence(), interrupts, truncation)
        for note in sources.notes:
            lab.note(note)
        result = watch_step(plan, lab, Sampling(sources.watched, recorder.began), on_seen)
    return Finished(result, recorder.folder)


def _plan(asked: WatchRequest, endpoints: Sequence[Endpoint]) -> Plan:
    return Plan(
        name=asked.name,
        targets=tuple(one.target for one in endpoints),
        workload=WorkloadSpec(name=WATCHED, tables=1, table_size=1),
        ladder=(1,),
        duration_s=asked.duration_s,
        warmup=WarmupSeconds(warmup_s=0.0),
    )
