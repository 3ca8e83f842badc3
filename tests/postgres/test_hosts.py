"""Several hosts in URLs, the environment and services: which there are, and which is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.target_url import TargetUrlError
from loadstone.postgresql.choosing import State
from loadstone.postgresql.credentials import Surroundings, candidates
from loadstone.postgresql.hosts import SessionAttributes, Wish, each_host, take_apart, wish_of
from loadstone.servers.candidates import Candidates
from loadstone.servers.endpoint_request import EndpointRequest


def asked(home: Path, request: EndpointRequest, environment: dict[str, str]) -> Candidates:
    around = Surroundings(environment=environment, home=home, socket_folders=(home / "run",))
    return candidates(request, surroundings=around)


def named(home: Path, url: str = "postgresql://", **environment: str) -> Candidates:
    return asked(home, EndpointRequest(url=url, user="ann"), environment)


def places(home: Path, url: str = "postgresql://", **environment: str) -> list[str]:
    return [one.target.place for one in named(home, url, **environment).endpoints]


@pytest.mark.parametrize(
    ("url", "variables", "expected"),
    [
        ("postgresql://db1:1,DB2/shop", {}, ["db1:1", "db2:5432"]),
        # As psql: a list of hosts in the place of one is a list of ports, too.
        ("postgresql://db1,db2/shop", {"PGPORT": "7"}, ["db1:5432", "db2:5432"]),
        ("postgresql:///shop?host=db1,db2", {"PGPORT": "7"}, ["db1:7", "db2:7"]),
        ("postgresql://:9/shop?host=db1,db2", {}, ["db1:9", "db2:9"]),
        ("postgresql:///shop?host=db1,db2&port=1,2", {}, ["db1:1", "db2:2"]),
        ("postgresql://[::1]:1,[2001:db8::1]/shop", {}, ["[::1]:1", "[2001:db8::1]:5432"]),
        (
            "postgresql://%2FRun%2FPg:6,db2/shop",
            {},
            ["/Run/Pg/.s.PGSQL.6", "db2:5432"],
        ),
        ("postgresql://", {"PGHOST": "db1,db2,", "PGPORT": "1,,3"},
         ["db1:1", "db2:5432", "localhost:3"]),
        ("postgresql://db9", {"PGHOST": "db1,db2"}, ["db9:5432"]),
        ("postgresql://", {"PGHOST": "db1", "PGHOSTADDR": "10.0.0.5"}, ["10.0.0.5:5432"]),
        ("postgresql://db1", {"PGHOSTADDR": "10.0.0.5"}, ["10.0.0.5:5432"]),
        ("postgresql:///?hostaddr=10.0.0.5,10.0.0.6", {}, ["10.0.0.5:5432", "10.0.0.6:5432"]),
    ],
)  # fmt: skip
def test_each_host_gets_its_port_and_address(
    tmp_path: Path, url: str, variables: dict[str, str], expected: list[str]
) -> None:
    assert places(tmp_path, url, **variables) == expected


def test_a_service_may_name_several_hosts(tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text(
        "[shop]\nhost=db1,db2\nport=1,2\ntarget_session_attrs=standby\n"
    )
    assert places(tmp_path, "postgresql:///?service=shop") == ["db1:1", "db2:2"]


def test_passwords_and_tls_are_those_of_each_host(tmp_path: Path) -> None:
    path = tmp_path / ".pgpass"
    path.write_text("db1:1:*:*:first\ndb2:2:*:*:second\n")
    path.chmod(0o600)
    url = "postgresql://db1:1,db2:2,%2Frun%2Fpg:3/shop?hostaddr=10.0.0.1,10.0.0.2,"
    found = named(tmp_path, url, PGSSLMODE="require").endpoints
    assert [one.credentials.reveal() for one in found] == ["first", "second", ""]
    assert [one.target.host for one in found[:2]] == ["10.0.0.1", "10.0.0.2"]
    assert [one.target.tls.mode for one in found] == ["required", "required", "preferred"]


def test_a_host_chosen_before_stays_whatever_the_environment_says(tmp_path: Path) -> None:
    variables = {"PGHOST": "db1,db2", "PGHOSTADDR": "10.0.0.1,10.0.0.2", "PGPORT": "1,2"}
    request = EndpointRequest(url="postgresql://db2", user="ann", is_settled=True)
    found = asked(tmp_path, request, variables | {"PGTARGETSESSIONATTRS": "standby"})
    assert [one.target.place for one in found.endpoints] == ["db2:5432"]
    # It is not looked at: there is no such host.
    assert found.choose(found.endpoints) is found.endpoints[0]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://db1,db2/shop?host=db3", "host is given twice"),
        ("postgresql://db1:1,db2:2/shop?port=3", "port is given twice"),
        ("postgresql://db1/shop?host=db2,db3", "host is given twice"),
        ("postgresql://db1/shop?port=1,2", "port has 2 elements, and that of hosts 1"),
        ("postgresql:///?host=db1,db2,db3&port=1,2", "port has 2 elements, and that of hosts 3"),
        ("postgresql://db1,db2/?hostaddr=10.0.0.1", "hostaddr has 1 elements, and that of hosts 2"),
        ("postgresql://db1/?hostaddr=db2", "hostaddr is 'db2', which is no address"),
        ("postgresql://db1:x,db2/shop", "the port is not a number"),
        ("postgresql://db1:1:2,db2/shop", "the port is not a number"),
        ("postgresql://db1/?target_session_attrs=writer", "'writer', not one of any, read-write"),
        ("postgresql://db1/?load_balance_hosts=yes", "'yes', not one of disable, random"),
        ("postgresql://db1/?connect_timeout=1s", "not a whole number of seconds"),
        ("postgresql://db1/?hostaddr=10.0.0.1&sslmode=verify-full", "would have to name db1"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(TargetUrlError, match=said) as caught:
        named(tmp_path, url.replace("//", "//ann:secret@"))
    assert "secret" not in caught.value.message


def test_a_url_is_taken_apart_without_a_loss() -> None:
    url = "postgresql://ann:p%2F,@db1/shop?sslmode=require"
    assert take_apart(url) == (url, {})
    rest, found = take_apart(
        "postgres://ann:a,b@h1,h2:2/shop?tls-ca=/a%26b&target_session_attrs=primary"
    )
    assert rest == "postgres://ann:a,b@/shop?tls_ca=%2Fa%26b"
    assert found == {"host": "h1,h2", "port": ",2", "target_session_attrs": "primary"}


def test_the_time_limit_is_that_of_each_host() -> None:
    assert wish_of({"connect_timeout": "7"}).timeout_s == 7.0
    for none in ("0", "-1"):
        assert wish_of({"connect_timeout": none}) == Wish()


def test_parameters_without_a_host_stay_one_place() -> None:
    assert each_host({"user": "ann"}) == ({"user": "ann"},)
    assert each_host({"port": "1"}) == ({"port": "1"},)


STATES = {
    "writable": State(is_standby=False, read_only=False),
    "read-only": State(is_standby=False, read_only=True),
    "standby": State(is_standby=True, read_only=False),
}


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ("any", ["writable", "read-only", "standby"]),
        ("read-write", ["writable"]),
        ("read-only", ["read-only", "standby"]),
        ("primary", ["writable", "read-only"]),
        ("standby", ["standby"]),
        ("prefer-standby", ["standby"]),
    ],
)
def test_a_server_s_state_decides_whether_it_is_wanted(
    wanted: SessionAttributes, taken: list[str]
) -> None:
    assert [name for name, state in STATES.items() if not state.why_not(wanted, "db1")] == taken
