"""The search for secrets finds what was visible for a moment only."""

from __future__ import annotations

import subprocess

import pytest

from trust.searching import Watching, found_in

SECRET = "kV9z-Unique.Secret_73"
SHOWS_FOR_A_WHILE = 'exec sh -c "sleep 0.3; exec sleep 0.3" "$s"'


def seen_of(script: str, *arguments: str) -> list[str]:
    """Where a secret was found that a shell reads as `s` and shows."""
    # Its initial state has to be seen before anything changes.
    words = ["sh", "-c", f"read s; sleep 0.2; {script}", *arguments]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as program:
        with Watching(program.pid) as watching:
            program.communicate(f"{SECRET}\n".encode())
    return sorted({name.partition(" child")[0] for name in found_in(SECRET, watching.seen)})


@pytest.mark.parametrize(
    ("script", "where"),
    [
        (SHOWS_FOR_A_WHILE, ["cmdline of the program"]),
        (f"({SHOWS_FOR_A_WHILE}); sleep 0.2", ["cmdline of its"]),
        ('export s; sh -c "sleep 0.3; unset s; exec sleep 0.3"; :', ["environ of its"]),
        ("sleep 0.3", []),
    ],
)
def test_what_is_shown_only_for_a_while_is_found(script: str, where: list[str]) -> None:
    assert seen_of(script) == where


def seen_of_the_program(script: str, *arguments: str) -> list[str]:
    """Without its children: right after the fork they have their parent's arguments."""
    return [where for where in seen_of(script, *arguments) if where != "cmdline of its"]


def test_what_a_program_began_with_counts_unless_it_was_blanked() -> None:
    assert seen_of_the_program("sleep 0.2; exec sleep 0.2", SECRET) == []
    assert seen_of_the_program("sleep 0.2; :", SECRET) == ["cmdline of the program"]
    again = f"sleep 0.2; exec sh -c \"sleep 0.2; exec sh -c 'read s; sleep 0.2; :' {SECRET}\""
    assert seen_of_the_program(again, SECRET) == ["cmdline of the program"]
