"""Writes a run's folder again without names, and the archive of it."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from loadstone import engine
from loadstone.model.message import say
from loadstone.runs import run_folder, safe_open
from loadstone.runs.anonymous.check import check
from loadstone.runs.anonymous.hiding import Document, Hiding
from loadstone.runs.errors import StoreError
from loadstone.runs.proofs import PROOFS
from loadstone.runs.rebuild import JOURNAL, LATENCIES

_DOCUMENTS = (run_folder.RUN, run_folder.ENVIRONMENT, PROOFS)
_TABLES = (run_folder.LOAD, run_folder.SERVER, run_folder.HOST)
_TAG = b"Tag="


def archive(run: Path) -> bytes:
    """A zip file with the run's folder, without names, once that is checked.

    Raises:
        StoreError: the folder cannot be read, has SQL of the user's own, or a name is left in it.
    """
    if run_folder.is_running(run):
        raise StoreError(say("{run} is still running: export it when it has ended", run=run.name))
    hiding = Hiding(set(engine.workloads()))
    with TemporaryDirectory() as place:
        folder = Path(place)
        there = [name for name in _DOCUMENTS if safe_open.is_there(run / name)]
        documents = {name: _document(run / name) for name in there}
        hiding.learn(list(documents.values()))
        hiding.of(list(documents.values()))  # to know all names before the first one is written
        for name, document in documents.items():
            (folder / name).write_text(json.dumps(hiding.of(document), indent=2) + "\n")
        _write_samples(run, folder, hiding)
        _finish(run, folder)
        files = [
            folder / name
            for name in (*_DOCUMENTS, JOURNAL, LATENCIES, run_folder.RESULT, *_TABLES)
            if (folder / name).exists()
        ]
        check(files, hiding.pseudonyms.originals)
        return _zipped(files, run_folder.load(folder).run.id)


def _document(path: Path) -> Document:
    try:
        document = json.loads(safe_open.contents(path))
    except OSError as error:
        raise StoreError.from_os("read", path, error) from error
    except ValueError as error:
        raise StoreError(say("cannot read {path}: it is damaged", path=path)) from error
    if _has_own_sql(document):
        raise StoreError(
            say(
                "{path} has SQL of a workload file or a script, which is yours: such a run is not"
                " exported without names",
                path=path,
            )
        )
    return document


def _has_own_sql(document: Document) -> bool:
    match document:
        case dict():
            if any(document.get(key) for key in ("template", "templates", "script", "scripts")):
                return True
            return any(map(_has_own_sql, document.values()))
        case list():
            return any(map(_has_own_sql, document))
        case _:
            return False


def _write_samples(run: Path, folder: Path, hiding: Hiding) -> None:
    """The latency log and the journal; each step says at which bytes its part of both begins."""
    moved = _write_latencies(run, folder, hiding)
    written = bytearray()
    try:
        with safe_open.opened(run / JOURNAL) as journal:
            for line in journal:
                if not line.endswith(b"\n"):
                    break  # cut short when the run was killed
                entry = hiding.of(json.loads(line))
                if entry.get("kind") == "step_begin":
                    entry["journal_from"] = len(written)
                    entry["hlog_from"] = moved.get(entry["hlog_from"], entry["hlog_from"])
                written += json.dumps(entry, separators=(",", ":")).encode() + b"\n"
    except OSError as error:
        raise StoreError.from_os("read", run / JOURNAL, error) from error
    except (ValueError, AttributeError, KeyError) as error:
        said = say("cannot read {path}: it is damaged", path=run / JOURNAL)
        raise StoreError(said) from error
    (folder / JOURNAL).write_bytes(written)


def _write_latencies(run: Path, folder: Path, hiding: Hiding) -> dict[int, int]:
    """Write latency.hlog; returns where each line begins now, by where it began."""
    moved: dict[int, int] = {}
    before = 0
    written = bytearray()
    try:
        with safe_open.opened(run / LATENCIES) as log:
            for line in log:
                moved[before] = len(written)
                before += len(line)
                written += _line(line, hiding)
    except FileNotFoundError:
        return moved
    except OSError as error:
        raise StoreError.from_os("read", run / LATENCIES, error) from error
    moved[before] = len(written)
    (folder / LATENCIES).write_bytes(written)
    return moved


def _line(line: bytes, hiding: Hiding) -> bytes:
    if not line.startswith(_TAG):
        return line
    tag, comma, rest = line.partition(b",")
    step, slash, name = tag.decode("utf-8", "replace").partition("/")
    return f"{step}{slash}{hiding.tag(name)}".encode() + comma + rest


def _finish(run: Path, folder: Path) -> None:
    """Make result.json and the tables again, from what has no names."""
    if not safe_open.is_there(run / run_folder.RESULT):
        return
    run_folder.finish(folder)
    (folder / run_folder.RESULT).write_bytes(run_folder.to_json(run_folder.load(folder)))


def _zipped(files: list[Path], name: str) -> bytes:
    """The files in a folder of this name, without times or owners."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for file in files:
            entry = zipfile.ZipInfo(f"{name}/{file.name}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            made.writestr(entry, file.read_bytes())
    return buffer.getvalue()
