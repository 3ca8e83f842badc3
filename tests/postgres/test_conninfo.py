"""What stands in the place of a database's name, and what libpq says of a failed connection."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from loadstone.dropin import libpq
from loadstone.dropin.conninfo import BadConninfo, parameters_of
from loadstone.model.target import Target
from loadstone.postgresql.connect import ASK_FOR_TLS


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("", {}),
        ("shop", {"dbname": "shop"}),
        ("dbname=shop host=db1", {"dbname": "shop", "host": "db1"}),
        (r"password = 'it\'s \\ it' user=ann", {"password": r"it's \ it", "user": "ann"}),
        (
            "dbname=shop application_name=x keepalives=1 gssencmode=prefer user=",
            {"dbname": "shop", "application_name": "x"},
        ),
        ("sslcrl=/crl gssencmode=require", {"sslcrl": "/crl", "gssencmode": "require"}),
        ("dbname=", {}),
        ("options='-c jit=off'", {"options": "-c jit=off"}),
        ("postgresql://", {}),
        ("postgres://db1", {"host": "db1"}),
        (
            "postgresql://ann:p%40ss@db1:6000/shop?sslmode=require",
            {
                "user": "ann", "password": "p@ss", "host": "db1", "port": "6000", "dbname": "shop",
                "sslmode": "require",
            },
        ),
        ("postgresql://[::1]:6000", {"host": "::1", "port": "6000"}),
        ("postgresql://%2Frun%2Fpg/shop", {"host": "/run/pg", "dbname": "shop"}),
        ("postgresql://db1:1,db2:2/shop", {"host": "db1,db2", "port": "1,2", "dbname": "shop"}),
        ("postgresql://db1/shop?dbname=other", {"host": "db1", "dbname": "other"}),
    ],
)  # fmt: skip
def test_a_database_s_name_may_be_all_parameters(text: str, parameters: dict[str, str]) -> None:
    assert parameters_of(text) == parameters


@pytest.mark.parametrize("text", ["dbname='shop", "a=b c", "=x"])
def test_parameters_that_are_not_written_as_such_are_refused(text: str) -> None:
    with pytest.raises(BadConninfo, match="name=value"):
        parameters_of(text)


LOCALHOST = Target(family="postgresql", host="localhost", port=6000)
REFUSED = (
    'connection to server at "localhost" (::1), port 6000 failed: Connection refused\n'
    "\tIs the server running on that host and accepting TCP/IP connections?"
)
V4 = 'connection to server at "localhost" (127.0.0.1), port 6000 failed: '


@pytest.mark.parametrize(
    ("met", "in_clear", "lines"),
    [
        (("nothing", "no tls"), None, [REFUSED, f"{V4}FATAL:  x, SSL encryption"]),
        (
            ("nothing", "tls"),
            "FATAL:  another, no encryption",
            [REFUSED, f"{V4}FATAL:  x, SSL encryption", f"{V4}FATAL:  another, no encryption"],
        ),
        (("nothing", "nothing"), None, [REFUSED, f"{V4}FATAL:  x, SSL encryption"]),
        (("no tls", "nothing"), None, [REFUSED.split("Conn")[0] + "FATAL:  x, SSL encryption"]),
    ],
)
def test_a_refused_login_has_a_line_for_each_attempt(
    met: tuple[libpq.Met, libpq.Met], in_clear: str | None, lines: list[str]
) -> None:
    there = dict(zip(("::1", "127.0.0.1"), met, strict=True))
    said = libpq.refused_at(
        LOCALHOST,
        "FATAL:  x, SSL encryption",
        tuple(there),
        lambda address, _: there[address],
        in_clear=in_clear,
    )
    assert list(said) == lines


@pytest.mark.parametrize(("answer", "met"), [(b"S", "tls"), (b"N", "no tls"), (b"", "no tls")])
def test_an_address_is_asked_for_tls(answer: bytes, met: libpq.Met) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as asking:
        port = listening.getsockname()[1]
        found = asking.submit(libpq.met_at, "127.0.0.1", port)
        with listening.accept()[0] as connection:
            assert connection.recv(8) == ASK_FOR_TLS
            connection.sendall(answer)
        assert found.result() == met
    assert libpq.met_at("127.0.0.1", port) == "nothing"
