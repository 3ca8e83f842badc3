"""Who logs in where: options, URL, service file, libpq's environment and password file."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.model.target import Endpoint
from loadstone.model.target_url import TargetUrlError
from loadstone.postgresql.credentials import Surroundings, candidates
from loadstone.postgresql.passfile import Wanted, fields_of, password_in
from loadstone.servers.abilities import ForeignOption
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.errors import TargetError

SERVICES = """
# what psql reads as well
[other]
host=wrong
[shop]
host=db7
port = 6432
user=ann
dbname=orders
sslmode=require
"""


def resolved_all(
    home: Path, url: str = "postgresql://", **environment: str
) -> tuple[Endpoint, ...]:
    around = Surroundings(environment=environment, home=home, socket_folders=(home / "run",))
    return candidates(EndpointRequest(url=url), surroundings=around).endpoints


def resolved(home: Path, url: str = "postgresql://", **environment: str) -> Endpoint:
    (found,) = resolved_all(home, url, **environment)
    return found


def pgpass(home: Path, text: str, mode: int = 0o600) -> Path:
    path = home / ".pgpass"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    """The socket of a server in a usual folder."""
    (tmp_path / "run").mkdir()
    path = tmp_path / "run/.s.PGSQL.5432"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        yield path


def test_the_environment_says_what_the_url_does_not(tmp_path: Path) -> None:
    said = {"PGHOST": "db1", "PGPORT": "6432", "PGUSER": "ann", "PGDATABASE": "shop"}
    target = resolved(tmp_path, **said, PGSSLMODE="verify-full", PGSSLROOTCERT="/ca.pem").target
    assert (target.place, target.user, target.database) == ("db1:6432", "ann", "shop")
    assert (target.tls.mode, target.tls.ca) == ("verify-identity", Path("/ca.pem"))
    target = resolved(tmp_path, "postgresql://bob@db2:1/other?tls=disabled", **said).target
    assert (target.place, target.user, target.database) == ("db2:1", "bob", "other")
    assert target.tls.mode == "disabled"


def test_direct_tls_is_said_anywhere_and_never_without_a_mode_that_requires_it(
    tmp_path: Path,
) -> None:
    for url in ("postgresql://db1?sslmode=require", "postgresql://db1?sslrootcert=/ca.pem"):
        assert resolved(tmp_path, url, PGSSLNEGOTIATION="direct").target.tls.direct
        assert not resolved(tmp_path, url, PGSSLNEGOTIATION="postgres").target.tls.direct
    url = "postgresql://db1?sslnegotiation=direct"
    assert resolved(tmp_path, url, PGSSLMODE="require").target.tls.direct
    for weak in ({}, {"PGSSLMODE": "prefer"}):
        with pytest.raises(TargetUrlError, match="sslnegotiation=direct needs TLS"):
            resolved(tmp_path, url, **weak)
    with pytest.raises(TargetUrlError, match="neither postgres nor direct"):
        resolved(tmp_path, "postgresql://db1", PGSSLNEGOTIATION="yes")
    service = tmp_path / "services"
    service.write_text("[shop]\nhost=db7\nsslmode=require\nsslnegotiation=direct\n")
    found = resolved(tmp_path, PGSERVICE="shop", PGSERVICEFILE=str(service)).target
    assert found.tls.direct
    assert resolved(tmp_path, "postgresql:///?host=/run", PGSSLNEGOTIATION="direct").target.socket


def test_options_of_the_session_are_said_anywhere(tmp_path: Path) -> None:
    service = tmp_path / "services"
    service.write_text("[shop]\nhost=db7\noptions=-c jit=off\n")
    others = {"PGSERVICE": "shop", "PGSERVICEFILE": str(service)}
    for url, variables, meant in (
        ("postgresql://db1", {}, None),
        ("postgresql://db1", {"PGOPTIONS": "-c work_mem=8MB"}, "-c work_mem=8MB"),
        ("postgresql://", {"PGOPTIONS": "-c work_mem=8MB", **others}, "-c jit=off"),
        ("postgresql://?options=-c%20fsync%3Doff", {"PGOPTIONS": "-c jit=on"}, "-c fsync=off"),
    ):
        assert resolved(tmp_path, url, **variables).target.startup_options == meant


def test_without_a_host_the_usual_socket_is_meant_if_there_is_one(
    tmp_path: Path, listening: Path
) -> None:
    assert resolved(tmp_path).target.socket == listening
    assert resolved(tmp_path, "postgresql://localhost").target.socket is None
    assert resolved(tmp_path, PGPORT="6000").target.place == "localhost:6000"


def test_a_folder_in_place_of_a_host_is_that_of_the_socket(tmp_path: Path) -> None:
    for url, variables in (
        ("postgresql:///shop?host=/run/pg&port=6000", {}),
        ("postgresql:///shop?socket=/run/pg/.s.PGSQL.6000", {}),
        ("postgresql://", {"PGHOST": "/run/pg", "PGPORT": "6000"}),
    ):
        found = resolved(tmp_path, url, **variables).target
        assert found.socket == Path("/run/pg/.s.PGSQL.6000")


def test_a_service_goes_before_the_environment(tmp_path: Path) -> None:
    (tmp_path / ".pg_service.conf").write_text(SERVICES)
    for url, variables in (
        ("postgresql:///?service=shop", {"PGHOST": "wrong"}),
        ("postgresql://", {"PGHOST": "wrong", "PGSERVICE": "shop"}),
    ):
        target = resolved(tmp_path, url, **variables).target
        assert (target.place, target.user, target.database) == ("db7:6432", "ann", "orders")
        assert target.tls.mode == "required"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[other]\nhost=a\n", "no service 'shop'"),
        ("[shop]\nhost a\n", "line 2: 'host a' is not name=value"),
        (
            "[shop]\nhost=a\nsslpassword=x\nkeepalives=1\n",
            "the service 'shop' has sslpassword, not taken here",
        ),
    ],
)
def test_a_service_that_cannot_be_read_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "services").write_text(text)
    with pytest.raises(TargetError, match=said):
        resolved(
            tmp_path, "postgresql:///?service=shop", PGSERVICEFILE=str(tmp_path / "services"),
            PGSYSCONFDIR=str(tmp_path),
        )  # fmt: skip


def test_the_password_is_taken_from_the_first_place_that_has_one(tmp_path: Path) -> None:
    path = pgpass(tmp_path, "db1:5432:shop:ann:from the file\n")
    url = "postgresql://ann@db1/shop"

    def found(url: str = url, **variables: str) -> tuple[str, str]:
        credentials = resolved(tmp_path, url, **variables).credentials
        return credentials.reveal(), str(credentials.source)

    assert found() == ("from the file", str(path))
    assert found(PGPASSWORD="from psql's") == ("from psql's", "PGPASSWORD")
    both = {"PGPASSWORD": "from psql's", "LOADSTONE_PASSWORD": "from ours"}
    assert found(**both) == ("from ours", "LOADSTONE_PASSWORD")
    assert found("postgresql://ann:said@db1/shop", **both) == ("said", "the URL")
    assert found("postgresql://bob@db1/shop")[0] == ""


def test_a_url_may_name_the_password_file(tmp_path: Path) -> None:
    pgpass(tmp_path, "*:*:*:*:usual\n")
    own = tmp_path / "own file"
    own.write_text("db1:5432:shop:ann:own\n")
    own.chmod(0o600)
    quoted = str(own).replace(" ", "%20")
    url = f"postgresql://ann@db1/shop?passfile={quoted}"
    found = resolved(tmp_path, url, PGPASSFILE=str(tmp_path / "nowhere"))
    assert (found.credentials.reveal(), str(found.credentials.source)) == ("own", str(own))
    assert "passfile" not in found.target.url
    assert resolved(tmp_path, url, PGPASSWORD="psql's").credentials.reveal() == "psql's"
    own.chmod(0o644)
    assert resolved(tmp_path, url).credentials.reveal() == ""
    several = resolved_all(tmp_path, f"postgresql://ann@db2,db1/shop?passfile={quoted}")
    assert [each.credentials.reveal() for each in several] == ["", ""]
    own.chmod(0o600)
    several = resolved_all(tmp_path, f"postgresql://ann@db2,db1/shop?passfile={quoted}")
    assert [each.credentials.reveal() for each in several] == ["", "own"]


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_password_file_that_others_may_read_is_not_used(tmp_path: Path, mode: int) -> None:
    path = pgpass(tmp_path, "*:*:*:*:secret\n", mode)
    found = resolved(tmp_path, "postgresql://ann@db1/shop").credentials
    assert found.reveal() == ""
    assert f"chmod 600 {path}" in str(found.source)


def test_the_socket_in_a_usual_folder_is_localhost_in_the_password_file(
    tmp_path: Path, listening: Path
) -> None:
    pgpass(tmp_path, "localhost:5432:sbtest:ann:secret\n")
    assert resolved(tmp_path, PGUSER="ann").credentials.reveal() == "secret"
    pgpass(tmp_path, f"{listening.parent}:5432:*:ann:other\n")
    assert resolved(tmp_path, PGUSER="ann").credentials.reveal() == "other"


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (r"h:1:d:u:p", ["h", "1", "d", "u", "p"]),
        (r"a\:b:1:d\\:u:p\:w", ["a:b", "1", "d\\", "u", "p:w"]),
        ("# h:1:d:u:p", []),
        ("h:1:d", ["h", "1", "d"]),
    ],
)
def test_a_line_of_the_password_file_is_split_as_libpq_does(line: str, fields: list[str]) -> None:
    assert fields_of(line) == fields


def test_the_first_line_that_fits_counts(tmp_path: Path) -> None:
    path = pgpass(tmp_path, "h:1:d\nother:*:*:*:no\n*:2:*:*:no\nh:*:d:*:yes\n*:*:*:*:late\n")
    assert password_in(path, Wanted({"h"}, 1, "d", "u")) == "yes"
    assert password_in(path, Wanted({"g"}, 1, "d", "u")) == "late"
    assert password_in(tmp_path / "missing", Wanted({"h"}, 1, "d", "u")) is None


def test_the_user_s_own_certificates_are_used_where_libpq_uses_them(tmp_path: Path) -> None:
    own = tmp_path / ".postgresql"
    own.mkdir()
    for name in ("root.crt", "postgresql.crt", "postgresql.key"):
        (own / name).touch()
    tls = resolved(tmp_path, "postgresql://db1?sslmode=verify-full").target.tls
    assert (tls.ca, tls.cert, tls.key) == (
        own / "root.crt", own / "postgresql.crt", own / "postgresql.key",
    )  # fmt: skip
    assert resolved(tmp_path, "postgresql://db1?sslmode=disable").target.tls.cert is None
    tls = resolved(tmp_path, "postgresql://db1?sslmode=require").target.tls
    assert (tls.mode, tls.ca) == ("verify-ca", own / "root.crt")


def test_an_authority_in_the_url_does_not_weaken_what_the_environment_wants(
    tmp_path: Path,
) -> None:
    url = "postgresql://db1?sslrootcert=/ca.pem"
    assert resolved(tmp_path, url).target.tls.mode == "verify-ca"
    for sslmode, mode in (
        ("verify-full", "verify-identity"),
        ("prefer", "verify-ca"),
        ("disable", "verify-ca"),
    ):
        assert resolved(tmp_path, url, PGSSLMODE=sslmode).target.tls.mode == mode


def test_the_environment_wants_no_tls_of_a_unix_socket(tmp_path: Path, listening: Path) -> None:
    target = resolved(tmp_path, PGSSLMODE="require").target
    assert (target.socket, target.tls.mode) == (listening, "preferred")


def test_a_socket_has_no_tls_unless_an_address_goes_before_it(tmp_path: Path) -> None:
    url = "postgresql:///shop?host=/run/pg&sslmode=verify-full&channel_binding=require"
    tls = resolved(tmp_path, url).target.tls
    assert (tls.mode, tls.channel_binding) == ("preferred", "require")
    url = "postgresql:///shop?host=/run/pg&sslmode=require"
    target = resolved(tmp_path, url, PGHOSTADDR="10.0.0.5").target
    assert (target.socket, target.host, target.tls.mode) == (None, "10.0.0.5", "required")


def test_the_name_and_the_binding_of_sessions_are_said_anywhere(tmp_path: Path) -> None:
    service = tmp_path / "services"
    service.write_text("[shop]\nhost=db7\napplication_name=orders\nchannel_binding=require\n")
    others = {"PGSERVICE": "shop", "PGSERVICEFILE": str(service)}
    own = {"PGAPPNAME": "mine", "PGCHANNELBINDING": "disable"}
    for url, variables, name, binding in (
        ("postgresql://db1", {}, None, "prefer"),
        ("postgresql://db1", own, "mine", "disable"),
        ("postgresql://", own | others, "orders", "require"),
        ("postgresql://?application_name=x&channel_binding=prefer", own | others, "x", "prefer"),
    ):
        target = resolved(tmp_path, url, **variables).target
        assert (target.application_name, target.tls.channel_binding) == (name, binding)
    with pytest.raises(TargetUrlError, match="channel_binding is 'yes', not one of"):
        resolved(tmp_path, "postgresql://db1", PGCHANNELBINDING="yes")
    with pytest.raises(TargetUrlError, match="what Loadstone's own are called"):
        resolved(tmp_path, "postgresql://db1", PGAPPNAME="loadstone administration")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PGREQUIREAUTH", "scram-sha-256"),
        ("PGREQUIREPEER", "postgres"),
        ("PGSSLCRL", "/crl"),
        ("PGSSLCRLDIR", "/crls"),
        ("PGSSLCERTMODE", "require"),
        ("PGGSSENCMODE", "require"),
    ],
)
def test_a_check_that_is_not_made_is_refused(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(TargetUrlError, match=f"{variable} asks for a check") as caught:
        resolved(tmp_path, "postgresql://db1", **{variable: value})
    assert "leave it out" in str(caught.value.hint)
    for harmless in {"PGGSSENCMODE": ("prefer", "disable")}.get(variable, ("",)):
        resolved(tmp_path, "postgresql://db1", **{variable: harmless})
    name = {"PGREQUIREAUTH": "require_auth"}.get(variable, variable.removeprefix("PG").lower())
    service = tmp_path / "services"
    service.write_text(f"[shop]\nhost=db7\n{name}={value}\n")
    with pytest.raises(TargetUrlError, match=f"{name} asks for a check"):
        resolved(tmp_path, PGSERVICE="shop", PGSERVICEFILE=str(service))


def test_a_list_of_revoked_certificates_is_not_ignored(tmp_path: Path) -> None:
    own = tmp_path / ".postgresql"
    own.mkdir()
    (own / "root.crl").touch()
    resolved(tmp_path, "postgresql://db1?sslmode=require")
    for url in ("postgresql://db1?sslmode=verify-full", "postgresql://db1?sslrootcert=/ca.pem"):
        with pytest.raises(TargetUrlError, match=r"root\.crl asks for a check"):
            resolved(tmp_path, url)


def test_versions_of_tls_have_limits(tmp_path: Path) -> None:
    for url, variables, versions in (
        ("postgresql://db1", {}, ()),
        ("postgresql://db1?ssl_min_protocol_version=TLSv1.3", {}, ("TLSv1.3",)),
        (
            "postgresql://db1",
            {"PGSSLMINPROTOCOLVERSION": "tlsv1.1"},
            ("TLSv1.1", "TLSv1.2", "TLSv1.3"),
        ),
        ("postgresql://db1", {"PGSSLMAXPROTOCOLVERSION": "TLSv1.2"}, ("TLSv1.2",)),
        (
            "postgresql://db1?tls-version=TLSv1.2",
            {"PGSSLMINPROTOCOLVERSION": "TLSv1.3"},
            ("TLSv1.2",),
        ),
    ):
        assert resolved(tmp_path, url, **variables).target.tls.versions == versions
    for url, said in (
        ("postgresql://db1?ssl_min_protocol_version=SSLv3", "ssl_min_protocol_version is 'SSLv3'"),
        ("postgresql://db1?ssl_max_protocol_version=TLSv1", "is above ssl_max_protocol_version"),
        ("postgresql://db1?tls-version=TLSv1.2&ssl_min_protocol_version=TLSv1.2", "given twice"),
    ):
        with pytest.raises(TargetUrlError, match=said):
            resolved(tmp_path, url)


def test_the_system_s_authorities_need_the_host_s_name(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.touch()
    around = {"SSL_CERT_FILE": str(bundle)}
    for url, variables in (
        ("postgresql://db1?sslrootcert=system", {}),
        ("postgresql://db1?sslrootcert=system&sslmode=verify-full", {}),
        ("postgresql://db1?sslrootcert=system", {"PGSSLMODE": "verify-full"}),
        ("postgresql://db1", {"PGSSLROOTCERT": "system"}),
    ):
        tls = resolved(tmp_path, url, **around, **variables).target.tls
        assert (tls.mode, tls.ca) == ("verify-identity", bundle)
    for url, variables in (
        ("postgresql://db1?sslrootcert=system&sslmode=require", {}),
        ("postgresql://db1?sslrootcert=system&sslmode=verify-ca", {}),
        ("postgresql://db1?sslmode=require", {"PGSSLROOTCERT": "system"}),
        ("postgresql://db1", {"PGSSLROOTCERT": "system", "PGSSLMODE": "prefer"}),
    ):
        with pytest.raises(TargetUrlError, match="needs sslmode=verify-full"):
            resolved(tmp_path, url, **around, **variables)
    with pytest.raises(TargetError, match="no file with the authorities"):
        resolved(tmp_path, "postgresql://db1?sslrootcert=system", SSL_CERT_FILE="/none")


@pytest.mark.parametrize(
    "given", [{"compression": "zlib"}, {"defaults_file": "/a"}, {"server_public_key": "/a"}]
)
def test_options_of_other_families_are_refused(tmp_path: Path, given: dict[str, str]) -> None:
    asked = EndpointRequest.model_validate({"url": "postgresql://db1"} | given)
    around = Surroundings(environment={}, home=tmp_path)
    with pytest.raises(ForeignOption, match="PostgreSQL has no --"):
        candidates(asked, surroundings=around)
