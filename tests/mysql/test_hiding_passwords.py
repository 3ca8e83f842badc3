import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.target_url import password_span
from loadstone.servers.redact import blank_arguments

PATHS = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
PROGRAM = """
import sys
from loadstone.servers.redact import hide_secrets
hide_secrets()
print("hidden", flush=True)
sys.stdin.read()
"""


def seen_from_outside(*arguments: str) -> list[str]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hidden\n"
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        process.communicate("")
    return shown.rstrip(b"\0").decode().split("\0")[3:]


def test_others_see_the_command_line_without_the_password() -> None:
    shown = seen_from_outside("run", "--target", "mysql://u:s3cret-long@h:3306/db", "--json")
    assert shown == ["run", "--target", "mysql://u:***@h:3306/db", "--json"]


INHERITING = """
import os, subprocess, sys
from loadstone.servers.redact import PASSWORD_VARIABLE, take_secrets, taken_environment
take_secrets()
assert taken_environment() == {PASSWORD_VARIABLE: "s3cret-long"}
print(subprocess.run(["env"], capture_output=True, text=True).stdout, end="")
print(open("/proc/self/environ").read())
print(os.environ["OTHER"], os.environ.get(PASSWORD_VARIABLE))
"""


def test_the_password_is_in_no_environment_that_others_see_or_inherit() -> None:
    environment = {"LOADSTONE_PASSWORD": "s3cret-long", "OTHER": "kept", **PATHS}
    done = subprocess.run(
        [sys.executable, "-c", INHERITING],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "s3cret" not in done.stdout
    assert done.stdout.count("OTHER=kept") == 2
    assert done.stdout.splitlines()[-1] == "kept None"


def test_so_is_the_token_of_the_live_page() -> None:
    """Neither the option nor the variable shows it, and no program of ours inherits it."""
    token = "s3cret-long-enough"
    shown = seen_from_outside("web", "--token", token, "--address", "127.0.0.1:0")
    assert shown == ["web", "--token", "***", "--address", "127.0.0.1:0"]
    assert seen_from_outside("web", f"--token={token}") == ["web", "--token=***"]
    program = INHERITING.replace("PASSWORD_VARIABLE", "TOKEN_VARIABLE")
    done = subprocess.run(
        [sys.executable, "-c", program.replace("s3cret-long", token)],
        env={"LOADSTONE_TOKEN": token, "OTHER": "kept", **PATHS},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "s3cret" not in done.stdout
    assert done.stdout.count("OTHER=kept") == 2
    assert done.stdout.splitlines()[-1] == "kept None"


def test_several_passwords_are_all_hidden() -> None:
    shown = seen_from_outside(
        "--target=mysql://u:s3cret@a/", "mysql://u:s3cret@b/", "--mysql-password=s3cret"
    )
    assert shown == ["--target=mysql://u:***@a/", "mysql://u:***@b/", "--mysql-password=***"]


def test_a_password_among_the_parameters_of_a_url_is_hidden() -> None:
    words = [b"postgresql://db1:5432/shop?password=s3@cret&sslmode=require", b"postgresql:///?a=b"]
    hidden = [b"postgresql://db1:5432/shop?password=***&sslmode=require", b"postgresql:///?a=b"]
    assert blank_arguments(words) == hidden


def test_a_command_line_without_a_password_stays_as_it_is() -> None:
    assert seen_from_outside("run", "mysql://u@h/db") == ["run", "mysql://u@h/db"]


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("mysql://u:a@b:c@h/db", "mysql://u:***@h/db"),
        ("mariadb://u:long-one@h/", "mariadb://u:***@h/"),
        ("mysql://u:x@h/", "mysql://u:*@h/"),
        ("mysql://u:@h/", "mysql://u:@h/"),
        ("mysql://u@h:3306/", "mysql://u@h:3306/"),
        ("mysql://rev@corp:secret@127.0.0.1:3306/db", "mysql://rev@corp:***@127.0.0.1:3306/db"),
        ("MySQL://rev:secret@h/db", "MySQL://rev:***@h/db"),
        (" mysql://rev:secret@h/db", " mysql://rev:***@h/db"),
        ("--password=secret", "--password=***"),
        ("--mysql_password=secret", "--mysql_password=***"),
        ("--password", "--password"),
        ("--token=long-enough-to-be-one", "--token=***"),
        ("--token", "--token"),
        ("host=db1 password=secret port=1", "host=db1 password=*** port=1"),
        (r"password = 'it\'s a secret' host=db1", "password = *** host=db1"),
        ("host=db1 passwords=known", "host=db1 passwords=known"),
    ],
)
def test_each_form_of_a_password_is_known(argument: str, shown: str) -> None:
    assert blank_arguments([argument.encode()]) == [shown.encode()]


def test_sysbenchs_password_as_a_word_of_its_own_is_known() -> None:
    assert blank_arguments([b"--mysql-password", b"secret", b"run"]) == [
        b"--mysql-password", b"***", b"run",
    ]  # fmt: skip


@given(st.text(st.sampled_from("ab:/@?\n é"), max_size=14).map(lambda text: f"m{text}://u{text}@h"))
def test_it_blanks_what_the_parser_takes_for_the_password(argument: str) -> None:
    span = password_span(argument)
    start, end = span or (0, 0)
    stars = "***"[: len(argument[start:end].encode())]
    shown = argument[:start] + stars + argument[end:]
    assert blank_arguments([argument.encode()]) == [shown.encode()]


def test_hiding_does_not_wait_for_heavy_imports() -> None:
    program = "import sys, loadstone.servers.redact; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_crash_of_the_program_leaves_no_core() -> None:
    program = (
        "import resource as r; r.setrlimit(r.RLIMIT_CORE, r.getrlimit(r.RLIMIT_CORE)[1:] * 2);"
        "from loadstone import cli; cli._begin(); print(r.getrlimit(r.RLIMIT_CORE)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "0\n"
