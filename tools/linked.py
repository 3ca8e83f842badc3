"""What is linked into the engine: crates, as cargo resolves them, and the C that some bring."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
ENGINE = "loadstone-python"
MAKERS = frozenset(("luajit-src", "openssl-src"))
"""Crates that build scripts alone need, but what they build is linked."""


@dataclass(frozen=True)
class Crate:
    """One package of Cargo.lock, with where its sources lie on this machine."""

    name: str
    version: str
    licence: str
    checksum: str | None
    """SHA-256 of the package; `None` for a crate of this workspace."""
    folder: Path
    needs: tuple[str, ...]
    """Names and versions of what it is linked with, `name version`."""

    @property
    def key(self) -> str:
        """The crate among all others."""
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Library:
    """A work in C that a crate builds from sources within itself."""

    name: str
    version: str
    licence: str
    text: Path
    """The file with its licence."""
    brought_by: str
    """The key of the crate."""


def crates_of_engine(target: str | None = None) -> list[Crate]:
    """All crates that the engine is made of, our own among them; by name.

    Args:
        target: Rust's name of what it is built for; this machine, if there is none.

    Raises:
        subprocess.CalledProcessError: cargo cannot resolve the workspace; it has said why.
    """
    host = re.search(r"^host: (.+)$", said_by("rustc", "-vV"), re.MULTILINE)
    assert host is not None
    words = ("cargo", "metadata", "--locked", "--format-version", "1")
    known = json.loads(said_by(*words, "--filter-platform", target or host[1]))
    lock = tomllib.loads((PROJECT / "Cargo.lock").read_text())
    return crates_of(known, {f"{each['name']} {each['version']}": each for each in lock["package"]})


def said_by(*words: str) -> str:
    """What the program prints; its complaints go where ours go."""
    done = subprocess.run(words, cwd=PROJECT, stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout


def crates_of(known: Mapping[str, Any], lock: Mapping[str, Any]) -> list[Crate]:
    """The same, from what `cargo metadata` says and the packages of Cargo.lock."""
    packages = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    keys = {each: f"{package['name']} {package['version']}" for each, package in packages.items()}
    (root,) = (each for each, package in packages.items() if package["name"] == ENGINE)
    found = []
    for each in reached(root, nodes, packages):
        package = packages[each]
        crate = Crate(
            name=package["name"],
            version=package["version"],
            licence=package["license"].replace("/", " OR "),
            checksum=lock[keys[each]].get("checksum"),
            folder=Path(package["manifest_path"]).parent,
            needs=tuple(sorted(keys[needed] for needed in linked_with(nodes[each], packages))),
        )
        found.append(crate)
    return sorted(found, key=lambda crate: crate.key)


def reached(root: str, nodes: Mapping[str, Any], packages: Mapping[str, Any]) -> set[str]:
    """A package and all that it is linked with, directly or not."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        if (here := waiting.pop()) not in found:
            found.add(here)
            waiting += linked_with(nodes[here], packages)
    return found


def linked_with(node: Mapping[str, Any], packages: Mapping[str, Any]) -> Iterator[str]:
    """What a package is linked with. What only builds or tests it stays out, and procedural macros.

    Those of LuaJIT and OpenSSL only build, but bring what is linked; their own needs do not.
    """
    if packages[node["id"]]["name"] in MAKERS:
        return
    for needed in node["deps"]:
        package = packages[needed["pkg"]]
        is_macro = any("proc-macro" in target["kind"] for target in package["targets"])
        is_normal = any(kind["kind"] is None for kind in needed["dep_kinds"])
        if (is_normal and not is_macro) or package["name"] in MAKERS:
            yield needed["pkg"]


def libraries_of(crates: Iterable[Crate]) -> Iterator[Library]:
    """The works in C within these crates, with the versions that their own files say."""
    for crate in crates:
        match crate.name:
            case "luajit-src":
                release = (crate.folder / "luajit_relver.txt").read_text().strip()
                text = crate.folder / "luajit2" / "COPYRIGHT"
                yield Library("LuaJIT", f"2.1.{release}", "MIT", text, crate.key)
            case "aws-lc-sys":
                header = (crate.folder / "aws-lc/include/openssl/base.h").read_text()
                said = re.search(r'AWSLC_VERSION_NUMBER_STRING "([^"]+)"', header)
                assert said is not None, "AWS-LC no longer says its version where it did"
                text = crate.folder / "aws-lc" / "LICENSE"
                yield Library("AWS-LC", said[1], crate.licence, text, crate.key)
            case "openssl-src":
                _, _, version = crate.version.partition("+")
                text = crate.folder / "openssl" / "LICENSE.txt"
                yield Library("OpenSSL", version, "Apache-2.0", text, crate.key)
            case "zstd-sys":
                _, _, version = crate.version.partition("+zstd.")
                text = crate.folder / "zstd" / "LICENSE"
                yield Library("Zstandard", version, "BSD-3-Clause", text, crate.key)
