"""Command lines of published studies, verbatim: they run, and their figures are consistent."""

from __future__ import annotations

import platform
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.servers import counters, wait_until_nobody
from loadstone.diagnosis.diagnose import Known, diagnose
from loadstone.diagnosis.frames import RunSeconds, environment_of
from loadstone.diagnosis.unexplained import NOT_OBSERVED
from loadstone.runs import run_folder
from loadstone.runs.rebuild import replay
from loadstone.sandbox import Sandbox
from sysbench.conftest import Program

pytestmark = pytest.mark.server

# Host, port, user, password, schema and socket are inserted; a shorter time and fewer rows follow.
A_PREPARE = (
    "--db-driver=mysql --mysql-host=HOST --mysql-port=PORT --mysql-user=U --mysql-password=P "
    "--mysql-db=D --table_size=100000 --tables=80 --events=0 --time=120 oltp_read_write prepare"
)
B_PREPARE = (
    "--threads=512 --table-size=10000 --tables=250 --events=0 --time=90 --mysql-db=D "
    "--mysql-user=U --mysql-password=P --mysql-host=HOST --mysql-port=PORT oltp_read_write prepare"
)
B_RUN = (
    "--threads=32 --db-driver=mysql --mysql-host=HOST --mysql-port=PORT --mysql-user=U "
    "--mysql-password=P --mysql-db=D --table_size=10000 --tables=250 --events=0 --time=90 "
    "--percentile=95 --report-interval=1 --db-ps-mode=disable oltp_read_write run"
)
C_RUN = (
    "oltp_read_write --tables=10 --table-size=10000000 --report-interval=5 --threads=200 "
    "--time=600 run --mysql-host=HOST --mysql-port=PORT --mysql-user=U --mysql-password=P "
    "--mysql-db=D --mysql-ssl=off"
)
D_OPTIONS = (
    "--oltp-tables-count=10 --oltp-table-size=5000000 --mysql-db=D --mysql-user=U "
    "--mysql-password=P --mysql-host=HOST --mysql-port=PORT --max-time=300 --max-requests=0 "
    "--num-threads=24"
)
D_OLTP = f"--test=/opt/sysbench/share/sysbench/oltp.lua {D_OPTIONS} run"
D_SELECT = f"--test=/opt/sysbench/share/sysbench/select.lua {D_OPTIONS} run"
D_UPDATE = (
    f"--test=/opt/sysbench/share/sysbench/update_non_index.lua {D_OPTIONS} "
    "--oltp-test-mode=complex run"
)
E_RUN = (
    "--test=/opt/sb/share/sysbench/oltp.lua --oltp-tables-count=10 --oltp-table-size=5000000 "
    "--mysql-db=D --mysql-user=U --mysql-password=P --mysql-socket=SOCKET --max-time=14400 "
    "--max-requests=0 --num-threads=12 --oltp-test-mode=complex run"
)
SMALL = "--tables=2 --table-size=100 --time=1 --threads=8"
SMALL_0_5 = "--oltp-tables-count=2 --oltp-table-size=100 --max-time=1 --num-threads=8"
PREPARE_0_5 = D_OLTP.replace("oltp.lua", "parallel_prepare.lua")


@dataclass(frozen=True)
class Figures:
    """Figures of the report."""

    text: str

    def number(self, label: str) -> float:
        found = re.search(rf"^ *{re.escape(label)}: +([0-9.]+)", self.text, re.MULTILINE)
        assert found, f"{label} is not in the report:\n{self.text}"
        return float(found[1])

    def rate(self, label: str) -> float:
        found = re.search(rf"{label}: .*\(([0-9.]+) per sec", self.text)
        assert found
        return float(found[1])


def filled_in(line: str, server: Sandbox) -> tuple[str, ...]:
    target = server.tcp.target
    places = {
        "HOST": target.host,
        "PORT": str(target.port),
        "U": target.user or "",
        "P": server.tcp.credentials.reveal(),
        "D": target.database or "",
        "SOCKET": str(server.socket),
    }
    words = (word.partition("=") for word in shlex.split(line))
    return tuple(f"{name}{equals}{places.get(value, value)}" for name, equals, value in words)


@pytest.fixture
def prepared(server: Sandbox, ours_here: Program) -> None:
    words = filled_in(A_PREPARE, server)
    cleaned = ours_here(*words[:-1], *SMALL.split(), "--tables=4", "cleanup")
    made = ours_here(*words, *SMALL.split())
    assert (cleaned.returncode, made.returncode) == (0, 0), made.stdout


@pytest.mark.parametrize("line", [A_PREPARE, B_PREPARE, PREPARE_0_5])
def test_a_prepare_line_makes_its_tables(line: str, server: Sandbox, ours_here: Program) -> None:
    small = SMALL_0_5 if "oltp-table" in line else SMALL
    options = (*filled_in(line, server)[:-1], *small.split())
    ours_here(*options, "cleanup")
    done = ours_here(*options, filled_in(line, server)[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Inserting 100 records into 'sbtest2'" in done.stdout


# The statements of an event: all, and those that the server counts as commits, selects, updates.
TRANSACTION = (20, {"Com_commit": 1, "Com_update": 2, "Com_select": 14})


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (B_RUN, TRANSACTION),
        pytest.param(C_RUN, TRANSACTION, marks=pytest.mark.smoke),
        (D_OLTP, TRANSACTION),
        (D_SELECT, (1, {"Com_select": 1})),
        (D_UPDATE, (1, {"Com_update": 1})),
        (E_RUN, TRANSACTION),
    ],
)
@pytest.mark.usefixtures("prepared")
def test_a_run_line_tells_figures_that_fit(
    line: str, event: tuple[int, dict[str, int]], server: Sandbox, ours_here: Program
) -> None:
    small = SMALL_0_5 if "--test=" in line else SMALL
    wait_until_nobody(server)
    before = counters(server)
    done = ours_here(*filled_in(line, server), *small.split(), "--mysql-ignore-errors=all")
    assert done.returncode == 0, done.stdout + done.stderr
    wait_until_nobody(server)
    after = counters(server)
    figures = Figures(done.stdout)
    check_sums(figures, statements=event[0])
    events, restarted = figures.number("total number of events"), figures.number("ignored errors")
    for name, of_event in event[1].items():
        counted = after[name] - before[name]
        # An event that was restarted after a deadlock has sent some of its statements twice.
        assert 0 <= counted - of_event * events <= of_event * restarted, name


def check_sums(figures: Figures, *, statements: int) -> None:
    events, total = figures.number("total number of events"), figures.number("total")
    parts = [figures.number(name) for name in ("read", "write", "other")]
    assert events > 0
    assert total == sum(parts)
    assert total >= statements * events
    assert figures.number("transactions") == events
    assert figures.number("queries") == total
    seconds = figures.number("total time")
    assert figures.rate("transactions") * seconds == pytest.approx(events, rel=0.01)
    assert figures.rate("queries") * seconds == pytest.approx(total, rel=0.01)
    # In a closed loop some user is always waiting, except for the last event of each thread.
    busy_s = figures.number("sum") / 1000
    assert 0.7 * 8 <= busy_s / seconds <= 8 * 1.01
    assert figures.number("avg") == pytest.approx(1000 * busy_s / events, rel=0.01, abs=0.01)


def test_an_open_loop_keeps_its_rate(
    server: Sandbox, prepared: None, ours_here: Program, tmp_path: Path
) -> None:
    line = B_RUN.replace("oltp_read_write", "oltp_point_select")
    kept = ("--loadstone-out", str(tmp_path / "runs"))
    done = ours_here(*filled_in(line, server), *SMALL.split(), "--rate=200", "--time=2", *kept)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    (step,) = run_folder.load(run).steps
    # Four standard deviations of 400 Poisson events; how soon each is executed depends on the
    # server and the machine.
    assert step.tally is not None
    assert step.tally.due == pytest.approx(400, abs=80)
    assert 0 < Figures(done.stdout).number("total number of events") <= step.tally.due
    assert "queue length: " in done.stdout


def test_a_limit_of_events_is_kept(server: Sandbox, prepared: None, ours_here: Program) -> None:
    done = ours_here(*filled_in(C_RUN, server), *SMALL.split(), "--events=37")
    assert Figures(done.stdout).number("total number of events") == 37


def test_ssl_off_is_off_and_ssl_on_is_on(
    server: Sandbox, prepared: None, ours_here: Program
) -> None:
    # One more connection looks for other users.
    for switch, started in (("off", 0), ("on", 8 + 1)):
        wait_until_nobody(server)
        before = counters(server)
        words = (*filled_in(C_RUN, server), *SMALL.split(), f"--mysql-ssl={switch}")
        done = ours_here(*words, "--events=8")
        if "TLS" in done.stdout and switch == "on":
            pytest.skip("this server has no TLS")
        handshakes = counters(server)["Ssl_finished_accepts"] - before["Ssl_finished_accepts"]
        assert handshakes == started


def test_compression_is_on_where_that_is_asked(
    server: Sandbox, prepared: None, ours_here: Program
) -> None:
    for switch in ("off", "on"):
        wait_until_nobody(server)
        before = counters(server)["Bytes_sent"]
        words = (*filled_in(C_RUN, server), *SMALL.split(), f"--mysql-compression={switch}")
        # As many events, however long a busy machine takes for them.
        done = ours_here(*words, "--events=200", "--time=60")
        sent = counters(server)["Bytes_sent"] - before
        assert done.returncode == 0, done.stdout
        if switch == "off":
            plain = sent
    # Rows of ranges are digits, which take half of their space.
    assert sent < 0.8 * plain


def test_several_hosts_share_the_threads(
    server: Sandbox, prepared: None, ours_here: Program
) -> None:
    words = (*filled_in(C_RUN, server), *SMALL.split())
    done = ours_here(*words, "--mysql-host=127.0.0.1,127.0.0.1", "--events=20")
    assert Figures(done.stdout).number("total number of events") == 20


def test_the_folder_of_a_run_is_kept_where_that_is_asked(
    server: Sandbox, prepared: None, ours_here: Program, tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    done = ours_here(*filled_in(C_RUN, server), *SMALL.split(), "--loadstone-out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    (kept,) = out.iterdir()
    assert done.stderr == f"loadstone: the run is in {kept}\n"
    assert str(kept) not in done.stdout
    (step,) = replay(kept).steps
    assert step.state == "finished"
    assert step.events <= Figures(done.stdout).number("total number of events")
    assert server.tcp.credentials.reveal() not in (kept / "run.json").read_text()
    (target,) = run_folder.read_environment(kept)["targets"]
    assert target["variables"]["version"].startswith(server.version)
    # Two such runs can be compared by their hosts, as those of `loadstone run` can.
    assert target["host"]["known"]["kernel"] == platform.release()
    assert target["host"]["known"]["libc"].startswith("glibc ")


HOT_ROW = """
function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query("UPDATE sbtest1 SET k = k + 1 WHERE id = 1")
end
"""


def test_a_script_is_looked_at_and_diagnosed_as_other_loads_are(
    server: Sandbox, prepared: None, ours_here: Program, tmp_path: Path
) -> None:
    script, out = tmp_path / "hot.lua", tmp_path / "runs"
    script.write_text(HOT_ROW)
    words = [word for word in filled_in(C_RUN, server) if word.startswith("--mysql")]
    done = ours_here(
        *words, "--threads=16", "--time=5", "--loadstone-out", str(out), str(script), "run"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (kept,) = out.iterdir()
    result = run_folder.load(kept)
    (step,) = result.steps
    assert step.server is not None
    assert step.server.rates["questions"] > 0
    assert step.host is not None
    (found,) = diagnose(result, Known(environment_of(kept), RunSeconds(kept)))
    # How long they wait for the row depends on the machine; that they wait is visible.
    assert step.server.rates["row_lock_waits"] > 0
    assert NOT_OBSERVED not in [finding.cause for finding in found.findings], found.answer
    assert "row-locks" not in [missed.cause for missed in found.not_evaluated]
