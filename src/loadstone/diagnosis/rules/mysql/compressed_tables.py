"""Pages of compressed tables are compressed and uncompressed again and again.

InnoDB keeps a compressed page as it is on the disk and, while it is used, a second copy; what
changes in it is compressed again once its log of changes is full.

Source: https://dev.mysql.com/doc/refman/8.0/en/innodb-information-schema-innodb_cmp.html
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.users_time import time_of
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in, sentences

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

_OPS = ("compress_ops", "uncompress_ops")


def judge(case: Case) -> Finding | None:
    """Operations a second, times the mean time that the server has counted for one."""
    ops = [case.needed(case.rate(name)) for name in _OPS]
    share = case.needed(time_of(case, parts_of_work(case, _cores(case))))
    if share < MATTERS:
        return None
    return Finding(
        cause="compressed-tables",
        group="setting",
        sentence=sentences(
            say(
                "Compressed tables (ROW_FORMAT=COMPRESSED): {compressed} pages a second are "
                "compressed and {uncompressed} uncompressed.",
                compressed=Number(ops[0]),
                uncompressed=Number(ops[1]),
            ),
            say("This takes {share} of the users' time.", share=Percent(share)),
        ),
        evidence=tuple(
            case.seen(plain(name), rate, say_in("unit", "/s"))
            for name, rate in zip(_OPS, ops, strict=True)
        ),
        share=share,
        confidence=0.8,
        remedy=say(
            "Use ROW_FORMAT=DYNAMIC for tables that change or are read often, or a larger "
            "KEY_BLOCK_SIZE, with which fewer pages have to be compressed twice; a larger buffer "
            "pool keeps more of them uncompressed."
        ),
        acts_on="server CPU",
    )


def _cores(case: Case) -> float:
    """Cores that compress and uncompress, by the server's own clock.

    That goes on while a thread waits for a core: of its time so much is work as of the users'.
    """
    at_once = sum((case.rate(name) or 0.0) * (case.mean(f"{name}_s") or 0.0) for name in _OPS)
    works, ready = case.time_at("on core"), case.time_at("on core", "waiting for a core")
    return at_once * works / ready if works and ready else at_once


def _holds(case: Case) -> Holds | None:
    """Its work on a core, and as large a part of the wait for one."""
    parts = parts_of_work(case, _cores(case))
    return priced(parts) if parts else None


RULE = Rule(
    "compressed-tables",
    say("pages are compressed"),
    judge,
    holds=part_of(*CORES, is_priced=True),
    holds_in=_holds,
)
