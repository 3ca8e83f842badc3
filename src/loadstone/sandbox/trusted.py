"""Where downloaded programs are, and whether others could have changed them."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path


def caches() -> list[Path]:
    """Folders of downloaded servers. Never the working folder, where anybody may have put one."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = named if named.is_absolute() else Path("~/.cache").expanduser()
    source = Path(__file__).resolve().parents[2]
    is_checkout = source.name == "src" and (source.parent / "pyproject.toml").is_file()
    return [*([source.parent / ".cache"] if is_checkout else []), home / "loadstone"]


def is_ours(file: Path) -> bool:
    """Whether the file exists, and nobody else can have put it there.

    It and all folders above it belong to a trusted user (this one, root, or this program's owner),
    and nobody else may write to them. In a sticky folder nobody can rename the files of others, so
    others may have files of their own there.
    """
    trusted = _owners()
    try:
        real = file.resolve(strict=True)
        # Both where a link leads, and the folders in which it could be made to lead elsewhere.
        folders = {*real.parents, *file.absolute().parents}
        found = [path.stat() for path in (real, *folders)]
    except OSError:
        return False
    return stat.S_ISREG(found[0].st_mode) and all(
        each.st_uid in trusted and not _others_may_write(each) for each in found
    )


def _others_may_write(found: os.stat_result) -> bool:
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return False
    by_group = found.st_mode & stat.S_IWGRP and not _is_own_alone(found.st_gid)
    return bool(found.st_mode & stat.S_IWOTH or by_group)


def _is_own_alone(group: int) -> bool:
    """Whether nobody but us is in a group, as in the one that many systems make for each user."""
    try:
        name, there = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return there.gr_name == name and set(there.gr_mem) <= {name}


def _owners() -> set[int]:
    return {0, os.geteuid(), Path(__file__).stat().st_uid}
