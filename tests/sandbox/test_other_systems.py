"""Servers of other systems: their program, loader and libraries, in a folder of this one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from loadstone.sandbox import SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.sandbox.foreign import within


def copied(program: Path, root: Path) -> None:
    """Copy a program of this system with all that it needs, as if into another system."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for found in re.findall(r"(/\S+) \(0x", said):
        is_loader = "ld-linux" in found
        into = root / ("usr/lib64" if is_loader else "usr/lib/other")
        into.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, into)
    (root / "usr/sbin").mkdir()
    shutil.copy(program, root / "usr/sbin")
    for name in ("mysql", "mariadb"):
        if Path("/usr/share", name).is_dir():
            shutil.copytree(Path("/usr/share", name), root / "usr/share" / name)
    (root / "lib64").symlink_to("usr/lib64")
    (root / "sbin").symlink_to("/usr/sbin")  # of this root, not of the host's


@pytest.mark.server
def test_a_server_runs_with_the_libraries_of_its_own_system(state: Path, tmp_path: Path) -> None:
    try:
        mariadb = find_server("mariadb")
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    root = tmp_path / "system"
    root.mkdir()
    copied(mariadb.program, root)
    for server in ("mariadb", "/sbin/mariadbd"):
        binary = find_server(server, root)
        assert binary.program == root / "usr/sbin/mariadbd"
        assert binary.version == mariadb.version
    with start_sandbox(SandboxSpec(server="mariadb", root=root)) as sandbox:
        maps = Path(f"/proc/{sandbox.pid}/maps").read_text()
        libraries = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
        assert {str(root / "usr/lib/other/libc.so.6")} <= libraries
        assert {name for name in libraries if not name.startswith(str(root))} == set()


@pytest.mark.server
@pytest.mark.mysql
def test_an_unpacked_server_is_found_in_its_folder() -> None:
    try:
        unpacked = find_server("mysql")
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    root = unpacked.program.parents[2]
    if not unpacked.launcher:
        pytest.skip("MySQL is installed here, not unpacked")
    assert find_server("mysql", root) == find_server(None, root) == unpacked
    with pytest.raises(SandboxError, match=f"no mariadb server that runs in {root}"):
        find_server("mariadb", root)


def test_links_lead_to_where_they_lead_in_that_system(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/real").touch()
    for name, target in {"lib": "usr/lib", "absolute": "/usr/lib", "up": "../../usr/lib"}.items():
        (tmp_path / name).symlink_to(target)
        assert within(tmp_path, f"/{name}/real") == tmp_path / "usr/lib/real"
    (tmp_path / "round").symlink_to("/round")
    assert not within(tmp_path, "round").exists()


def test_a_folder_without_a_server_is_told(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=f"there is no folder {tmp_path}/none"):
        find_server(None, tmp_path / "none")
    with pytest.raises(SandboxError, match=f"no mysql server that runs in {tmp_path}"):
        find_server("mysql", tmp_path)
