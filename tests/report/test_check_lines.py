"""The text of `check`: what a managed service does not allow, rights, and other clients."""

from __future__ import annotations

import pytest
from rich.console import Console

from analyse.test_managed_services import DOCUMENTED, ELSEWHERE
from loadstone.analyse.settings_review import fragment, not_judged, review
from loadstone.lab.protection.standing import Standing
from loadstone.model.managed import SERVICES, Managed
from loadstone.model.message import plain
from loadstone.mysql.rights import grants_in, judged
from loadstone.observe.clients import Account, Clients
from loadstone.report.settings import Reviewed, as_renderable
from loadstone.report.standing import service_lines, standing_lines

PLACE = "db1:3306"


def standing(clients: Clients, *grants: str) -> Standing:
    return Standing(judged(grants_in(grants), "app@%", "shop", splits_super=True), clients)


def told(standing: Standing, managed: Managed | None = None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for label, said in standing_lines(standing, PLACE, managed):
        found.setdefault(str(label), []).append(str(said))
    return found


def reviewed(managed: Managed) -> list[str]:
    variables = DOCUMENTED[managed]
    found = review(variables, ELSEWHERE)
    left_out = not_judged(variables, ELSEWHERE)
    whole = Reviewed(found, fragment(found), ELSEWHERE, left_out, managed)
    console = Console(width=1000)
    with console.capture() as captured:
        console.print(as_renderable(whole))
    return captured.get().splitlines()


@pytest.mark.parametrize("managed", SERVICES)
def test_what_a_service_does_not_allow_is_said_and_no_file_is_written(managed: Managed) -> None:
    about, impossible = (str(said) for _, said in service_lines(managed, standing(Clients())))
    assert about.startswith(f"{SERVICES[managed].name}: no account is a superuser (SUPER)")
    assert impossible.startswith("not possible there: ")
    assert SERVICES[managed].place in impossible
    assert not any("[mysqld]" in line for line in reviewed(managed))


def test_who_may_set_variables_is_not_told_that_nobody_may() -> None:
    known = standing(Clients(), "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `app`@`%`")
    assert len(list(service_lines("azure", known))) == 1
    assert list(service_lines(None, known)) == []


def test_what_is_not_judged_is_said_once() -> None:
    (said,) = [line for line in reviewed("aurora") if "not evaluated: Aurora" in line]
    assert "storage decides in place of" in said and "innodb_doublewrite = OFF" in said
    assert not any(line.startswith("unfair") for line in reviewed("aurora"))


def test_a_right_that_no_account_gets_is_no_grant() -> None:
    lacks = told(standing(Clients(right="PROCESS")), "rds")["lacks"]
    (about,) = [one for one in lacks if "restore" in one]
    assert about.endswith("Amazon RDS gives no account that right")
    assert any(one.endswith("GRANT PROCESS ON *.* TO 'app'@'%'") for one in lacks)


def test_an_account_with_all_rights_is_told_so_in_a_word() -> None:
    found = told(standing(Clients(), "GRANT ALL PRIVILEGES ON *.* TO `app`@`%`"))
    assert found["may"] == ["app@%, on shop: all that commands need"]
    assert "lacks" not in found


def test_other_clients_are_named_and_what_is_hidden_is_said() -> None:
    clients = Clients((Account("app", "10.0.0.7", 3, 1),), hidden=2, right="PROCESS")
    first, second = told(standing(clients))["others"]
    assert "has connections of app@10.0.0.7 (3, 1 active)" in first
    assert "2 connections that this user may not see" in first
    assert second == "without PROCESS only own sessions are visible"
    others = told(standing(Clients(right="PROCESS"), "GRANT PROCESS ON *.* TO `app`@`%`"))
    assert others["others"] == ["nobody else has a session"]


def test_what_a_server_does_not_tell_is_said() -> None:
    found = told(Standing(plain("no such statement"), plain("no such list")))
    assert found["may"] == ["not known what this account may do: no such statement"]
    assert found["others"] == [f"who else uses {PLACE} is not known: no such list"]


def test_a_run_at_work_is_told() -> None:
    known = standing(Clients(right="PROCESS"), "GRANT PROCESS ON *.* TO `app`@`%`")
    at_work = Standing(known.rights, known.clients, (plain("a run of bench@10.0.0.9"),))
    assert told(at_work)["others"] == [f"{PLACE} is used by a run of bench@10.0.0.9"]
