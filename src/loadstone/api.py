"""What scripts and notebooks call: the commands as functions (docs/python.md).

Each returns what there is when it is over. Whatever forbids it is a `LoadstoneError` with a
message and a hint, the same that the command line says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from loadstone import engine
from loadstone.lab.step.shards import USERS_A_SHARD, cores
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
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
    """Neither a workload of the engine nor a template's file."""

    exit_code = ExitCode.USAGE


class RunOptions(TypedDict, total=False):
    """What else `run` takes."""

    tables: int
    """As many as there are, where nothing is said."""
    table_size: int
    """Rows of each table, likewise."""
    warehouses: int
    """Of tpcc, likewise."""
    options: Mapping[str, OptionValue]
    """Of the workload, as `{"point_selects": 5}`."""
    prepared: bool
    """Prepared statements (the default), or the text protocol."""
    think_s: float
    """Seconds between two events of a user, in a closed loop. Default: 0."""
    seed: int
    """Of all that is drawn by chance. Default: 0."""
    observe: bool
    """Read the counters of server and host. Default: yes."""
    server: str
    """Which throwaway server: `mariadb`, `mysql`, or a program's path."""
    settings: Mapping[str, str]
    """Variables of the throwaway server."""
    name: str
    """Of the run; the workload's, where there is none."""
    yes: bool
    """What `--yes` says: also next to other people's tables, or on a server that serves others."""


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
    """Drive a workload, a step for each number of users and rate, and keep what was seen.

    Args:
        workload: one of the engine's by its name, or the path of a template's file.
        target: `mysql://user@host:3306/schema`, several to share the users; none: a throwaway
            server, filled for the run and removed after it. The password comes from the URL,
            LOADSTONE_PASSWORD or ~/.my.cnf.
        users: virtual users of each step; `None`: 1, in an open loop 64.
        rates: open loop: events a second to try with each number of users.
        duration_s: seconds of each step that are measured.
        warmup_s: seconds before them.
        repeats: how often each step is measured.
        out: the folder of runs.
        view: is shown the progress; nobody, where it is left out.
        more: see `RunOptions`.

    Raises:
        LoadstoneError: it could not be driven, or was ended before its time; what there is was
            kept, and its folder is among the error's notes.
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
    # A copy takes whatever it is given: its values are looked at as those of the first one were.
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
    """Carry an experiment file out; `.comparison` of what is returned says what is certain.

    Args:
        file: its path.
        out: the folder of runs.
        observe: read the counters of servers and hosts.
        yes: what `--yes` says: tables may be dropped and variables set on a server of yours.
        view: is shown the progress.

    Raises:
        ExperimentRefused: something in the file is wrong: each problem with its line.
        LoadstoneError: as of `run`.
    """
    request = ExperimentRequest(out=Path(out), observing=Observing(on=observe), yes=yes)
    return _opened(experiments.begin(experiments.checked(Path(file)), request, view or Quiet()))


def compare(*runs: Run | str | Path, by: str | None = None) -> Compared:
    """Compare runs, the first with all others; `by`: `target`, or the name of a factor.

    Raises:
        ComparisonError: there is nothing to compare.
        StoreError: a run is not there, or cannot be read.
    """
    return comparisons.compare([_path(run) for run in runs], by)


def diagnose(run: Run | str | Path = "last") -> list[Diagnosis]:
    """Why each ladder of a run is not faster: its findings, the most telling first.

    Raises:
        StoreError: the run is not there, or cannot be read.
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
    """Try a run's findings: its load again, alternating as it was and with each remedy.

    Args:
        run: one that was begun on this machine; its server is driven, or a throwaway one like it.
        time_s: seconds for all trials together.
        only: causes to try; all of them where none is named.
        yes: set global variables of a server that is no sandbox, for a while.
        view: as of `run`.

    Raises:
        NothingToProve, NoConsent, LoadstoneError: as `loadstone diagnose --prove` says.
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
    """One of a single step, with all that is not of its ladder."""
    known, template = _workload(workload)
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
        observing=Observing(on=more.get("observe", True)),
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
    """One value or many as many; a text is one value."""
    if given is None:
        return ()
    if isinstance(given, Sequence) and not isinstance(given, str):
        return tuple(given)
    return (given,)
