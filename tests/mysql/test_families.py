"""A family of servers is entered wherever one is looked for."""

import pytest

from loadstone.analyse.known_settings import KNOWN
from loadstone.diagnosis.all_rules import RULES_OF
from loadstone.families import FAMILIES, family_meant, family_of
from loadstone.model.error_codes import RESTART_ON
from loadstone.model.plan import Drive
from loadstone.model.target import PORTS, Target
from loadstone.model.target_url import SCHEMES, parse_target_url
from loadstone.observe.samplers import COUNTERS, SAMPLERS
from loadstone.sandbox.programs import PROGRAMS
from loadstone.servers.endpoint_request import EndpointRequest


def test_each_scheme_s_family_is_spoken_and_observed() -> None:
    assert set(SCHEMES.values()) == FAMILIES.keys() == SAMPLERS.keys()
    assert KNOWN.keys() == RULES_OF.keys() == PROGRAMS.keys() == FAMILIES.keys()
    # Counters are not there for each of them.
    assert COUNTERS.keys() <= FAMILIES.keys()
    assert PORTS.keys() == RESTART_ON.keys() == FAMILIES.keys()


def test_a_family_whose_counters_are_read_says_so() -> None:
    able = {name for name, family in FAMILIES.items() if "counters" in family.abilities}
    assert able == COUNTERS.keys()


@pytest.mark.parametrize("url", ["mysql://bench@db1/shop", "MariaDB://db1", " mariadb://db1"])
def test_a_url_s_scheme_tells_the_family_before_and_after_it_is_read(url: str) -> None:
    target, _ = parse_target_url(url)
    assert family_meant(EndpointRequest(url=url)) is family_of(target) is FAMILIES["mysql"]


def test_a_target_that_no_url_names_is_of_the_first_family() -> None:
    assert family_meant(EndpointRequest(host="db1")) is family_of(Target())


def test_the_family_that_is_meant_where_none_is_named_is_not_written() -> None:
    assert "family" not in Target(host="db1").model_dump(mode="json")
    assert Target(host="db1", family="other").model_dump(mode="json")["family"] == "other"


def test_a_load_begins_anew_after_the_errors_of_its_family_unless_somebody_said_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(RESTART_ON, "other", ("40001",))
    assert Drive().at("other").restart_on == ("40001",)
    assert Drive().at("mysql") == Drive()
    assert Drive(restart_on=("1213",)).at("other").restart_on == ("1213",)
