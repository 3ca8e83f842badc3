"""A family of servers is entered wherever one is looked for."""

import pytest

from loadstone.families import FAMILIES, family_meant, family_of
from loadstone.model.error_codes import RESTART_ON
from loadstone.model.target import PORTS, SCHEMES, Target, parse_target_url
from loadstone.observe.samplers import SAMPLERS
from loadstone.servers.endpoint_request import EndpointRequest


def test_each_scheme_s_family_is_spoken_and_observed() -> None:
    assert set(SCHEMES.values()) == FAMILIES.keys() == SAMPLERS.keys()
    assert PORTS.keys() == RESTART_ON.keys() == FAMILIES.keys()


@pytest.mark.parametrize("url", ["mysql://bench@db1/shop", "MariaDB://db1", " mariadb://db1"])
def test_a_url_s_scheme_tells_the_family_before_and_after_it_is_read(url: str) -> None:
    target, _ = parse_target_url(url)
    assert family_meant(EndpointRequest(url=url)) is family_of(target) is FAMILIES["mysql"]


def test_a_target_that_no_url_names_is_of_the_first_family() -> None:
    assert family_meant(EndpointRequest(host="db1")) is family_of(Target())
