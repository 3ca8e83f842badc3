"""What pgbench reports of each command and each event: the engine's figures on a real server."""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.driving import Outcome, a_plan, drive
from loadstone import engine
from loadstone.engine import PlanRefused
from loadstone.model.pgbench import CommandFigures, LoggedEvent
from postgres.server import Server
from postgres.test_driving import over_tcp
from postgres.test_pgbench import builtin, pgbench, run, scripted
from postgres.test_pgbench_errors import CONFLICT, of_each

pytestmark = [pytest.mark.server, pytest.mark.slow]


def by_command(step: Outcome) -> dict[tuple[int, int], CommandFigures]:
    """The figures of the whole step, by member and number."""
    found: dict[tuple[int, int], CommandFigures] = {}
    for each in (each for sample in step.samples for each in sample.commands):
        key = each[:2]
        before = found.get(key, CommandFigures(*key, 0, 0, 0, 0))
        summed = (a + b for a, b in zip(before[2:], each[2:], strict=True))
        found[key] = CommandFigures(*key, *summed)
    return found


def logged(step: Outcome) -> list[LoggedEvent]:
    return [each for sample in step.samples for each in sample.event_log]


@pytest.mark.parametrize("name", ["tpcb-like", "simple-update"])
def test_commands_are_listed_as_pgbench_lists_them(
    server: Server, database: str, name: str
) -> None:
    pgbench(server, "-i", "-q", "-I", "dtgp", database)
    printed = pgbench(server, "-n", "-r", "-t", "1", "-b", name, database)
    _, _, listed = printed.partition("statement latencies in milliseconds and failures:\n")
    texts = [line.split(maxsplit=2)[2] for line in listed.splitlines() if line.strip()]
    commands = engine.pgbench_commands(builtin(server, name))
    assert [command.text for command in commands] == texts
    assert [command.number for command in commands] == list(range(len(texts)))


def test_a_text_that_is_no_script_is_refused_with_its_line() -> None:
    with pytest.raises(PlanRefused, match="line 2: invalid command in command"):
        engine.pgbench_commands("SELECT 1;\n\\nope")


def test_each_command_has_its_figures(server: Server, database: str) -> None:
    script = (
        "\\set a :client_id\n\\if :a < 2\nSELECT 1;\n\\else\n\\sleep 5 ms\n\\endif\n"
        f"\\if :a = 3\n{CONFLICT}\n\\endif"
    )
    step = run(
        server, database, scripted(script), figures_by_command=True, max_tries=3, stop=of_each(10)
    )
    found = by_command(step)
    # Three users have ten events; the fourth tries each of its ten three times.
    counts = {number: each.executions for (_, number), each in found.items()}
    assert counts == {0: 60, 1: 60, 2: 20, 3: 20, 4: 40, 5: 40, 6: 60, 7: 0}
    assert found[0, 7][4:] == (10, 20)
    assert 40 * 5_000_000 <= found[0, 4].sum_ns
    assert 0 < found[0, 0].sum_ns < 60 * 1_000_000
    assert step.total().reads == 20


def test_members_have_figures_and_events_of_their_own(server: Server, database: str) -> None:
    members = [
        {"name": name, "weight": weight, "workload": scripted(f"SELECT '{name}';\nSELECT 2;")}
        for name, weight in (("often", 9), ("rare", 1))
    ]
    plan = a_plan(over_tcp(server, database), protocol="text", users=4, stop=of_each(100))
    del plan["workload"]
    asked = {"members": members, "figures_by_command": True, "event_log": True, "shards": 2}
    step = drive(plan | asked).finished()
    events = Counter(each.member for each in logged(step))
    assert events[0] + events[1] == 400
    assert events[0] > events[1] > 0
    found = by_command(step)
    assert {key: each.executions for key, each in found.items()} == {
        (member, command): events[member] for member in (0, 1) for command in (0, 1)
    }


def test_each_event_is_logged_as_it_ended(server: Server, database: str) -> None:
    script = f"\\sleep 2 ms\nSELECT 1;\n\\if :client_id = 1\n{CONFLICT}\n\\endif"
    begun = time.time()
    step = run(
        server, database, scripted(script), event_log=True, max_tries=2, stop=of_each(20), shards=2
    )
    ended = time.time()
    events = logged(step)
    for user in range(4):
        of_user = [each for each in events if each.user == user]
        assert [each.number for each in of_user] == list(range(1, 21))
        outcome, tries = ("serialization", 2) if user == 1 else ("ok", 1)
        assert {(each.outcome, each.tries, each.lag_us) for each in of_user} == {
            (outcome, tries, None)
        }
        assert all(each.latency_us >= 2_000 * tries for each in of_user)
        assert all(before.end_unix_us < after.end_unix_us for before, after in pairwise(of_user))
    assert begun * 1e6 <= events[0].end_unix_us <= events[-1].end_unix_us <= ended * 1e6


def test_a_skipped_event_is_logged_and_a_late_one_says_so(server: Server, database: str) -> None:
    arrival = {"kind": "open", "rate": 200, "gaps": "uniform", "latest_start_s": 0.02}
    load = scripted("\\sleep 50 ms\nSELECT 1;")
    step = run(server, database, load, users=1, arrival=arrival, stop=of_each(60), event_log=True)
    events = logged(step)
    assert [each.number for each in events] == list(range(1, 61))
    skipped = [each for each in events if each.outcome == "skipped"]
    assert len(skipped) == step.last.tally.skipped > 0
    assert all(each.lag_us is None and each.latency_us > 20_000 for each in skipped)
    started = [each for each in events if each.outcome == "ok"]
    assert all(each.latency_us >= 50_000 + (each.lag_us or 0) for each in started)


def test_a_share_of_the_events_is_logged(server: Server, database: str) -> None:
    step = run(
        server, database, scripted("SELECT 1;"), stop=of_each(1000), event_log=True,
        event_log_share=0.1,
    )  # fmt: skip
    # Binomial: six standard deviations are 114.
    assert abs(len(logged(step)) - 400) < 114
    assert not any(sample.commands for sample in step.samples)
