"""JSON schemas of the files that people write, made from the types that read them.

Editors offer the keys of a file by its schema and mark mistakes while it is written; the program
refuses more, and says why. Draft 7 is what editors of TOML know (https://taplo.tamasfe.dev).
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from loadstone.config.written import Written

DRAFT = "http://json-schema.org/draft-07/schema#"


def schema_of(written: type[Written], title: str) -> dict[str, Any]:
    """The schema of a file that is read as this type."""
    made = written.model_json_schema(schema_generator=_Generator)
    named = {name: _plain_names(one) for name, one in made.pop("$defs").items()}
    definitions = {_public(name): one for name, one in named.items()}
    return {"$schema": DRAFT, "title": title, **_plain_names(made), "$defs": definitions}


class _Generator(GenerateJsonSchema):
    """Writes what a TOML file can hold: it has no null, and its keys have no titles."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """A title that repeats the key helps nobody."""
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """A key that may be missing: it cannot be null."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A default is shown if it looks in the file as it does here."""
        default = schema.get("default")
        if isinstance(default, bool | int | float | str) and default != "":
            return super().default_schema(schema)
        return self.generate_inner(schema["schema"])

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Each choice names its kind, though the type has a default for it."""
        made = super().tagged_union_schema(schema)
        key = schema["discriminator"]
        made.pop("discriminator", None)
        return {"required": [key], **made} if isinstance(key, str) else made

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """A table of names: no others than the form of its names allows."""
        made = super().dict_schema(schema)
        return {**made, "additionalProperties": False} if "patternProperties" in made else made

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """A table: its keys with what they mean, and what they need of each other."""
        made = super().model_schema(schema)
        made.pop("title", None)
        made.pop("description", None)
        cls = schema["cls"]
        if not issubclass(cls, Written):
            return made
        for name, said in _docstrings_of(cls).items():
            key = cls.model_fields[name].alias or name
            made["properties"][key] = {"description": said, **made["properties"][key]}
        return made | cls.together()


def _docstrings_of(cls: type[BaseModel]) -> dict[str, str]:
    """The string below each field, in all of its classes: what the key means."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if not issubclass(each, Written) or each is Written:
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(body, ast.ClassDef)
        for field, said in zip(body.body, body.body[1:], strict=False):
            match field, said:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found[name] = " ".join(text.split())
    return {name: said for name, said in found.items() if name in cls.model_fields}


def _plain_names(made: Any) -> Any:
    """The schema without what only pydantic uses; names of tables have no underscore.

    In draft 7 what stands next to `$ref` does not count, so it stands in `allOf`.
    """
    if isinstance(made, list):
        return [_plain_names(each) for each in made]
    if not isinstance(made, dict):
        return made
    found = {key: _plain_names(each) for key, each in made.items() if not _is_sample(key, each)}
    if isinstance(reference := found.get("$ref"), str):
        head, _, name = reference.rpartition("/")
        own = {"$ref": f"{head}/{_public(name)}"}
        del found["$ref"]
        return {**found, "allOf": [own]} if found else own
    return found


def _is_sample(key: str, value: object) -> bool:
    """Whether it is a field's `examples`: whole lines for messages, and not values."""
    return key == "examples" and isinstance(value, list)


def _public(name: str) -> str:
    return name.removeprefix("_")
