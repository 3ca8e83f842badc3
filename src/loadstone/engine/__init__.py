"""The typed interface of the extension module `loadstone._engine`.

The documents and records that it exchanges with the engine are described in docs/engine.md.
"""

from __future__ import annotations

from loadstone.engine.catalogue import (
    Sample,
    WorkloadInfo,
    check_plan,
    pgbench_commands,
    samples,
    workloads,
)
from loadstone.engine.hlog import (
    LogError,
    SummedLines,
    hlog_counts,
    hlog_header,
    hlog_rows,
    merge_hlog,
    sum_hlog,
)
from loadstone.engine.jobs import (
    HostTestJob,
    Job,
    LoadJob,
    PartJob,
    PartLoad,
    Record,
    Sending,
    Steerable,
    StepJob,
    connections_to,
    host_test,
    load,
    load_part,
    start,
    start_part,
)
from loadstone.engine.journal import other_lines
from loadstone.engine.logins import ed25519_answer, parsec_answer
from loadstone.engine.native import EngineError, PlanRefused, build_info
from loadstone.engine.null import NullServer, NullServerError, null_server
from loadstone.engine.scripts import (
    Said,
    Script,
    ScriptContents,
    ScriptCounts,
    ScriptOption,
    ScriptRefused,
    script,
)

__all__ = [
    "EngineError",
    "HostTestJob",
    "Job",
    "LoadJob",
    "LogError",
    "NullServer",
    "NullServerError",
    "PartJob",
    "PartLoad",
    "PlanRefused",
    "Record",
    "Said",
    "Sample",
    "Script",
    "ScriptContents",
    "ScriptCounts",
    "ScriptOption",
    "ScriptRefused",
    "Sending",
    "Steerable",
    "StepJob",
    "SummedLines",
    "WorkloadInfo",
    "build_info",
    "check_plan",
    "connections_to",
    "ed25519_answer",
    "hlog_counts",
    "hlog_header",
    "hlog_rows",
    "host_test",
    "load",
    "load_part",
    "merge_hlog",
    "null_server",
    "other_lines",
    "parsec_answer",
    "pgbench_commands",
    "samples",
    "script",
    "start",
    "start_part",
    "sum_hlog",
    "workloads",
]
