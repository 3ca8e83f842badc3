"""Run folders that somebody else has made are opened safely, or refused in one line."""

from __future__ import annotations

import hmac
import json
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

import polars

from called import called
from loadstone import engine
from loadstone.model.null_server import NullServerSettings
from trust.hostile_runs import (
    JOURNAL,
    MADE_FROM_JOURNAL,
    SCRIPT,
    TERMINAL,
    change_a_file,
    placed,
)
from trust.reading import OWN_LIMIT_KB
from trust.tally import COUNTS

pytestmark = pytest.mark.timeout(900)

SEED = int(os.environ.get("LOADSTONE_FUZZ_SEED", "1"))
MUTANTS = int(os.environ.get("LOADSTONE_FUZZ_MUTANTS", "6"))
ERRORS = ("error: ", "错误：")
"""The start of a refusal's line, in either language."""

HUGE = 200 * 1024**3
"""The size of a sparse file."""

FILES = (JOURNAL, "latency.hlog", "result.json", "run.json", "environment.json", "load.parquet")

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run, of a server that answers at once."""
    home = tmp_path_factory.mktemp("good")
    server = engine.null_server(NullServerSettings())
    target = f"mysql://u@127.0.0.1:{server.port}/sbtest"
    words = ["run", "oltp_point_select", "--target", target, "--tls", "disabled"]
    words += ["--concurrency", "1,2", "--duration", "1s", "--warmup", "0s", "--yes"]
    try:
        called(*words, folder=home, environment=environment(home))
    finally:
        server.stop()
    (run,) = (home / "runs").iterdir()
    return run


def loadstone(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return called(*words, folder=home, environment=environment(home), code=None)


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}


# -- What somebody puts in the place of a file, and into it ----------------------------------------


def instead(name: str, put: Callable[[Path], object]) -> Damage:
    def damage(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        put(run / name)

    return damage


def linked(name: str, to: str) -> Damage:
    """A link; `to` is relative to the folder that holds the runs."""
    return instead(name, lambda path: path.symlink_to(path.parents[2] / to))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def listening(path: Path) -> None:
    """A socket; its path must be short."""
    with socket.socket(socket.AF_UNIX) as bound:
        before = Path.cwd()
        os.chdir(path.parent)
        try:
            bound.bind(path.name)
        finally:
            os.chdir(before)


def from_journal(change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    """Change the journal's lines, and remove what was made from them before."""

    def damage(run: Path) -> None:
        for name in MADE_FROM_JOURNAL:
            (run / name).unlink(missing_ok=True)
        lines = (run / JOURNAL).read_bytes().splitlines()
        (run / JOURNAL).write_bytes(placed(change(lines)))

    return damage


def everywhere(text: str) -> Damage:
    """The text in each string of each document."""

    def damage(run: Path) -> None:
        for name in (*FILES[2:5], JOURNAL):
            lines = (run / name).read_bytes().splitlines() if name == JOURNAL else [b""]
            if name != JOURNAL:
                document = json.loads((run / name).read_bytes())
                (run / name).write_text(json.dumps(_with_text(document, text)))
                continue
            told = [_with_text(json.loads(line), text) for line in lines]
            (run / name).write_bytes(placed([as_line(line) for line in told]))

    return damage


def as_line(document: Any) -> bytes:
    """A line of a journal."""
    return json.dumps(document, separators=(",", ":")).encode()


# Their values are one of a few words, or what another line is found by.
_WORDS = {"kind", "phase", "state", "reason", "method", "mode", "version", "role", "unit", "what"}


def _with_text(found: Any, text: str, key: str = "") -> Any:
    match found:
        case dict():
            return {name: _with_text(value, text, name) for name, value in found.items()}
        case list():
            return [_with_text(value, text, key) for value in found]
        case str() if key not in _WORDS:
            return found + text
    return found


def bomb() -> bytes:
    """A line of the latency log whose histogram claims to have four gigabytes."""
    head = [0x1C849313, 0xFFFFFFFF, 0, 3, 0, 1, 0x346, 0x30B8A000]
    inner = b"".join(word.to_bytes(4, "big") for word in head) + b"\x3f\xf0" + bytes(6)
    packed = zlib.compress(inner + bytes(100_000_000), 9)
    whole = 0x1C849314.to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed
    return b"Tag=step-1/response,0.100000,0.500000,1.000," + b64encode(whole) + b"\n"


def with_bomb(run: Path) -> None:
    from_journal(lambda lines: lines)(run)
    head = (run / "latency.hlog").read_bytes().split(b"Tag=")[0]
    (run / "latency.hlog").write_bytes(head + bomb())


def many_steps(lines: list[bytes]) -> list[bytes]:
    """Steps that all claim the samples of the first."""
    begin = next(line for line in lines if line.startswith(b'{"kind":"step_begin"'))
    document = json.loads(begin)
    steps = []
    for number in range(2, 3000):
        step = document["step"] | {"number": number}
        steps.append(json.dumps(document | {"step": step, "journal_from": 300}).encode())
    return [*lines, *steps]


def many_names(lines: list[bytes]) -> list[bytes]:
    """Very many counters, each of which was read once."""
    names = next(line for line in lines if line.startswith(b'{"kind":"observed_names"'))
    seen = next(line for line in lines if line.startswith(b'{"kind":"observed",'))
    at = lines.index(names)
    made = []
    for number in range(5000):
        named = json.loads(names) | {"names": number, "deltas": [f"a{number}"], "gauges": []}
        told = json.loads(seen) | {"names": number, "deltas": [1.0], "gauges": []}
        made += [as_line(named), as_line(told)]
    return lines[:at] + made + lines[at:]


def as_first(line: bytes) -> Callable[[list[bytes]], list[bytes]]:
    return lambda lines: [line, *lines]


def other_rows(run: Path) -> None:
    """A table like ours, except for its content; it may claim to have gigabytes."""
    table = polars.read_parquet(run / "load.parquet")
    told = table.with_columns(polars.lit(TERMINAL).alias("workload"))
    told.write_parquet(run / "load.parquet", compression="zstd")


def endless_experiment(run: Path) -> None:
    """Twelve factors of ten levels each."""
    document = json.loads((run / "run.json").read_text())
    levels = [{"name": f"level{number}"} for number in range(10)]
    factors = [{"name": f"factor{number}", "levels": levels} for number in range(12)]
    workloads = [document["plan"]["workload"]]
    asked = {"name": "x", "workloads": workloads, "factors": factors, "ladder": [1]}
    (run / "run.json").write_text(json.dumps(document | {"experiment": asked}))


def other_columns(run: Path) -> None:
    table = polars.DataFrame({"step": ["x"], "second": [[1]], "tps": [{"a": 1}]})
    table.write_parquet(run / "load.parquet")
    table.write_parquet(run / "host.parquet")


def unpacked_links(run: Path) -> None:
    """An archive as somebody may send it, in which each file is a link out of the folder."""
    names = [path.name for path in run.iterdir()]
    shutil.rmtree(run)
    sent = run.parent / "sent.tar"
    with tarfile.open(sent, "w") as archive:
        for number, name in enumerate((*names, "wishes", "proofs", "report.html")):
            link = tarfile.TarInfo(f"{run.name}/{name}")
            link.type = tarfile.SYMTYPE
            link.linkname = ("../../secret", "../../zeros", "../..", ".")[number % 4]
            archive.addfile(link)
    subprocess.run(["tar", "xf", sent, "-C", run.parent], check=True)
    sent.unlink()


def named(name: str) -> Damage:
    """A second folder next to it, whose name Loadstone would not give."""

    def damage(run: Path) -> None:
        (run.parent / name).mkdir()
        shutil.copy(run / JOURNAL, run.parent / name / JOURNAL)

    return damage


def of_device(text: str) -> Damage:
    def damage(run: Path) -> None:
        document = json.loads((run / "environment.json").read_text())
        (run / "environment.json").write_text(json.dumps(document | {"data_device": text}))

    return damage


def last_line_is_long(run: Path) -> None:
    from_journal(lambda lines: lines)(run)
    with (run / JOURNAL).open("ab") as file:
        file.write(b'{"kind":"note","at_s":1.0,"text":"')
        file.truncate(file.tell() + HUGE)


HOSTILE: dict[str, Damage] = {
    **{f"{name} is a FIFO": instead(name, os.mkfifo) for name in FILES},
    **{f"{name} is without end": linked(name, "zeros") for name in FILES},
    **{f"{name} is a link": linked(name, "secret") for name in FILES},
    **{f"{name} is a folder": instead(name, Path.mkdir) for name in FILES},
    **{f"{name} is of 200 GB": instead(name, sparse) for name in FILES},
    "journal is a socket": instead(JOURNAL, listening),
    "journal's last line is of 200 GB": last_line_is_long,
    "journal of deep lists": from_journal(as_first(b"[" * 100_000 + b"]" * 100_000)),
    "journal of a number of 100,000 digits": from_journal(as_first(b"9" * 100_000)),
    "journal of no text": from_journal(as_first(b"\xff\xfe\x80")),
    "journal of nothing": from_journal(lambda lines: []),
    "journal without a begin": from_journal(lambda lines: lines[1:]),
    "journal of two runs": from_journal(lambda lines: lines + lines),
    "journal backwards": from_journal(lambda lines: lines[::-1]),
    "steps that share their samples": from_journal(many_steps),
    "counters without end": from_journal(many_names),
    "result of deep lists": instead("result.json", lambda path: path.write_bytes(b"[" * 10**6)),
    "environment of deep lists": instead(
        "environment.json", lambda path: path.write_bytes(b"[" * 10**6)
    ),
    "a histogram of four gigabytes": with_bomb,
    "a table of other rows": other_rows,
    "a table of other columns": other_columns,
    "an experiment of a million million variants": endless_experiment,
    "a device that is a path": of_device("../../../../../../../../../../tmp/x"),
    "an archive of links, unpacked": unpacked_links,
    "script in every text": everywhere(SCRIPT),
    "what drives a terminal in every text": everywhere(TERMINAL),
    "markup in every text": everywhere("[/bold][red]"),
    "a name that is script": named(SCRIPT.replace("/", "")),
    "a name that drives a terminal": named(TERMINAL),
    "a name that is markup": named("[red][bold"),
    "a name that is no text": named("\udcff\udcfe"),
}

ONLY_SHOWN = {
    "script in every text",
    "a device that is a path",
    "a table of other columns",
    "a table of other rows",
    "an experiment of a million million variants",
}
"""There is no reason to refuse it."""


@pytest.fixture(scope="module")
def told(good: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The outcome of each folder, from one program that read them all and changed nothing else."""
    place = tmp_path_factory.mktemp("hostile")
    folders = {}
    for number, (name, damage) in enumerate(HOSTILE.items()):
        folders[name] = a_copy(good, place / str(number))
        damage(folders[name])
    for number in range(MUTANTS):
        name = f"mutant {SEED + number}"
        folders[name] = a_copy(good, place / name)
        change_a_file(folders[name], random.Random(SEED + number))
    before = outside(place)
    found = read(good, place, folders)
    assert outside(place) == before
    return found


def a_copy(good: Path, place: Path) -> Path:
    """A folder of runs with one in it, and next to it files that nobody may touch."""
    run = place / "runs" / "sent-20260101T000000Z"
    shutil.copytree(good, run)
    (place / "secret").write_text("somebody else's\n")
    (place / "zeros").symlink_to("/dev/zero")
    return run


def outside(place: Path) -> dict[str, bytes]:
    """All that lies next to the folders of runs."""
    return {
        str(path): path.read_bytes()
        for path in place.rglob("*")
        if "runs" not in path.relative_to(place).parts and path.is_file()
    }


def read(good: Path, home: Path, folders: dict[str, Path]) -> dict[str, list[dict[str, Any]]]:
    """The outcomes by name; two programs share the work."""
    named = list(folders.items())
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(lambda half: read_some(good, home, dict(half)), (named[::2], named[1::2]))
        found = {run: asked for half in halves for run, asked in half.items()}
    return {name: found[str(path)] for name, path in folders.items()}


def read_some(good: Path, home: Path, folders: dict[str, Path]) -> dict[str, list[dict[str, Any]]]:
    wanted = [f"{'page' if has_page(name) else 'text'} {run}" for name, run in folders.items()]
    done = subprocess.run(
        [sys.executable, "-m", "trust.reading", str(good)],
        env=environment(home) | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "100"},
        input="\n".join(wanted),
        stdout=subprocess.PIPE,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stdout[-500:]
    *lines, last = map(json.loads, done.stdout.splitlines())
    assert last["held_kb"] < OWN_LIMIT_KB
    return {line["run"]: line["asked"] for line in lines}


def has_page(name: str) -> bool:
    """Whether to make a page: for cases that change the display, and for a fourth of the others."""
    return "text" in name or "name" in name or zlib.crc32(name.encode()) % 4 == 0


NAMES = [*HOSTILE, *(f"mutant {SEED + number}" for number in range(MUTANTS))]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_folder_is_opened_safely_or_refused_in_a_line(
    name: str, told: dict[str, list[dict[str, Any]]]
) -> None:
    COUNTS["inputs tried"] += 1
    for each in told[name]:
        errors = [line for line in each["err"].splitlines() if line.startswith(ERRORS)]
        # 0: shown; 2: nothing to compare; 8: refused.
        assert (each["code"], len(errors)) in ((0, 0), (2, 1), (8, 1)), each
        assert not each["drives"], each
        assert not each["script"], each
        if name in ONLY_SHOWN:
            assert each["code"] == 0, each


@pytest.mark.parametrize("command", ["runs show", "report", "compare", "resume"])
def test_an_archive_in_the_place_of_a_folder_is_refused_and_not_unpacked(
    command: str, good: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "sent.zip", "w") as archive:
        for name in FILES:
            link = zipfile.ZipInfo(f"sent-20260101T000000Z/{name}")
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(link, "/etc/passwd")
    COUNTS["inputs tried"] += 1
    words = [*command.split(), *([str(good)] if command == "compare" else []), "sent.zip"]
    done = loadstone(tmp_path, *words)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert (done.returncode, len(errors), done.stdout) == (8, 1, "")
    assert [path.name for path in tmp_path.iterdir()] == ["sent.zip"]


# -- What would be carried out again ---------------------------------------------------------------

EXPERIMENT = """
duration = "1s"
warmup = "0s"
ladder = [1]
repeats = 2
restore = "none"
[target]
url = "mysql://u@127.0.0.1:1/sbtest"
[[workload]]
name = "oltp_point_select"
tables = 1
table_size = 100
[factor.protocol.a]
client = { prepared = true }
[factor.protocol.b]
client = { prepared = false }
"""


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment that was killed before its first step, started by this user."""
    from loadstone.experiments.schedule import schedule
    from loadstone.runner.experiment import checked_text
    from loadstone.runs.recorder import Asked, Recorder
    from recorded import a_plan

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    experiment = checked_text(EXPERIMENT, "e.toml").experiment
    asked = Asked(
        loadstone="0.1.0",
        engine=engine.build_info(),
        command_line=("loadstone", "experiment", "e.toml"),
        plan=a_plan(),
        steps=tuple(planned.step for planned in schedule(experiment)),
        experiment=experiment,
    )
    run = tmp_path / "runs" / "left-20260101T000000Z"
    run.mkdir(parents=True)
    recorder = Recorder(run, asked, [None])
    recorder.environment({})
    recorder.close()
    return run


def resumed(run: Path, *more: str) -> tuple[int, str]:
    done = loadstone(run.parents[1], "resume", run.name, *more)
    COUNTS["inputs tried"] += 1
    return done.returncode, done.stderr


def test_what_somebody_else_asked_for_is_not_carried_out(left: Path) -> None:
    """A target, a program to start, and statements are all in run.json."""
    unreached = (3, "nothing listens on 127.0.0.1:1")
    code, said = resumed(left)
    assert (code, unreached[1] in said) == (3, True), said
    asked = json.loads((left / "run.json").read_text())
    asked["experiment"]["target"]["port"] = 2
    (left / "run.json").write_text(json.dumps(asked))
    code, said = resumed(left)
    assert code == 7, said
    assert "was not started by you" in said and "--trust-folder" in said
    code, said = resumed(left, "--trust-folder")
    assert (code, "127.0.0.1:2" in said) == (3, True), said


def test_a_folder_of_another_user_or_machine_is_not_carried_out(left: Path) -> None:
    (left.parents[1] / "state" / "loadstone" / "seal.key").write_bytes(bytes(32))
    assert resumed(left)[0] == 7
    (left / "seals").unlink()
    assert resumed(left)[0] == 7


def test_a_secret_that_others_can_read_vouches_for_nothing(left: Path) -> None:
    (left.parents[1] / "state" / "loadstone" / "seal.key").chmod(0o644)
    assert resumed(left)[0] == 7


def test_what_was_sealed_for_another_run_is_not_carried_out(left: Path, good: Path) -> None:
    """The attacker needs no secret: this user's own files and seals, recombined."""
    other = left.with_name("other-20260101T000000Z")
    shutil.copytree(left, other)
    first, rest = (other / JOURNAL).read_text().split("\n", 1)
    assert left.name in first
    (other / JOURNAL).write_text(f"{first.replace(left.name, other.name)}\n{rest}")
    code, said = resumed(other)
    assert code == 7, said
    assert "a seal of another run" in said and "--trust-folder" in said
    assert resumed(left)[0] == 3
    (left / "environment.json").write_bytes((good / "environment.json").read_bytes())
    assert resumed(left)[0] == 7


def test_a_seal_of_before_is_named_with_the_way_out(left: Path) -> None:
    """Until 2026-11 the seal covered a file's name and content, whatever the run."""
    key = (left.parents[1] / "state" / "loadstone" / "seal.key").read_bytes()
    seals = [
        hmac.digest(key, name.encode() + b"\0" + (left / name).read_bytes(), "sha256").hex()
        for name in ("run.json", "environment.json")
    ]
    (left / "seals").write_text("\n".join(seals))
    code, said = resumed(left)
    assert code == 7, said
    assert "or of an older Loadstone, does not count" in said and "--trust-folder" in said


@pytest.mark.parametrize("is_ours_first", [True, False])
def test_the_seal_is_looked_at_over_the_bytes_that_are_parsed(
    is_ours_first: bool, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is replaced as soon as it was read for the first time."""
    from loadstone.runs import safe_open, signature, vouched

    ours = (left / "run.json").read_bytes()
    evil = ours.replace(b'"port": 1,', b'"port": 2,')
    assert evil != ours
    first, then = (ours, evil) if is_ours_first else (evil, ours)
    (left / "run.json").write_bytes(first)
    read = safe_open.contents

    def then_another(path: Path, most: int = safe_open.LARGEST_DOCUMENT) -> bytes:
        found = read(path, most)
        if path.name == "run.json":
            path.write_bytes(then)
        return found

    monkeypatch.setattr(safe_open, "contents", then_another)
    if not is_ours_first:
        with pytest.raises(signature.NotOurs):
            vouched.read(left, trusted=False)
        return
    experiment = vouched.read(left, trusted=False).asked.experiment
    assert experiment is not None and experiment.target is not None
    assert experiment.target.port == 1


def test_what_somebody_puts_into_a_run_that_goes_on_is_not_sealed(left: Path) -> None:
    """The environment of a variant is added to what this process wrote, not to what is on disk."""
    from loadstone.runs import vouched
    from loadstone.runs.rebuild import read_log
    from loadstone.runs.recorder import Recorder

    ours = vouched.read(left, trusted=False)
    begin = read_log(left).begin
    recorder = Recorder(left, ours.asked, (), before=begin, environment=ours.environment)
    (left / "environment.json").write_text('{"sandbox": {"settings": {"init_file": "/tmp/x"}}}')
    recorder.variant("a", [])
    recorder.close()
    environment = vouched.read(left, trusted=False).environment
    assert "sandbox" not in environment
    assert environment["variants"] == {"a": []}


@pytest.mark.parametrize("name", [JOURNAL, "latency.hlog", "wishes"])
def test_what_is_taken_up_is_written_in_its_own_folder(left: Path, name: str) -> None:
    from loadstone.runs.rebuild import read_log
    from loadstone.runs.recorder import Recorder, read_asked

    other = left.parents[1] / "other"
    if name == "wishes":
        other.mkdir()
        (other / "settings.json").write_text("{}")
    else:
        (left / name).rename(other)
    (left / name).symlink_to(other)
    before = other.read_bytes() if other.is_file() else list(other.iterdir())
    begin = read_log(left).begin if name != JOURNAL else None
    if name == JOURNAL:
        assert resumed(left, "--trust-folder")[0] == 8
    elif name == "latency.hlog":
        from loadstone.runs.errors import StoreError

        with pytest.raises(StoreError, match="it is a link"):
            Recorder(left, read_asked(left), (), before=begin)
    else:
        Recorder(left, read_asked(left), (), before=begin).close()
    assert (other.read_bytes() if other.is_file() else list(other.iterdir())) == before


# -- What is put back on a server ------------------------------------------------------------------


def settings(home: Path, *lines: object) -> Path:
    """A journal of settings where `restore` looks for it."""
    folder = home / "state" / "loadstone" / "settings"
    folder.mkdir(parents=True)
    path = folder / "db1:3306-1-1.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    path.chmod(0o600)
    return path


HEAD = {"target": "mysql://u@127.0.0.1:1", "place": "127.0.0.1:1", "before": {"a": "1"}}
OLD = {"variable": "max_connections", "old": 5}

REFUSED: dict[str, tuple[object, ...]] = {
    "another server than it says": ({**HEAD, "place": "127.0.0.1:2"}, OLD),
    "no server": ({**HEAD, "target": "file:///etc/passwd"}, OLD),
    "a value that is a list": (HEAD, {**OLD, "old": ["1; DROP TABLE x"]}),
    "a value without end": (HEAD, {**OLD, "old": float("inf")}),
    "more than is known": (HEAD, {**OLD, "sql": "DROP TABLE x"}),
    "no object": (HEAD, "SET GLOBAL x = 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_settings_that_are_no_settings_are_not_put_back(name: str, tmp_path: Path) -> None:
    path = settings(tmp_path, *REFUSED[name])
    done = loadstone(tmp_path, "restore")
    assert done.returncode == 13
    assert "cannot read the old settings in" in done.stderr
    assert path.exists()


@pytest.mark.parametrize("how", ["writable by others", "a link", "of another user"])
def test_settings_that_others_could_have_written_are_not_put_back(how: str, tmp_path: Path) -> None:
    path = settings(tmp_path, HEAD, OLD)
    if how == "writable by others":
        path.chmod(0o602)
    elif how == "a link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    else:
        pytest.skip("only root gives files away")
    done = loadstone(tmp_path, "restore")
    assert done.returncode == 13
    assert "cannot read the old settings in" in done.stderr
