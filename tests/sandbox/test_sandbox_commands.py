import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from loadstone.cli.commands.sandbox import sandbox

pytestmark = pytest.mark.server


def run(*arguments: str, given: str | None = None) -> Result:
    result = CliRunner().invoke(sandbox, arguments, input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_a_sandbox_is_started_listed_asked_and_stopped_by_command(
    server: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)  # our own prompt, wherever we are
    started = json.loads(
        run("start", "--server", server, "--name", "it", "--set", "sync_binlog=0", "--json").stdout
    )
    try:
        assert started["settings"]["sync_binlog"] == "0"
        url = f"mysql://loadstone@127.0.0.1:{started['port']}/sbtest?tls=disabled"
        assert started["target"]["tcp"] == url
        (listed,) = json.loads(run("list", "--json").stdout)
        assert listed == started
        text = run("list").stdout
        assert "runs until it is stopped" in text
        _, _, socket = started["target"]["socket"].partition("socket=")
        assert f"\nsocket  it  {socket}\n" in text
        assert run("kill", "it").stdout == "killed it; `loadstone sandbox restart it` starts it\n"
        (killed,) = json.loads(run("list", "--json").stdout)
        assert (killed["state"], Path(killed["datadir"]).is_dir()) == ("killed", True)
        assert "killed, data kept" in run("list").stdout
        assert run("restart", "it").stdout.startswith("restarted it, pid ")
        (again,) = json.loads(run("list", "--json").stdout)
        assert (again["state"], again["port"]) == ("running", started["port"])
        answer = run("shell", "it", "-e", "SELECT 6*7 AS answer, NULL AS nothing;").stdout
        assert [word in answer for word in ("answer", "42", "NULL")] == [True] * 3
        answer = run("shell", "it", "-e", "SET @a = 20; SELECT @a + 3 AS several").stdout
        assert "23" in answer
        piped = run("shell", "it", given="SELECT 6*8 AS answer;\nSELECT 7*8 AS answer\n")
        assert ["48" in piped.stdout, "56" in piped.stdout, piped.stderr] == [True, True, ""]
    finally:
        stopped = run("stop", "it")
    assert stopped.stdout == "stopped it\n"
    assert run("list").stdout == ""
    assert run("stop", "--all").stdout == ""
