"""A software bill of materials in CycloneDX 1.6: what is in the engine, and what the program wants.

The same sources give the same file, byte by byte: it has no time in it, and its serial number is
made of its content.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
ENGINE = "loadstone-python"

Component = dict[str, Any]


def main() -> int:
    """Write it to the file that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: tools/sbom.py FILE")
    document = bill(version_of_project(), [*crates(), *packages()])
    Path(sys.argv[1]).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    return 0


def bill(version: str, components: list[Component]) -> dict[str, Any]:
    """The document."""
    components = sorted(components, key=lambda each: str(each["purl"]))
    content = json.dumps(components, sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "metadata": {
            "component": {
                "type": "application",
                "name": "loadstone",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
                "purl": f"pkg:pypi/loadstone@{version}",
            }
        },
        "components": components,
    }


def version_of_project() -> str:
    """The version of the workspace, which is the program's."""
    manifest = tomllib.loads((PROJECT / "Cargo.toml").read_text())
    return str(manifest["workspace"]["package"]["version"])


def crates() -> Iterator[Component]:
    """What is linked into the engine; what only builds or tests it is left out."""
    words = ["cargo", "metadata", "--locked", "--format-version", "1"]
    said = subprocess.run(words, cwd=PROJECT, capture_output=True, check=True, text=True)
    known = json.loads(said.stdout)
    by_id = {package["id"]: package for package in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    checksums = {
        (package["name"], package["version"]): package.get("checksum")
        for package in tomllib.loads((PROJECT / "Cargo.lock").read_text())["package"]
    }
    (root,) = (each for each, package in by_id.items() if package["name"] == ENGINE)
    for each in sorted(reached(root, nodes)):
        package = by_id[each]
        name, version = package["name"], package["version"]
        if checksum := checksums[name, version]:
            yield component(f"pkg:cargo/{name}@{version}", package["license"], [checksum])


def reached(root: str, nodes: dict[str, Any]) -> set[str]:
    """A package and all that it is linked with."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        if (here := waiting.pop()) in found:
            continue
        found.add(here)
        for needed in nodes[here]["deps"]:
            if any(kind["kind"] is None for kind in needed["dep_kinds"]):
                waiting.append(needed["pkg"])
    return found


def packages() -> Iterator[Component]:
    """What the program wants of Python, with the hashes of all files that would do."""
    text = (PROJECT / "requirements" / "run.txt").read_text()
    for name, version, rest in re.findall(
        r"^([a-z0-9_.-]+)==([^ ;\\\n]+)(.*(?:\n +.*)*)", text, re.MULTILINE
    ):
        hashes = re.findall(r"--hash=sha256:(\w+)", rest)
        yield component(f"pkg:pypi/{name}@{version}", licence_of(name), hashes)


def licence_of(name: str) -> str | None:
    """By what is installed here; `None` where it is not, or says nothing."""
    try:
        return metadata.metadata(name).get("License-Expression")
    except metadata.PackageNotFoundError:
        return None


def component(purl: str, licence: str | None, hashes: list[str]) -> Component:
    """One part."""
    name, _, version = purl.rpartition("/")[2].partition("@")
    found: Component = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": purl,
        "bom-ref": purl,
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
    }
    if licence:
        found["licenses"] = [{"expression": licence.replace("/", " OR ")}]
    return found


if __name__ == "__main__":
    sys.exit(main())
