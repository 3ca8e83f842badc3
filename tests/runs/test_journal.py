"""What a run's journal keeps of a sample."""

from __future__ import annotations

import json

from cluster.made import a_sample
from loadstone.model.pgbench import CommandFigures, LoggedEvent
from loadstone.model.records import Sample, Share
from loadstone.runs.journal import EngineEntry, to_line


def test_the_figures_of_commands_are_kept_and_the_rows_of_users_and_events_are_not() -> None:
    rows = {
        "commands": (CommandFigures(0, 2, 5, 900, 1, 0),),
        "event_log": (LoggedEvent(3, 1, 0, 9, 5, None, 1, "ok"),),
        "per_user": (Share(3, 1, 5, 5, 5),),
    }
    sample = a_sample(0, 10).model_copy(update=rows)
    line = to_line(EngineEntry(at_s=1.0, step=1, record=sample))
    again = EngineEntry.model_validate(json.loads(line)).record
    assert isinstance(again, Sample)
    assert again == sample.model_copy(update={"event_log": (), "per_user": (), "hlog": ()})
