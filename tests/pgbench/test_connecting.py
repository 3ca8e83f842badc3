"""The server that a command line names, by libpq's rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.pgbench.connecting import endpoint_of
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.settings import Place

VARIABLES = (
    *("HOST", "PORT", "USER", "DATABASE", "PASSWORD", "SERVICE", "SSLMODE", "PASSFILE"),
    "APPNAME",
)


@pytest.fixture(autouse=True)
def _nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(f"PG{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_a_database_or_else_the_user_s_name() -> None:
    named = endpoint_of(Place(host="db1", user="bench", database="shop")).target
    assert (named.host, named.tcp_port, named.user, named.database) == (
        "db1",
        5432,
        "bench",
        "shop",
    )
    assert endpoint_of(Place(host="db1", user="bench")).target.database == "bench"


def test_a_host_that_is_a_folder_has_the_socket() -> None:
    target = endpoint_of(Place(host="/run/x", port="6000", user="u")).target
    assert target.socket == Path("/run/x/.s.PGSQL.6000")


def test_the_environment_says_what_the_command_line_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"HOST": "/run/x", "PORT": "6000", "USER": "u", "DATABASE": "d"}.items():
        monkeypatch.setenv(f"PG{name}", value)
    monkeypatch.setenv("PGPASSWORD", "secret")
    found = endpoint_of(Place())
    assert found.target.socket == Path("/run/x/.s.PGSQL.6000")
    assert (found.target.user, found.target.database) == ("u", "d")
    assert found.credentials.reveal() == "secret"
    assert endpoint_of(Place(host="db1", database="e")).target.place == "db1:6000"


@pytest.mark.parametrize(
    "form", ["host=db1 user=ann passfile='{}'", "postgresql://ann@db1/?passfile={}"]
)
def test_the_password_file_may_be_named(form: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("db1:*:*:ann:from the file\n")
    own.chmod(0o600)
    assert endpoint_of(Place(database=form.format(own))).credentials.reveal() == "from the file"


def test_parameters_in_place_of_a_database() -> None:
    words = r"host=db1 port = 6000 user='a \'b\' c' dbname=shop password=s\ t sslmode=disable"
    found = endpoint_of(Place(database=words))
    assert found.target.place == "db1:6000"
    assert (found.target.user, found.target.database) == ("a 'b' c", "shop")
    assert (found.target.tls.mode, found.credentials.reveal()) == ("disabled", "s t")


def test_parameters_without_effect_on_what_is_reached_are_accepted() -> None:
    target = endpoint_of(Place(database="host=db1 user=u application_name=x keepalives=1")).target
    assert (target.place, target.database, target.application_name) == ("db1:5432", "u", "x")


def test_sessions_are_called_pgbench_unless_something_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert endpoint_of(Place(host="db1")).target.application_name == "pgbench"
    monkeypatch.setenv("PGAPPNAME", "mine")
    assert endpoint_of(Place(host="db1")).target.application_name == "mine"


def test_a_url_in_place_of_a_database() -> None:
    found = endpoint_of(Place(database="postgresql://a:b@db1:6000/shop?sslmode=require"))
    assert (found.target.place, found.target.database) == ("db1:6000", "shop")
    assert (found.target.tls.mode, found.credentials.reveal()) == ("required", "b")


def test_a_url_may_have_the_parameters_that_a_list_may_have() -> None:
    url = "postgresql://u@db1/shop?application_name=x&password=a%2Bb+c&connect_timeout=3"
    found = endpoint_of(Place(port="7000", database=url))
    assert (found.target.place, found.target.database) == ("db1:7000", "shop")
    assert found.credentials.reveal() == "a+b+c"


def test_the_last_word_goes_before_options() -> None:
    options = Place(host="db2", port="7000", user="c")
    for database in ("host=db1 user=a", "postgresql://a@db1", "postgresql:///?host=db1&user=a"):
        target = endpoint_of(replace(options, database=database)).target
        assert (target.place, target.user, target.database) == ("db1:7000", "a", "a")
    target = endpoint_of(replace(options, database="postgresql://db1:6000/shop")).target
    assert (target.place, target.user, target.database) == ("db1:6000", "c", "shop")


@pytest.mark.parametrize("database", ["host='a", "host=a port", "postgresql://[::1/shop"])
def test_parameters_that_cannot_be_used_are_refused(database: str) -> None:
    with pytest.raises(Failed):
        endpoint_of(Place(user="u", database=database))


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(Failed, match="port is not a number"):
        endpoint_of(Place(host="db1", port="x"))
