"""Which modules of a crate use which, read from the sources without the compiler."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Module = tuple[str, ...]

# Text in which a path does not count: strings, characters and comments.
_NO_CODE = re.compile(
    r"""r(\#*)".*?"\1 | "(?:\\.|[^"\\])*" | '(?:\\[^']+|[^'\\])' | //[^\n]* | /\*.*?\*/""",
    re.DOTALL | re.VERBOSE,
)
_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*")
_CHILD = re.compile(r"\bmod\s+(\w+)\s*;")
_USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:])(\w+)((?:::\w+)+)")


@dataclass
class Source:
    """A file of a crate, without its tests."""

    children: set[str]
    # The paths that it names, and the names that it makes available to others.
    paths: set[Module] = field(default_factory=set)
    passed_on: dict[str, Module] = field(default_factory=dict)


def module_of(path: str) -> Module:
    """The module of a file, by its path below `src`."""
    parts = path.removesuffix(".rs").split("/")
    if parts[-1] in ("mod", "lib", "main"):
        parts.pop()
    return tuple(parts)


def uses(files: dict[Module, str]) -> dict[Module, set[Module]]:
    """For each module of a crate, the others that it uses; modules of tests are left out."""
    sources = _sources(files)
    return {
        module: {
            target
            for path in source.paths
            if (target := _resolved(sources, module, path)) not in (None, module)
        }
        for module, source in sources.items()
    }


def rooms(graph: dict[Module, set[Module]]) -> dict[Module, set[Module]]:
    """The same for the modules that the crate's root declares, each with all modules below it."""
    found: dict[Module, set[Module]] = {}
    for module, used in graph.items():
        others = {target[:1] for target in used if target and target[:1] != module[:1]}
        if module:
            found.setdefault(module[:1], set()).update(others)
    return found


def circles(graph: dict[Module, set[Module]]) -> list[set[Module]]:
    """The sets of modules in which each uses all others, directly or indirectly."""
    reach = {module: _reached(graph, module) for module in graph}
    found: list[set[Module]] = []
    for module in graph:
        circle = {other for other in reach[module] if module in reach[other]}
        if circle and circle not in found:
            found.append(circle)
    return found


def _reached(graph: dict[Module, set[Module]], start: Module) -> set[Module]:
    seen: set[Module] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting.extend(graph[module])
    return seen


def _sources(files: dict[Module, str]) -> dict[Module, Source]:
    """The modules that the crate's root declares, directly or indirectly, without tests."""
    found: dict[Module, Source] = {}
    waiting: list[Module] = [()]
    while waiting:
        module = waiting.pop()
        if module in files:
            found[module] = _source(files[module])
            waiting.extend((*module, child) for child in found[module].children)
    return found


def _source(text: str) -> Source:
    code = _without_tests(_NO_CODE.sub(lambda match: '""' if match[0][0] in "r\"'" else "", text))
    source = Source(children=set(_CHILD.findall(code)))
    rest = _USE.sub("", code)
    for match in _USE.finditer(code):
        for path, name in _expanded(match[2]):
            if match[1] and not re.search(rf"\b{name}\b", rest):
                source.passed_on[name] = path
            else:
                source.paths.add(path)
                source.passed_on[name] = path
    source.paths.update(
        (match[1], *match[2].removeprefix("::").split("::")) for match in _PATH.finditer(rest)
    )
    return source


def _without_tests(code: str) -> str:
    while match := _TESTS.search(code):
        semicolon, brace = (code.find(sign, match.end()) % (len(code) + 1) for sign in ";{")
        end = semicolon + 1 if semicolon < brace else _closed(code, brace)
        code = code[: match.start()] + code[end:]
    return code


def _closed(code: str, brace: int) -> int:
    """The place after the brace that closes the one at this place."""
    depth = 0
    for place in range(brace, len(code)):
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        if depth == 0:
            return place + 1
    return len(code)


def _expanded(tree: str) -> Iterator[tuple[Module, str]]:
    """The paths of a `use`, each with the name under which it is imported."""
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, name = (part.strip() for part in tree.partition(" as "))
        parts = tuple(path.split("::"))
        if parts[-1] == "self":
            parts = parts[:-1]
        yield parts, name or parts[-1]
        return
    for branch in _branches(rest.rpartition("}")[0]):
        yield from _expanded(head.strip() + branch)


def _branches(text: str) -> Iterable[str]:
    depth, branch = 0, ""
    for sign in text:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            yield branch.strip()
            branch = ""
        else:
            branch += sign
    if branch.strip():
        yield branch.strip()


def _resolved(sources: dict[Module, Source], module: Module, path: Module) -> Module | None:
    """The module to which a path in `module` leads; `None` if that is in another crate."""
    at, rest = module, list(path)
    if rest[0] == "crate":
        at, rest = (), rest[1:]
    elif rest[0] in ("super", "self"):
        while rest and rest[0] in ("super", "self"):
            at = at[:-1] if rest.pop(0) == "super" else at
    elif rest[0] not in sources[module].children:
        return None
    while rest:
        name = rest.pop(0)
        if name in sources[at].children and (*at, name) in sources:
            at = (*at, name)
        elif name in sources[at].passed_on and at != module:
            return _resolved(sources, at, sources[at].passed_on[name]) or at
        else:
            break
    return at
