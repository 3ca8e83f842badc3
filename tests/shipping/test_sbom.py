"""The bill of materials: its content, and that it is a CycloneDX document that others can read."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from tools import licences, sbom
from tools.linked import Crate, crates_of, crates_of_engine, libraries_of

REFERENCE = "4" * 64
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "BSD License",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "PSF-2.0",
    "Zlib",
}
LOCK = f"""\
click==8.5.1 \\
    --hash=sha256:{REFERENCE} \\
    --hash=sha256:{REFERENCE.replace("4", "5")}
    # via
    #   loadstone (pyproject.toml)
    #   uvicorn
uvicorn==0.54.0 \\
    --hash=sha256:{REFERENCE}
    # via loadstone (pyproject.toml)
"""


def package(name: str, *kinds: str, version: str = "1.0.0") -> dict[str, Any]:
    """A package as `cargo metadata` describes it."""
    return {
        "id": name,
        "name": name,
        "version": version,
        "license": "MIT/Apache-2.0",
        "manifest_path": f"/sources/{name}/Cargo.toml",
        "targets": [{"kind": [*kinds] or ["lib"]}],
    }


def node(name: str, **needed: str | None) -> dict[str, Any]:
    """The dependencies of a package, with their kinds; `None` means linked."""
    deps = [
        {"pkg": each.replace("_", "-"), "dep_kinds": [{"kind": kind}]}
        for each, kind in needed.items()
    ]
    return {"id": name, "deps": deps}


def test_what_is_linked_is_found_and_what_only_builds_is_not() -> None:
    known: dict[str, Any] = {
        "packages": [
            package("loadstone-python", "cdylib"),
            package("mlua-sys"),
            package("luajit-src", version="210.6.6+abc"),
            package("which"),
            package("cc"),
            package("derive", "proc-macro"),
            package("syn"),
            package("tested"),
        ],
        "resolve": {
            "nodes": [
                node("loadstone-python", mlua_sys=None, derive=None, tested="dev"),
                node("mlua-sys", luajit_src="build", cc="build"),
                node("luajit-src", which=None),
                node("which"),
                node("cc"),
                node("derive", syn=None),
                node("syn"),
                node("tested"),
            ]
        },
    }
    lock: dict[str, dict[str, str]] = {
        f"{each['name']} {each['version']}": {} for each in known["packages"]
    }
    lock["mlua-sys 1.0.0"] = {"checksum": REFERENCE}
    found = crates_of(known, lock)
    assert [crate.key for crate in found] == [
        "loadstone-python 1.0.0",
        "luajit-src 210.6.6+abc",
        "mlua-sys 1.0.0",
    ]
    assert found[2] == Crate(
        name="mlua-sys",
        version="1.0.0",
        licence="MIT OR Apache-2.0",
        checksum=REFERENCE,
        folder=Path("/sources/mlua-sys"),
        needs=("luajit-src 210.6.6+abc",),
    )


def test_packages_come_with_their_hashes_and_with_who_imports_them() -> None:
    first, second = sbom.parts_of_lock(LOCK)
    assert (first["purl"], first["version"]) == ("pkg:pypi/click@8.5.1", "8.5.1")
    assert [each["content"] for each in first["hashes"]] == [REFERENCE, 64 * "5"]
    assert second["name"] == "uvicorn"
    assert sbom.needs_of_packages(LOCK) == {
        "pkg:pypi/click@8.5.1": [],
        "pkg:pypi/uvicorn@0.54.0": ["pkg:pypi/click@8.5.1"],
    }


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return sbom.document()


def test_the_bill_is_a_cyclonedx_document(document: dict[str, Any]) -> None:
    """The essential fields; `make dist` checks CycloneDX's own schema as well."""
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["serialNumber"] == f"urn:uuid:{uuid.UUID(document['serialNumber'][9:])}"
    own = document["metadata"]["component"]
    parts = document["components"]
    references = [part["bom-ref"] for part in [own, *parts]]
    assert len(references) == len(set(references))
    for part in [own, *parts]:
        assert part["type"] in ("application", "library")
        assert part["name"]
        assert part["version"]
        assert re.fullmatch(r"pkg:(pypi|cargo|npm|generic)/[\w.-]+@[\w.%-]+", part["purl"])
        for each in part.get("hashes", ()):
            assert each["alg"] == "SHA-256"
            assert re.fullmatch("[0-9a-f]{64}", each["content"])
    for edge in document["dependencies"]:
        assert {edge["ref"], *edge["dependsOn"]} <= set(references)
    (root,) = (edge for edge in document["dependencies"] if edge["ref"] == own["bom-ref"])
    assert root["dependsOn"] == sorted(references[1:])


def test_the_bill_names_all_that_is_in_the_wheel(document: dict[str, Any]) -> None:
    names = {part["name"] for part in document["components"]}
    assert {"LuaJIT", "AWS-LC", "Zstandard", "echarts", "rust-std"} <= names
    assert {"mlua", "rustls", "pyo3", "numpy", "polars"} <= names
    assert names.isdisjoint({"criterion", "proptest", "mysql_common", "cc", "syn", "pytest"})
    assert not any(name.startswith("loadstone") for name in names)
    crates = [part for part in document["components"] if part["purl"].startswith("pkg:cargo/")]
    assert len(crates) > 50
    assert all(part["hashes"] and part["licenses"] for part in crates)


def test_no_package_has_a_licence_that_asks_more_than_to_be_named(document: dict[str, Any]) -> None:
    """The same as cargo-deny has it for crates (deny.toml)."""
    for part in document["components"]:
        if not part["purl"].startswith("pkg:cargo/"):
            (said,) = part["licenses"]
            licence = said["expression"] if "expression" in said else said["license"]["name"]
            offers = [set(re.split(r" AND ", each)) for each in licence.split(" OR ")]
            assert any(offer <= PERMISSIVE for offer in offers), part["purl"]


def test_the_same_sources_give_the_same_bill(document: dict[str, Any]) -> None:
    assert json.dumps(sbom.document()) == json.dumps(document)


def test_each_text_of_a_licence_stands_once_below_all_its_names(tmp_path: Path) -> None:
    crates = []
    for name, said in (("a", "Be kind."), ("b", "Be  kind.\n"), ("c", "Be fair.")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "LICENSE-MIT").write_text(said)
        (folder / "README.md").write_text("no licence")
        crates.append(Crate(name, "1.0", "MIT", REFERENCE, folder, ()))
    said = licences.written(crates, [])
    assert said.count("kind.") == 1
    assert "\na 1.0, b 1.0\n" in said
    assert "\nc 1.0\n" in said
    assert "README" not in said


def test_the_licences_of_the_engine_are_all_there() -> None:
    crates = crates_of_engine()
    said = licences.written(crates, list(libraries_of(crates)))
    for crate in crates:
        assert (f"  {crate.key}: " in said) == bool(crate.checksum)
    assert "Mike Pall" in said
    assert "Amazon" in said


def test_one_bill_is_true_of_both_processors() -> None:
    """`make release` publishes one, next to wheels for x86-64 and ARM64."""
    x86, arm = (crates_of_engine(f"{each}-unknown-linux-gnu") for each in ("x86_64", "aarch64"))
    assert [crate.key for crate in x86] == [crate.key for crate in arm]
