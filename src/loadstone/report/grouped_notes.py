"""Notes on steps, each kind once: messages that differ only in figures are merged into one.

`8 users: answers waited 120 µs …` and the same of eleven other steps become
`12 steps from 8 users to 512 users: answers waited 120 to 4,300 µs …`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from loadstone.model.figure import Figure
from loadstone.model.message import Joined, Message, counted, say, say_in

FEW = 3
"""So many steps are named one by one."""

NamedNote = tuple[Message, Message]
"""What a note is about, and the note."""


def grouped(notes: Iterable[NamedNote], of_all: int) -> Iterator[Message]:
    """One line a kind of note, in the order of the first of each; `of_all`: the number of steps."""
    groups: dict[Hashable, list[NamedNote]] = {}
    for name, note in notes:
        groups.setdefault(_shape(note), []).append((name, note))
    for group in groups.values():
        names = list(dict.fromkeys(name for name, _ in group))
        about, note = _named(names, of_all), _merged([note for _, note in group])
        if len(names) > 1 and _has_times(note):
            about = say("{steps}, each", steps=about)
        yield say_in("joined", "{first}: {second}", first=about, second=note)


def _has_times(value: Any) -> bool:
    """Whether it has numbers of errors, which might be those of all steps together."""
    match value:
        case Message():
            return "times" in value.values or any(map(_has_times, value.values.values()))
        case Joined():
            return any(map(_has_times, value.parts))
        case _:
            return False


def _named(names: Sequence[Message], of_all: int) -> Message | Joined:
    number = len(names)
    if 1 < number == of_all:
        return counted("the step", "all {number} steps", number)
    if number <= FEW:
        return Joined(names, "clauses")
    return say(
        "{number} steps from {first} to {last}", number=number, first=names[0], last=names[-1]
    )


def _shape(value: Any) -> Hashable:
    """What is the same in two messages that differ only in figures."""
    match value:
        case Message():
            values = tuple(sorted((name, _shape(one)) for name, one in value.values.items()))
            return value.template, value.context, values
        case Joined():
            return value.by, tuple(map(_shape, value.parts))
        case Figure():
            return value.kind
        case _:
            return str(value)


def _merged(values: Sequence[Any]) -> Any:
    """One value for several of the same shape: figures that differ become a range."""
    first = values[0]
    match first:
        case Message():
            if not first.values:
                return first
            numbers = [one.number for one in values if one.number is not None]
            return Message(
                first.template,
                {name: _merged([one.values[name] for one in values]) for name in first.values},
                context=first.context,
                plural=first.plural,
                number=max(numbers, default=None),
            )
        case Joined():
            parts = zip(*(one.parts for one in values), strict=True)
            return Joined((_merged(part) for part in parts), first.by)
        case Figure():
            known = sorted({one.value for one in values if one.value is not None})
            if len(known) < 2:
                return first
            low, high = type(first)(known[0]), type(first)(known[-1])
            return first if str(low) == str(high) else say("{low} to {high}", low=low, high=high)
        case _:
            return first
