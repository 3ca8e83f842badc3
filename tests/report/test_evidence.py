"""Evidence of findings for a person: names in words, and whole numbers of things."""

from __future__ import annotations

from loadstone.model.finding import Evidence
from loadstone.model.language import ENGLISH
from loadstone.model.message import Message, plain, say, say_in
from loadstone.report.findings import evidence_value
from loadstone.report.names import counter_name


def evidence(counter: str, value: float, unit: Message) -> Evidence:
    return Evidence(
        counter=plain(counter),
        value=value,
        unit=unit,
        threshold=None,
        users=16,
        from_s=None,
        to_s=None,
    )


def test_counters_of_ours_have_names_and_those_of_a_server_keep_theirs() -> None:
    assert counter_name(plain("generator.run_delay_share")) == "event loops waiting for a core"
    assert counter_name(plain("handler_read_rnd_next")) == "handler_read_rnd_next"


def test_a_number_of_connections_is_whole() -> None:
    sixteen = evidence("encrypted_users", 16.0, say_in("unit", "connections"))
    assert evidence_value(sixteen, ENGLISH) == "16 connections"
    share = evidence("row_lock_time_s", 1.0, say("of the users' time"))
    assert evidence_value(share, ENGLISH) == "1.00 of the users' time"
