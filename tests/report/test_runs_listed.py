"""`runs list` at every width: one table, in which nothing is said twice."""

from __future__ import annotations

import pytest

from analyse.made import a_step
from analyse.runs import a_run
from loadstone.model.message import plain
from loadstone.model.result import Result
from loadstone.report.runs import Known, runs_table
from loadstone.report.text import as_plain

TIME = "20261124T084236Z"


def of(workload: str) -> Result:
    found = a_run("a", [a_step(users=64, tps=12345.0)]).result
    run = found.run.model_copy(update={"plan": {"workload": {"name": workload}}})
    return found.model_copy(update={"run": run})


def listed(folder: str, workload: str, width: int = 80) -> list[str]:
    known: Known = (folder, of(workload), None)
    return as_plain(runs_table([known]), width).splitlines()


def test_a_workload_that_the_run_is_named_after_is_not_repeated() -> None:
    of_a_mix = f"oltp_read_only-hot_row-{TIME}", "oltp_read_only+hot_row"
    for folder, workload in ((f"oltp_update_non_index-{TIME}", "oltp_update_non_index"), of_a_mix):
        head, _, row = listed(folder, workload)
        assert head.split() == ["run", "state", "steps", "best"]
        assert row.split()[:2] == [folder, "finished"]


def test_a_workload_that_the_name_lacks_is_below_it() -> None:
    for name in ("nightly", "hot_row-2"):
        head, below, _, row, workload = listed(f"{name}-{TIME}", "hot_row", 70)
        assert head.split() == ["run"]
        assert below.split() == ["workload", "state", "steps", "best"]
        assert row.split()[0] == f"{name}-{TIME}"
        assert workload == "  hot_row"


@pytest.mark.parametrize("name", ["nightly", "a" * 30, "a" * 40])
@pytest.mark.parametrize("width", [80, 90, 100, 120, 200])
def test_it_is_one_table_with_whole_names(name: str, width: int) -> None:
    folder = f"{name}-{TIME}"
    lines = listed(folder, "oltp_update_non_index", width)
    assert sum(line.startswith("─") for line in lines) == 1
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    assert {folder, "oltp_update_non_index", "12,345", "tps", "64", "users"} <= {*words}
    assert "state" in words or "finished," in words


def test_a_wide_terminal_has_all_columns() -> None:
    head, _, row = listed(f"tpcc-{TIME}", "tpcc", 120)
    assert head.split() == ["run", "state", "workload", "steps", "best"]
    assert row.split()[2] == "tpcc"


def test_what_is_wrong_with_a_run_does_not_repeat_its_folder() -> None:
    folder = f"tpcc-{TIME}"
    wrong = plain(f"/srv/runs/{folder}/journal.jsonl:1 is not an entry of a journal")
    said = as_plain(runs_table([(folder, None, wrong)]), 80)
    assert said.count(folder) == 1
    assert "journal.jsonl:1 is not" in said
