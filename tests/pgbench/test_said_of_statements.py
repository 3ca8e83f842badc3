"""What a server has said of a statement, as libpq puts it."""

from __future__ import annotations

import pytest

from loadstone.dropin import libpq
from loadstone.servers.errors import TargetError


def said(statement: str, **fields: str) -> str:
    error = TargetError("statement_failed", "refused")
    error.__cause__ = Exception({"S": "ERROR", "C": "XX000"} | fields)
    return libpq.of_statement(error, statement)


def test_the_place_comes_before_all_that_is_more() -> None:
    assert said("select\tnone\nfrom t", M="no", P="8", D="some", H="none", W="a\nb") == (
        "ERROR:  no\nLINE 1: select none\n               ^\n"
        "DETAIL:  some\nHINT:  none\nCONTEXT:  a\nb"
    )
    assert said("select none\nfrom t", M="no", P="18") == (
        "ERROR:  no\nLINE 2: from t\n             ^"
    )


def test_a_place_may_be_in_the_statement_of_a_function() -> None:
    assert said("select f()", M="no", p="8", q="select x", W="function f") == (
        "ERROR:  no\nLINE 1: select x\n               ^\nQUERY:  select x\nCONTEXT:  function f"
    )


@pytest.mark.parametrize("place", ["", "0", "x", "99", "9" * 5_000])
def test_a_place_that_is_none_is_left_out(place: str) -> None:
    assert said("select 1", M="no", P=place) == "ERROR:  no"


def test_what_would_control_a_terminal_is_left_out() -> None:
    assert said("select 1", M="no\x1b[2J", D="\x07") == "ERROR:  no\ufffd[2J\nDETAIL:  \ufffd"


def test_an_error_that_is_not_the_servers_has_no_words_of_its() -> None:
    assert not libpq.of_statement(TargetError("protocol", "nothing came"), "select 1")
