"""The table of what a template costs."""

from __future__ import annotations

from benches.templates import Driven, cost_table, ratios


def driven(word: str, pair: int, cost_us: float, against: str = "server") -> Driven:
    return Driven(against, word, "text", 8, pair, 100.0, cost_us)


SERVER = [
    driven(word, pair, cost_us)
    for pair, costs in enumerate([(10.0, 11.0), (20.0, 21.0), (10.0, 13.0)])
    for word, cost_us in zip(
        ("oltp_read_write", "read_write", "read_write", "oltp_read_write"),
        (costs[0], costs[1], costs[1], costs[0]),
        strict=True,
    )
]


def test_a_template_is_compared_within_each_pair() -> None:
    assert [round(ratio, 3) for ratio in ratios(SERVER)] == [1.1, 1.05, 1.3]


def test_each_server_has_its_row_and_its_verdict() -> None:
    null = [driven(one.workload, one.pair, 2.0, "null server") for one in SERVER]
    _, _, server, nothing = cost_table(SERVER + null).splitlines()
    assert "10.00 (10.00–20.00)" in server and "1.100 (1.050–1.300)" in server
    assert server.startswith("| server ") and "met" in server
    assert "1.000 (1.000–1.000)" in nothing and nothing.startswith("| null server ")
    dear = [driven("read_write", 0, 12.0), driven("oltp_read_write", 0, 10.0)]
    assert "missed" in cost_table(dear).splitlines()[2]
