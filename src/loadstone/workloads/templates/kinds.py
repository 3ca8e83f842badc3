"""The types of fields of templates: a parser of `values` each, and the form of what is written."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PlainValidator, ValidationInfo

from loadstone.config import forms
from loadstone.config import values as basic
from loadstone.config.forms import Form, form
from loadstone.config.kinds import COUNT
from loadstone.families import FAMILIES
from loadstone.model import quantity
from loadstone.model.distribution import Distribution
from loadstone.model.frozen import Frozen
from loadstone.model.template import (
    ChoiceValue,
    ConstantValue,
    DecimalValue,
    MomentValue,
    PatternValue,
    Scalar,
    SequenceValue,
    TextValue,
    UniqueValue,
)
from loadstone.servers.dialect import Dialect
from loadstone.workloads.templates import values
from loadstone.workloads.templates.sql import Part, parts_of


class _HotSet(Frozen):
    """The hot set as it is written."""

    kind: Literal["hot"]
    percent: Annotated[float, Field(gt=0, lt=100)] = 1
    hits: Annotated[float, Field(gt=0, lt=100)] = 90


_TRUE: Form = {"const": True}
_NAME: Form = {"type": "string", "pattern": f"^{values.NAME}$"}
_WHOLE = forms.whole(values.LEAST, values.MOST)
_LENGTH = forms.whole(0, values.LONGEST_TEXT)
_ROWS = forms.whole(0, values.MOST)
_SCALAR: Form = {"type": ["string", "number", "boolean"]}
# A date of TOML is a text for editors.
_MOMENTS = forms.pair({"type": "string"})
_DECIMALS = forms.pair({"type": ["string", "number"]})
_FAMILY: Form = {"enum": list(FAMILIES)}
_NAMES = forms.any_of(_NAME, forms.list_of(_NAME, uniqueItems=True))


# A text for all families that the file is for, or one for each.
_OF_FAMILIES = forms.any_of(
    forms.TEXT,
    {
        "type": "object",
        "properties": dict.fromkeys(FAMILIES, forms.TEXT),
        "additionalProperties": False,
        "minProperties": 1,
    },
)


def _sql(value: object, info: ValidationInfo) -> tuple[Part, ...]:
    """Parse a statement; the context of the validation is its dialect."""
    dialect: Dialect = info.context  # type: ignore[assignment]
    return parts_of(basic.text(value), dialect)


Name = Annotated[str, PlainValidator(values.name), form(_NAME)]
Names = Annotated[tuple[str, ...], PlainValidator(values.names), form(_NAMES)]
ColumnType = Annotated[str, PlainValidator(values.column_type), form(_OF_FAMILIES)]
Families = Annotated[
    tuple[str, ...],
    PlainValidator(values.families),
    form(forms.any_of(_FAMILY, forms.list_of(_FAMILY, uniqueItems=True))),
]
RowsLoaded = Annotated[
    int,
    PlainValidator(values.rows_loaded),
    form(forms.any_of({"const": 0}, COUNT)),
]
RowsExpected = Annotated[
    tuple[int, int],
    PlainValidator(values.rows_expected),
    form(forms.any_of(_ROWS, forms.pair(_ROWS))),
]
ThinkS = Annotated[
    float,
    PlainValidator(values.think_s),
    form(forms.scaled(quantity.SECONDS, above_zero=False, most=values.LONGEST_THINK_S)),
]
Whole = Annotated[int, Field(ge=values.LEAST, le=values.MOST)]
Sql = Annotated[tuple[Part, ...], PlainValidator(_sql), form(_OF_FAMILIES)]

Integer = Annotated[tuple[int, int], PlainValidator(values.integer), form(forms.pair(_WHOLE))]
Unique = Annotated[UniqueValue, PlainValidator(values.unique), form(_TRUE)]
Text = Annotated[
    TextValue, PlainValidator(values.text), form(forms.any_of(_LENGTH, forms.pair(_LENGTH)))
]
Pattern = Annotated[
    PatternValue,
    PlainValidator(values.pattern),
    form({"type": "string", "pattern": r"^[^'\\\\\u0000-\u001f]*$"}),
]
Choice = Annotated[ChoiceValue, PlainValidator(values.choice), form(forms.list_of(_SCALAR))]
Cycle = Annotated[tuple[Scalar, ...], PlainValidator(values.cycle), form(forms.list_of(_SCALAR))]
Constant = Annotated[ConstantValue, PlainValidator(values.constant), form(_SCALAR)]
Decimal = Annotated[DecimalValue, PlainValidator(values.decimal), form(_DECIMALS)]
Date = Annotated[MomentValue, PlainValidator(values.date), form(_MOMENTS)]
DateTime = Annotated[MomentValue, PlainValidator(values.datetime_), form(_MOMENTS)]
Spread = Annotated[
    Distribution | values.Hot,
    PlainValidator(
        values.spread,
        json_schema_input_type=Literal[("hot", *basic.DISTRIBUTIONS)] | Distribution | _HotSet,
    ),
]
RowNumber = Annotated[SequenceValue, PlainValidator(values.row_number), form(_TRUE)]
Sequence = Annotated[
    SequenceValue, PlainValidator(values.sequence), form(forms.any_of(_TRUE, _WHOLE))
]
NoRow = Annotated[str, PlainValidator(values.no_row), form(forms.NOTHING)]
