"""Dependencies point one way, also where cargo-deny and import-linter cannot check it."""

import ast
import functools
import graphlib
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator

import pytest

from house.repository import Repository
from house.rust_modules import circles, module_of, rooms, uses

# The order of crates: each may depend on those before it.
CRATES = [
    "loadstone-fuzzing",
    "loadstone-protocol",
    "loadstone-wire",
    "loadstone-wire-postgres",
    "loadstone-measure",
    "loadstone-workload",
    "loadstone-script",
    "loadstone-hosttests",
    "loadstone-drive",
    "loadstone-load",
    "loadstone-null-server",
    "loadstone-python",
    "loadstone-floor",
]
# Modules of a crate that use each other in a circle, with the reason: the crate, then the modules.
CIRCLES: dict[tuple[str, ...], str] = {}
# Bytes in, messages out: these have no socket, no clock, no thread and no file.
PURE_CRATES = ["protocol", "wire", "wire-postgres", "measure", "workload"]
# Users of a family's protocol: the family, who speaks it, its SQL, and programs of its own.
SPEAKERS = re.compile(
    r"crates/(wire/|wire-postgres/|workload/src/dialect/(mysql/|postgres\.rs)|null-server/"
    r"|drive/src/connection/family/(mysql|postgres)/)"
    r"|benches/floor/"
)
IMPURE = re.compile(r"\bstd::(net|thread|fs|os|process|time::(Instant|SystemTime))\b")
IMPURE_CRATES = {"crossbeam-channel", "libc", "mio", "rustix", "rustls", "socket2", "tokio"}


def test_crates_depend_only_on_crates_before_them(repository: Repository) -> None:
    said = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"],
        cwd=repository.root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for package in json.loads(said)["packages"]:
        uses = {
            dependency["name"]
            for dependency in package["dependencies"]
            if dependency["kind"] != "dev"  # a test may ask the null server
        }
        before = set(CRATES[: CRATES.index(package["name"])])
        assert {name for name in uses if name.startswith("loadstone-")} <= before
        if package["name"].removeprefix("loadstone-") in PURE_CRATES:
            assert not uses & IMPURE_CRATES, package["name"]


@pytest.mark.parametrize("crate", PURE_CRATES)
def test_pure_crates_know_no_socket_clock_or_thread(repository: Repository, crate: str) -> None:
    assert not [
        f"{name}:{number}"
        for name in repository.named(".rs", under=f"crates/{crate}/src/")
        for number, line in enumerate(repository.text(name).splitlines(), 1)
        if IMPURE.search(line)
    ]


def test_only_the_seam_names_the_protocol_of_a_family(repository: Repository) -> None:
    """Another family is then new files, not edits all over the engine."""
    assert not [
        f"{name}:{number}"
        for name in repository.named(".rs")
        if not SPEAKERS.match(name)
        for number, line in enumerate(repository.text(name).splitlines(), 1)
        if "loadstone_wire" in line
    ]


@pytest.mark.parametrize("crate", CRATES)
def test_no_modules_of_a_crate_use_each_other_in_a_circle(
    repository: Repository, crate: str
) -> None:
    """Neither files nor their folders, except for those listed."""
    name = crate.removeprefix("loadstone-")
    source = f"benches/{name}/src/" if name == "floor" else f"crates/{name}/src/"
    names = repository.named(".rs", under=source)
    if f"{source}lib.rs" in names and f"{source}main.rs" in names:
        names.remove(f"{source}main.rs")  # a program that uses the crate as others do
    graph = uses({module_of(file.removeprefix(source)): repository.text(file) for file in names})
    assert len(graph) > 1, "its modules were not found"
    found = {
        (crate, *sorted("::".join(module) or "lib" for module in circle))
        for circle in (*circles(graph), *circles(rooms(graph)))
    }
    assert found == {listed for listed in CIRCLES if listed[0] == crate}


ROOT = "mod a; mod b; pub use a::Thing; fn f() { b::g(); }"


@pytest.mark.parametrize(
    ("in_a", "in_b", "is_circle"),
    [
        ("use crate::b::g;", "use crate::a::Thing;", True),
        ("use super::{b::{self, g as h}, c};", "use crate::Thing;", True),
        ("fn f() { crate::b::g(); }", "fn f() { super::a::h(); }", True),
        ("use crate::b::g;", "use crate::Other;", True),
        ("use crate::b::g;", "// use crate::a::Thing;", False),
        ("use crate::b::g;", '/* crate::a */ const A: &str = "crate::a::Thing";', False),
        ("use crate::b::g;", "#[cfg(test)] mod tests { use crate::a::Thing; }", False),
        ("#[cfg(test)] use crate::b::g;", "use crate::a::Thing;", False),
        ("use other::b::g;", "use crate::a::Thing;", False),
    ],
)
def test_a_circle_is_seen_however_it_is_written(in_a: str, in_b: str, is_circle: bool) -> None:
    graph = uses({(): ROOT, ("a",): in_a, ("b",): in_b})
    assert bool(circles(graph)) == is_circle


def test_a_circle_of_folders_is_seen_where_their_files_have_none() -> None:
    files = {(): "mod a; mod b;", ("a",): "mod x; mod y;", ("b",): "mod x;"}
    files |= {("a", "x"): "use crate::b::x::f;", ("b", "x"): "use crate::a::y::g;", ("a", "y"): ""}
    graph = uses(files)
    assert (circles(graph), circles(rooms(graph))) == ([], [{("a",), ("b",)}])


@functools.cache
def imported(source: str) -> tuple[str, ...]:
    """The modules that a Python source imports, `from a import b` as `a.b`."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(found)


@pytest.mark.parametrize(
    ("package", "foreign", "word"),
    [
        ("model/", r"loadstone\.(?!model\b)", "loadstone"),
        ("analyse/", r"loadstone\.(target|sandbox|engine)\b|pymysql\b", ""),
        ("diagnosis/", r"loadstone\.(target|sandbox|engine)\b|pymysql\b", ""),
        (r"(?!engine/|__init__\.py)", r"loadstone\._engine\b", "_engine"),
        ("(?!cluster/)", r"ray\b", "ray"),
    ],
)
def test_packages_do_not_import_what_is_not_theirs(
    repository: Repository, package: str, foreign: str, word: str
) -> None:
    """A source that does not contain the word need not be parsed."""
    assert not [
        (name, module)
        for name in repository.named(".py", under="src/loadstone/")
        if re.match(package, name.removeprefix("src/loadstone/"))
        and re.search(rf"\b{word}", repository.text(name))
        for module in imported(repository.text(name))
        if re.match(foreign, module)
    ]


def at_work(tree: ast.AST) -> Iterator[str]:
    """The imports of a source at run time, also inside functions; without those for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from at_work(node)


@pytest.fixture(scope="module")
def imports(repository: Repository) -> dict[str, set[str]]:
    """By module of the program, those that it imports, inside of functions as well."""
    names = repository.named(".py", under="src/loadstone/")
    modules = {
        re.sub(r"(/__init__)?\.py$", "", name).removeprefix("src/").replace("/", "."): name
        for name in names
    }
    graph = {}
    for module, name in modules.items():
        used = at_work(ast.parse(repository.text(name)))
        found = (one if one in modules else one.rpartition(".")[0] for one in used)
        graph[module] = {one for one in found if one in modules and one != module}
    return graph


def test_no_modules_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as circle:
        pytest.fail(" imports ".join(reversed(circle.args[1])), pytrace=False)


def test_the_map_has_the_packages_in_the_order_that_is_enforced(repository: Repository) -> None:
    """A package may use those above it in the map, which are those below it in the contract."""
    contracts = tomllib.loads(repository.text("pyproject.toml"))["tool"]["importlinter"]
    (layers,) = (each["layers"] for each in contracts["contracts"] if each["id"] == "layers")
    block = re.search(
        r"^src/loadstone/ .*\n((?:  .*\n)+)", repository.text("ARCHITECTURE.md"), re.MULTILINE
    )
    assert block
    mapped = re.findall(r"^  ([a-z_]+)(?:/|\.py) ", block[1], re.MULTILINE)
    assert mapped == [layer.strip("()") for layer in reversed(layers)]
