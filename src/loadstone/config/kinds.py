"""The types of fields in files: a parser of `config.values`, and the form of what is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator
from pydantic.annotated_handlers import GetJsonSchemaHandler
from pydantic_core import CoreSchema

from loadstone.config import forms, values
from loadstone.config.forms import Form, form
from loadstone.config.phases import HIGHEST_RATE
from loadstone.config.values import InvalidValue, text
from loadstone.model import quantity
from loadstone.model.errors import LoadstoneError
from loadstone.model.hints import write_one_of
from loadstone.model.message import Message, say
from loadstone.model.plan import Distribution, OptionValue, Phase, Rate, Warmup
from loadstone.model.protection import FORM, Condition, condition, max_load
from loadstone.model.quantity import LONGEST_S
from loadstone.model.search import Figure, Objective
from loadstone.model.target import (
    Compression,
    Target,
    TlsMode,
    TlsVersion,
)
from loadstone.model.target_url import (
    SCHEMES,
    compression,
    tls_mode,
    tls_versions,
)

T = TypeVar("T")


URL = forms.matching(rf"(?:{forms.in_any_case(SCHEMES)})://(?![^/]*:[^@/]+@).*")
"""The form of a target's URL, without a password."""

COUNT = forms.scaled(quantity.COUNTS, most=values.MOST, whole=True)
"""The form of a number of 1 or more."""

_SECONDS = forms.scaled(quantity.SECONDS, most=LONGEST_S)
_SECONDS_OR_NONE = forms.scaled(quantity.SECONDS, above_zero=False, most=LONGEST_S)
_TIME = forms.quantity(quantity.SECONDS)
_TIME_WITH_UNIT = forms.quantity({unit: one for unit, one in quantity.SECONDS.items() if unit})
_NUMBER = forms.quantity(quantity.COUNTS)
_PERCENT = forms.matching(r"(?=.*[1-9])0*\d{1,2}(?:\.\d+)?\s*%")
_RAMP = forms.matching(rf"{_NUMBER}\.\.{_NUMBER}/{_TIME}")
_PHASE = r"\s*[^\s,]+\s+[^\s,]+\s+[^\s,]+\s*"
_FIGURES = forms.in_any_case(get_args(Figure)).replace("999", r"99\.?9")
# MySQL writes VERIFY_CA.
_TLS_MODE = forms.any_of(
    {"enum": list(get_args(TlsMode))},
    forms.matching(forms.in_any_case(get_args(TlsMode)).replace("\\-", "[-_]")),
)
_PLAIN: Form = {"type": ["string", "number", "boolean"]}
_VARIABLE: Form = {"type": "string", "pattern": "^(--)?[A-Za-z][A-Za-z0-9_.-]*$"}


class OrForm:
    """Annotates a type that may be written in a second form."""

    def __init__(self, other: Form) -> None:
        self._other = other

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> Form:
        """Either form."""
        return forms.any_of(self._other, handler(schema))


class OneOrMore:
    """Annotates a list whose only element may be written without the list."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> Form:
        """An element, or a list."""
        listed = handler(schema)
        return forms.any_of(listed["items"], listed)


def by(parse: Callable[[str], T], write: Message | None = None) -> PlainValidator:
    """A validator that uses a parser of the command line."""

    def read(value: object) -> T:
        try:
            return parse(text(value))
        except LoadstoneError as error:
            raise InvalidValue(error.message, write or error.hint or "") from None

    return PlainValidator(read)


Text = Annotated[str, PlainValidator(values.text), form(forms.TEXT)]
Seconds = Annotated[float, PlainValidator(values.seconds), form(_SECONDS)]
SecondsOrNone = Annotated[
    float,
    PlainValidator(values.seconds_or_none),
    form(_SECONDS_OR_NONE),
]
Count = Annotated[
    int,
    PlainValidator(values.count),
    form(COUNT),
]
Cores = Annotated[float, PlainValidator(values.cores), form(forms.scaled({"": 1}))]
SizeBytes = Annotated[int, PlainValidator(values.size_bytes), form(forms.scaled(quantity.BYTES))]
BitsPerS = Annotated[int, PlainValidator(values.bits_per_s), form(forms.scaled(quantity.BITS))]
Share = Annotated[
    float,
    PlainValidator(values.share),
    form(forms.any_of({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, _PERCENT)),
]
RatePerS = Annotated[
    Rate,
    PlainValidator(values.rate),
    form(
        forms.any_of(
            forms.scaled(quantity.COUNTS, most=HIGHEST_RATE),
            _RAMP,
        )
    ),
]
WarmupTime = Annotated[
    Warmup,
    PlainValidator(values.warmup),
    form(forms.any_of({"const": "auto"}, _SECONDS_OR_NONE)),
]
Phases = Annotated[
    tuple[Phase, ...],
    PlainValidator(values.phases),
    form(forms.matching(f"{_PHASE}(?:,{_PHASE})*")),
]
Limit = Annotated[
    Objective,
    PlainValidator(values.objective),
    form(forms.matching(rf"(?:{_FIGURES})\s*<=?\s*{_TIME_WITH_UNIT}")),
]
Url = Annotated[
    Target,
    PlainValidator(values.target),
    form(URL),
]
AbortIf = Annotated[Condition, by(condition), form(forms.matching(FORM))]
MaxLoad = Annotated[Condition, by(max_load), form(forms.matching(FORM))]
Tls = Annotated[
    TlsMode,
    by(tls_mode, write_one_of(get_args(TlsMode))),
    form(_TLS_MODE),
]
Host = Annotated[
    str, PlainValidator(values.host), form({"type": "string", "pattern": f"^{values.HOST}$"})
]
Folder = Annotated[Path, PlainValidator(values.folder), form({"type": "string", "pattern": "^/"})]
Spread = Annotated[
    Distribution,
    PlainValidator(
        values.distribution, json_schema_input_type=Literal[values.DISTRIBUTIONS] | Distribution
    ),
]
Compressions = Annotated[
    tuple[Compression, ...],
    by(compression, say('write "zlib", "zstd,zlib" or "off"')),
    form(forms.listed_words((*get_args(Compression), "uncompressed"))),
]
Texts = Annotated[
    list[Text],
    BeforeValidator(lambda given: given if isinstance(given, list) else [given]),
    OneOrMore(),
]
"""One text, or a list of texts."""
TlsVersions = Annotated[
    tuple[TlsVersion, ...],
    by(tls_versions, say('write "TLSv1.2" or "TLSv1.1,TLSv1.2"')),
    form(forms.listed_words(get_args(TlsVersion))),
]
Ciphers = Annotated[tuple[str, ...], PlainValidator(values.ciphers), form(forms.TEXT)]
"""Ciphers by OpenSSL's names, as its own lists have them: with colons or commas."""
Several = Annotated[
    list[T],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    AfterValidator(values.once),
]
"""A list of at least one value, without duplicates."""
Levels = Annotated[Several[Count], BeforeValidator(values.levels_or_list), OrForm(forms.TEXT)]
"""Numbers of users: a list, or a text with ranges (`loadstone.model.levels`)."""
Variables = dict[
    Annotated[str, PlainValidator(values.variable), form(_VARIABLE)],
    Annotated[str, PlainValidator(values.setting), form(_PLAIN)],
]
"""Server variables in the server's form: `true` is `ON`."""

Options = dict[
    Annotated[str, PlainValidator(lambda name: name.replace("-", "_")), form({"type": "string"})],
    Annotated[OptionValue, PlainValidator(values.plain_value), form(_PLAIN)],
]
"""Options of a workload."""
