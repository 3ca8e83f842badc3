"""The user that root gives to servers that refuse to run as root."""

from __future__ import annotations

import os
import pwd

import pytest

from loadstone.sandbox import SandboxError, unprivileged
from loadstone.sandbox.unprivileged import words_as_user

READS, OVERRIDES, CHOWNS = 1 << 2, 1 << 1, 1


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """This process counts as root, with all capabilities."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(unprivileged, "_held", lambda status: READS | OVERRIDES | CHOWNS)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    return monkeypatch


@pytest.mark.parametrize(
    ("held", "kept"), [(READS | OVERRIDES, "dac_read_search"), (OVERRIDES, "dac_override")]
)
def test_it_keeps_the_least_capability_that_opens_folders(
    root: pytest.MonkeyPatch, held: int, kept: str
) -> None:
    root.setattr(unprivileged, "_held", lambda status: held | CHOWNS)
    words = words_as_user()
    assert words[:2] == ("/bin/setpriv", f"--reuid={pwd.getpwnam('nobody').pw_uid}")
    assert {word.partition("=")[2] for word in words if "-caps" in word} == {f"-all,+{kept}"}
    assert words_as_user(dies_with_us=True) == (*words, "--pdeathsig", "KILL")


def test_others_start_servers_as_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert words_as_user() == ()


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("shutil.which", lambda name: None, "setpriv is not installed"),
        ("loadstone.sandbox.unprivileged.USER", "no one has this name", "there is no user"),
        ("loadstone.sandbox.unprivileged._held", lambda status: CHOWNS, "may not give"),
    ],
)
def test_a_machine_that_does_not_allow_it_is_told(
    root: pytest.MonkeyPatch, where: str, value: object, said: str
) -> None:
    root.setattr(where, value)
    with pytest.raises(SandboxError, match=f"refuses to run as root, and .*{said}"):
        words_as_user()
