"""Every English sentence that the program's code can make, read from the code itself.

A rule writes its sentence as an f-string with parts that come and go. Here such an expression is
followed through branches, local names and small functions, and each of its wordings is written out
with a number of its own in the place of every figure. Nothing is run, so a wording that no example
comes to is there as well.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, product
from types import ModuleType

FIGURES = ("num", "pct", "size", "signed", "digits", "share", "_time", "_percent", "_mega")
"""Functions that write a figure: their own wording is the same in all languages."""

_numbers = count(7001)

Function = ast.FunctionDef


@dataclass(frozen=True)
class Sink:
    """An argument of a function, or of a type, that is a sentence for a person."""

    name: str
    place: int | None = None
    keyword: str | None = None

    def of(self, call: ast.Call) -> ast.expr | None:
        """What this call puts there."""
        for given in call.keywords:
            if given.arg == self.keyword and self.keyword is not None:
                return given.value
        if self.place is not None and self.place < len(call.args):
            return call.args[self.place]
        return None


@dataclass
class Source:
    """The code of one module; `known` tells by an expression's text what may come of it,
    and by `name()` what comes of a function.
    """

    module: ModuleType
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(inspect.getsource(self.module))

    @cached_property
    def scopes(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    @cached_property
    def functions(self) -> dict[str, Function]:
        return {scope.name: scope for scope in self.scopes}

    def spoken(self, sinks: Sequence[Sink]) -> Iterator[str]:
        """All wordings of what goes into these arguments."""
        for scope in self.scopes:
            for call in _own_calls(scope):
                for sink in sinks:
                    given = sink.of(call) if _called(call) == sink.name else None
                    if given is not None:
                        yield from self._wordings(given, scope)

    def returned(self, name: str) -> list[str]:
        """All wordings that a function returns."""
        scope = self.functions[name]
        found = [node.value for node in ast.walk(scope) if isinstance(node, ast.Return)]
        return [text for value in found if value for text in self._wordings(value, scope)]

    def _wordings(self, said: ast.expr, scope: Function) -> list[str]:
        if ast.unparse(said) in self.known:
            return list(self.known[ast.unparse(said)])
        match said:
            case ast.Constant(value=text):
                return [text] if isinstance(text, str) else []
            case ast.JoinedStr(values=parts):
                return self._joined(parts, scope)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([left, right], scope)
            case ast.FormattedValue() | ast.IfExp() | ast.BoolOp(op=ast.Or()):
                return self._chosen(said, scope)
            case ast.Call(func=ast.Name(id=name)):
                return self._written(name)
            case ast.Name():
                return self._named(said, scope)
        return [_a_figure()]

    def _joined(self, parts: Sequence[ast.expr], scope: Function) -> list[str]:
        return ["".join(one) for one in product(*(self._wordings(part, scope) for part in parts))]

    def _chosen(self, said: ast.expr, scope: Function) -> list[str]:
        match said:
            case ast.IfExp(body=one, orelse=other):
                return self._wordings(one, scope) + self._wordings(other, scope)
            case ast.BoolOp(values=[*firsts, last]):
                found = [text for one in firsts for text in self._wordings(one, scope) if text]
                return found + self._wordings(last, scope)
            case ast.FormattedValue(value=value):
                return self._wordings(value, scope)
        return []

    def _written(self, name: str) -> list[str]:
        """By a function of this module that makes a part of a sentence, or one for figures."""
        if name == "users":
            return ["64 users"]
        if f"{name}()" in self.known:
            return list(self.known[f"{name}()"])
        found = self.functions.get(name)
        returns = ast.unparse(found.returns) if found and found.returns else ""
        is_text = returns in ("str", "str | None") and name not in FIGURES
        return self.returned(name) if is_text else [_a_figure()]

    def _named(self, name: ast.Name, scope: Function) -> list[str]:
        values = _assigned(name, scope) or self._given(name, scope)
        if values:
            return [text for value, inside in values for text in self._wordings(value, inside)]
        constant = getattr(self.module, name.id, None)
        return [constant] if isinstance(constant, str) else [_a_figure()]

    def _given(self, name: ast.Name, scope: Function) -> list[tuple[ast.expr, Function]]:
        """What the module's own calls give for a parameter."""
        names = [argument.arg for argument in scope.args.args]
        if name.id not in names:
            return []
        sink = Sink(scope.name, names.index(name.id), name.id)
        return [
            (given, caller)
            for caller in self.scopes
            for call in _own_calls(caller)
            if _called(call) == scope.name and (given := sink.of(call)) is not None
        ]


def _a_figure() -> str:
    return str(next(_numbers))


def _assigned(name: ast.Name, scope: Function) -> list[tuple[ast.expr, Function]]:
    """What the name stands for at that line: its last value, or one of those of branches."""
    found = [
        (node, value)
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and node.lineno < name.lineno
        for value in _values(node, name.id)
    ]
    found.sort(key=lambda pair: pair[0].lineno)
    if found and found[-1][0] in scope.body:
        found = found[-1:]
    return [(value, scope) for _, value in found]


def _values(node: ast.Assign, name: str) -> Iterator[ast.expr]:
    """What an assignment gives to the name; of several at once, that of its place."""
    for target in node.targets:
        match target, node.value:
            case ast.Name(id=found), value if found == name:
                yield value
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                for one, value in zip(names, values, strict=False):
                    if ast.unparse(one) == name:
                        yield value


def _own_calls(scope: Function) -> Iterator[ast.Call]:
    """Those in a function's body, functions within it left out: they come by themselves."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function):
            continue
        if isinstance(node, ast.Call):
            yield node
        waiting.extend(ast.iter_child_nodes(node))


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name, value=ast.Attribute(attr=before)):
            return f"{before}.{name}"
        case ast.Attribute(attr=name):
            return name
    return ""


def source(name: str, known: Mapping[str, Sequence[str]] | None = None) -> Source:
    """The code of a module by its name."""
    return Source(importlib.import_module(name), known or {})
