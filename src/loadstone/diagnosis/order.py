"""The order of findings: causes before their symptoms."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.model.finding import Finding

EXPLAINS: dict[str, tuple[str, ...]] = {
    # A change that has to search for its rows locks each one that it reads.
    "missing-index": ("row-locks", "deadlocks"),
    # The old file, the new one and their index are synced while all commits wait.
    "binlog-rotation": ("commit-flush",),
    "binlog-cache-small": ("commit-flush",),
    # The configured limit is the cause, not the cores that are full because of it.
    "cpu-pinned": ("cpu-bound", "one-hot-core"),
    "cpu-throttled": ("cpu-bound", "one-hot-core"),
    # The group is in its commit while it waits for more members.
    "commit-delay": ("commit-flush",),
    # Others that use the disk delay the server's syncs, and fill the disk's queue.
    "disk-neighbour": ("commit-flush", "disk-cap"),
    # The log is full of changes whose pages nobody flushed in time.
    "io-capacity-low": ("redo-log-small",),
    # The session that holds the table also holds the rows that were locked before.
    "table-locks": ("row-locks",),
    # A thread that waits to enter InnoDB counts as running.
    "thread-concurrency-low": ("no-thread-pool",),
    # A group of threads runs one statement at a time.
    "thread-pool-small": ("one-hot-core",),
    # An acknowledgement is waited for within the commit.
    "semi-sync-wait": ("commit-flush",),
}
"""By cause: its symptoms, which are causes of their own."""

FILLED_BY: dict[str, tuple[str, ...]] = {
    # Users that wait for a table do not wait for the log: what holds the table (DDL that copies)
    # fills it.
    "table-locks": ("redo-log-small", "io-capacity-low"),
}
"""By a wait of most users: limits that somebody else has reached in the meantime."""

LEAST = 0.1
"""[P] Share from which a cause comes before its symptoms."""

HELD = 0.5
"""[P] Share of the users' time, or use of a limit, from which cores are not what is missing, even
if others use them.
"""

SURE = 0.6
"""[P] Confidence that such a finding needs."""

DOUBTFUL = 0.5
"""Confidence in a generator that waits for cores used by others, whose findings come before it."""

_GENERATOR = "client-bound"
_NEIGHBOURS = "noisy-neighbour"
_BY_WEIGHT = ("cold-buffer-pool", "disk-neighbour", "steal", _NEIGHBOURS)
_OF_FULL_CORES = ("cpu-bound", "one-hot-core")


def causes_first(findings: Sequence[Finding]) -> list[Finding]:
    """Reorder the findings, each cause before the first finding that it explains.

    Neighbours and other guests take cores or the disk, a cold pool causes reads: they disturb the
    figures. Still they come after waits that hold the users no matter who uses the cores, and after
    what explains more.
    """
    ordered = list(findings)
    for cause in [one for one in ordered if (one.share or 0.0) >= LEAST and one.group != "note"]:
        _move_before(ordered, cause, EXPLAINS.get(cause.cause, ()))
        if _holds(cause):
            _move_before(ordered, cause, FILLED_BY.get(cause.cause, ()))
    for name in _BY_WEIGHT:
        ordered = _behind_the_stronger(ordered, name)
    return ordered


def _move_before(ordered: list[Finding], cause: Finding, symptoms: Sequence[str]) -> None:
    first = next((at for at, one in enumerate(ordered) if one.cause in symptoms), None)
    if first is not None and first < ordered.index(cause):
        ordered.remove(cause)
        ordered.insert(first, cause)


def _behind_the_stronger(ordered: list[Finding], name: str) -> list[Finding]:
    near = next((one for one in ordered if one.cause == name), None)
    if near is None or near.group == "note":
        return ordered
    if name == _NEIGHBOURS:
        ordered = _before_the_generator(ordered, near)
    begin = ordered.index(near)
    own = EXPLAINS.get(name, ())
    stronger = [
        one for one in ordered[begin + 1 :] if one.cause not in own and _is_stronger(one, near)
    ]
    weaker = [one for one in ordered[begin + 1 :] if one not in stronger]
    return [*ordered[:begin], *stronger, near, *weaker]


def _before_the_generator(ordered: list[Finding], near: Finding) -> list[Finding]:
    generator = next((one for one in ordered if one.cause == _GENERATOR), None)
    if generator is None or generator.confidence > DOUBTFUL:
        return ordered
    others = [one for one in ordered if one is not near]
    at = others.index(generator)
    return [*others[:at], near, *others[at:]]


def _is_stronger(finding: Finding, near: Finding) -> bool:
    if finding.group == "note" or finding.cause in _OF_FULL_CORES:
        return False
    if finding.cause == _GENERATOR and finding.confidence <= DOUBTFUL:
        return False
    return finding.weight > near.weight or _holds(finding)


def _holds(finding: Finding) -> bool:
    """Whether the users' time goes there, no matter who uses the cores."""
    is_held = (finding.share or 0.0) >= HELD and finding.confidence >= SURE
    about_time = finding.group in ("validity", "ceiling", "wait")
    return is_held and about_time and finding.acts_on != "server CPU"
