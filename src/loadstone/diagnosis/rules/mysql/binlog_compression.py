"""Each transaction is compressed for the binary log, by the session that commits it.

Sources: https://dev.mysql.com/doc/refman/8.0/en/binary-log-transaction-compression.html and
https://mariadb.com/kb/en/compressing-events-to-reduce-size-of-the-binary-log/
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.priced_work import rule_of, share_of
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in, sentences

USUAL_S, HIGHEST_S = 32e-6, 213e-6
"""[P] CPU of a transaction with one changed row at zstd's levels 3 and 22 (MySQL 9.7)."""

MARIADB_S = 20e-6
"""[P] The same of MariaDB: measured with 10.11, whose events of 256 bytes and more are compressed
by default."""

USUAL_LEVEL, HIGHEST_LEVEL = 3, 22

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

_MYSQL, _MARIADB = "binlog_transaction_compression", "log_bin_compress"
_LEVEL = "binlog_transaction_compression_level_zstd"


def judge(case: Case) -> Finding | None:
    """Transactions times what compressing one costs."""
    setting = _setting(case)
    if setting is None:
        return None
    commits = case.needed(case.commits())
    share = case.needed(share_of(case, commits * _each_s(case)))
    if share < MATTERS:
        return None
    level = f", {_LEVEL}={case.variable(_LEVEL)}" if setting == _MYSQL else ""
    return Finding(
        cause="binlog-compression",
        group="setting",
        sentence=sentences(
            say(
                "{commits} transactions a second are compressed for the binary log ({setting}).",
                commits=Number(commits),
                setting=f"{setting}=ON{level}",
            ),
            say("This takes {share} of the users' time.", share=Percent(share)),
        ),
        evidence=(case.seen(plain("commits"), commits, say_in("unit", "/s")),),
        share=share,
        confidence=0.7,
        remedy=say(
            "Switch it off, or lower the level, unless the log's disk or the line to the replicas "
            "is short of room."
        ),
        trial=dynamic(case, {setting: "OFF"}, say("compressing the binary log")),
        acts_on="server CPU",
    )


def _setting(case: Case) -> str | None:
    """The setting that compresses the log; `None`: none does, or there is no log."""
    if case.is_on("log_bin") is False:
        return None
    return next((name for name in (_MYSQL, _MARIADB) if case.is_on(name)), None)


def _each_s(case: Case) -> float:
    """CPU of compressing a transaction; from level to level it grows by the same factor."""
    if _setting(case) == _MARIADB:
        return MARIADB_S
    level = case.number(_LEVEL)
    part = ((level or USUAL_LEVEL) - USUAL_LEVEL) / (HIGHEST_LEVEL - USUAL_LEVEL)
    return float(USUAL_S * (HIGHEST_S / USUAL_S) ** part)


def _cores(case: Case) -> float | None:
    commits = case.commits() if _setting(case) else None
    return None if commits is None else commits * _each_s(case)


RULE = rule_of(
    "binlog-compression",
    say("transactions are compressed for the binary log"),
    judge,
    _cores,
)
