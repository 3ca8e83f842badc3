"""attached.json: figures from elsewhere that a user added to a run, and their part in its result.

The file is one of its own, so that everything that the run recorded stays as it was sealed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from loadstone.model.attached import Attached, AttachedFile, AttachedMetric
from loadstone.model.figure import Percent, Seconds
from loadstone.model.message import Message, say
from loadstone.model.observed import LEAST_COVERED
from loadstone.model.result import AttachedFigure, HostFigures, Result, StepResult, Window
from loadstone.runs import atomic, safe_open
from loadstone.runs.errors import StoreError

ATTACHED = "attached.json"


def read_attached(run: Path) -> Attached | None:
    """What is attached to a run; `None`: nothing is.

    Raises:
        StoreError: the file exists and cannot be read.
    """
    path = run / ATTACHED
    try:
        document = safe_open.document(path)
        safe_open.check_numbers(document)
        return Attached.model_validate_json(document)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error
    except (ValidationError, ValueError) as error:
        raise StoreError(
            say("cannot read {path}: it is damaged, or of another version of Loadstone", path=path),
            say("remove it; loadstone runs attach makes it again"),
        ) from error


def write_attached(run: Path, attached: Attached) -> None:
    """Write all that is attached to a run, replacing what was.

    Raises:
        StoreError: the file cannot be written.
    """
    atomic.write_bytes(run / ATTACHED, attached.model_dump_json().encode() + b"\n")


def with_attached(result: Result, attached: Attached | None, cores: float | None) -> Result:
    """The result with the figures of attached files, in place of those of earlier ones.

    Args:
        result: as recorded, or with attached figures.
        attached: what is attached now.
        cores: the server's, as the user stated them; `None`: nobody did.
    """
    if attached is None:
        return result
    steps = tuple(_with(_recorded(step), attached, cores) for step in result.steps)
    return result.model_copy(update={"steps": steps})


def began_of(step: StepResult, attached: Attached) -> float | None:
    """When a step's load began, in seconds since the start of the run; `None`: not known then."""
    for one in attached.steps:
        if (one.step, one.started_at) == (step.step, step.started_at):
            return one.load_began_s
    return None


def _recorded(step: StepResult) -> StepResult:
    """The step as it was recorded."""
    host = step.host
    if host and host.coarse:
        nothing: dict[str, object] = dict.fromkeys(host.coarse)
        # A host without seconds of its own was never observed.
        host = host.model_copy(update=nothing | {"coarse": {}}) if host.seconds else None
    return step.model_copy(update={"host": host, "attached": ()})


def _with(step: StepResult, attached: Attached, cores: float | None) -> StepResult:
    began = began_of(step, attached)
    if began is None or step.window is None:
        return step
    found = [
        (one, _figure(file, one, step.window, began))
        for file in attached.files
        for one in file.metrics
    ]
    host = _host(step.host, found, cores)
    figures = tuple(figure for _, figure in found)
    return step.model_copy(update={"host": host, "attached": figures})


def _figure(
    file: AttachedFile, metric: AttachedMetric, window: Window, began: float
) -> AttachedFigure:
    whole = list(_whole(metric, window, began))
    seconds = sum(end - begin for begin, end, _ in whole)
    why_not = _why_not(metric, window, whole, seconds)
    mean = sum((end - begin) * value for begin, end, value in whole) / seconds if whole else None
    return AttachedFigure(
        file=file.file,
        metric=metric.name,
        figure=metric.figure if metric.known else None,
        granularity_s=metric.granularity_s,
        seconds=seconds,
        values=len(whole),
        mean=None if why_not else mean,
        highest=None if why_not else max(value for _, _, value in whole),
        why_not=why_not,
    )


def _whole(
    metric: AttachedMetric, window: Window, began: float
) -> Iterable[tuple[float, float, float]]:
    """The values whose whole time is in the window, with times since the start of the load.

    A mean that is partly of other times says nothing certain about the window.
    """
    for begin, end, value in metric.intervals():
        from_s, to_s = begin - began, end - began
        inside = window.from_s <= from_s and to_s <= window.to_s
        if inside and from_s < to_s and not window.is_held(from_s, to_s):
            yield from_s, to_s, value


def _why_not(
    metric: AttachedMetric,
    window: Window,
    whole: Sequence[tuple[float, float, float]],
    seconds: float,
) -> Message | None:
    length = window.to_s - window.from_s
    if not whole:
        return say(
            "no mean of {granularity} is wholly within the window of {window}",
            granularity=Seconds(metric.granularity_s),
            window=Seconds(length),
        )
    if seconds < LEAST_COVERED * length:
        return say(
            "readings cover only {share} of the window, and one is a mean of {granularity}",
            share=Percent(seconds / length),
            granularity=Seconds(metric.granularity_s),
        )
    return None


def _host(
    host: HostFigures | None,
    found: Iterable[tuple[AttachedMetric, AttachedFigure]],
    cores: float | None,
) -> HostFigures | None:
    """The host's figures; what was observed each second stands, only what is missing is filled."""
    filled: dict[str, float] = {}
    coarse: dict[str, float] = {}
    for metric, figure in sorted(found, key=lambda pair: pair[0].granularity_s):
        known = metric.known
        if known is None or known.field is None or figure.mean is None or known.field in filled:
            continue
        if host is None or getattr(host, known.field) is None:
            filled[known.field] = known.in_field(figure.mean * metric.factor)
            coarse[known.field] = metric.granularity_s
    if not filled:
        return host
    # An observed host without a count of its cores is one of an exporter, which the user may know.
    if cores and (host is None or host.cores is None):
        filled["cores"], coarse["cores"] = max(round(cores), 1), 0.0
    before = host or HostFigures(seconds=0.0)
    return before.model_copy(update=filled | {"coarse": coarse})
