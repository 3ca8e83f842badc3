"""Soon after a checkpoint most changes log whole pages, without any setting that is too small."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.postgresql.durations import seconds_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, Holds, priced, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import page_images, wal_size
from loadstone.diagnosis.rules.postgresql.page_images import Images, Work
from loadstone.diagnosis.trials import REFILLS_S, dynamic, postgresql_major
from loadstone.diagnosis.users_time import time_of
from loadstone.model.figure import Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import Message, plain, say, say_in, sentences

_REMEDY = say(
    "Measure for several checkpoints, or long after one. A longer checkpoint_timeout, with a "
    "max_wal_size that allows it, makes images rarer; wal_compression makes them smaller, which "
    "takes CPU time."
)
_SLOW_CODE = say(
    "Each image is compressed by pglz, which takes far more CPU than writing it: switch "
    "wal_compression off, or to lz4 or zstd (from 15 on). A longer checkpoint_timeout, with a "
    "max_wal_size that allows it, makes images rarer."
)

_LONGER = say(
    "Raise checkpoint_timeout (to 15min or more, with a max_wal_size that allows it): checkpoints "
    "write each page less often, and log whole pages less often."
)

DEFAULT_S = 300.0
"""[S] The manual's default for checkpoint_timeout."""

LZ4_SINCE = 15
"""[M] The first version whose images can be compressed by another code than pglz."""

LONG = "15min"
"""[P] What a trial asks for: no checkpoint comes while it lasts."""


def judge(case: Case) -> Finding | None:
    """Images take the users' time, and the step asked for no checkpoint."""
    found = case.needed(page_images.images(case))
    parts = page_images.parts(case, _work(case, found))
    share = case.needed(time_of(case, parts))
    if not case.tps or share < page_images.MATTERS:
        return None
    if wal_size.is_forced(case, found) or wal_size.judge(case):
        return None
    return Finding(
        cause="full-page-images",
        group="setting",
        sentence=sentences(*_said(case, found, share)),
        evidence=(
            case.seen(say("bytes of images"), found.part, say("of the WAL")),
            case.seen(plain(page_images.COUNTER), found.per_s, say_in("unit", "/s")),
            case.seen(plain(page_images.BYTES), found.wal_bytes, say_in("unit", "B/s")),
        ),
        share=share,
        confidence=0.7,
        remedy=_remedy(case),
        trial=_rarer(case) if _is_soon(case) else _compressed(case),
        acts_on="disk writes",
    )


def _is_soon(case: Case) -> bool:
    """Whether checkpoints come by the clock, and that is set to less than its default."""
    timeout_s = seconds_of(case.variable("checkpoint_timeout"))
    return timeout_s is not None and timeout_s < DEFAULT_S and page_images.timed(case) > 0


def _work(case: Case, found: Images) -> Work:
    """All images; where a longer timeout makes checkpoints rarer, what these write as well."""
    work = page_images.work_of(found)
    return work._replace(pages=page_images.pages_of_checkpoints(case)) if _is_soon(case) else work


def _said(case: Case, found: Images, share: float) -> Iterator[Message]:
    yield page_images.said(case, found)
    if not _is_soon(case):
        yield say("Images take {share} of the users' time.", share=Percent(share))
        return
    yield say(
        "checkpoint_timeout={timeout} brings a checkpoint that often; images, and the {pages} "
        "pages a second that checkpoints write, take {share} of the users' time.",
        timeout=case.variable("checkpoint_timeout"),
        pages=round(page_images.pages_of_checkpoints(case)),
        share=Percent(share),
    )


def _remedy(case: Case) -> Message:
    if page_images.is_slow_code(case):
        return _SLOW_CODE
    return _LONGER if _is_soon(case) else _REMEDY


def _rarer(case: Case) -> Trial | None:
    return dynamic(
        case, {"checkpoint_timeout": LONG}, say("checkpoints so often"), settles_s=REFILLS_S
    )


def _compressed(case: Case) -> Trial | None:
    """Smaller images; if that brings nothing, it costs as much as it saves, and no more is said."""
    if page_images.is_slow_code(case):
        return dynamic(case, {"wal_compression": "off"}, say("the compression of images"))
    if case.variable("wal_compression") not in ("off", None):
        return None
    method = "lz4" if postgresql_major(case.variable("server_version")) >= LZ4_SINCE else "on"
    trial = dynamic(case, {"wal_compression": method}, say("images without compression"))
    return trial and trial.model_copy(update={"refutes": False})


def _holds(case: Case) -> Holds | None:
    found = page_images.images(case)
    parts = page_images.parts(case, _work(case, found)) if found else {}
    return priced(parts) if parts else None


RULE = Rule(
    "full-page-images",
    say("whole pages in the WAL after a checkpoint"),
    judge,
    reads="files",
    holds=time_at(*CORES, "log sync", "commit"),
    holds_in=_holds,
)
