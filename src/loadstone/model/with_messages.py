"""The base of types with messages: their JSON keeps the template and values of each text."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from pydantic import (
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from loadstone.model.frozen import Frozen
from loadstone.model.message import Message

_KEY = "messages"
_SCHEMA = {
    "description": "template (id) and values of the texts, by field; for other languages",
    "type": "object",
}


class WithMessages(Frozen):
    """In JSON a message is a string; `messages` has the template and values of each such field.

    So a field has English text for any reader, and can be translated after reading it back.
    """

    @model_serializer(mode="wrap")
    def _with_messages(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        shown: dict[str, Any] = handler(self)
        made_from = {
            name: found
            for name in shown
            if (found := _as_json(getattr(self, name, None))) is not None
        }
        return shown | {_KEY: made_from} if made_from else shown

    @model_validator(mode="before")
    @classmethod
    def _from_messages(cls, data: Any) -> Any:
        if not isinstance(data, dict) or _KEY not in data:
            return data
        kept = {key: value for key, value in data.items() if key != _KEY}
        for name, made_from in data[_KEY].items():
            if name in kept:
                kept[name] = _restored(kept[name], made_from)
        return kept

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler({k: v for k, v in core_schema.items() if k != "serialization"})
        handler.resolve_ref_schema(schema).setdefault("properties", {})[_KEY] = _SCHEMA
        return schema


def _as_json(value: Any) -> Any:
    """The template and values of a message, or of a tuple of them; `None`: nothing to keep."""
    if isinstance(value, Message):
        return value.as_json() if value.values or value.plural or value.context else None
    if isinstance(value, tuple) and any(isinstance(one, Message) for one in value):
        found = [_as_json(one) for one in value]
        return found if any(found) else None
    return None


def _restored(text: Any, made_from: Any) -> Any:
    """The message of a text, or the messages of a list."""
    if isinstance(text, list | tuple) and isinstance(made_from, list):
        return [_restored(*pair) for pair in zip_longest(text, made_from[: len(text)])]
    if not isinstance(text, str) or not isinstance(made_from, dict):
        return text
    try:
        return Message.from_json(made_from)
    except ValueError:  # from a later version with more kinds of figures: keep the text
        return text
