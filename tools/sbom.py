"""A software bill of materials, CycloneDX 1.6: what is in the wheel, and what it needs.

The same sources give the same file, byte by byte: no time is in it, and its serial number is made
of its content. https://cyclonedx.org/docs/1.6/json/
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tools.linked import PROJECT, Crate, Library, crates_of_engine, libraries_of, said_by

LOCK = PROJECT / "requirements" / "bundle.txt"
CHARTS = PROJECT / "src/loadstone/report/vendor"

Component = dict[str, Any]
Needs = dict[str, list[str]]
"""The `bom-ref` of a component, and those of what it is linked with or imports."""


def main() -> int:
    """Write it to the file that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tools.sbom FILE")
    Path(sys.argv[1]).write_text(json.dumps(document(), indent=1, sort_keys=True) + "\n")
    return 0


def document() -> dict[str, Any]:
    """The bill of this project's sources."""
    crates = crates_of_engine()
    lock = LOCK.read_text()
    engine = parts_of_engine(crates, libraries_of(crates))
    needs = needs_of_crates(crates) | needs_of_packages(lock)
    return bill(version_of_project(), [*engine, charts(), *parts_of_lock(lock)], needs)


def version_of_project() -> str:
    """The version of the workspace, which is the program's."""
    manifest = tomllib.loads((PROJECT / "Cargo.toml").read_text())
    return str(manifest["workspace"]["package"]["version"])


def bill(version: str, components: Iterable[Component], needs: Needs) -> dict[str, Any]:
    """A document of these components; the program itself has all of them."""
    parts = sorted(components, key=lambda each: str(each["purl"]))
    own = component(f"pkg:pypi/loadstone@{version}", "Apache-2.0", [], kind="application")
    edges = [{"ref": ref, "dependsOn": sorted(needs[ref])} for ref in sorted(needs)]
    edges.append({"ref": own["bom-ref"], "dependsOn": sorted(part["bom-ref"] for part in parts)})
    content = {"metadata": {"component": own}, "components": parts, "dependencies": edges}
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        **content,
    }


def parts_of_engine(crates: Iterable[Crate], libraries: Iterable[Library]) -> Iterator[Component]:
    """Crates of others, the C within them, and what the compiler adds of its own."""
    for crate in crates:
        if crate.checksum:
            yield component(purl_of_crate(crate.key), crate.licence, [crate.checksum])
    for each in libraries:
        yield component(f"pkg:generic/{each.name}@{quote(each.version)}", each.licence, [])
    compiler = said_by("rustc", "--version").split()[1]
    yield component(f"pkg:generic/rust-std@{quote(compiler)}", "MIT OR Apache-2.0", [])


def purl_of_crate(key: str) -> str:
    """https://github.com/package-url/purl-spec: a plus sign in a version is written %2B."""
    name, _, version = key.partition(" ")
    return f"pkg:cargo/{name}@{quote(version, safe='')}"


def needs_of_crates(crates: Iterable[Crate]) -> Needs:
    """Who is linked with whom, among the crates of others."""
    known = {crate.key for crate in crates if crate.checksum}
    return {
        purl_of_crate(crate.key): [purl_of_crate(each) for each in crate.needs if each in known]
        for crate in crates
        if crate.key in known
    }


def charts() -> Component:
    """The library that a report's charts are drawn with; it is part of the package."""
    script = (CHARTS / "echarts.min.js").read_bytes()
    said = re.search(rb'version="(\d+\.\d+\.\d+)"', script)
    assert said is not None, "ECharts no longer says its version where it did"
    return component(f"pkg:npm/echarts@{said[1].decode()}", "Apache-2.0", [])


SPDX_OF_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
}
"""Those that stand for one licence alone; "BSD License" is any of several."""

ENTRY = re.compile(
    r"^(?P<name>[a-z0-9_.-]+)==(?P<version>[^ ;\\\n]+)(?P<rest>.*(?:\n +.*)*)", re.MULTILINE
)


def parts_of_lock(lock: str) -> Iterator[Component]:
    """Python packages that the program wants; the hashes are of every file that would do."""
    for entry in ENTRY.finditer(lock):
        purl = f"pkg:pypi/{entry['name']}@{quote(entry['version'], safe='')}"
        hashes = re.findall(r"--hash=sha256:(\w+)", entry["rest"])
        yield component(purl, licence_of(entry["name"]), hashes)


def needs_of_packages(lock: str) -> Needs:
    """Who imports whom: the lock says behind each package for whom it is there."""
    purls = {
        entry["name"]: f"pkg:pypi/{entry['name']}@{quote(entry['version'], safe='')}"
        for entry in ENTRY.finditer(lock)
    }
    needs: Needs = {purl: [] for purl in purls.values()}
    for entry in ENTRY.finditer(lock):
        for wanted_by in re.findall(r"# +(?:via +)?([a-z0-9_.-]+)$", entry["rest"], re.MULTILINE):
            if wanted_by in purls:
                needs[purls[wanted_by]].append(purls[entry["name"]])
    return needs


def licence_of(package: str) -> str | None:
    """By what is installed here: an SPDX expression, else the name that its authors use.

    `None` where the package is not installed, or says nothing.
    """
    try:
        said = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return None
    for expression in said.get_all("License-Expression") or []:
        return str(expression)
    for classifier in said.get_all("Classifier") or []:
        if classifier.startswith("License :: "):
            name = str(classifier).rpartition(" :: ")[2]
            return SPDX_OF_CLASSIFIERS.get(name, name)
    for name in said.get_all("License") or []:
        return str(name)
    return None


def component(
    purl: str, licence: str | None, hashes: list[str], kind: str = "library"
) -> Component:
    """One part."""
    name, _, version = purl.rpartition("/")[2].partition("@")
    found: Component = {
        "type": kind,
        "name": name,
        "version": version.replace("%2B", "+"),
        "purl": purl,
        "bom-ref": purl,
    }
    if hashes:
        found["hashes"] = [{"alg": "SHA-256", "content": each} for each in sorted(hashes)]
    if licence:
        found["licenses"] = [licence_choice(licence)]
    return found


def licence_choice(licence: str) -> Component:
    """As https://cyclonedx.org/docs/1.6/json/#components_items_licenses wants either."""
    if re.fullmatch(r"[\w.()+-]+( (AND|OR|WITH) [\w.()+-]+)*", licence):
        return {"expression": licence}
    return {"license": {"name": licence}}


if __name__ == "__main__":
    sys.exit(main())
