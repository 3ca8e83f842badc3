"""The functions for scripts and notebooks, which correspond to the commands (docs/python.md).

Each returns its result when it has finished. Errors are `LoadstoneError` with the same message and
hint as on the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from loadstone import engine
from loadstone.lab.step.shards import USERS_A_SHARD, cores
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.limits import by_hand, stated
from loadstone.model.message import say
from loadstone.model.nearest import nearest_or_all
from loadstone.model.observe_request import Observing
from loadstone.model.plan import (
    USERS_OF_A_RATE,
    Closed,
    Drive,
    Open,
    OptionValue,
    Rate,
    Special,
    WarmupSeconds,
)
from loadstone.model.prove_request import Proving
from loadstone.report.opened import Run, open_run
from loadstone.runner import compare as comparisons
from loadstone.runner import experiment as experiments
from loadstone.runner import prove as proofs
from loadstone.runner import run as runs
from loadstone.runner.endpoints import at_url, reach
from loadstone.runner.experiment import ExperimentRequest
from loadstone.runner.request import Request, check_request
from loadstone.runner.view import Quiet, View
from loadstone.runs import run_folder
from loadstone.workloads.bundled import ENDING
from loadstone.workloads.templates.file import find_template, info_of

if TYPE_CHECKING:
    from loadstone.engine import WorkloadInfo
    from loadstone.model.finding import Diagnosis
    from loadstone.model.template import Template
    from loadstone.runner.compare import Compared
    from loadstone.runner.finished import Finished
    from loadstone.runner.prove import Proved

T = TypeVar("T")


class UnknownWorkload(LoadstoneError):
    """The name is neither a built-in workload nor a template file."""

    exit_code = ExitCode.USAGE


class RunOptions(TypedDict, total=False):
    """Further options of `run`."""

    tables: int
    """Number of tables. Default: those that exist."""
    table_size: int
    """Rows of each table. Default: those that exist."""
    warehouses: int
    """Number of warehouses of tpcc. Default: those that exist."""
    options: Mapping[str, OptionValue]
    """Options of the workload, such as `{"point_selects": 5}`."""
    prepared: bool
    """Whether to use prepared statements (the default) or the text protocol."""
    think_s: float
    """Seconds between two events of a user in a closed loop. Default: 0."""
    seed: int
    """Seed of all random draws. Default: 0."""
    observe: bool
    """Whether to read the counters of server and host. Default: yes."""
    limits: Mapping[str, float]
    """Limits of the server's host that nothing on it shows, as `--limit`: `{"disk_iops": 3000}`."""
    server: str
    """The throwaway server: `mariadb`, `mysql`, or the path of a server program."""
    settings: Mapping[str, str]
    """Variables of the throwaway server."""
    name: str
    """Name of the run. Default: the name of the workload."""
    yes: bool
    """As `--yes`: also run next to other people's tables, or on a server that serves others."""


def run(
    workload: str | Path,
    *,
    target: str | Sequence[str] | None = None,
    users: int | Sequence[int] | None = None,
    rates: float | Sequence[float] | None = None,
    duration_s: float = 30.0,
    warmup_s: float = 5.0,
    repeats: int = 1,
    out: str | Path = "runs",
    view: View | None = None,
    **more: Unpack[RunOptions],
) -> Run:
    """Drive a workload, with a step for each number of users and rate, and store the results.

    Args:
        workload: name of a built-in workload, or path of a template file.
        target: `mysql://user@host:3306/schema`, or several that share the users; `None`: a
            throwaway server, filled for the run and removed after it. The password comes from the
            URL, LOADSTONE_PASSWORD or ~/.my.cnf.
        users: virtual users of each step; `None`: 1, or 64 in an open loop.
        rates: for an open loop, events a second to try with each number of users.
        duration_s: measured seconds of each step.
        warmup_s: seconds before the measurement.
        repeats: how often each step is measured.
        out: folder of runs.
        view: shows the progress; `None`: it is not shown.
        more: see `RunOptions`.

    Raises:
        LoadstoneError: the run could not be driven, or ended early; the results so far were stored,
            and the error's notes name their folder.
    """
    is_open = bool(_several(rates))
    asked = _request(workload, more).model_copy(
        update={
            "ladder": _several(users) or ((USERS_OF_A_RATE,) if is_open else (1,)),
            "rates": tuple(Rate(rate=rate) for rate in _several(rates)),
            "duration_s": duration_s,
            "warmup": WarmupSeconds(warmup_s=warmup_s),
            "repeats": repeats,
            "drive": _drive(more, is_open=is_open),
            "out": Path(out),
        }
    )
    # `model_copy` does not validate, so the copy is validated here.
    request = Request.model_validate(asked.model_dump())
    return _opened(_driven(request, _several(target), view or Quiet()))


def experiment(
    file: str | Path,
    *,
    out: str | Path = "runs",
    observe: bool = True,
    yes: bool = False,
    view: View | None = None,
) -> Run:
    """Run an experiment file; `.comparison` of the returned run has the verdicts.

    Args:
        file: path of the file.
        out: folder of runs.
        observe: whether to read the counters of servers and hosts.
        yes: as `--yes`: tables may be dropped, and variables set, on a server of yours.
        view: shows the progress; `None`: it is not shown.

    Raises:
        ExperimentRefused: the file has errors; each is reported with its line.
        LoadstoneError: as for `run`.
    """
    request = ExperimentRequest(out=Path(out), observing=Observing(on=observe), yes=yes)
    return _opened(experiments.begin(experiments.checked(Path(file)), request, view or Quiet()))


def compare(*runs: Run | str | Path, by: str | None = None) -> Compared:
    """Compare the first run with all others; `by` is `target` or the name of a factor.

    Raises:
        ComparisonError: there is nothing to compare.
        StoreError: a run does not exist, or cannot be read.
    """
    return comparisons.compare([_path(run) for run in runs], by)


def diagnose(run: Run | str | Path = "last") -> list[Diagnosis]:
    """Diagnose why each ladder of a run is not faster; the most important findings come first.

    Raises:
        StoreError: the run does not exist, or cannot be read.
    """
    return open_run(_path(run)).diagnoses


def prove(
    run: Run | str | Path = "last",
    *,
    time_s: float = 180.0,
    only: Sequence[str] = (),
    yes: bool = False,
    view: View | None = None,
) -> Proved:
    """Prove a run's findings: repeat its load, alternating without and with each remedy.

    Args:
        run: a run started on this machine; the load goes to its server, or to a similar throwaway
            one.
        time_s: seconds for all trials together.
        only: causes to try; empty: all of them.
        yes: allow global variables to be set for a while on a server that is not a sandbox.
        view: as for `run`.

    Raises:
        NothingToProve, NoConsent, LoadstoneError: as for `loadstone diagnose --prove`.
    """
    asked = Proving(time_s=time_s, only=tuple(only), yes=yes)
    return proofs.prove(_path(run), asked, reach, view or Quiet())


def _driven(request: Request, urls: Sequence[str], view: View) -> Finished:
    check_request(request, max(len(urls), 1))
    if urls:
        return runs.run(request, [at_url(url) for url in urls], view)
    with runs.throwaway(request, view) as server:
        return runs.run(request, [server.endpoint], view, server.notes)


def _request(workload: str | Path, more: RunOptions) -> Request:
    """A request for a single step, with all options except those of the ladder."""
    known, template = _workload(workload)
    limits = more.get("limits", {})
    return Request(
        name=more.get("name", known.name),
        workload=known.name,
        file=str(workload) if template else None,
        template=template,
        layout=known.layout,
        writes=known.writes,
        options=dict(more.get("options", {})),
        distribution=Special(),
        tables=more.get("tables"),
        table_size=more.get("table_size"),
        warehouses=more.get("warehouses"),
        ladder=(1,),
        duration_s=1.0,
        warmup=WarmupSeconds(),
        repeats=1,
        drive=Drive(),
        observing=Observing(
            on=more.get("observe", True),
            limits=stated(by_hand(f"{name}={value}") for name, value in limits.items()),
        ),
        server=more.get("server"),
        settings=dict(more.get("settings", {})),
        out=Path("runs"),
        yes=more.get("yes", False),
    )


def _drive(more: RunOptions, *, is_open: bool) -> Drive:
    return Drive(
        protocol="prepared" if more.get("prepared", True) else "text",
        arrival=Open() if is_open else Closed(think_s=more.get("think_s", 0.0)),
        seed=more.get("seed", 0),
        shards=cores(),
        users_a_shard=USERS_A_SHARD,
    )


def _opened(finished: Finished) -> Run:
    if finished.error is not None:
        finished.error.add_note(f"what there is was kept in {finished.folder}")
        raise finished.error
    return Run(finished.folder)


def _workload(asked: str | Path) -> tuple[WorkloadInfo, Template | None]:
    known = engine.workloads()
    word = str(asked)
    if word.endswith(ENDING):
        template = find_template(word, Path(), frozenset(known))
        return info_of(template), template
    if word not in known:
        said = say("there is no workload '{name}'", name=word)
        raise UnknownWorkload(said, nearest_or_all(word, known))
    return known[word], None


def _path(run: Run | str | Path) -> Path:
    return run.path if isinstance(run, Run) else run_folder.find(Path("runs"), str(run))


def _several(given: T | Sequence[T] | None) -> tuple[T, ...]:
    """A tuple of one or several values; a string is a single value."""
    if given is None:
        return ()
    if isinstance(given, Sequence) and not isinstance(given, str):
        return tuple(given)
    return (given,)
