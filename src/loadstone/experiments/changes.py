"""The changes that an experiment makes on a target: announced before the first, and allowed or not.

A throwaway server is all ours; a target belongs to others. Only the tables that the plan names are
dropped and made there, whatever else Loadstone once made in the same schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.families import connect, family_of
from loadstone.lab.protection.whereabouts import is_throwaway, located
from loadstone.model.experiment import Variant
from loadstone.model.message import Joined, Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.servers.errors import GuardError
from loadstone.servers.facts import mark_for
from loadstone.servers.guard import Consent, decide_cleanup

_SHOWN = 12
"""Names shown in a line; the others are counted."""


@dataclass(frozen=True)
class Changes:
    """The changes in one schema of a target and on its server."""

    place: str
    """The server and the schema, for messages."""
    makes: tuple[str, ...] = ()
    """Tables that are made and filled."""
    drops: tuple[str, ...] | None = ()
    """Tables of `makes` that exist and are dropped first; `None`: the server was not asked."""
    others: tuple[str, ...] = ()
    """Tables that are dropped although the experiment itself did not make them."""
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By global variable, the values that variants set; each is restored after its step."""

    def lines(self) -> list[Message]:
        """One line for each kind of change; none if nothing is changed."""
        said = []
        if self.drops is None and self.makes:
            said.append(
                say(
                    "{place}: drops where they exist, and makes {tables}",
                    place=self.place,
                    tables=_some(self.makes),
                )
            )
        elif self.drops:
            said.append(say("{place}: drops {tables}", place=self.place, tables=_some(self.drops)))
        if self.makes and self.drops is not None:
            said.append(say("{place}: makes {tables}", place=self.place, tables=_some(self.makes)))
        if self.sets:
            each = [f"{name} = {' | '.join(values)}" for name, values in self.sets.items()]
            said.append(
                say(
                    "{place}: sets {variables} (put back after each step)",
                    place=self.place,
                    variables=Joined(each, "clauses"),
                )
            )
        if said:
            said.append(say("{place}: no restart, no network limit", place=self.place))
        return said


def set_by(variants: Iterable[Variant]) -> dict[str, tuple[str, ...]]:
    """By global variable, the values that these variants set while the server runs."""
    values: dict[str, list[str]] = {}
    for variant in variants:
        for name, value in variant.dynamic.items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    return {name: tuple(each) for name, each in values.items()}


@dataclass(frozen=True)
class Asking:
    """How to ask a target which tables it has."""

    reach: Callable[[Target], Endpoint] | None
    """Finds the target's password; `None`: the target is not asked."""
    consent: Consent
    mark: str
    """The mark of tables that the experiment made itself."""


def changes_on(
    target: Target,
    makes: Sequence[str],
    sets: Mapping[str, tuple[str, ...]],
    asking: Asking,
) -> Changes:
    """The changes on one target.

    Raises:
        GuardError: tables would be made next to those of others, without the user's consent.
        TargetError: the server did not say which of the tables exist.
    """
    schema = target.database or ""
    place = say("{place}, schema {schema}", place=target.place, schema=schema)
    if asking.reach is None:
        return Changes(place, tuple(makes), None, sets=sets)
    endpoint = asking.reach(target)
    if is_throwaway(endpoint):
        # It needs no consent, but its tables may be wanted as well.
        return Changes(place, tuple(makes), None, sets=sets)
    drops: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    if makes:
        with connect(endpoint, database=None) as connection:
            state = family_of(target).read_schema(connection, target, schema)
            asked = located(connection, target, asking.consent)
            drops = decide_cleanup(state, target, asked, makes).drops
            marks = {name: (asking.mark, mark_for(name, asking.mark)) for name in drops}
            there = (table for table in state.tables if table.name in marks)
            own = {table.name for table in there if table.mark in marks[table.name]}
            others = tuple(name for name in drops if name not in own)
    return Changes(place, tuple(makes), drops, others, sets)


def refuse_without_consent(changes: Changes, consent: Consent) -> None:
    """Refuse to drop tables that the experiment did not make, unless the user agreed.

    Raises:
        GuardError: the user has not agreed.
    """
    if changes.others and not consent.yes:
        raise GuardError(
            "table_in_the_way",
            say(
                "{place} has tables that would be dropped and made again: {tables}",
                place=changes.place,
                tables=_some(changes.others),
            ),
            say("use another schema, or, if they may go: --yes"),
        )


def _some(names: Sequence[str]) -> str:
    shown, more = ", ".join(names[:_SHOWN]), len(names) - _SHOWN
    return shown if more <= 0 else say("{names} and {more} more", names=shown, more=more)
