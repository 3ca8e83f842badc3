"""What is one family's of servers stands in its own files; others ask `families` for it."""

import ast
from collections.abc import Iterator

import pytest

from house.repository import Repository
from house.test_directions import imported

SOURCE = "src/loadstone/"
OWN = ("mysql/", "observe/mysql/", "diagnosis/rules/mysql/")
"""Where MySQL's family is itself."""

MAY_KNOW_MYSQL = {
    "families.py": "enters the family",
    "observe/samplers.py": "enters what is observed of it",
    "sysbench/": "stands in for sysbench with its driver of MySQL, and says what that says",
    "traffic/": "reads MySQL's logs and digests, and the SQL in them",
    "workloads/templates/file.py": "a template's statements are SQL of MySQL: no file says whose",
    "workloads/templates/sql.py": "the same",
}
MAY_HAVE_NUMBERS = {
    "lab/step/failures.py": "what to do about an error that the engine met",
    "model/error_codes.py": "the names of all that the engine may meet",
    "model/plan.py": "those after which a user retries, where nothing else is given",
    "report/names.py": "what they mean, for a person",
    "sysbench/": "says what sysbench says",
}
LEAST, MOST = 1005, 1999
"""Between them are nearly all errors of MySQL's servers, and of our figures one."""
NO_ERROR = 1024


def others(repository: Repository, excepted: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Sources that are neither the family's nor excepted, and what they say."""
    for name in repository.named(".py", under=SOURCE):
        inside = name.removeprefix(SOURCE)
        if not inside.startswith((*OWN, *excepted)):
            yield inside, repository.text(name)


def numbers(source: str) -> list[int]:
    found = [
        int(node.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant)
        and (type(node.value) is int or (isinstance(node.value, str) and node.value.isdecimal()))
    ]
    return [number for number in found if LEAST <= number <= MOST and number != NO_ERROR]


def knows_mysql(source: str) -> list[str]:
    return [
        module
        for module in imported(source)
        if module.startswith(("loadstone.mysql", "loadstone.observe.mysql", "pymysql"))
    ]


def test_nothing_but_what_is_listed_imports_a_family(repository: Repository) -> None:
    assert not [
        (name, module)
        for name, source in others(repository, MAY_KNOW_MYSQL)
        if "mysql" in source
        for module in knows_mysql(source)
    ]


def test_nothing_but_what_is_listed_has_a_family_s_error_numbers(repository: Repository) -> None:
    assert not [
        (name, found)
        for name, source in others(repository, MAY_HAVE_NUMBERS)
        if (found := numbers(source))
    ]


@pytest.mark.parametrize("place", MAY_KNOW_MYSQL)
def test_who_may_import_it_does(repository: Repository, place: str) -> None:
    files = repository.named(".py", under=SOURCE + place)
    assert any(knows_mysql(repository.text(name)) for name in files)


@pytest.mark.parametrize("place", MAY_HAVE_NUMBERS)
def test_who_may_have_its_numbers_does(repository: Repository, place: str) -> None:
    files = repository.named(".py", under=SOURCE + place)
    assert any(numbers(repository.text(name)) for name in files)
