"""A server of each release, and the table of what was tried on it: `make servers`."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from called import called
from loadstone.model.result import Result
from loadstone.model.target import Tls, TlsVersion
from loadstone.runs import run_folder
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.sandbox.mysql.accounts import check_methods
from loadstone.sandbox.mysql.releases import RELEASES
from pooled import QUICK, need

DOCUMENT = Path(__file__).parents[2] / "docs" / "servers.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
METHODS = (
    "mysql_native_password", "sha256_password", "caching_sha2_password", "ed25519", "parsec",
)  # fmt: skip
OLDEST: dict[str, tuple[TlsVersion, ...]] = {"mysql-5.7": ("TLSv1.1",)}
"""Releases with which TLS needs a version by its name."""

WORKLOADS = (
    "oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_insert",
    "oltp_delete", "oltp_update_index", "oltp_update_non_index", "select_random_points",
    "select_random_ranges",
)  # fmt: skip

Cell = Callable[[str], None]

_TABLE = pytest.StashKey["Table"]()
_CELL = "cell"


@dataclass
class Table:
    """The cells by row and release, in the order in which they were tried."""

    versions: dict[str, str] = field(default_factory=dict)
    cells: dict[str, dict[str, str]] = field(default_factory=dict)

    def written(self, before: str) -> str:
        """As Markdown: a row for what was tried, a column for each release, here or not.

        `before`: the table as it was. Its rows of the same releases stay where they were not tried.
        """
        heads = f"| | {' | '.join(self.versions.get(name, name) for name in RELEASES)} |"
        rule = f"|---|{'---|' * len(RELEASES)}"
        rows = {
            row: f"| {row} | {' | '.join(cells.get(name, '') for name in RELEASES)} |"
            for row, cells in self.cells.items()
        }
        known = before.splitlines()
        kept = (
            {line.split("|")[1].strip(): line for line in known[2:]} if known[:1] == [heads] else {}
        )
        return "\n".join([heads, rule, *(kept | rows).values(), ""])


@dataclass(frozen=True)
class Release:
    """A running server of a release, and a folder for the runs on it."""

    name: str
    sandbox: Sandbox
    folder: Path

    @property
    def tls(self) -> Tls:
        """Required, with the version by its name where that is needed."""
        return Tls(mode="required", versions=OLDEST.get(self.name, ()))

    def loadstone(self, *words: str, code: int | None = 0) -> CompletedProcess[str]:
        """Call the program, with the server as its target."""
        target = ("--target", self.sandbox.tcp.target.url)
        return called(*words, *target, folder=self.folder, code=code)

    def driven(self, workload: str, *words: str, name: str | None = None) -> Result:
        """The result of a short run, which is kept in `runs` by its name."""
        name = name or f"{workload}-{len(list(self.folder.glob('runs/*')))}"
        self.loadstone("run", workload, "--name", name, *words)
        return run_folder.load(self.folder_of(name))

    def folder_of(self, name: str) -> Path:
        """The folder of a run by its name."""
        (found,) = self.folder.glob(f"runs/{name}*")
        return found


@pytest.fixture(scope="session", params=list(RELEASES))
def release(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """Each release in turn, with an account for each login method that it has."""
    name = need(str(request.param))
    binary = find_server(name)

    def has(method: str) -> bool:
        try:
            check_methods(binary, (method,))
        except SandboxError:
            return False
        return True

    methods = tuple(filter(has, METHODS))
    with (
        pytest.MonkeyPatch.context() as patch,
        start_sandbox(SandboxSpec(server=name, auth=methods, settings=dict(QUICK))) as sandbox,
    ):
        patch.setenv("LOADSTONE_PASSWORD", sandbox.tcp.credentials.reveal())
        table = request.config.stash[_TABLE]
        table.versions[name] = f"{sandbox.flavour} {sandbox.version}"
        yield Release(name, sandbox, tmp_path_factory.mktemp(name))


@pytest.fixture
def cell(record_property: Callable[[str, object], None]) -> Cell:
    """Says what the table shows of a test that passes."""
    return lambda text: record_property(_CELL, text)


def pytest_configure(config: pytest.Config) -> None:
    """The table of this test run."""
    config.stash[_TABLE] = Table()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what a test says of itself into the table."""
    report = yield
    found = re.fullmatch(r"test_(\w+)\[(.+)\]", item.name)
    if found and (report.when == "call" or report.outcome != "passed"):
        row = item.config.stash[_TABLE].cells.setdefault(found[1].replace("_", " "), {})
        row[found[2]] = _text_of(report)
    return report


def _text_of(report: pytest.TestReport) -> str:
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        return f"not evaluated: {reason.removeprefix('Skipped: ')}"
    if report.failed:
        return "**failed**"
    return str(dict(report.user_properties).get(_CELL, "yes"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the table where the documents have it, if all releases were tried."""
    table = session.config.stash[_TABLE]
    if session.config.getoption("--write-table", default=False) and table.versions:
        before, _, rest = DOCUMENT.read_text().partition(BEGIN)
        known, _, after = rest.partition(END)
        DOCUMENT.write_text(before + BEGIN + table.written(known) + END + after)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make servers`."""
    parser.addoption("--write-table", action="store_true", help="write docs/servers.md")
