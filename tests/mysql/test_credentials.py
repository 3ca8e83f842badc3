import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.model.target_url import TargetUrlError
from loadstone.mysql.credentials import Surroundings, resolve_endpoint
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.errors import TargetError


def never(_: str) -> str:
    raise AssertionError("nobody asked for a prompt")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "my.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        yield place


def around(
    home: Path, sockets: tuple[Path, ...] = (), environment: dict[str, str] | None = None
) -> Surroundings:
    return Surroundings(
        environment=environment or {}, home=home, sockets=sockets, system_option_files=()
    )


def my_cnf(home: Path, text: str) -> None:
    (home / ".my.cnf").write_text(f"[client]\n{text}\n")


@pytest.mark.parametrize(
    ("url", "environment", "password", "source"),
    [
        ("mysql://u:url@h/", {"LOADSTONE_PASSWORD": "env"}, "url", "the URL"),
        ("mysql://u:@h/", {"LOADSTONE_PASSWORD": "env"}, "", "the URL"),
        ("mysql://u@h/", {"LOADSTONE_PASSWORD": "env"}, "env", "LOADSTONE_PASSWORD"),
        ("mysql://u@h/", {"LOADSTONE_PASSWORD": ""}, "", "LOADSTONE_PASSWORD"),
        ("mysql://u@h/", {}, "file", ".my.cnf"),
    ],
)
def test_the_password_comes_from_the_first_place_that_has_one(
    home: Path, url: str, environment: dict[str, str], password: str, source: str
) -> None:
    my_cnf(home, "password=file")
    found = resolve_endpoint(EndpointRequest(url=url), never, around(home, environment=environment))
    assert found.credentials.reveal() == password
    assert found.credentials.source.endswith(source)


def test_no_password_anywhere_is_an_empty_one_and_no_prompt(home: Path) -> None:
    found = resolve_endpoint(EndpointRequest(url="mysql://u@h/"), never, around(home))
    assert found.credentials.reveal() == ""


def test_a_prompt_comes_only_when_asked_for_and_then_wins(home: Path) -> None:
    request = EndpointRequest(url="mysql://u:url@h/", ask_password=True)
    asked: list[str] = []

    def prompt(text: str) -> str:
        asked.append(text)
        return "typed"

    assert resolve_endpoint(request, prompt, around(home)).credentials.reveal() == "typed"
    assert asked == ["Password of u at h:3306: "]


def test_a_defaults_file_stands_in_place_of_the_one_at_home(home: Path) -> None:
    my_cnf(home, "password=home\nuser=home")
    other = home / "other.cnf"
    other.write_text("[client]\npassword=other\n")
    request = EndpointRequest(url="mysql://h/", defaults_file=other)
    found = resolve_endpoint(request, never, around(home))
    assert found.credentials.reveal() == "other"
    assert found.target.user != "home"


def test_an_option_file_fills_only_what_is_open(home: Path) -> None:
    my_cnf(home, "user=file\nhost=db9\nport=3310\ndatabase=shop\nssl-mode=VERIFY_CA\nssl-ca=/ca")
    found = resolve_endpoint(EndpointRequest(), never, around(home)).target
    assert found.url == "mysql://file@db9:3310/shop?tls=verify-ca&tls-ca=/ca"
    request = EndpointRequest(url="mysql://me@h:1/db?tls=disabled")
    assert resolve_endpoint(request, never, around(home)).target.url.startswith(
        "mysql://me@h:1/db?tls=disabled"
    )


def test_options_of_the_command_line_win_over_the_url(home: Path) -> None:
    request = EndpointRequest(url="mysql://u@h:1/db?tls=disabled", port=2, user="v", tls="required")
    found = resolve_endpoint(request, never, around(home)).target
    assert found.url == "mysql://v@h:2/db?tls=required"


@pytest.mark.parametrize(
    ("line", "mode"),
    [("skip-ssl", "disabled"), ("ssl=0", "disabled"), ("ssl", "required"),
     ("ssl-verify-server-cert", "verify-identity"), ("ssl-mode=required", "required"),
     ("", "preferred")],
)  # fmt: skip
def test_the_tls_words_of_both_families_are_known(home: Path, line: str, mode: str) -> None:
    my_cnf(home, line)
    found = resolve_endpoint(EndpointRequest(url="mysql://u@h/"), never, around(home))
    assert found.target.tls.mode == mode


@pytest.mark.parametrize(
    ("line", "kinds"),
    [("compress", ("zlib", "off")), ("compress=0", ()), ("", ()),
     ("compression-algorithms=ZSTD,uncompressed", ("zstd", "off"))],
)  # fmt: skip
def test_the_option_files_words_for_compression_are_known(
    home: Path, line: str, kinds: tuple[str, ...]
) -> None:
    my_cnf(home, line)
    found = resolve_endpoint(EndpointRequest(url="mysql://u@h/"), never, around(home))
    assert found.target.compression == kinds
    request = EndpointRequest(url="mysql://u@h/?compression=zlib")
    assert resolve_endpoint(request, never, around(home)).target.compression == ("zlib",)
    request = EndpointRequest(url="mysql://u@h/?compression=zlib", compression="zstd")
    assert resolve_endpoint(request, never, around(home)).target.compression == ("zstd",)


def test_localhost_without_a_port_is_the_unix_socket(home: Path, listening: Path) -> None:
    surroundings = around(home, (home / "none.sock", listening))
    found = resolve_endpoint(EndpointRequest(url="mysql://u@localhost/db"), never, surroundings)
    assert found.target.socket == listening


def test_the_option_files_socket_is_localhosts_and_nobody_elses(
    home: Path, listening: Path
) -> None:
    my_cnf(home, f"socket={listening}\nport=3333")
    local = resolve_endpoint(EndpointRequest(url="mysql://u@localhost/"), never, around(home))
    assert local.target.socket == listening
    other = resolve_endpoint(EndpointRequest(url="mysql://u@127.0.0.1/"), never, around(home))
    assert (other.target.socket, other.target.port) == (None, 3333)


def test_localhost_with_a_port_is_tcp(home: Path) -> None:
    found = resolve_endpoint(EndpointRequest(url="mysql://u@localhost:3306/"), never, around(home))
    assert found.target.socket is None


def test_a_missing_socket_is_told_with_the_places_looked_at(home: Path) -> None:
    surroundings = around(home, (home / "none.sock",))
    with pytest.raises(TargetError) as caught:
        resolve_endpoint(EndpointRequest(url="mysql://u@localhost/"), never, surroundings)
    assert caught.value.kind == "no_socket"
    assert "none.sock" in caught.value.message


def test_an_unknown_tls_mode_is_refused(home: Path) -> None:
    with pytest.raises(TargetUrlError):
        resolve_endpoint(EndpointRequest(url="mysql://u@h/", tls="on"), never, around(home))
