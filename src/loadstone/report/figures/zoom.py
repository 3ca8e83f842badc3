"""Zooming with wheel, slider and keys; the figures of a group zoom together."""

from __future__ import annotations

from loadstone.report.figures.figure import Option


def zooms(axes: int, *, slider: bool = True) -> list[Option]:
    """Zooms for a number of time axes; connected figures know each other's zooms by name."""
    all_axes = list(range(axes))
    inside = {
        "type": "inside",
        "id": "inside",
        "xAxisIndex": all_axes,
        "filterMode": "none",
        # The wheel must still scroll the page while the pointer is over a figure.
        "zoomOnMouseWheel": "ctrl",
        "moveOnMouseWheel": False,
    }
    if not slider:
        return [inside]
    bar = {
        "type": "slider",
        "id": "slider",
        "xAxisIndex": all_axes,
        "filterMode": "none",
        "bottom": 6,
        "height": 22,
        "showDetail": False,
        "brushSelect": False,
    }
    return [inside, bar]
