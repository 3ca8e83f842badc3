"""URLs of PostgreSQL's servers, in our words and in libpq's."""

from pathlib import Path

import pytest

from loadstone.families import FAMILIES, family_of
from loadstone.model.target import Target, Tls
from loadstone.model.target_url import TargetUrlError, parse_target_url, service_in


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://db1", Target(host="db1", family="postgresql")),
        (
            "postgres://ann@db1:6432/shop?sslmode=verify-full&sslrootcert=/ca.pem"
            "&sslcert=/c.pem&sslkey=/k.pem",
            Target(
                family="postgresql", host="db1", port=6432, user="ann", database="shop",
                tls=Tls(
                    mode="verify-identity",
                    ca=Path("/ca.pem"), cert=Path("/c.pem"), key=Path("/k.pem"),
                ),
            ),
        ),
        (
            "postgresql:///shop?host=/run/postgresql&port=5433&user=ann",
            Target(
                family="postgresql", socket=Path("/run/postgresql"), port=5433, user="ann",
                database="shop",
            ),
        ),
        (
            "postgresql://ann@%2FRun%2FPg/?dbname=shop",
            Target(family="postgresql", socket=Path("/Run/Pg"), user="ann", database="shop"),
        ),
        (
            "postgresql://db1/shop?sslmode=require&sslnegotiation=direct",
            Target(
                family="postgresql", host="db1", database="shop",
                tls=Tls(mode="required", direct=True),
            ),
        ),
        (
            "postgresql://db1/shop?sslnegotiation=postgres",
            Target(family="postgresql", host="db1", database="shop", tls=Tls(direct=False)),
        ),
        (
            "postgresql://db1/shop?options=-c%20work_mem%3D8MB",
            Target(
                family="postgresql", host="db1", database="shop",
                startup_options="-c work_mem=8MB",
            ),
        ),
        (
            "postgresql://db1/shop?sslmode=require&channel_binding=require&application_name=a%20b"
            "&ssl_min_protocol_version=TLSv1.3&keepalives=1&client_encoding=UTF8&gssencmode=disable",
            Target(
                family="postgresql", host="db1", database="shop", application_name="a b",
                tls=Tls(mode="required", channel_binding="require", versions=("TLSv1.3",)),
            ),
        ),
        (
            "postgresql://db1/shop?tls=required",
            Target(family="postgresql", host="db1", database="shop", tls=Tls(mode="required")),
        ),
    ],
)  # fmt: skip
def test_a_url_is_read_in_both_words(url: str, expected: Target) -> None:
    found, _ = parse_target_url(url)
    assert found == expected
    assert parse_target_url(found.url)[0] == found
    assert family_of(found) is FAMILIES["postgresql"]


@pytest.mark.parametrize(
    ("sslmode", "mode"),
    [
        ("disable", "disabled"),
        ("allow", "preferred"),
        ("prefer", "preferred"),
        ("require", "required"),
        ("verify-ca", "verify-ca"),
        ("verify-full", "verify-identity"),
    ],
)
def test_each_sslmode_is_one_of_ours(sslmode: str, mode: str) -> None:
    found, _ = parse_target_url(f"postgresql://db1/shop?sslmode={sslmode}")
    assert found.tls.mode == mode


def test_the_default_port_is_the_family_s() -> None:
    assert parse_target_url("postgresql://db1")[0].place == "db1:5432"
    assert Target(host="db1", family="postgresql").tcp_port == 5432


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://db1,db2/shop", "several hosts"),
        ("postgresql:///shop?host=db1,db2", "several hosts"),
        ("postgresql://db1/shop?sslmode=perhaps", "tls is 'perhaps'"),
        ("postgresql://db1/shop?sslnegotiation=maybe", "sslnegotiation is 'maybe', neither"),
        ("postgresql://db1/shop?port=none", "the port is not a number"),
        ("postgresql://db1/shop?sslmode=require&tls=disabled", "given twice"),
        ("postgresql://db1/shop?host=db2", "host is given twice"),
        ("postgresql://db1:1/shop?port=2", "port is given twice"),
        ("postgresql://ann@db1/shop?user=bob", "user is given twice"),
        ("postgresql://db1/shop?dbname=other", "dbname is given twice"),
        ("postgresql://db1/shop?password=secret", "no option 'password'"),
        ("postgresql://db1/shop?compression=zlib", "no option 'compression'"),
        ("postgresql://db1/shop?channel_binding=no", "channel_binding is 'no', not one of"),
        ("postgresql://db1/shop?application_name=", "application_name has no value"),
    ],
)
def test_a_wrong_url_says_what_is_wrong_and_shows_a_right_one(url: str, said: str) -> None:
    with pytest.raises(TargetUrlError, match=said) as caught:
        parse_target_url(url)
    assert "secret" not in caught.value.message
    assert "postgresql://user@host:5432/database" in str(caught.value.hint)


@pytest.mark.parametrize("weak", ["", "sslmode=prefer&", "sslmode=disable&"])
def test_direct_tls_must_be_required(weak: str) -> None:
    with pytest.raises(TargetUrlError, match="sslnegotiation=direct needs TLS") as caught:
        parse_target_url(f"postgresql://db1/shop?{weak}sslnegotiation=direct")
    assert "sslmode=require" in str(caught.value.hint)


@pytest.mark.parametrize("demand", ["require_auth=md5", "sslcrl=/a", "gssencmode=require"])
def test_a_check_that_is_not_made_is_refused_by_name(demand: str) -> None:
    name = demand.partition("=")[0]
    with pytest.raises(TargetUrlError, match=f"^{name} asks for a check that Loadstone does not"):
        parse_target_url(f"postgresql://db1/shop?{demand}")


def test_libpq_s_words_are_not_mysql_s() -> None:
    with pytest.raises(TargetUrlError, match="no option 'sslmode'"):
        parse_target_url("mysql://db1/shop?sslmode=require")


def test_a_url_may_name_a_service() -> None:
    assert service_in("postgresql:///?service=shop") == "shop"
    assert service_in("postgresql://db1") is None
