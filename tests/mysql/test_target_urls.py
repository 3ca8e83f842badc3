from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadstone.model.message import plain
from loadstone.model.target import (
    Credentials,
    Endpoint,
    Target,
    Tls,
)
from loadstone.model.target_url import (
    TargetUrlError,
    parse_target_url,
    without_password,
    without_passwords_in,
)
from loadstone.servers.redact import blank_arguments

SECRET = "s3cr3t/?#@:[]%"


def test_a_full_url_names_every_part() -> None:
    target, password = parse_target_url(
        "mysql://ann:pw@db1:3307/shop?tls=verify-ca&tls-ca=/ca.pem&tls-cert=/c.pem&tls-key=/k.pem"
    )
    assert target == Target(
        host="db1",
        port=3307,
        user="ann",
        database="shop",
        tls=Tls(mode="verify-ca", ca=Path("/ca.pem"), cert=Path("/c.pem"), key=Path("/k.pem")),
    )
    assert password is not None
    assert password.get_secret_value() == "pw"


def test_an_ipv6_address_stands_in_brackets() -> None:
    target, _ = parse_target_url("mysql://u@[2001:db8::1]:3306/db")
    assert target.host == "2001:db8::1"
    assert target.place == "[2001:db8::1]:3306"
    assert target.url == "mysql://u@[2001:db8::1]:3306/db"


def test_percent_signs_are_decoded_in_user_password_and_schema() -> None:
    target, password = parse_target_url("mysql://a%40b:p%2Fw@h/my%20db")
    assert (target.user, target.database) == ("a@b", "my db")
    assert password is not None
    assert password.get_secret_value() == "p/w"


@pytest.mark.parametrize("password", ["a/b", "a?b", "a#b", "a@b", "a:b", "[x]", "@", "a&b=c"])
def test_a_password_pasted_as_it_is_is_understood(password: str) -> None:
    target, found = parse_target_url(f"mysql://u:{password}@h:3306/db?tls=required")
    assert found is not None
    assert found.get_secret_value() == password
    assert (target.host, target.port, target.database) == ("h", 3306, "db")


def test_no_password_and_an_empty_one_are_told_apart() -> None:
    assert parse_target_url("mysql://u@h/")[1] is None
    empty = parse_target_url("mysql://u:@h/")[1]
    assert empty is not None
    assert empty.get_secret_value() == ""


@pytest.mark.parametrize(
    "url",
    [
        "mysql://localhost",
        "mysql://u@h:3307/db?tls=verify-identity&tls-ca=/a%20b.pem",
        "mysql://u@localhost/db?socket=/run/mysqld/mysqld.sock",
        "mysql://a%40b@h/my%20db?server-public-key=/k.pem",
        "mysql://u@h/db?compression=zstd,zlib,off",
    ],
)
def test_parsing_what_was_displayed_gives_the_same_target(url: str) -> None:
    target, _ = parse_target_url(url)
    assert parse_target_url(target.url) == (target, None)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("db1:3306", "mysql://"),
        ("oracle://u@h/db", "oracle"),
        ("mysql://u@h:99999/", "port"),
        ("mysql://u@h:0/", "port"),
        ("mysql://u@h:x/", "port"),
        ("mysql://u@h/a/b", "one schema"),
        ("mysql://u@h/db?tls=maybe", "verify-identity"),
        ("mysql://u@h/db?colour=red", "colour"),
        ("mysql://u@h/db?compression=lz4", "'lz4' is not a kind of compression"),
        ("mysql://u@h/db?compression=zlib,", "'' is not a kind of compression"),
        ("mysql://u@h/db?compression=off,zlib", "after off"),
        ("mysql://u@h/db?compression=zlib,zlib", "twice"),
        ("mysql://u@h/db?tls=required&tls=disabled", "twice"),
        ("mysql://u@h/db?socket=", "no value"),
        ("mysql://u@h/db#x", "%23"),
    ],
)
def test_a_bad_url_is_refused_in_one_line_that_says_why(url: str, says: str) -> None:
    with pytest.raises(TargetUrlError) as caught:
        parse_target_url(url)
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "url", ["mysql://u:{}@[bad", "pg://u:{}@h/", "mysql://u:{}@h:x/", "mysql://u:{}@h/a/b?c=d"]
)
def test_no_error_repeats_the_password(url: str) -> None:
    with pytest.raises(TargetUrlError) as caught:
        parse_target_url(url.format("hunter2"))
    assert "hunter2" not in f"{caught.value!r} {caught.value.message} {caught.value.hint}"


def test_no_text_and_no_json_form_shows_a_password() -> None:
    target, password = parse_target_url(f"mysql://u:{SECRET}@h/db")
    assert password is not None
    endpoint = Endpoint(
        target=target, credentials=Credentials(password=password, source=plain("the URL"))
    )
    shown = [
        str(target), repr(target), target.model_dump_json(), str(endpoint), repr(endpoint),
        endpoint.model_dump_json(), repr(endpoint.credentials), str(endpoint.model_dump()),
    ]  # fmt: skip
    assert not [text for text in shown if "s3cr3t" in text]


def test_the_engine_gets_the_password_and_nothing_else_does() -> None:
    target, password = parse_target_url("mysql://u:pw@[::1]/db?tls=required")
    assert password is not None
    endpoint = Endpoint(target=target, credentials=Credentials(password=password))
    assert endpoint.for_engine() == {
        "family": "mysql",
        "host": "::1",
        "port": 3306,
        "socket": None,
        "user": "u",
        "password": "pw",
        "database": "db",
        "tls": {
            "mode": "required", "ca": None, "cert": None, "key": None, "fingerprint": None,
            "ciphers": [], "versions": [], "direct": False, "channel_binding": "prefer",
        },
        "compression": [],
        "server_public_key": None,
        "allow_clear_password": False,
        "server_is_here": False,
    }  # fmt: skip


PRINT = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ("tls-ca=/ca.pem", "verify-ca"),
        ("tls-ca=/ca.pem&tls=required", "required"),
        ("tls-ca=/ca.pem&tls=preferred", "preferred"),
        (f"tls-fingerprint={PRINT}", "required"),
        (f"tls-fingerprint={PRINT}&tls=preferred", "preferred"),
        ("tls-cert=/c.pem&tls-key=/k.pem", "preferred"),
    ],
)
def test_who_says_which_certificate_is_right_wants_it_looked_at(options: str, mode: str) -> None:
    target, _ = parse_target_url(f"mysql://u@h/db?{options}")
    assert target.tls.mode == mode
    assert parse_target_url(target.url)[0] == target
    assert parse_target_url(target.url)[0].tls.mode == mode


def test_a_fingerprint_may_be_written_as_openssl_does_and_is_one_of_sha_256() -> None:
    colons = ":".join(PRINT[at : at + 2] for at in range(0, 64, 2)).upper()
    target, _ = parse_target_url(f"mysql://u@h/db?tls-fingerprint={colons}")
    assert target.tls.fingerprint == PRINT
    for bad in (PRINT[:40], PRINT + "00", "x" * 64):
        with pytest.raises(TargetUrlError, match="64 hexadecimal digits"):
            parse_target_url(f"mysql://u@h/db?tls-fingerprint={bad}")


def test_a_url_cannot_say_that_a_password_may_go_in_clear() -> None:
    with pytest.raises(TargetUrlError, match="no option"):
        parse_target_url("mysql://u@h/db?enable-cleartext-plugin=1")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mysql://u:pw@h/db", "mysql://u:***@h/db"),
        ("mysql://u:p@w@h/db", "mysql://u:***@h/db"),
        ("mysql://u@h/db", "mysql://u@h/db"),
        ("no url", "no url"),
    ],
)
def test_any_text_can_be_shown_without_its_password(text: str, shown: str) -> None:
    assert without_password(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no '://u:geheim@h/d': x", "no '://u:***@h/d': x"),
        ("extra (mysql://u@corp:geheim@h/d)", "extra (mysql://u@corp:***@h/d)"),
        ("mysql://u:gehe im@h/d is odd", "mysql://u:***@h/d is odd"),
        ("a mysql://h/d mysql://u:geheim@h/d", "a mysql://h/d mysql://u:***@h/d"),
        ("mysql://u@h:3306/d: user 'u'@'h' denied", "mysql://u@h:3306/d: user 'u'@'h' denied"),
        ("mysql://[::1]:3306: no a:b@c", "mysql://[::1]:3306: no a:b@c"),
    ],
)
def test_a_sentence_loses_passwords_and_nothing_else(text: str, shown: str) -> None:
    assert without_passwords_in(text) == shown


SCHEMES = st.sampled_from(["mysql", "MySQL", "MARIADB", " mysql", "\tmariadb"])
PARTS = st.text(st.sampled_from("ab@:/?#[]% \t\n=&'é"), max_size=6)


@given(SCHEMES, PARTS, PARTS, st.sampled_from(["h/db", "127.0.0.1:3306/db", "[::1]/", "", "h?a=b"]))
@example("mysql", "rev@corp", "", "127.0.0.1:3306/db")
def test_every_password_that_is_understood_is_blanked(
    scheme: str, user: str, around: str, place: str
) -> None:
    url = f"{scheme}://{user}:{around}geheim{around}@{place}"
    try:
        _, password = parse_target_url(url)
    except TargetUrlError as error:
        assert "geheim" not in f"{error.message} {error.hint}"
    else:
        assert password is not None
        assert "geheim" in password.get_secret_value()
    assert "geheim" not in without_password(url)
    for argument in (url, f"--target={url}"):
        assert b"geheim" not in blank_arguments([argument.encode()])[0]
    if not any(blank in user + around for blank in " \t\n"):
        assert "geheim" not in without_passwords_in(f"unexpected extra argument ({url})")


@given(st.text(max_size=30))
def test_whatever_text_is_taken_for_a_url_has_its_password_blanked(text: str) -> None:
    url = f"mysql://{text}"
    try:
        _, password = parse_target_url(url)
    except TargetUrlError:
        return
    assert (password is not None) == (without_password(url) != url or ":***@" in url)


def test_a_login_of_user_at_server_is_one_user() -> None:
    target, password = parse_target_url("MySQL://rev@corp:pw@127.0.0.1:3306/db")
    assert (target.user, target.host, target.database) == ("rev@corp", "127.0.0.1", "db")
    assert password is not None
    assert password.get_secret_value() == "pw"
