"""Times as PostgreSQL writes them."""

from __future__ import annotations

import re

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_of(text: str | None) -> float | None:
    """The seconds of a value such as `5min`; `None`: it is no time.

    Source: https://www.postgresql.org/docs/current/config-setting.html#CONFIG-SETTING-NAMES-VALUES
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)", text or "")
    return float(found[1]) * _UNITS[found[2]] if found else None
