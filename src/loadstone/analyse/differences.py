"""The differences between sides, those that make the comparison unfair first.

A setting differs where the sides have different values. Variables that only identify or locate a
server (paths, ports, identities) do not count, and a setting that the server derives from another
is reported with that one. A fact that is unknown on a side is "not evaluated": neither equal nor
different.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loadstone.analyse.environment_diff import Surroundings
from loadstone.analyse.known_settings import KNOWN, KnownSettings
from loadstone.analyse.meaning import WEIGHTS, Meaning, Weight
from loadstone.model.host_environment import HOST_FACTS, MITIGATIONS_APART
from loadstone.model.message import Message, plain, say, say_in

Group = Literal["work", "setting", "server", "host", "generator"]
"""The work that is driven, the server's settings, which server it is, its host, and the
generator."""

_GROUPS: tuple[Group, ...] = ("work", "setting", "server", "host", "generator")

Values = tuple[str | None, ...]
"""One value per side; `None`: not evaluated there."""

NO_SUCH = say("(none)")
"""Stands for a setting that a server does not have."""


@dataclass(frozen=True)
class Difference:
    """One line of the list."""

    group: Group
    name: str
    label: Message
    """The name for a person; for a setting, its own name."""
    values: Values
    weight: Weight
    meaning: Meaning | None = None
    """The meaning of the setting, if the table has it."""
    followers: tuple[tuple[str, Values], ...] = ()
    """Other differing settings that the server derives from this one."""


@dataclass(frozen=True)
class Differences:
    """All known differences, and everything that could not be compared."""

    sides: tuple[str, ...]
    rows: tuple[Difference, ...]
    """Unfair differences first, then those that change speed, then the rest."""
    not_evaluated: tuple[tuple[Message, tuple[tuple[str, Message], ...]], ...]
    """What could not be compared: its label, and the reason for each side."""
    on_one_side: Mapping[str, Values]
    """Settings that some of the servers lack and that no table describes, by name."""

    @property
    def durability(self) -> tuple[Difference, ...]:
        """The differences in durability."""
        return tuple(row for row in self.rows if row.weight == "unfair" and row.meaning is not None)

    @property
    def other_work(self) -> tuple[Difference, ...]:
        """The differences in the work that was driven."""
        return tuple(row for row in self.rows if row.weight == "unfair" and row.group == "work")


def differences(sides: Mapping[str, Sequence[Surroundings]]) -> Differences:
    """The differences between sides, each of which may consist of several parts of runs."""
    parts = list(sides.values())
    known = _known(parts)
    settings, lone = _settings(parts, known)
    settings += _lost_in_a_crash(parts)
    rows = [*_work(parts), *settings, *_server(parts, known), *_host(parts), *_generator(parts)]
    rows.sort(key=lambda row: (WEIGHTS.index(row.weight), _GROUPS.index(row.group)))
    return Differences(tuple(sides), tuple(rows), tuple(_unknown(sides)), lone)


def _known(sides: Sequence[Sequence[Surroundings]]) -> tuple[KnownSettings, ...]:
    """The known settings of each family among the sides."""
    families = dict.fromkeys(part.family for side in sides for part in side)
    return tuple(KNOWN[family] for family in families)


def _work(sides: Sequence[Sequence[Surroundings]]) -> Iterator[Difference]:
    names = _names(part.work for side in sides for part in side)
    for name in names:
        values = _values([[part.work.get(name) for part in side] for side in sides])
        if _differ(values) or (None in values and any(values)):
            weight: Weight = "unfair" if name in _OTHER_WORK else "slow"
            yield Difference("work", name, WORK_NAMES.get(name, plain(name)), values, weight)


WORK_NAMES: Mapping[str, Message] = {
    "workload": say("workload"),
    "tables": say("tables"),
    "rows": say("rows"),
    "warehouses": say("warehouses"),
    "template": say("template"),
    "options": say("options"),
    "distribution": say("distribution"),
    "protocol": say("protocol"),
    "arrivals": say("arrivals"),
    "isolation": say("isolation"),
    "mix": say("mix"),
    "phases": say("phases"),
    "new connection after": say("new connection after"),
    "idle connections": say("idle connections"),
    "duration of a step": say("duration of a step"),
    "warm-up": say("warm-up"),
    "encryption": say_in("heading", "encryption"),
    "compression": say("compression"),
}
"""Labels of the parts of the work."""

_OTHER_WORK = {
    "workload",
    "tables",
    "rows",
    "warehouses",
    "template",
    "options",
    "distribution",
    "arrivals",
    "isolation",
}
"""If one of these differs, the sides do not do the same work."""


def _settings(
    sides: Sequence[Sequence[Surroundings]], known: Sequence[KnownSettings]
) -> tuple[list[Difference], Mapping[str, Values]]:
    found: dict[str, Values] = {}
    lone: dict[str, Values] = {}
    for name in _names(part.variables for side in sides for part in side):
        if any(one.is_identity(name) or name in one.versions for one in known):
            continue
        values = _values([[_plain(part, name) for part in side] for side in sides])
        if not any(name in one.meanings for one in known) and _only_places(values):
            continue
        if not _differ(values):
            continue
        # A family has settings that another one cannot have.
        is_shown = all(name in one.shown_though_missing for one in known)
        into = lone if NO_SUCH in values and not is_shown else found
        if any(name in one.lists for one in known):
            members = _without_common(values)
            values = _known_to_all(members, values)
            if not _differ(values):
                into, values = lone, members
        into[name] = values
    followers: dict[str, list[tuple[str, Values]]] = {}
    for name in found:
        leaders = (leader for one in known for leader in one.leaders(name))
        if leader := next((one for one in leaders if one in found), None):
            followers.setdefault(leader, []).append((name, found[name]))
    told = {name for those in followers.values() for name, _ in those}
    rows = [
        _setting(name, values, tuple(followers.get(name, ())), sides, known)
        for name, values in found.items()
        if name not in told
    ]
    return rows, lone


def _lost_in_a_crash(sides: Sequence[Sequence[Surroundings]]) -> Iterator[Difference]:
    """The settings by which only some sides may lose commits, where families differ.

    Servers of one family have the same settings, which are compared one by one.
    """
    if len({part.family for side in sides for part in side}) < 2:
        return
    losing = [
        sorted({one for part in side for one in KNOWN[part.family].losing(part.variables)})
        for side in sides
    ]
    if any(losing) and not all(losing):
        values = tuple(", ".join(those) or NO_SUCH for those in losing)
        yield Difference("setting", "lost_in_a_crash", _LOST, values, "unfair", _LOSING)


_LOST = say("settings with which a crash may lose commits")
_LOSING = Meaning(
    "unfair",
    say("commits that do not wait for the disk are faster"),
    say("a crash may lose commits on one side only"),
)


def _setting(
    name: str,
    values: Values,
    followers: tuple[tuple[str, Values], ...],
    sides: Sequence[Sequence[Surroundings]],
    known: Sequence[KnownSettings],
) -> Difference:
    meaning = next((one.meanings[name] for one in known if name in one.meanings), None)
    weight: Weight = meaning.weight if meaning else "note"
    switch = next((one.part_of[name] for one in known if name in one.part_of), None)
    if switch and not _is_on_somewhere(switch, sides):
        weight = "note"
    return Difference("setting", name, plain(name), values, weight, meaning, followers)


def _is_on_somewhere(name: str, sides: Sequence[Sequence[Surroundings]]) -> bool:
    return any(_canonical(part.variables.get(name, "")) == "1" for side in sides for part in side)


def _plain(part: Surroundings, name: str) -> str | None:
    """The value, with the server's own paths and names replaced by placeholders."""
    value = part.variables.get(name)
    if value is None:
        return NO_SUCH if part.variables else None
    if name in KNOWN[part.family].places:
        value = _beside_the_data(value, part.variables.get("datadir", ""))
    for own, word in part.own_places:
        value = value.replace(own, word)
    if name in KNOWN[part.family].places:
        return "<datadir>" if value.rstrip("/") in ("", ".", "<datadir>") else value.rstrip("/")
    return value


def _beside_the_data(place: str, data: str) -> str:
    """A directory next to the server's data, by its place from there: folders' names tell nothing.

    Two throwaway servers have their directories in folders of their own on one disk.
    """
    parent = data.rstrip("/").rpartition("/")[0]
    inside = place.startswith(f"{parent}/") and not place.startswith(data.rstrip("/"))
    return f"<datadir>/..{place.removeprefix(parent)}" if parent and inside else place


def _only_places(values: Values) -> bool:
    """Whether all known values are paths: the facts of the host's disks show where files are."""
    known = [value for value in values if value and value != NO_SUCH]
    return bool(known) and all(
        value.startswith(("/", "./", "<")) and not value.startswith("</") for value in known
    )


def _without_common(values: Values, apart: str = ",") -> Values:
    members = [None if value is None else value.split(apart) for value in values]
    known = [set(those) for those in members if those not in (None, [NO_SUCH])]
    common = set.intersection(*known) if known else set()
    return tuple(
        None if those is None else apart.join(each for each in those if each not in common)
        for those in members
    )


def _known_to_all(members: Values, whole: Values) -> Values:
    """The members without those such as `mrr=on` whose name some side does not have."""
    sides = [value.split(",") for value in whole if value not in (None, NO_SUCH)]
    names = [{each.partition("=")[0] for each in side} for side in sides]
    shared = set.intersection(*names) if names else set()
    return tuple(
        value
        if value in (None, NO_SUCH)
        else ",".join(
            each for each in value.split(",") if "=" not in each or each.partition("=")[0] in shared
        )
        for value in members
    )


def _server(
    sides: Sequence[Sequence[Surroundings]], known: Sequence[KnownSettings]
) -> Iterator[Difference]:
    labels = {name: label for one in known for name, label in one.versions.items()}
    for name, label in labels.items():
        values = _values([[_version(part, name) for part in side] for side in sides])
        if _differ(values):
            yield Difference("server", name, label, values, "slow")


def _version(part: Surroundings, name: str) -> str | None:
    """The version without the `-log` that MariaDB adds if a log is on: that is its own setting."""
    value = part.variables.get(name)
    return value.removesuffix("-log") if value else None


def _host(sides: Sequence[Sequence[Surroundings]]) -> Iterator[Difference]:
    for name, label in HOST_FACTS.items():
        values = _values([[_of_host(part, name) for part in side] for side in sides])
        if name == "libc":
            values = _same_libc(values)
        if name == "mitigations":
            values = _without_common(values, MITIGATIONS_APART)
        if _differ(values):
            yield Difference("host", name, label, values, "slow")


def _same_libc(values: Values) -> Values:
    """Without the build where a side has only the version (its process could not be read)."""
    known = [value for value in values if value]
    short = {value for value in known if "(" not in value}
    return tuple(
        value.partition(" (")[0] if value and value.partition(" (")[0] in short else value
        for value in values
    )


def _generator(sides: Sequence[Sequence[Surroundings]]) -> Iterator[Difference]:
    for name in _names(part.generator for side in sides for part in side):
        values = _values([[part.generator.get(name) for part in side] for side in sides])
        if _differ(values):
            label = say("load generator's {what}", what=_GENERATOR_NAMES.get(name, name))
            yield Difference("generator", name, label, values, "note")


def _of_host(part: Surroundings, name: str) -> str | None:
    value = part.host.known.get(name)
    return _USUAL_ALLOCATOR if value == _USUAL_ALLOCATOR else value


_USUAL_ALLOCATOR = say("the libc's")
_GENERATOR_NAMES: Mapping[str, Message] = {"kernel": say("kernel"), "cores": say("cores")}
"""Names that need translation; the others are the same in all languages."""


def _unknown(
    sides: Mapping[str, Sequence[Surroundings]],
) -> Iterator[tuple[Message, tuple[tuple[str, Message], ...]]]:
    for name, label in HOST_FACTS.items():
        reasons = tuple(
            (side, plain(part.host.not_evaluated.get(name, say("the run does not say"))))
            for side, parts in sides.items()
            for part in parts[:1]
            if name not in part.host.known
        )
        if reasons:
            yield label, reasons
    without = tuple(
        (side, say("the run has none of them"))
        for side, parts in sides.items()
        if not any(part.variables for part in parts)
    )
    if without:
        yield say("settings"), without


def _names(mappings: Iterable[Mapping[str, str]]) -> list[str]:
    return sorted({name for mapping in mappings for name in mapping})


def _values(sides: Sequence[Sequence[str | None]]) -> Values:
    """One value per side; all of them where its parts have several."""
    found: list[str | None] = []
    for values in sides:
        known = sorted({value for value in values if value is not None})
        found.append(known[0] if len(known) == 1 else " | ".join(known) or None)
    return tuple(found)


def _differ(values: Values) -> bool:
    """Whether the known values differ."""
    return len({_canonical(value) for value in values if value is not None}) > 1


def _canonical(value: str) -> str:
    """One spelling for values that servers write in several ways: `ON` and `1`, `10` and `10.0`.

    A setting that a server does not have counts as off.
    """
    word = value.strip().lower().replace(NO_SUCH, "off")
    word = {"on": "1", "yes": "1", "true": "1", "off": "0", "no": "0", "false": "0"}.get(word, word)
    # Isolation levels: one family writes `READ-COMMITTED`, another `read committed`.
    word = re.sub(r"^(read|repeatable)-", r"\1 ", word)
    if re.fullmatch(r"-?\d+\.\d+", word):
        word = word.rstrip("0").rstrip(".")
    return word
