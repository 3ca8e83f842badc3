"""Without the extra `web`: a run works, and what needs it is refused in a line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone import engine
from loadstone.model.exit_codes import ExitCode
from loadstone.model.null_server import NullServerSettings
from loadstone.web.extras import PAGE, first_missing

RUN = ("run", "oltp_point_select", "--concurrency", "1", "--duration", "200ms", "--warmup", "0s")
NOWHERE = ("--target", "mysql://u@127.0.0.1:1/x")


@pytest.fixture
def without_web(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python itself refuses to import the packages of the extra."""
    for name in list(sys.modules):
        if name.partition(".")[0] in PAGE or name.startswith("loadstone.web."):
            monkeypatch.delitem(sys.modules, name)
    for module in PAGE:
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.usefixtures("without_web")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("serve",), "loadstone serve"),
        ((*RUN, *NOWHERE, "--live"), "--live"),
        ((*RUN, *NOWHERE, "--metrics", ":0"), "--metrics"),
    ],
    ids=["serve", "live", "metrics"],
)
def test_what_needs_it_says_what_to_install(
    words: tuple[str, ...], what: str, tmp_path: Path
) -> None:
    done = called(*words, folder=tmp_path, code=ExitCode.USAGE)
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"error: {what} needs the Python package starlette, which is not installed",
        "hint:  pip install 'loadstone[web]'",
    ]


@pytest.mark.usefixtures("without_web")
def test_a_run_and_its_report_need_nothing_of_it(tmp_path: Path) -> None:
    server = engine.null_server(NullServerSettings())
    try:
        target = f"mysql://u@127.0.0.1:{server.port}/sbtest"
        called(*RUN, "--target", target, "--name", "first", folder=tmp_path)
    finally:
        server.stop()
    called("report", "first", "-o", "first.html", folder=tmp_path)
    assert "<html" in (tmp_path / "first.html").read_text()[:1000]


def test_the_first_missing_package_is_named_also_within_one_that_is_there() -> None:
    assert first_missing(["json", "os.path"]) is None
    assert first_missing(["json", "no_such_package.of_ours", "neither"]) == "no_such_package"
