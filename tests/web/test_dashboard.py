"""The dashboard for Grafana: by the types of Grafana's own SDK, and only of metrics that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from house.repository import ROOT
from loadstone.web.series import FAMILIES

DASHBOARD: dict[str, Any] = json.loads((ROOT / "docs/grafana/loadstone.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def queries() -> list[str]:
    """The queries of all panels."""
    return [target["expr"] for panel in PANELS for target in panel["targets"]]


def strange(given: object, known: object, path: str = "") -> Iterator[str]:
    """The places that the SDK's types did not keep: it reads only what a dashboard has."""
    if isinstance(given, dict):
        for key, value in given.items():
            if not isinstance(known, dict) or key not in known:
                yield f"{path}.{key}"
            else:
                yield from strange(value, known[key], f"{path}.{key}")
    elif isinstance(given, list):
        same = isinstance(known, list) and len(known) == len(given)
        for at, value in enumerate(given if same else ()):
            yield from strange(value, known[at], f"{path}[{at}]")  # type: ignore[index]
        if not same:
            yield path
    elif given != known:
        yield path


def read_by_sdk(dashboard: dict[str, Any]) -> Any:
    register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))


def test_it_is_a_dashboard_by_grafanas_own_types() -> None:
    assert [*strange(DASHBOARD, read_by_sdk(DASHBOARD))] == []


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('"gridPos"', '"gridPosition"'),
        ('"stacking"', '"stacked"'),
        ('"legendFormat"', '"legendTemplate"'),
        ('"schemaVersion"', '"schema"'),
        ('"showHeader"', '"header"'),
    ],
)
def test_a_key_that_grafana_does_not_know_would_be_seen(was: str, now: str) -> None:
    wrong = json.loads(json.dumps(DASHBOARD).replace(was, now))
    assert any(now.strip('"') in place for place in strange(wrong, read_by_sdk(wrong)))


def test_it_asks_only_for_metrics_that_exist() -> None:
    exposed = {one.name for one in FAMILIES}
    exposed |= {f"{one.name}_total" for one in FAMILIES if one.kind == "counter"}
    exposed |= {"loadstone_run_info", "loadstone_response_seconds_count"}
    exposed |= {"loadstone_response_seconds_sum"}
    asked = [*queries(), *(str(one["query"]) for one in DASHBOARD["templating"]["list"])]
    names = {name for text in asked for name in re.findall(r"\bloadstone_\w+", text)}
    assert names
    # The label of a state set has the name of its family.
    assert names <= exposed


def test_it_has_ladder_account_and_findings() -> None:
    asked = " ".join(queries())
    for name in ("loadstone_level_tps", "loadstone_account_share", "loadstone_finding_share"):
        assert name in asked


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    every = DASHBOARD["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    taken: set[tuple[int, int]] = set()
    for panel in every:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
