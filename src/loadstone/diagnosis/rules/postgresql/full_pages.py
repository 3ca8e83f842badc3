"""Soon after a checkpoint most changes log whole pages, without any setting that is too small."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, Holds, priced, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import page_images, wal_size
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in, sentences

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


def judge(case: Case) -> Finding | None:
    """Images take the users' time, and the step asked for no checkpoint."""
    found = case.needed(page_images.images(case))
    parts = page_images.parts(case, page_images.work_of(found))
    share = case.needed(page_images.time_of(case, parts))
    if not case.tps or share < page_images.MATTERS:
        return None
    if wal_size.is_forced(case, found) or wal_size.judge(case):
        return None
    return Finding(
        cause="full-page-images",
        group="setting",
        sentence=sentences(
            page_images.said(case, found),
            say("Images take {share} of the users' time.", share=Percent(share)),
        ),
        evidence=(
            case.seen(say("bytes of images"), found.part, say("of the WAL")),
            case.seen(plain(page_images.COUNTER), found.per_s, say_in("unit", "/s")),
            case.seen(plain(page_images.BYTES), found.wal_bytes, say_in("unit", "B/s")),
        ),
        share=share,
        confidence=0.7,
        remedy=_SLOW_CODE if page_images.is_slow_code(case) else _REMEDY,
        trial=_compressed(case),
        acts_on="disk writes",
    )


def _compressed(case: Case) -> Trial | None:
    """Smaller images; if that brings nothing, it costs as much as it saves, and no more is said."""
    if page_images.is_slow_code(case):
        return dynamic(case, {"wal_compression": "off"}, say("the compression of images"))
    trial = dynamic(case, {"wal_compression": "on"}, say("images without compression"))
    return trial and trial.model_copy(update={"refutes": False})


def _holds(case: Case) -> Holds | None:
    found = page_images.images(case)
    parts = page_images.parts(case, page_images.work_of(found)) if found else {}
    return priced(parts) if parts else None


RULE = Rule(
    "full-page-images",
    say("whole pages in the WAL after a checkpoint"),
    judge,
    reads="files",
    holds=time_at(*CORES, "log sync", "commit"),
    holds_in=_holds,
)
