"""A form of the page as a command line: nothing in it is another option, a path or a password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from loadstone.web.begin.forms import command_line, form_of

RUNS = Path("runs")


def words(**fields: Any) -> tuple[str, ...]:
    return form_of(fields).words(RUNS)


def test_a_run_is_the_command_that_a_shell_would_get() -> None:
    made = words(
        kind="run",
        target="mysql://me@db1:3306/shop",
        workload="oltp_read_write",
        options={"point_selects": "5"},
        concurrency="1,8",
        duration="10s",
        name="first try",
        prove=True,
        yes=True,
    )
    assert command_line(made) == (
        "loadstone run oltp_read_write --target=mysql://me@db1:3306/shop --concurrency=1,8"
        " --duration=10s '--name=first try' --set-option=point_selects=5 --prove --yes --out=runs"
    )


def test_a_throwaway_server_and_what_is_left_out_are_no_options() -> None:
    made = words(kind="run", workload="tpcc", objective="p99<10ms", server="mysql")
    assert made == ("run", "tpcc", "--server=mysql", "--slo=p99<10ms", "--out=runs")


def test_recipes_and_proofs_have_their_own_commands() -> None:
    recipe = words(kind="recipe", recipe="tls", quick=True, given={"users": "4"})
    assert recipe == ("recipes", "run", "tls", "--set=users=4", "--quick", "--out=runs")
    proof = words(kind="prove", run="oltp-20260101T000000Z", time="2m")
    assert proof == (
        "diagnose", "oltp-20260101T000000Z", "--prove", "--prove-time=2m", "--out=runs",
    )  # fmt: skip


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "run", "workload": "/etc/passwd"},
        {"kind": "run", "workload": "mine.toml/x"},
        {"kind": "run", "workload": "mine.toml"},
        {"kind": "run", "workload": ".shop.toml"},
        {"kind": "run", "workload": "shop.toml.toml"},
        {"kind": "run", "workload": "shop.TOML"},
        {"kind": "run", "workload": "tpcc.toml"},
        {"kind": "run", "workload": "shop.toml", "prove": True},
        {"kind": "recipe", "recipe": "mine.toml"},
        {"kind": "run", "workload": "--help"},
        {"kind": "run", "workload": "tpcc", "server": "/bin/sh"},
        {"kind": "run", "workload": "tpcc", "name": "../elsewhere"},
        {"kind": "run", "workload": "tpcc", "concurrency": "1\n--yes"},
        {"kind": "run", "workload": "tpcc", "options": {"--yes": "1"}},
        {"kind": "run", "workload": "tpcc", "target": "/var/run/mysqld.sock"},
        {"kind": "run", "workload": "tpcc", "target": "mysql://me:secret@db1/shop"},
        {"kind": "run", "workload": "tpcc", "target": "postgresql://db1/shop?password=secret"},
        {"kind": "run", "workload": "tpcc", "init_sql": "DROP TABLE users"},
        {"kind": "prove", "run": "../elsewhere"},
        {"kind": "prove", "run": "--trust-folder"},
        {"kind": "shell", "run": "x"},
        {},
        [],
        "run",
    ],
)
def test_what_is_no_form_is_refused(fields: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        form_of(fields)
    assert "ValidationError" not in str(refused.value.errors()[0]["msg"])


def test_a_bundled_template_is_driven_by_its_name() -> None:
    assert words(kind="run", workload="shop.toml") == ("run", "shop.toml", "--out=runs")


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_with_the_name_of_a_template_is_not_driven_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_link: bool
) -> None:
    """The command prefers the file of its working folder, which is that of the page's server."""
    monkeypatch.chdir(tmp_path)
    words(kind="run", workload="shop.toml")
    if is_link:
        Path("shop.toml").symlink_to("nowhere")
    else:
        Path("shop.toml").write_text("")
    with pytest.raises(ValidationError, match="has the name of the template"):
        words(kind="run", workload="shop.toml")
    words(kind="run", workload="tatp.toml")


TEXTS = st.text(max_size=60)


@given(target=TEXTS, workload=TEXTS, level=TEXTS, name=TEXTS, value=TEXTS)
def test_no_text_becomes_an_option_of_its_own(
    target: str, workload: str, level: str, name: str, value: str
) -> None:
    fields = {
        "kind": "run", "target": target, "workload": workload, "concurrency": level, "name": name,
        "options": {"point_selects": value},
    }  # fmt: skip
    try:
        made = form_of(fields).words(RUNS)
    except ValidationError:
        return
    own = ("--target=", "--concurrency=", "--name=", "--set-option=point_selects=", "--out=runs")
    assert all(word.startswith(own) for word in made[2:])
    assert not made[1].startswith("-")
