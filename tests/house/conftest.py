import pytest

from house.repository import Repository, read_repository


@pytest.fixture(scope="session")
def repository() -> Repository:
    return read_repository()
