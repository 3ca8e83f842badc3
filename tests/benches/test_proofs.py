"""The bench of proofs, except for its servers."""

from benches.place import Asked
from benches.proofs import Reading, cases, experiment_text, proofs_table
from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment

ASKED = Asked(pairs=1, seconds=(2.0, 8.0), quick=False)
URL = "mysql://bench@127.0.0.1:3306/sbtest?tls=disabled"


def test_what_is_not_suspected_is_tried_as_the_diagnosis_would() -> None:
    *others, case = cases()
    machine = Machine(is_root=False, cores=2, memory_bytes=2**33)
    made = parse_experiment(experiment_text(case, URL, ASKED), "x.toml", machine).experiment
    assert [variant.dynamic for variant in made.variants] == [{}, {"sort_buffer_size": "2M"}]
    assert made.workloads[0].options == case.options
    for other in others:
        parse_experiment(experiment_text(other, URL, ASKED), "x.toml", machine)
    assert (made.ladder, made.repeats, made.target is not None) == ((16,), 12, True)


def test_a_row_says_what_was_found_and_whether_all_was_put_back() -> None:
    proven = Reading(
        case="encryption",
        server="mariadb",
        took_effect="8 handshakes",
        first="tls",
        confidence=0.6,
        verdict="proven",
        cost=0.234,
        sentence="TLS costs 23 %.",
        seconds=90.0,
        as_before=True,
    )
    silent = Reading(**{**proven.__dict__, "confidence": None, "cost": None, "as_before": False})
    rows = proofs_table([proven, silent]).splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells == [
        ["encryption", "mariadb", "tls", "60 %", "proven", "23 %", "yes"],
        ["encryption", "mariadb", "tls", "no", "proven", "", "NO"],
    ]
