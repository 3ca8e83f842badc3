"""Runs servers that refuse to run as root: where Loadstone is root, as the user `nobody`.

A sandbox's folder may be below one that only root can enter, such as /root, and so may a fetched
server. So the user gets one capability (capabilities(7)): it may read and enter what root may.
With the lesser one it can write only to the folders that it is given; where a container has only
the greater, it can write what root may, as a throwaway server started by root can anyway.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from loadstone.model.message import say
from loadstone.sandbox.errors import SandboxError

USER = "nobody"

_ENTERING = {"dac_read_search": 1 << 2, "dac_override": 1 << 1}
"""The capabilities that open folders, the lesser first: containers often have only the second."""


def words_as_user(*, dies_with_us: bool = False) -> tuple[str, ...]:
    """The words before a command that make it run as that user; none if we are not root.

    Changing the user clears the parent-death signal, so it is set again afterwards.

    Raises:
        SandboxError: this machine does not allow it.
    """
    if os.geteuid() != 0:
        return ()
    user, capability = _user(), _capability()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise SandboxError(
            say("this server refuses to run as root, and setpriv is not installed"),
            say("apt-get install util-linux, or start it as another user"),
        )
    kept = f"-all,+{capability}"
    return (
        setpriv,
        f"--reuid={user.pw_uid}",
        f"--regid={user.pw_gid}",
        "--clear-groups",
        f"--inh-caps={kept}",
        f"--ambient-caps={kept}",
        f"--bounding-set={kept}",
        *(("--pdeathsig", "KILL") if dies_with_us else ()),
    )


def give(place: Path) -> None:
    """Make that user the owner of a file or of a whole folder of a sandbox, if we are root."""
    if os.geteuid() != 0:
        return
    user = _user()
    for path in _all_in(place):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)


def _all_in(place: Path) -> Iterator[Path]:
    yield place
    for folder, folders, files in os.walk(place):
        yield from (Path(folder, name) for name in (*folders, *files))


def _user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        raise SandboxError(
            say("this server refuses to run as root, and there is no user {user}", user=USER),
            say("start it as another user"),
        ) from None


def _capability() -> str:
    held = _held(Path("/proc/self/status").read_text().splitlines())
    for name, bit in _ENTERING.items():
        if held & bit:
            return name
    raise SandboxError(
        say("this server refuses to run as root, and root may not give another user access here"),
        say("start it as another user, or give the container the capability CAP_DAC_READ_SEARCH"),
    )


def _held(status: Sequence[str]) -> int:
    """The effective capabilities in a process's status (proc_pid_status(5)), as bits."""
    line = next(line for line in status if line.startswith("CapEff:"))
    return int(line.split()[1], 16)
