"""What the page offers to choose from: targets, workloads with their options, recipes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadstone import engine
from loadstone.model.errors import LoadstoneError
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, plain, say
from loadstone.model.plan import OptionValue
from loadstone.runner.endpoints import at_url
from loadstone.sandbox import list_sandboxes
from loadstone.web.begin.forms import THROWAWAY
from loadstone.web.localize import translations
from loadstone.workloads.bundled import ENDING

OPTIONS: Mapping[str, Message] = {
    "auto_inc": say("the server numbers new rows, instead of the load"),
    "delete_inserts": say("how often per event a row is deleted and inserted again"),
    "delta": say("how many values of the index each range spans"),
    "distinct_ranges": say("range queries per event with DISTINCT and a sort"),
    "first_id": say("the number of the first row that is added"),
    "hot_rows": say("how many products are hot: users of the same one wait for each other"),
    "index_updates": say("updates per event of a column with an index"),
    "keying_and_think_time": say("users pause as TPC-C's do, between screens and transactions"),
    "non_index_updates": say("updates per event of a column without an index"),
    "number_of_ranges": say("how many ranges one statement counts"),
    "order_ranges": say("range queries per event with a sort"),
    "point_selects": say("reads per event of one row by its primary key"),
    "random_points": say("how many values of the index one statement asks for"),
    "range_selects": say("whether events have range queries at all"),
    "range_size": say("how many rows a range query spans"),
    "sale": say("a sale also reads the product's page and adds an order"),
    "simple_ranges": say("range queries per event without a sort or a sum"),
    "skip_trx": say("statements commit one by one, without a transaction around them"),
    "sum_ranges": say("range queries per event with a sum"),
}
"""What each option of the built-in workloads means; a test compares it with the engine's."""

WORKLOADS: Mapping[str, Message] = {
    "oltp_read_write": say(
        "10 point selects, 4 ranges, 2 updates, a delete and an insert in a transaction"
    ),
    "oltp_read_only": say("10 point selects and 4 ranges in a transaction"),
    "oltp_write_only": say("2 updates, a delete and an insert in a transaction"),
    "oltp_point_select": say("one row by its primary key"),
    "oltp_insert": say("one new row"),
    "oltp_delete": say("delete one row by its primary key"),
    "oltp_update_index": say("update an indexed column of one row"),
    "oltp_update_non_index": say("update a column without index of one row"),
    "select_random_points": say("rows of the first table by 10 values of the secondary index"),
    "select_random_ranges": say(
        "rows of the first table counted over 10 ranges of the secondary index"
    ),
    "bulk_insert": say(
        "one insert of as many rows as fit into 512 KiB, each user into its own table"
    ),
    "hot_row": say("sell a hot product: its page, its stock, and in a transaction stock and order"),
    "ledger": say(
        "one entry in a transaction, and what became of it is remembered: for failover drills"
    ),
    "tpcc": say("TPC-C-like, not audited: one of the five transactions of an order-entry system"),
}
"""What an event of each built-in workload does, as the engine says it; a test compares them."""

TEMPLATES: Mapping[str, Message] = {
    "delete": say("delete one row by its primary key"),
    "flash_sale": say(
        "sell the one hot product: its page, its stock, and the order, in one transaction"
    ),
    "insert": say("one new row"),
    "insert_benchmark": say(
        "inserts into a table with three secondary indexes, and short range reads"
    ),
    "linkbench": say("a social graph: lists of links, links added and changed, objects"),
    "point_select": say("one row by its primary key"),
    "read_only": say("10 point selects and 4 ranges in a transaction"),
    "read_write": say(
        "10 point selects, 4 ranges, 2 updates, a delete and an insert in a transaction"
    ),
    "shop": say("looks at products, buys some, and lists what was bought"),
    "tatp": say("TATP: subscribers of a mobile network, mostly short reads"),
    "update_index": say("update an indexed column of one row"),
    "update_non_index": say("update a column of one row that has no index"),
    "write_only": say("2 updates, a delete and an insert in a transaction"),
    "ycsb_a": say("YCSB A: half reads, half updates of popular rows"),
    "ycsb_b": say("YCSB B: 95 % reads, 5 % updates of popular rows"),
    "ycsb_c": say("YCSB C: only reads of popular rows"),
    "ycsb_d": say("YCSB D: reads of the newest rows, 5 % inserts"),
    "ycsb_e": say("YCSB E: scans of up to 100 rows, 5 % inserts"),
    "ycsb_f": say("YCSB F: half reads, half read-modify-write"),
}
"""What an event of each bundled template does, as its file says it; a test compares them."""


class Question(Frozen):
    """A parameter of a recipe."""

    name: str
    about: Message
    kind: str
    full: str
    quick: str
    choices: tuple[str, ...] = ()


class RecipeOffer(Frozen):
    """A recipe as a form of its few questions."""

    name: str
    title: Message
    question: Message
    needs: Message
    lasts: Message
    lasts_quick: Message
    questions: tuple[Question, ...]


class Offers:
    """What is offered to a person; `recipes` are those that the program has."""

    def __init__(self, recipes: Sequence[RecipeOffer] = (), kept: Sequence[str] = ()) -> None:
        """`kept`: the targets that are always offered."""
        self._recipes = tuple(recipes)
        self._kept = tuple(kept)

    def for_person(self, allowed: Sequence[str] | None, before: Iterable[str]) -> dict[str, Any]:
        """The document for the page.

        `allowed`: the targets that the person may use; `None`: any. `before`: those of earlier
        acts.
        """
        targets = self._targets(allowed, before)
        recipes = [_as_json(each) for each in self._recipes]
        messages = [
            *OPTIONS.values(),
            *WORKLOADS.values(),
            *TEMPLATES.values(),
            *(each["password"] for each in targets if each["password"]),
        ]
        for each in self._recipes:
            messages += [each.title, each.question, each.needs, each.lasts, each.lasts_quick]
            messages += [one.about for one in each.questions]
        return {
            "targets": targets,
            "any_target": allowed is None,
            "workloads": [*_workloads(), *_templates()],
            "recipes": recipes,
            "told": translations(messages),
        }

    def kinds_of(self, recipe: str) -> Mapping[str, str] | None:
        """The kind of each parameter of a recipe; `None`: there is no such recipe."""
        for each in self._recipes:
            if each.name == recipe:
                return {one.name: one.kind for one in each.questions}
        return None

    def _targets(
        self, allowed: Sequence[str] | None, before: Iterable[str]
    ) -> list[dict[str, Any]]:
        if allowed is not None:
            urls = sorted(allowed, key=lambda url: url != THROWAWAY)
            return [_target(url, THROWAWAY if url == THROWAWAY else "kept") for url in urls]
        found = {THROWAWAY: THROWAWAY}
        for sandbox in list_sandboxes():
            found.setdefault(sandbox.tcp.target.url, f"sandbox {sandbox.name}")
        for url in self._kept:
            found.setdefault(url, "kept")
        for url in before:
            found.setdefault(url, "before")
        return [_target(url, kind) for url, kind in found.items()]


def _target(url: str, kind: str) -> dict[str, Any]:
    return {"url": url, "kind": kind, "password": _password_of(url)}


def _password_of(url: str) -> str | None:
    """Where the password of a target comes from; its server is not asked."""
    if url == THROWAWAY:
        return None
    try:
        return at_url(url).credentials.source
    except LoadstoneError as error:
        return error.message


def _workloads() -> list[dict[str, Any]]:
    """The built-in workloads with their options; without the engine there are none."""
    try:
        known = engine.workloads().values()
    except engine.EngineError:
        return []
    return [
        {
            "name": one.name,
            "about": one.summary,
            "is_template": False,
            "options": [_option(name, default) for name, default in one.options.items()],
        }
        for one in known
    ]


def _templates() -> list[dict[str, Any]]:
    """The bundled templates, by the names that the command line has for them.

    They have no options: their tables and statements are in their files. Other templates are files
    that the page cannot name.
    """
    return [
        {"name": f"{name}{ENDING}", "about": about, "is_template": True, "options": []}
        for name, about in TEMPLATES.items()
    ]


def _option(name: str, default: OptionValue | None) -> dict[str, Any]:
    return {"name": name, "default": default, "about": OPTIONS.get(name, plain(name))}


def _as_json(recipe: RecipeOffer) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "title": str(recipe.title),
        "question": str(recipe.question),
        "needs": str(recipe.needs),
        "lasts": str(recipe.lasts),
        "lasts_quick": str(recipe.lasts_quick),
        "questions": [
            {
                "name": one.name,
                "about": str(one.about),
                "kind": one.kind,
                "full": one.full,
                "quick": one.quick,
                "choices": list(one.choices),
            }
            for one in recipe.questions
        ],
    }
