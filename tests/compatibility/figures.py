"""The figures of a run that users quote, from its result.json: no later version may change them.

Plain JSON in and out, so that it also reads what another version wrote:

    loadstone runs show RUN --json | python3 tests/compatibility/figures.py
"""

from __future__ import annotations

import json
import sys
from typing import Any

STEP = ("step", "variant", "workload", "concurrency", "rate", "repeat", "state", "seconds")
COUNTED = ("events", "failed", "restarts", "errors", "tps", "qps", "reads", "writes", "other")
QUANTILES = ("p50", "p95", "p99", "max")


def figures_of(result: dict[str, Any]) -> dict[str, Any]:
    """The quoted figures of a run, in the order of its steps."""
    run = result["run"]
    return {
        "run": {key: run[key] for key in ("id", "state", "steps_planned", "steps_finished")},
        "search": run["search"],
        "aborted": run["aborted"] and run["aborted"]["condition"],
        "steps": [_step(step) for step in result["steps"]],
        "proofs": [[proof["cause"], proof["verdict"]] for proof in result["proofs"]],
    }


def _step(step: dict[str, Any]) -> dict[str, Any]:
    server = step["server"]
    return {key: step[key] for key in STEP + COUNTED} | {
        "response": {key: step["latency"]["response"][key] for key in QUANTILES},
        "kinds": {name: latency["p99"] for name, latency in step["kinds"].items()},
        "tpmc": step["tpmc"],
        "members": [[each["name"], each["tps"]] for each in step["members"]],
        "phases": [[each["name"], each["tps"]] for each in step["phases"]],
        "outages": step["timeline"] and step["timeline"]["outages"],
        "ledger": [[each["acknowledged"], each["lost"]] for each in step["ledger"]],
        "server_commits_per_s": server and server["commits_per_s"],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(figures_of(json.load(sys.stdin)), indent=1) + "\n")
