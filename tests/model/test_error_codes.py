"""An error is a family and a code; what is kept from when it was a number is read as that."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from loadstone.model.error_codes import MYSQL, name_of, number_of, order
from loadstone.model.failover import DrillError
from loadstone.model.plan import Drive, ScriptSpec
from loadstone.model.records import STEP_RECORD, EngineFailure, FirstError

DEADLOCK = {"kind": "error", "message": "Deadlock found", "statement": "UPDATE t"}
REFUSED = {"kind": "login_refused", "sql_state": "28000", "message": "Access denied", "target": 0}


def test_a_journals_record_with_a_number_is_one_of_mysql() -> None:
    old = STEP_RECORD.validate_json(json.dumps(DEADLOCK | {"errno": 1213}))
    new = STEP_RECORD.validate_json(json.dumps(DEADLOCK | {"family": "mysql", "code": "1213"}))
    assert old == new
    assert isinstance(old, FirstError)
    assert (old.family, old.code, old.number) == (MYSQL, "1213", 1213)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_failure_with_a_number_is_one_of_mysql_and_none_has_no_family(as_json: bool) -> None:
    adapter = TypeAdapter(EngineFailure)

    def read(document: dict[str, Any]) -> EngineFailure:
        if as_json:
            return adapter.validate_json(json.dumps(document))
        return adapter.validate_python(document)

    old = read(REFUSED | {"errno": 1045})
    assert old == read(REFUSED | {"family": "mysql", "code": "1045"})
    assert old.number == 1045
    none = read(REFUSED | {"errno": None})
    assert none == read(REFUSED | {"family": None, "code": None})
    assert (none.family, none.code, none.number) == (None, None, None)


def test_a_code_of_letters_is_one_and_has_no_number() -> None:
    other = FirstError(family="other", code="40P01", message="deadlock detected")
    assert other.number == 0
    assert FirstError.model_validate_json(other.model_dump_json()) == other
    assert (number_of("40P01"), name_of("other", "40P01"), name_of(MYSQL, "40P01")) == ((None,) * 3)


@pytest.mark.parametrize("code", ["", "40p01", "-1", "1 2", "123456789", 70_000, -1, True, 1.5])
def test_what_is_no_code_is_refused(code: object) -> None:
    with pytest.raises(ValidationError):
        FirstError.model_validate(DEADLOCK | {"family": "mysql", "code": code})


def test_plans_of_earlier_versions_list_numbers() -> None:
    assert Drive.model_validate({"restart_on": [1062]}).restart_on == ("1062",)
    assert Drive.model_validate_json('{"restart_on": [1062, "40001"]}').restart_on == (
        "1062",
        "40001",
    )
    assert Drive.model_validate({"restart_on": "all"}).restart_on == "all"
    assert Drive().restart_on == ("1213", "1205", "1020", "1412", "1615")
    script = ScriptSpec.model_validate_json('{"path": "a.lua", "ignore_errors": [2013]}')
    assert script.ignore_errors == ("2013",)
    assert ScriptSpec(path="a.lua").ignore_errors == ("1213", "1205", "1020")


def test_a_drills_errors_of_earlier_versions_are_read() -> None:
    kept = {"errno": 2003, "name": "CR_CONN_HOST_ERROR", "statements": 0, "connects": 7}
    assert DrillError.model_validate(kept).model_dump() == {
        "family": "mysql",
        "code": "2003",
        "name": "CR_CONN_HOST_ERROR",
        "statements": 0,
        "connects": 7,
    }
    assert name_of(MYSQL, "2003") == "CR_CONN_HOST_ERROR"


def test_codes_are_in_the_order_of_numbers() -> None:
    assert sorted(["2013", "110", "1213", "0"], key=order) == ["0", "110", "1213", "2013"]
