"""podman without root: as the user who runs the tests, or as one that root makes up."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

BUILDER = 61234
"""A number that no user has. Its subordinate numbers are 65,536, as adduser(8) gives them."""

# The made-up user is in this process's view of /etc alone, and crun wants control groups of one
# version, not of both.
AS_BUILDER = """
home="$1"; shift
mount --bind "$home/passwd" /etc/passwd
for name in subuid subgid; do mount --bind "$home/subordinate" "/etc/$name"; done
if [ -d /sys/fs/cgroup/unified ]; then mount -t cgroup2 none /sys/fs/cgroup; fi
rm -f "$home/libpod/tmp/pause.pid"
exec setpriv --reuid=%(builder)s --regid=%(builder)s --clear-groups "$@"
""" % {"builder": BUILDER}  # noqa: UP031 # braces are the shell's

# No control groups: without systemd's help a plain user has none of their own.
CONFIGURATION = """\
[containers]
cgroups = "disabled"
default_ulimits = ["nofile={files}:{files}", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
"""


@dataclass(frozen=True)
class Podman:
    """podman with its images in a folder of its own, run by a plain user."""

    folder: Path

    def run(self, *words: str, stdin: int | None = None) -> str:
        """The stdout of `podman words…`, which must succeed."""
        done = self.attempt(*words, stdin=stdin)
        assert done.returncode == 0, f"podman {' '.join(words)}\n{done.stderr[-3000:]}"
        return done.stdout.strip()

    def attempt(self, *words: str, stdin: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run it; its code is the caller's to judge."""
        apart: list[str] = []
        if os.geteuid() == 0:
            apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                     "sh", "-euc", AS_BUILDER, "builder", str(self.folder)]  # fmt: skip
        return subprocess.run(
            [*apart, "podman", "--storage-driver", "overlay", *words],
            cwd=self.folder,
            env={
                "HOME": str(self.folder),
                "XDG_RUNTIME_DIR": str(self.folder),
                "CONTAINERS_CONF": str(self.folder / "containers.conf"),
                "BUILDAH_ISOLATION": "chroot",
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            },
            stdin=stdin if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )


def rootless_podman(folder: Path) -> Podman:
    """podman for a plain user at home in this folder; skips where there is none, and says why."""
    if shutil.which("podman") is None:
        pytest.skip("not evaluated: apt-get install podman")
    files = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 65_536)
    (folder / "containers.conf").write_text(CONFIGURATION.format(files=files))
    if os.geteuid() == 0:
        people = Path("/etc/passwd").read_text()
        (folder / "passwd").write_text(f"{people}builder:x:{BUILDER}:{BUILDER}::{folder}:/bin/sh\n")
        (folder / "subordinate").write_text(f"builder:{BUILDER + 10_000}:65536\n")
        os.chown(folder, BUILDER, BUILDER)
    podman = Podman(folder)
    probe = podman.attempt("info")
    if probe.returncode:
        pytest.skip(f"not evaluated: no podman without root here: {probe.stderr.strip()[-300:]}")
    return podman
