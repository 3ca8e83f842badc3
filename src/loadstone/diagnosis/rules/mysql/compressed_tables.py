"""Pages of compressed tables are compressed and uncompressed again and again.

InnoDB keeps a compressed page as it is on the disk and, while it is used, a second copy; what
changes in it is compressed again once its log of changes is full.

Source: https://dev.mysql.com/doc/refman/8.0/en/innodb-information-schema-innodb_cmp.html
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.priced_work import rule_of, share_of
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in, sentences

OPERATION_S = 210e-6
"""[P] CPU of an operation, with the log records, reorganized and split pages that come with it:
measured 133 µs with MySQL 5.7.22, 209 with 8.0.31 (KEY_BLOCK_SIZE=1, changes without an index) and
341 with 9.7 (KEY_BLOCK_SIZE=4); this is their geometric mean. The time that INNODB_CMP has is a
quarter of that."""

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

_OPS = ("compress_ops", "uncompress_ops")


def judge(case: Case) -> Finding | None:
    """Operations a second, times what one takes with what it brings about."""
    ops = [case.needed(case.rate(name)) for name in _OPS]
    if not any(ops):
        return None
    share = case.needed(share_of(case, _cores(case)))
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
    return OPERATION_S * sum(case.rate(name) or 0.0 for name in _OPS)


RULE = rule_of("compressed-tables", say("pages are compressed"), judge, _cores)
