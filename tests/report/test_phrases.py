"""What the program says in English has Chinese: every wording that its code can make."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from string import Formatter

import pytest
from loadstone.report.words import CHINESE, ENGLISH, localize, translated
from loadstone.report.words.phrases import Each, Phrase, Phrasebook
from loadstone.report.words.zh_phrases import PHRASES
from loadstone.report.words.zh_proofs import COSTS, SUBJECTS

from diagnose.examples import EXAMPLES, Example
from loadstone.analyse.setting_effects import MEANINGS
from loadstone.diagnosis import no_trial, rules
from loadstone.diagnosis.rules import mysql
from loadstone.diagnosis.rules.mysql.table_locks import LOCKED
from loadstone.model.observed import SHARED_HOST
from loadstone.report.sections.context import localized
from report.spoken import Sink, Source, source

RULES = [
    f"{package.__name__}.{module.name}"
    for package in (rules, mysql)
    for module in pkgutil.iter_modules(package.__path__)
    if not module.ispkg
] + ["loadstone.diagnosis.unexplained"]

CEILING = {
    "ceiling.how": ["1,000 Mbit/s by 2 KB an event", "5,000 writes/s by 2 writes an event"],
    "resource": ["disk writes", "disk reads", "disk write bandwidth"],
}
KNOWN = {
    "table_locks": {"what": [what for _, what in LOCKED]},
    "disk_cap": CEILING | {"unit": ["writes/s", "bytes read/s"]},
    "line_full": CEILING
    | {
        "direction.replace('network', 'line')": ["line from the server", "line to the server"],
        "', '.join(faster)": [
            "eth1 (10,000 Mbit/s)",
            "eth1 (10,000 Mbit/s, which would carry 300 events a second of 4 KiB), "
            "eth2 (25,000 Mbit/s)",
        ],
    },
    "packet_loss": {"whose": ["the server's host", "the generator's host"]},
    "cpu_bound": {"', '.join(known)": ["the server 45 %, the generator 30 %, others 5 %"]},
    "unexplained": {
        "most.resource": ["server CPU"],
        "largest[1]": [
            "stalls: the slowest 1 % of the events take at least 25 % of the users' time "
            "(p99 411 ms, median 8.8 ms)",
            'the state "opening tables", 41 % of the users\' time',
            "wait/io/table/sql/handler, 12 s in all",
            "inside statements that wait for something without a name, 41 % of the users' time",
            "outside the server, 41 % of the users' time",
        ],
    },
}
"""By module, what is made elsewhere than where it is written down."""

CEILINGS = {"name": ["syncs", "flushes"], "_users()": ["64 users"]}

PROVING = {
    "trial.change": ["tls=disabled in place of TLSv1.3", "a=1 in place of 2, b=3"],
    "trial.costs": list(COSTS),
    "trial.subject[:1].upper()": ["T"],
    "trial.subject[1:]": ["LS"],
    "why": ["2 steal, 1 unsteady"],
    "_units()": ["12 rounds", "1 pair of blocks"],
}

PLAIN = re.compile(r"(?<![\w.=/'-])[a-z]{3,}(?![\w.=/'*-])", re.ASCII)
NAMES = frozenset(
    """
    age and auto binlog calibrate cgroup checkpoint commits compare cpuset disabled docker
    ethtool fio gcore general glibc handler iotop irqbalance jemalloc link loadstone log mmap
    nic opening perf pidstat probe pstack purge run socket stage steal synch systemd tables
    taskset top undo unix
    """.split()
)
"""Names of programs, of things of the servers', and of what they print; `and` is SQL."""


def sentences() -> Iterator[str]:
    sinks = (Sink("Finding", keyword="sentence"), Sink("Finding", keyword="remedy"))
    for name in RULES:
        yield from source(name, KNOWN.get(name.rpartition(".")[2])).spoken(sinks)


def ceilings() -> Iterator[str]:
    sinks = (Sink("_not", 1), Sink("_reached", 3))
    yield from source("loadstone.analyse.ceilings", CEILINGS).spoken(sinks)
    law = source("loadstone.analyse.usl")
    yield from law.spoken([Sink("Refused", 0)])
    yield from law.returned("_misfit")
    yield from law.returned("_no_peak")


def proofs() -> Iterator[str]:
    yield from source("loadstone.diagnosis.trial_verdict", PROVING).returned("_sentence")


def subjects() -> Iterator[str]:
    sinks = (
        Sink("dynamic", 2), Sink("at_start", 2), Sink("client", 3), Sink("by_socket", 1),
        Sink("Trial", keyword="subject"), Sink("dynamic", keyword="costs"),
    )  # fmt: skip
    for name in [*RULES, "loadstone.diagnosis.trials"]:
        yield from (said for said in source(name).spoken(sinks) if not said.isdigit())


def not_tried() -> Iterator[str]:
    """Why a trial is not carried out, and why a finding has none."""
    proving = source("loadstone.experiments.trials")
    yield from (said for said in proving.spoken([Sink("Refused", 0)]) if not said.isdigit())
    yield from proving.returned("changed_since")
    yield from (no_trial.NOTHING_TO_CHANGE, *no_trial.WHY.values())


def needs() -> Iterator[str]:
    known = {"resource": ["disk writes"]}
    for name in [*RULES, "loadstone.diagnosis.context", "loadstone.diagnosis.cpu"]:
        yield from source(name, known).spoken([Sink("reads.append", 0)])


def advice() -> Iterator[str]:
    """Of the review; what a setting means comes from the table of meanings."""
    meant = {
        f"{which}('{name}')": [meaning.performance if which == "_costs" else lost]
        for name, meaning in MEANINGS.items()
        for lost in (meaning.durability or meaning.performance,)
        for which in ("_costs", "_lost")
    }
    # Three buffers are reviewed alike, and the redo log has two names that mean the same.
    meant |= {"_costs(name)": [MEANINGS["sort_buffer_size"].performance]}
    yield from source("loadstone.analyse.settings", meant).spoken([Sink("Advice", 3)])
    yield MEANINGS["innodb_redo_log_capacity"].performance


def in_chinese(said: str) -> str:
    other = translated(said, CHINESE)
    assert other is not None, f"no phrase in loadstone/report/words/zh_*.py fits: {said!r}"
    return other


def check(said: str) -> None:
    other = in_chinese(said)
    figures = re.findall(r"7\d{3}", said)
    assert sorted(re.findall(r"7\d{3}", other)) == sorted(figures), (said, other)
    left = set(PLAIN.findall(other)) - NAMES
    assert not left, f"English is left in {other!r}: {left}"


@pytest.mark.parametrize(
    ("spoken", "fewest"),
    [
        (sentences, 100),
        (ceilings, 30),
        (proofs, 20),
        (subjects, 25),
        (not_tried, 20),
        (needs, 15),
        (advice, 15),
    ],
)
def test_every_wording_has_chinese(spoken: Callable[[], Iterator[str]], fewest: int) -> None:
    found = list(spoken())
    assert len(found) >= fewest
    for said in found:
        check(said)


def test_each_figure_of_evidence_has_a_name_and_a_unit() -> None:
    for name in RULES:
        for counter in source(name).spoken([Sink("seen", 0)]):
            if not re.fullmatch(r"[\w.]*(writing to net)?", counter):
                check(counter)
        for unit in source(name).spoken([Sink("seen", 2)]):
            if unit and not unit.isdigit():
                check(unit)


@pytest.mark.parametrize("example", EXAMPLES, ids=[one.cause for one in EXAMPLES])
def test_what_a_rule_finds_is_told_with_its_figures(example: Example) -> None:
    found = example.rule.judge(example.fires)
    assert found is not None
    for said in (found.sentence, found.remedy):
        other = in_chinese(said)
        assert sorted(_figures(other)) == sorted(_figures(said)), (said, other)


def _figures(said: str) -> list[str]:
    return re.findall(r"\d[\d,.]*\d|\d", said)


def holes(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)


def all_phrases(phrases: Sequence[Phrase]) -> Iterator[Phrase]:
    for one in phrases:
        yield one
        for filling in one.fillings.values():
            book = filling.parts if isinstance(filling, Each) else filling
            assert isinstance(book, Phrasebook)
            yield from all_phrases(book.phrases)


def test_a_phrase_has_the_same_figures_in_both_languages() -> None:
    for one in all_phrases(PHRASES):
        assert holes(one.other) == holes(one.english), one.english
        assert set(one.fillings) <= set(holes(one.english)), one.english


def test_subjects_begin_a_sentence_too() -> None:
    assert {"TLS", "TCP"} < SUBJECTS.keys()
    said = "Waiting for a replica costs 31 % of the rate"
    how = "with a=1 in place of 2 64 users do 5 events a second rather than 3 (+45 %, 1 round)"
    whole = f"{said}: {how}."
    assert in_chinese(whole).startswith(
        "等待从库使吞吐损失 31 %：改为 a=1（原为 2） 后，64 并发每秒"
    )


def test_what_nobody_translated_stays_as_it_was_said() -> None:
    assert translated("Access denied for user 'a'@'b'", CHINESE) is None
    assert localize("Access denied for user 'a'@'b'", CHINESE) == "Access denied for user 'a'@'b'"
    assert localize("commits of others", ENGLISH) == "commits of others"


def test_what_a_server_said_stays_text_and_is_no_template() -> None:
    said = "5 % of the attempts fail, mostly with error 1064: <script>{part}</script>"
    shown = localized(said, CHINESE, "p")
    assert shown.startswith("<p>5 % 的尝试失败")
    assert shown.endswith("错误 1064：&lt;script&gt;{part}&lt;/script&gt;</p>")


def test_a_part_that_is_not_known_leaves_the_whole_as_it_is() -> None:
    known = "Group commit: from 1 user to 64 users"
    assert translated(known, CHINESE) is None
    book = Phrasebook([Phrase("a {b}", "甲{b}", {"b": Phrasebook([Phrase("c", "丙", {})])})])
    assert (book.localize("a c"), book.localize("a d")) == ("甲丙", None)


def test_the_shared_host_is_a_fact_that_is_asked_for_by_name() -> None:
    assert in_chinese(f"host fact {SHARED_HOST}") == f"主机信息 {SHARED_HOST}"


def test_the_walk_follows_branches_names_and_small_functions() -> None:
    found = Source(mysql.group_commit).spoken([Sink("Finding", keyword="sentence")])
    wordings = list(found)
    assert len(wordings) == 2 * 2 * 2 * 2 * 3
    assert sum("KB of log instead of" in said for said in wordings) == 24
