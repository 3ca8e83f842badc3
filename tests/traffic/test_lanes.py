"""A log is distributed to connections: sessions stay separate, and only reads are sent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from loadstone.traffic import sendable_mysql
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.replay_lanes import SHARED, Dealer, Dealt
from loadstone.traffic.replaying import Lateness, lateness_of, sentences
from loadstone.traffic.sendable import NOT_READ, PASSWORDS, SERVER
from loadstone.traffic.sendable_mysql import PREPARED

Record = tuple[str, int, str]


def said(session: int, at_s: float, text: str) -> Entry:
    return Entry(at_s, session, "statement", text, 1)


def dealt(
    entries: list[Entry], folder: Path, *, most: int = 10, writes: bool = False
) -> tuple[Dealt, ReadStats, list[list[Record]]]:
    stats = ReadStats("x")
    dealer = Dealer(folder, stats, sendable_mysql, most=most, writes=writes)
    found = dealer.deal(entries, "utf-8")
    return found, stats, [read_lane(folder / f"{lane}.lane") for lane in range(found.lanes)]


def read_lane(path: Path) -> list[Record]:
    """Read a lane as replay.lua does: a record ends only where its length says."""
    content = path.read_bytes()
    found = []
    while content:
        head, _, rest = content.partition(b"\n")
        kind, at_us, length = head.split()
        text = rest[: int(length)].decode("utf-8", "surrogateescape")
        found.append((kind.decode(), int(at_us), text))
        assert rest[int(length) : int(length) + 1] == b"\n"
        content = rest[int(length) + 1 :]
    return found


def test_each_session_has_a_lane_and_ends_where_it_ended(tmp_path: Path) -> None:
    found, _, lanes = dealt(
        [
            Entry(100.0, 1, "connect", "shop", 1),
            said(1, 100.0, "SELECT 1"),
            said(2, 100.25, "SELECT 'a\nS 1 5\nb'"),
            said(1, 100.5, "SELECT 2"),
            Entry(101.0, 1, "quit", "", 1),
            said(3, 102.0, "SELECT '\udcff'"),
        ],
        tmp_path,
    )
    assert lanes == [
        [
            ("C", 0, "shop"),
            ("S", 0, "SELECT 1"),
            ("S", 500_000, "SELECT 2"),
            ("Q", 1_000_000, ""),
            # The next session gets another connection.
            ("C", 2_000_000, ""),
            ("S", 2_000_000, "SELECT '\udcff'"),
        ],
        [("C", 250_000, ""), ("S", 250_000, "SELECT 'a\nS 1 5\nb'")],
    ]
    assert (found.sessions, found.statements, found.length_s) == (3, 4, 2.0)


def test_sessions_take_turns_where_there_are_too_many(tmp_path: Path) -> None:
    entries = [said(session, 0.0, f"SELECT {session}") for session in (1, 2, 3, 1)]
    found, stats, lanes = dealt(entries, tmp_path, most=2)
    assert found.lanes == 2 and stats.noted == {SHARED: 2}
    assert [[text for kind, _, text in lane if kind == "S"] for lane in lanes] == [
        ["SELECT 1", "SELECT 3"],
        ["SELECT 2", "SELECT 1"],
    ]
    assert sum(kind == "C" for lane in lanes for kind, _, _ in lane) == 4


def test_only_reads_are_sent_unless_asked(tmp_path: Path) -> None:
    texts = [
        "SELECT 1",
        "UPDATE shop.t SET a = 1",
        "SET GLOBAL max_connections = 1",
        "SET PASSWORD = 'x'",
        "PREPARE s FROM 'SELECT 1'",
        "KILL 7",
        "DELETE FROM mysql.user",
    ]
    entries = [said(1, 0.0, text) for text in texts]
    (tmp_path / "reads").mkdir()
    found, stats, _ = dealt(entries, tmp_path / "reads")
    assert found.statements == 1
    assert stats.left_out == {NOT_READ: 2, SERVER: 2, PASSWORDS: 1, PREPARED: 1}
    (tmp_path / "writes").mkdir()
    found, stats, _ = dealt(entries, tmp_path / "writes", writes=True)
    assert found.statements == 2 and found.qualifiers == {"shop"}
    assert stats.left_out == {SERVER: 3, PASSWORDS: 1, PREPARED: 1}


def test_one_statement_for_each_combination_of_tables_is_kept(tmp_path: Path) -> None:
    found, _, _ = dealt(
        [
            Entry(1.0, 1, "connect", "shop", 1),
            said(1, 1.0, "SELECT 1 FROM a WHERE id = 1"),
            said(1, 1.1, "SELECT 2 FROM a WHERE id = 2"),
            said(1, 1.2, "SELECT 1 FROM a JOIN far.b"),
            said(1, 1.3, "SHOW TABLES FROM shop"),
            said(2, 1.4, "DELETE FROM unsent"),
            said(3, 1.5, "SELECT 1 FROM c"),
        ],
        tmp_path,
    )
    assert [(one.schema, *map(str, one.tables)) for one in found.examples_in("target")] == [
        ("target", "a"),
        ("target", "a", "far.b"),
        ("target", "c"),
    ]
    found.schemas["stock"] += 1
    assert [one.schema for one in found.examples_in("target")] == ["shop", "shop", "target"]


def test_names_that_the_log_makes_are_kept(tmp_path: Path) -> None:
    texts = ["CREATE TEMPORARY TABLE fresh (id INT)", "RENAME TABLE a TO `b c`", "SELECT 1 FROM d"]
    entries = [said(1, 1.0, text) for text in texts]
    found, _, _ = dealt(entries, tmp_path, writes=True)
    assert {"fresh", "b c"} <= found.made and "d" not in found.made


def test_a_change_of_schema_is_replayed(tmp_path: Path) -> None:
    found, _, lanes = dealt(
        [
            Entry(0.0, 1, "schema", "shop", 1),
            said(1, 0.0, "SELECT 1"),
            Entry(1.0, 1, "schema", "blog", 1),
            said(1, 1.0, "SELECT 2"),
        ],
        tmp_path,
    )
    assert [record[::2] for record in lanes[0]] == [
        ("C", "shop"),
        ("S", "SELECT 1"),
        ("U", "blog"),
        ("S", "SELECT 2"),
    ]
    assert set(found.schemas) == {"shop", "blog"}


def test_what_users_have_told_is_put_together(tmp_path: Path) -> None:
    (tmp_path / "0.told").write_text("sent 90\nrefused 1\nlate_max_us 900\nlate 8 89\nlate 70 1\n")
    (tmp_path / "1.told").write_text("sent 10\nheld 4\nheld_max_us 5000\nlate_max_us 3\nlate 9 6\n")
    found = lateness_of(tmp_path, 3)
    assert found == Lateness(
        sent=100,
        refused=1,
        late=Counter({8: 89, 9: 6, 70: 1}),
        late_max_us=900,
        held=4,
        held_max_us=5000,
        cycles=0,
        silent=1,
    )
    # The bucket's upper end: 2 ** (8 / 8) microseconds.
    assert found.quantile_us(0.5) == 2.0
    assert found.quantile_us(1.0) is not None and found.quantile_us(1.0) <= 900  # type: ignore[operator]
    first, second, third, fourth = sentences(found)
    assert first == "replay: 100 statements were sent, and 1 were refused"
    assert "0.90 ms at most" in second and "5.00 ms at most" in third
    assert fourth == "replay: 1 session was ended before it had sent everything"


def test_a_statement_that_began_before_another_session_was_gone_has_a_lane_of_its_own(
    tmp_path: Path,
) -> None:
    gone = Entry(110.0, 1, "quit", "", 1)
    entries = [said(1, 100.0, "SELECT 1"), gone, said(2, 105.0, "SELECT 'long'")]
    _, _, lanes = dealt([*entries, said(3, 111.0, "SELECT 3")], tmp_path)
    assert [[text for kind, _, text in lane if kind == "S"] for lane in lanes] == [
        ["SELECT 1", "SELECT 3"],
        ["SELECT 'long'"],
    ]
    assert [at for _, at, _ in lanes[1]] == [5_000_000, 5_000_000]
