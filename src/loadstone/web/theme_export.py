"""What the page shares with the report, so that both have the same colours and words.

The page has its English texts in its own scripts and switches languages while it is open, so it
gets their translations from the catalogues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from loadstone.diagnosis.titles import TITLES
from loadstone.model.account import PLACE_NAMES
from loadstone.model.language import ENGLISH, Language, translating
from loadstone.model.message import Message, say_in
from loadstone.report.account import PERCENT_OF_TIME, REST, UNNAMED
from loadstone.report.figures.account import ABOUT
from loadstone.report.figures.live import (
    HEAT_ABOUT,
    HEAT_AXES,
    HEAT_TEXTS,
    HEAT_TITLE,
    TIMELINES,
    ladder,
)
from loadstone.report.figures.palette import themes
from loadstone.report.figures.trend import (
    ABOUT_RATES,
    ABOUT_RESPONSE,
    AT_LEVEL,
    AT_PEAK,
    RATES,
    RESPONSE,
)
from loadstone.report.names import (
    DIFFERENCE_GROUPS,
    GROUPS,
    PROOF_VERDICTS,
    RUN_STATES,
    WEIGHTS,
)

NAMES: Mapping[str, Mapping[Any, Message]] = {
    "causes": TITLES,
    "difference_groups": DIFFERENCE_GROUPS,
    "groups": GROUPS,
    "proof_verdicts": PROOF_VERDICTS,
    "states": RUN_STATES,
    "weights": WEIGHTS,
}
"""Display names of the values in the data that have one."""

_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def shared() -> dict[str, Any]:
    """The figures' colours, and by language the translated texts, names, and joins."""
    languages = (ENGLISH, *translating())
    return {
        "themes": themes(),
        "texts": {"en": {}, **{one.code: _texts(one) for one in translating()}},
        "names": {one.code: _names(one) for one in languages},
        "joins": {one.code: _joins(one) for one in languages},
    }


def _joins(language: Language) -> dict[str, str]:
    """How to write a list, a label, a text in brackets, and a percentage."""
    pair = {"first": "{first}", "second": "{second}"}
    return {
        "list": language(say_in("joined", "{first}, {second}", **pair)),
        "pair": language(say_in("joined", "{first}: {second}", **pair)),
        "bracketed": language(say_in("joined", "{first} ({second})", **pair)),
        "percent": language(say_in("unit", "{number} %", number="{number}")),
    }


def _names(language: Language) -> dict[str, dict[str, str]]:
    return {
        table: {name: language(said) for name, said in called.items()}
        for table, called in NAMES.items()
    }


def _texts(language: Language) -> dict[str, str]:
    """Translations of the texts in the page's own files and figures, if there are any."""
    found = {text: language.template(text) for text in (*_written(), *_of_figures())}
    return {text: other for text, other in found.items() if other is not None}


def _written() -> Iterable[str]:
    for file in files("loadstone.web").joinpath("static").iterdir():
        if file.name.endswith((".js", ".html")):
            yield from _QUOTED.findall(file.read_text("utf-8"))


def _of_figures() -> Iterable[str]:
    for figure in TIMELINES.values():
        yield from (figure.title, figure.about, *figure.axes, *(line.name for line in figure.lines))
    for by_rate in (False, True):
        option = ladder([], by_rate=by_rate)
        yield option["xAxis"]["name"]
        yield option["yAxis"][0]["name"]
    yield from (HEAT_TITLE, HEAT_ABOUT, *HEAT_AXES, *HEAT_TEXTS)
    yield from (RATES, RESPONSE, AT_PEAK, AT_LEVEL, ABOUT_RATES, ABOUT_RESPONSE)
    yield from (*PLACE_NAMES.values(), REST, UNNAMED, PERCENT_OF_TIME, ABOUT)
