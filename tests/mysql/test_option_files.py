from pathlib import Path

import pytest

from loadstone.mysql.optionfile import parse_options, read_option_file
from loadstone.servers.errors import TargetError


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("password=abc", "abc"),
        ("password = abc ", "abc"),
        ('password="a#b"', "a#b"),
        ("password='a \"b'", 'a "b'),
        ("password=abc # not the password", "abc"),
        ("password=abc#not the password", "abc"),
        (r"password=a\sb\\c", r"a b\c"),
        ("password=", ""),
        ("password", ""),
        ("password=a=b", "a=b"),
    ],
)
def test_values_are_read_as_the_servers_clients_read_them(line: str, value: str) -> None:
    assert parse_options(f"[client]\n{line}\n") == [("password", value)]


def test_only_sections_for_clients_count_and_comments_do_not() -> None:
    text = "user=x\n[mysqld]\nuser=mysql\n# a\n; b\n[client]\nuser=ann\nssl_ca=/ca\n"
    assert parse_options(text + "[mysqldump]\nuser=z\n") == [("user", "ann"), ("ssl-ca", "/ca")]


def test_included_files_are_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "a.cnf").write_text("[client]\nuser=ann\nport=1\n")
    (tmp_path / "conf.d" / "ignored.txt").write_text("[client]\nuser=bob\n")
    (tmp_path / "my.cnf").write_text("!includedir conf.d/\n[client]\nport=2\n")
    assert read_option_file(tmp_path / "my.cnf") == {"user": "ann", "port": "2"}


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[client]\nuser=ann\n!include my.cnf\n")
    assert read_option_file(tmp_path / "my.cnf") == {"user": "ann"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as caught:
        read_option_file(tmp_path / "none.cnf")
    assert "none.cnf" in caught.value.message
    assert caught.value.kind == "options"
