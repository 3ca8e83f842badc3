"""A bare Debian in a copy that is thrown away, entered as root or as a plain user."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
"""Debian 12 and 13, with the Python of each."""

READER = 1000
HOME = "/home/reader"
ENTER = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"
mount --bind "$3" "$2/root/mnt"
if [ -n "$4" ]; then ip link set lo up; fi
exec chroot --userspec="$5:$5" "$2/root" /bin/sh -euc "$6"
"""
"""Words: the bare system, the copy's folder, what is mounted, whether alone, user, script."""


@dataclass(frozen=True)
class BareDebian:
    """One system of one test; what it changes is in `folder`, and the system itself stays bare."""

    release: str
    system: Path
    folder: Path
    mounted: Path
    """What the system sees below /mnt."""

    def as_root(self, script: str) -> str:
        """Run a shell script as root, with the network of the machine; returns its stdout."""
        return self._run(0, script, alone=False)

    def as_reader(self, script: str) -> str:
        """Run a shell script as a plain user whose network is a loopback; returns its stdout.

        What it leaves running ends with it.
        """
        return self._run(READER, script, alone=True)

    def add(self, file: Path, folder: str) -> None:
        """Put a copy of a file into a folder of it."""
        place = self.folder / "upper" / folder
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)

    def _run(self, user: int, script: str, *, alone: bool) -> str:
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *["--net"] * alone]
        words = (self.system, self.folder, self.mounted, "alone" * alone, user, script)
        given = {name: value for name, value in os.environ.items() if name.endswith("_proxy")}
        given |= {"HOME": HOME, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        done = subprocess.run(
            [*apart, "sh", "-euc", ENTER, "enter", *map(str, words)],
            env=given,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout


def bare_debian(release: str, folder: Path, mounted: Path) -> BareDebian:
    """A fresh copy; skips where none can be made or entered, and says why."""
    for name in ("upper", "work", "root"):
        (folder / name).mkdir(parents=True)
    system = BareDebian(release, bare_system(release), folder, mounted)
    probe = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--net", "true"])
    if probe.returncode or shutil.which("ip") is None:
        pytest.skip("not evaluated: no namespaces can be made here, or iproute2 is missing")
    system.as_root(f"install -d -o {READER} -g {READER} {HOME}")
    return system


def bare_system(release: str) -> Path:
    """The folder that tools/get-bare-debian made; skips without it."""
    system = PROJECT / ".cache" / f"bare-{release}"
    if not system.is_dir():
        pytest.skip(f"not evaluated: no {system.name} here: tools/get-bare-debian {release}")
    if os.geteuid() != 0:
        pytest.skip("not evaluated: only root enters a bare Debian")
    return system
