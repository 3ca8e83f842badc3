"""Where runs are stored, how they are found, and which files they have."""

from __future__ import annotations

import contextlib
import fcntl
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from loadstone.model.attached import Attached
from loadstone.model.figure import Count
from loadstone.model.finding import Proof
from loadstone.model.message import Joined, Message, say
from loadstone.model.nearest import nearest
from loadstone.model.outline import check_environment
from loadstone.model.result import Result
from loadstone.runs import atomic, safe_open, signature
from loadstone.runs.attached import read_attached, with_attached, write_attached
from loadstone.runs.errors import StoreError
from loadstone.runs.parquet import load_table, observed_table
from loadstone.runs.parquet.observed_table import HOSTS, SERVERS
from loadstone.runs.proofs import merged, read_proofs, write_proofs
from loadstone.runs.rebuild import JOURNAL, read_log, replay, result_of

if TYPE_CHECKING:
    import polars

RUN = "run.json"
ENVIRONMENT = "environment.json"
RESULT = "result.json"
LOAD = "load.parquet"
SERVER = "server.parquet"
HOST = "host.parquet"

_NAMES_SHOWN = 5

_STAMP = re.compile(r"-(\d{8}T\d{6}Z)(?:-\d+)?$")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def create(out: Path, name: str, at_unix_s: float) -> Path:
    """Create a folder `<out>/<name>-<utc time>`; a second one in the same second gets a number.

    Raises:
        StoreError: the folder cannot be made.
    """
    time = datetime.fromtimestamp(at_unix_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    stem = f"{stem_of(name)}-{time}"
    for attempt in range(1, 1000):
        folder = out / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            out.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
        except FileExistsError as error:
            if not out.is_dir():
                raise StoreError.from_os("make the folder", out, error) from error
            continue
        except OSError as error:
            raise StoreError.from_os("make the folder", folder, error) from error
        return folder
    raise StoreError(
        say("cannot make the folder {path}: a thousand of that name exist", path=out / stem)
    )


def stem_of(name: str) -> str:
    """How the name of a run's folder begins, before its time."""
    return _UNSAFE.sub("-", name).strip("-.") or "run"


def is_named_after(folder: str, name: str) -> bool:
    """Whether a run's folder has this name, apart from its time."""
    return _STAMP.sub("", folder) == stem_of(name)


def check_writable(out: Path) -> None:
    """Check before any work is done that results can be stored.

    Raises:
        StoreError: the folder, or a file in it, cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise StoreError.from_os("write to the folder", out, error) from error


def finish(folder: Path) -> Result:
    """Write the Parquet files and result.json from the journal and the latency log."""
    log = read_log(folder)
    result = result_of(folder, log)
    atomic.write_bytes(folder / RESULT, to_json(result))
    _write_table(folder / LOAD, load_table.frame(log), result)
    for name, roles in ((SERVER, SERVERS), (HOST, HOSTS)):
        seen = observed_table.frame(log, roles)
        if not seen.is_empty():
            _write_table(folder / name, seen, result)
    return result


def _write_table(path: Path, table: polars.DataFrame, result: Result) -> None:
    content = load_table.as_parquet(table)
    signature.add(path.parent, path.name, content, result.run.id)
    atomic.write_bytes(path, content)


def to_json(result: Result) -> bytes:
    """result.json's content."""
    return result.model_dump_json(indent=2).encode() + b"\n"


def load(folder: Path) -> Result:
    """A run's result: as written at its end, otherwise rebuilt from what is there.

    Raises:
        StoreError: there is no run in the folder, or it is damaged.
    """
    measured = _measured(folder)
    proofs = read_proofs(folder)
    result = measured.model_copy(update={"proofs": proofs}) if proofs else measured
    attached = read_attached(folder)
    if attached is None:
        return result
    limits = stated_limits(folder, read_environment(folder), attached)
    return with_attached(result, attached, limits.get("cores"))


def stated_limits(
    folder: Path, environment: Mapping[str, Any], attached: Attached | None = None
) -> dict[str, float]:
    """The limits that the user stated: for the run, and with later ones after it.

    Args:
        folder: the run's.
        environment: its environment.json.
        attached: its attached.json, if that was read already.

    Raises:
        StoreError: attached.json cannot be read.
    """
    later = attached or read_attached(folder)
    return (environment.get("limits") or {}) | (later.limits if later else {})


def _measured(folder: Path) -> Result:
    """The journal's result, as written at the run's end or rebuilt."""
    written = folder / RESULT
    if not safe_open.is_there(written):
        if not safe_open.is_there(folder / JOURNAL):
            raise StoreError(
                say(
                    "{folder} is not the folder of a run: it has no {file}",
                    folder=folder,
                    file=JOURNAL,
                )
            )
        return replay(folder, running=is_running(folder))
    try:
        document = safe_open.document(written)
        safe_open.check_numbers(document)
        return Result.model_validate_json(document)
    except OSError as error:
        raise StoreError.from_os("read", written, error) from error
    except ValueError:
        # From another version, or damaged; the journal is the truth.
        return replay(folder)


def read_environment(folder: Path) -> dict[str, Any]:
    """Read environment.json; empty if there is none.

    Raises:
        StoreError: it cannot be read, or is damaged.
    """
    written = folder / ENVIRONMENT
    try:
        content = safe_open.contents(written)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError.from_os("read", written, error) from error
    return parse_environment(content, written)


def parse_environment(content: bytes, written: Path) -> dict[str, Any]:
    """Parse environment.json, which was read from `written`.

    Raises:
        StoreError: it is damaged.
    """
    try:
        document = safe_open.shown(content)
        safe_open.check_numbers(document)
        return check_environment(from_json(document, allow_inf_nan=False))
    except ValueError as error:
        raise StoreError(say("cannot read {path}: it is damaged", path=written)) from error


def keep_proofs(folder: Path, proofs: Sequence[Proof]) -> Result:
    """Add proofs to a run that has ended, each replacing an earlier one of the same cause.

    They have a file of their own, since result.json may be rebuilt from the journal.

    Raises:
        StoreError: the folder cannot be read or written.
    """
    write_proofs(folder, merged(read_proofs(folder), proofs))
    result = load(folder)
    atomic.write_bytes(folder / RESULT, to_json(result))
    return result


def keep_attached(folder: Path, attached: Attached) -> Result:
    """Store what is attached to a run that has ended, in place of what was.

    Raises:
        StoreError: the folder cannot be read or written.
    """
    write_attached(folder, attached)
    result = load(folder)
    # A killed run has none, and is still rebuilt from its journal each time.
    if safe_open.is_there(folder / RESULT):
        atomic.write_bytes(folder / RESULT, to_json(result))
    return result


def is_running(folder: Path) -> bool:
    """Whether a process holds the journal's lock, which is released however the process ends."""
    try:
        with safe_open.opened(folder / JOURNAL) as journal:
            fcntl.flock(journal, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@dataclass(frozen=True)
class Listed:
    """A line of `runs list`: the result, or why it could not be read."""

    folder: Path
    result: Result | None
    problem: str | None = None


def list_runs(out: Path) -> Iterator[Listed]:
    """All runs in a folder, oldest first."""
    for journal in sorted(out.glob(f"*/{JOURNAL}"), key=_began):
        try:
            yield Listed(journal.parent, load(journal.parent))
        except StoreError as error:
            yield Listed(journal.parent, None, error.message)


def find(out: Path, wanted: str) -> Path:
    """The run that a user means: a path, a folder's name, the start of one, or `last`.

    Raises:
        StoreError: there is none, or more than one.
    """
    if not wanted.strip():
        raise StoreError(
            say("the name of the run is empty"), say("loadstone runs list shows the names")
        )
    for path in (Path(wanted), out / wanted):
        if safe_open.is_there(path / JOURNAL):
            return path
    names = [journal.parent.name for journal in sorted(out.glob(f"*/{JOURNAL}"), key=_began)]
    if not names:
        raise StoreError(
            say("there are no runs in {folder}", folder=out), say("say where they are with --out")
        )
    if wanted == "last":
        return out / names[-1]
    starting = [name for name in names if name.startswith(wanted)]
    # `tour` is the run of that name, even if there is a `tour2`.
    starting = [name for name in starting if _named(name) == wanted] or starting
    if len(starting) == 1:
        return out / starting[0]
    if starting:
        raise StoreError(
            say(
                "the names of {number} runs start with '{start}': {names}",
                number=len(starting),
                start=wanted,
                names=_newest_of(starting),
            ),
            say("name it in full, or by as much as no other starts with; last is the newest run"),
        )
    hint = nearest(wanted, names) or say("loadstone runs list shows them")
    raise StoreError(say("there is no run '{name}' in {folder}", name=wanted, folder=out), hint)


def _newest_of(names: Sequence[str]) -> Message:
    """The last of the names, newest first."""
    newest = names[::-1][:_NAMES_SHOWN]
    if (more := len(names) - len(newest)) == 0:
        return say("{list}", list=Joined(newest))
    return say("{list} and {number} more", list=Joined(newest), number=Count(more))


def _named(folder: str) -> str:
    """The name that a run was given: its folder's name without the time."""
    return _STAMP.sub("", folder)


def journals(out: Path) -> list[Path]:
    """The journals of all runs in a folder, oldest first; their content is not read."""
    return sorted(out.glob(f"*/{JOURNAL}"), key=_began)


def _began(journal: Path) -> tuple[float, str]:
    try:
        first = journal.stat().st_mtime
    except OSError:
        first = 0.0
    stamp = _STAMP.search(journal.parent.name)
    if stamp:
        # Users may rename folders: if the digits are not a time, the folder's age decides.
        with contextlib.suppress(ValueError):
            began = datetime.strptime(stamp[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            first = began.timestamp()
    return first, journal.parent.name
