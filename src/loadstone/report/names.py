"""Names for people of the identifiers in the data."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.analyse.differences import Group as DifferenceGroup
from loadstone.analyse.gates import State as GateState
from loadstone.analyse.meaning import Weight
from loadstone.analyse.verdict import Word
from loadstone.diagnosis.titles import TITLES
from loadstone.model.ceilings import RESOURCES
from loadstone.model.finding import Group, ProofVerdict
from loadstone.model.message import Message, counted, plain, say, say_in
from loadstone.model.result import StepState
from loadstone.report.checklist import Item, State

RUN_STATES: Mapping[str, Message] = {
    "finished": say("finished"),
    "stopped": say("stopped"),
    "failed": say("failed"),
    "interrupted": say_in("state", "interrupted"),
    "running": say_in("state", "running"),
    "damaged": say("damaged"),
}
"""The states of a run; `damaged`: its folder cannot be read."""

NOT_FINISHED: Mapping[str, Message] = {
    "stopped": say("The run was stopped before its end."),
    "failed": say("The run failed before its end."),
    "interrupted": say("The run was interrupted (crash, power cut); this is what there is of it."),
    "running": say("The run is still running."),
}

PROOF_VERDICTS: Mapping[ProofVerdict, Message] = {
    "proven": say("proven"),
    "refuted": say("refuted"),
    "not enough evidence": say("not enough evidence"),
}

GROUPS: Mapping[Group, Message] = {
    "validity": say("whether the figures may be quoted"),
    "ceiling": say("used up"),
    "wait": say("waited for"),
    "setting": say("a setting"),
    "note": say("worth knowing, no fault"),
}

GROUP_NAMES: Mapping[Group, Message] = {
    "validity": say("validity"),
    "ceiling": say("ceiling"),
    "wait": say("wait"),
    "setting": say("setting"),
    "note": say("note"),
}

GENERATORS_HEADS: Mapping[str, Message] = {
    "generator": say_in("generators head", "generator"),
    "users": say("users"),
    "events": say_in("generators head", "events"),
    "cpu": say("CPU"),
    "late": say("late µs, p99"),
    "host_cpu": say("host CPU"),
    "bytes_in": say("MB/s in"),
    "bytes_out": say("MB/s out"),
    "line": say("of its line"),
    "clock": say("clock off by µs"),
    "lost": say("seconds lost"),
}

STATES: Mapping[StepState, Message] = {
    "finished": say("finished"),
    "stopped": say("stopped"),
    "failed": say("failed"),
    "interrupted": say_in("state", "interrupted"),
}

CLASSES: Mapping[str, Message] = {
    "read": say("read"),
    "write": say("write"),
    "other": say("other"),
    "flight": say("sent at once"),
}

ERROR_MEANINGS: Mapping[str, Message] = {
    "110": say("timed out"),
    "1020": say("record has changed"),
    "1040": say("too many connections"),
    "1045": say("login refused"),
    "1062": say("duplicate key"),
    "1146": say("no such table"),
    "1205": say("lock wait timeout"),
    "1213": say("deadlock"),
    "1243": say("prepared statement unknown"),
    "1412": say("table has changed"),
    "1461": say("too many prepared statements"),
    "1615": say("statement needs to be prepared again"),
    "2001": say("no file descriptor left"),
    "2002": say("cannot connect"),
    "2003": say("cannot connect"),
    "2004": say("no file descriptor left"),
    "2005": say("unknown host"),
    "2006": say("connection lost"),
    "2013": say("connection lost"),
    "2026": say_in("error meaning", "TLS"),
    "3024": say("statement took too long"),
}

VERDICT_WORDS: Mapping[Word, Message] = {
    "faster": say("faster"),
    "slower": say("slower"),
    "no difference": say("no difference"),
    "not enough evidence": say("not enough evidence"),
}

WEIGHTS: Mapping[Weight, Message] = {
    "unfair": say("makes figures unfair"),
    "slow": say("affects the speed"),
    "note": say("note"),
}

ADVICE_WEIGHTS: Mapping[Weight, Message] = {
    "unfair": say_in("weight", "unfair"),
    "slow": say_in("weight", "slow"),
    "note": say_in("weight", "note"),
}
"""Words before a line of a terminal."""

CHECKED: Mapping[State, Message] = {
    "met": say("met"),
    "missed": say("missed"),
    "not evaluated": say("not evaluated"),
}

GATE_STATES: Mapping[GateState, Message] = {
    "held": say_in("gate", "held"),
    "broken": say_in("gate", "failed"),
    "not decided": say_in("gate", "not decided"),
    "no evidence": say_in("gate", "no evidence"),
}

METHODS: Mapping[str, Message] = {
    "t": say_in("method", "t"),
    "paired t, order taken out on logarithms": say("paired t, order taken out on logarithms"),
    "paired t on logarithms": say("paired t on logarithms"),
    "Welch's t on logarithms": say("Welch's t on logarithms"),
    "confidence sequence, t mixture": say("confidence sequence, t mixture"),
}
"""How an interval was made."""

CHECKLIST_ITEMS: Mapping[Item, Message] = {
    "reproducible": say("Plan, seed, version and all of the server's variables are kept"),
    "durable": say(
        "Commits are durable: logs are flushed at each commit, pages are safe from torn writes"
    ),
    "client-free": say("The load generator was not the limit"),
    "ceiling-known": say("What the generator can do at most on this machine is known"),
    "apart": say("Generator and server have hosts of their own"),
    "warm": say("Each step had settled before it counted"),
    "long": say("Each window is 30 s long or longer"),
    "repeated": say("Each level was measured three times or more"),
    "interleaved": say("Variants took turns, so that a drift hits all alike"),
    "correct": say("At most 1 % errors, and each step came to its end"),
    "connected": say("No connection was lost or refused"),
    "balanced": say("The counters add up at every second"),
    "observed": say("Server and host were observed in each step"),
    "undisturbed": say("The hypervisor took less than 2 % of the cores"),
    "open-loop": say(
        "Latency is what users wait whatever the server does (open loop); in a closed loop a "
        "slow server gets less load"
    ),
}

DIFFERENCE_GROUPS: Mapping[DifferenceGroup, Message] = {
    "work": say("workload"),
    "setting": say("setting"),
    "server": say("server"),
    "host": say("host"),
    "generator": say("generator"),
}


NOT_PRINTED = say("in the HTML page, not in print")

_COUNTERS: Mapping[str, Message] = {
    "generator.cpu_share": say("event loops at work"),
    "generator.run_delay_share": say("event loops waiting for a core"),
    "generator.ceiling_share": say("generator's calibrated maximum used"),
    "encrypted_users": say("encrypted"),
    "row_lock_time_s": say("waiting for row locks"),
    "row_lock_waits": say("waits for row locks"),
    "oldest_transaction_s": say("oldest transaction"),
    "longest_statement_s": say("longest statement"),
    "log_syncs": say("syncs of the redo log or WAL"),
    "transactions_committed": say("transactions committed"),
    "transactions_rolled_back": say("transactions rolled back"),
    "transactions_writing": say("transactions that change rows"),
    "latency.service.mean": say("mean service time"),
    "disk_busy": say("disk busy"),
    "disk_queue": say("disk queue"),
    "cpu.steal_s": say("steal"),
}
"""Counters of ours that no manual has; those of a server keep the names that its manual gives."""


def counter_name(counter: Message) -> Message:
    """What evidence is a figure of, in words if only our files have its name."""
    return _COUNTERS.get(str(counter), counter)


def resource_name(name: str) -> Message:
    """The name of a resource; one from a later version is shown by its identifier."""
    return {str(key): said for key, said in RESOURCES.items()}.get(name, plain(name))


def cause_name(name: str) -> Message:
    """The name of a finding's cause; one from a later version is shown by its identifier."""
    return TITLES.get(name, plain(name))


def yes_no(*, answer: bool) -> Message:
    """`yes` or `no`."""
    return say("yes") if answer else say("no")


def step_count(number: int) -> Message:
    """`12 steps`."""
    return counted("1 step", "{number} steps", number)


def cell_count(number: int) -> Message:
    """`12 cells`."""
    return counted("1 cell", "{number} cells", number)


def variant_count(number: int) -> Message:
    """`12 variants`."""
    return counted("1 variant", "{number} variants", number)


def event_count(number: int) -> Message:
    """`12 events`."""
    return counted("1 event", "{number} events", number)


def core_count(number: int) -> Message:
    """`12 cores`."""
    return counted("1 core", "{number} cores", number)


def cause_count(number: int) -> Message:
    """`12 causes`."""
    return counted("1 cause", "{number} causes", number)


def method_name(name: str) -> Message:
    """How an interval was computed; a later version's method is shown by its identifier."""
    return METHODS.get(name, plain(name))


def repeat_count(number: int) -> Message:
    """`12 repeats`."""
    return counted("1 repeat", "{number} repeats", number)


def unit_count(number: int) -> Message:
    """`12 units` of an experiment: rounds, blocks or steps."""
    return counted("1 unit", "{number} units", number)


def search_count(number: int) -> Message:
    """`12 searches`."""
    return counted("1 search", "{number} searches", number)


def comparison_count(number: int) -> Message:
    """`12 comparisons`."""
    return counted("1 comparison", "{number} comparisons", number)


def table_count(number: int) -> Message:
    """`12 tables`."""
    return counted("1 table", "{number} tables", number)


def row_count(number: int) -> Message:
    """`12 rows`."""
    return counted("1 row", "{number} rows", number)


def file_count(number: int) -> Message:
    """`12 files`."""
    return counted("1 file", "{number} files", number)
