"""Hides the names in a run's documents: what is not on the list of fields becomes a pseudonym."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from loadstone.model.figure import Figure
from loadstone.model.language import in_language
from loadstone.model.message import Joined, Message, plain, say
from loadstone.model.target import Target
from loadstone.model.target_url import TargetUrlError, parse_target_url
from loadstone.runs.anonymous import fields
from loadstone.runs.anonymous.pseudonyms import Pseudonyms, is_number, is_plain

_ENDS = ("finished", "stopped", "failed")
_HIDDEN = say("(text hidden)")
_PLACES = ("ca", "cert", "key", "server_public_key")
_NAMES = ("name", "id", "text")

_STAMP = re.compile(r"-\d{8}T\d{6}Z(-\d+)?$")
_OWN = in_language("zh")
"""Knows the texts of Loadstone's own that have no values: each of them has a translation."""

Document = Any
"""JSON of any version; its types are checked when it is read back."""


@dataclass
class Hiding:
    """Hides the names of one run, the same way in each of its documents."""

    workloads: Collection[str]
    """Loadstone's own, whose names stay."""
    pseudonyms: Pseudonyms = field(default_factory=Pseudonyms)
    variables: set[str] = field(default_factory=set)
    """Names of the server's variables, as far as documents with them were read."""

    def learn(self, value: Document, name: str = "") -> None:
        """Know the variables of a document, whose names messages may have."""
        match value:
            case dict():
                if name in fields.MAPS:
                    self.variables |= value.keys()
                for key, one in value.items():
                    self.learn(one, key)
            case list():
                for one in value:
                    self.learn(one, name)

    def of(self, value: Document, name: str = "") -> Document:
        """The value of a field of this name, without names."""
        match value:
            case dict():
                return self._of_object(value, name)
            case list() if name in fields.DROPPED:
                return ["loadstone"] if name == "command_line" else []
            case list() if name == "settings":
                return [self._setting(one) for one in value]
            case list():
                return [self.of(one, name) for one in value]
            case str():
                return self._of_text(value, name)
            case _:
                return value

    def _of_object(self, value: dict[str, Document], name: str) -> Document:
        if name in fields.MAPS:
            return {key: self._variable(key, str(one)) for key, one in value.items()}
        hidden = {
            key: self.of(one, "level" if name in fields.PARENTS and key in _NAMES else key)
            for key, one in value.items()
            if key != "messages"
        }
        if isinstance(run := value.get("name"), str) and _is_of_a_run(value, name):
            hidden["name"] = self._named_run(run)
        said = value.get("messages")
        if isinstance(said, dict):
            made = {key: self._messages(made_from) for key, made_from in said.items()}
            hidden |= {key: _texts(of) for key, of in made.items()}
            hidden["messages"] = {key: _as_json(of) for key, of in made.items()}
        return hidden

    def _setting(self, one: Document) -> Document:
        """What a trial changes: a variable or an option, with its values."""
        if not isinstance(one, dict):
            return self.of(one)
        name = str(one.get("name", ""))
        return one | {
            key: self._variable(name, str(one[key])) for key in ("before", "value") if one.get(key)
        }

    def _messages(self, made_from: Document) -> Message | list[Message]:
        """The messages of a field, with hidden values; their templates are Loadstone's own."""
        if isinstance(made_from, list):
            return list(map(self._message, made_from))
        return self._message(made_from)

    def _message(self, made_from: Document) -> Message:
        try:
            message = Message.from_json(made_from)
        except (ValueError, TypeError):
            return _HIDDEN
        return self._filled(message)

    def _filled(self, message: Message) -> Message:
        return Message(
            message.template,
            {key: self._value(one) for key, one in message.values.items()},
            context=message.context,
            plural=message.plural,
            number=message.number,
        )

    def _value(self, value: Any) -> Any:
        match value:
            case Message() if value.values:
                return self._filled(value)
            case Joined():
                return Joined(map(self._value, value.parts), value.by)
            case Figure() | int() | float() | None:
                return value
            case _:
                text = str(value)
                known = is_number(text) or _OWN.knows(plain(text))
                return text if known else self._assigned(text) or self._named(text, "text")

    def _assigned(self, text: str) -> str | None:
        """`general_log=OFF`: the name of a variable stays, and its value as in a table of them."""
        name, is_one, value = text.partition("=")
        if not is_one or name not in self.variables:
            return None
        return f"{name}={self._variable(name, value)}"

    def _of_text(self, text: str, name: str) -> str:
        if name in ("target", "targets"):
            return self._url(text)
        if name in ("workload", "id", "name"):
            return self._own_name(text, name)
        if name == "reason" and text in _ENDS:
            return text
        if name in _PLACES:
            return self.pseudonyms.of("path", text)
        if is_number(text) or (name in fields.STAYS and is_plain(text)):
            return text
        if _OWN.knows(plain(text)):
            return text
        if name in ("text", "notes", "said", "message", "sentence", "remedy"):
            return str(_HIDDEN)
        return self._named(text, fields.KINDS.get(name, "text"))

    def tag(self, tag: str) -> str:
        """A tag of the latency log: `response-of-NAME` has the name of a mix's workload."""
        head, of, name = tag.partition("-of-")
        return f"{head}{of}{self._own_name(name, 'name')}" if of else tag

    def _named(self, text: str, kind: str) -> str:
        return self.pseudonyms.of(kind, text)

    def _own_name(self, text: str, name: str) -> str:
        """Built-in workloads, alone or together, keep their names."""
        if name == "id" and (stamp := _STAMP.search(text)):
            # The time stays, so that the folders of two runs have different names.
            return f"{self._named_run(text[: stamp.start()])}{stamp[0]}"
        if self._is_built_in(text):
            return text
        return self.pseudonyms.of("name", text)

    def _named_run(self, text: str) -> str:
        """By default a run is named after its workload."""
        return text if self._is_built_in(text) else self.pseudonyms.of("run", text)

    def _is_built_in(self, text: str) -> bool:
        return all(part in self.workloads for part in text.split("+"))

    def _variable(self, name: str, value: str) -> str:
        if fields.IDENTIFIERS.search(name):
            return self.pseudonyms.of("server", value)
        if is_number(value) or value in fields.ENUMERATED:
            return value
        is_known = value in self.pseudonyms.originals  # by another variable or field
        if is_known or fields.VARIABLE_NAMES.search(name) or not is_plain(value):
            return self.pseudonyms.of("value", value)
        return value

    def _url(self, url: str) -> str:
        try:
            target, _ = parse_target_url(url)
        except TargetUrlError:
            return self._named(url, "host")
        hidden = self.of(target.model_dump(mode="json"))
        return Target.model_validate(hidden).url


def _is_of_a_run(value: dict[str, Document], name: str) -> bool:
    """Whether the object's name is the run's own."""
    return name == "plan" or _STAMP.search(str(value.get("id", ""))) is not None


def _texts(said: Message | list[Message]) -> Document:
    return [str(one) for one in said] if isinstance(said, list) else str(said)


def _as_json(said: Message | list[Message]) -> Document:
    return [one.as_json() for one in said] if isinstance(said, list) else said.as_json()
