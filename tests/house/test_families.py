"""Code of one family of servers is in its own files; other code asks `families` for it."""

import ast
import re
from collections.abc import Iterator

import pytest

from house.repository import Repository
from house.test_directions import imported

SOURCE = "src/loadstone/"
OWN = ("mysql/", "analyse/mysql/", "diagnosis/rules/mysql/", "observe/mysql/", "sandbox/mysql/")
"""The packages of MySQL's family."""
OF_POSTGRESQL = (
    *("postgresql/", "analyse/postgresql/", "diagnosis/rules/postgresql/"),
    *("observe/postgresql/", "traffic/postgresql/"),
)
"""Those of PostgreSQL's."""
ENTERED = (
    *("analyse/known_settings.py", "diagnosis/all_rules.py", "families.py"),
    *("observe/samplers.py", "traffic/by_family.py"),
)
"""Where every family is entered."""
OF_ITS_PROGRAMS = ("pgbench/", "dropin/libpq.py", "dropin/conninfo.py")
"""What stands in for PostgreSQL's own programs, and for the client library that they share."""

MAY_KNOW_MYSQL = {
    "analyse/known_settings.py": "enters what is known of its settings",
    "diagnosis/all_rules.py": "enters the rules about it",
    "families.py": "enters the family",
    "observe/samplers.py": "enters what is observed of it",
    "sandbox/programs.py": "enters its throwaway servers",
    "sysbench/": "stands in for sysbench with its driver of MySQL, and says what that says",
    "traffic/": "reads MySQL's logs and digests, and the SQL in them",
}
MAY_HAVE_NUMBERS = {
    "model/error_codes.py": "the names of all that the engine may meet, and what follows them",
    "report/names.py": "what they mean, for a person",
    "sysbench/": "says what sysbench says",
}
MAY_SAY_ITS_WORDS = {
    "analyse/ceilings.py": "whether the binary log is synced, by the name that observing gives it",
    "cli/commands/sandbox.py": "an example of a variable",
    "cli/defaults/giving_way.py": "the option that bears the name of its exporter",
    "cli/commands/traffic.py": "help of the slow log's and the digests' import",
    "cli/commands/diagnose.py": "help of options, which names the file that people have",
    "cli/options/connection.py": "help of options, which names the file that people have",
    "cli/options/run.py": "the same",
    "cli/options/observe.py": "the option that bears the name of its exporter",
    "config/values.py": "an example of a variable",
    "diagnosis/unexplained.py": "what to switch on, so that more can be seen",
    "model/hot_spots.py": "describes a field of result.json as it has always been",
    "runs/source_figures.py": "which commits count, by the names that observing gives them",
    "sandbox/spec.py": "an example of a variable",
    "sysbench/": "says what sysbench says",
    "traffic/": "reads MySQL's logs and digests",
}
ITS_WORDS = re.compile(
    r"innodb_|\b(?:mysqld|mariadbd|my\.cnf|log_bin|sync_binlog|rpl_semi_sync|query_cache"
    r"|long_query_time|max_prepared_stmt_count|performance_schema|information_schema)"
    r"|\bSHOW [A-Z]{4}|\bPROCESSLIST"
)
"""Variables, programs and statements that only MySQL's family has."""

LEAST, MOST = 1005, 1999
"""Nearly all error numbers of MySQL's servers are in this range, and one of our figures."""
NO_ERROR = 1024


def others(repository: Repository, excepted: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Sources that are neither the family's nor excepted, with their texts."""
    for name in repository.named(".py", under=SOURCE):
        inside = name.removeprefix(SOURCE)
        if not inside.startswith((*OWN, *OF_POSTGRESQL, *excepted)):
            yield inside, repository.text(name)


def numbers(source: str) -> list[int]:
    if not re.search(rf"\d{{{len(str(LEAST))}}}", source):
        return []
    found = [
        int(node.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant)
        and (type(node.value) is int or (isinstance(node.value, str) and node.value.isdecimal()))
    ]
    return [number for number in found if LEAST <= number <= MOST and number != NO_ERROR]


def knows_mysql(source: str) -> list[str]:
    return known_of(OWN, "pymysql", source)


def known_of(own: tuple[str, ...], driver: str, source: str) -> list[str]:
    packages = tuple(f"loadstone.{place.rstrip('/').replace('/', '.')}" for place in own)
    # Reading a source's syntax takes long, and few have the word.
    if not any(word in source for word in (driver, *(one.rsplit(".")[-1] for one in packages))):
        return []
    return [module for module in imported(source) if module.startswith((*packages, driver))]


def its_words(source: str) -> list[str]:
    """Texts of a source, without comments and docstrings, that contain such a word."""
    tree = ast.parse(source)
    described = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in described
        and ITS_WORDS.search(node.value)
    ]


def test_nothing_but_what_is_listed_imports_a_family(repository: Repository) -> None:
    assert not [
        (name, module)
        for name, source in others(repository, MAY_KNOW_MYSQL)
        if "mysql" in source
        for module in knows_mysql(source)
    ]


def test_postgresql_is_known_only_where_families_are_entered(repository: Repository) -> None:
    found = {
        name.removeprefix(SOURCE)
        for name in repository.named(".py", under=SOURCE)
        if known_of(OF_POSTGRESQL, "pg8000", repository.text(name))
    }
    others = {name for name in found if not name.startswith((*OF_POSTGRESQL, *OF_ITS_PROGRAMS))}
    assert others == set(ENTERED)


def test_no_family_knows_another(repository: Repository) -> None:
    assert not [
        (name, found)
        for name in repository.named(".py", under=SOURCE)
        if name.removeprefix(SOURCE).startswith(OF_POSTGRESQL)
        if (found := knows_mysql(repository.text(name)))
    ]


def test_nothing_but_what_is_listed_has_a_family_s_error_numbers(repository: Repository) -> None:
    assert not [
        (name, found)
        for name, source in others(repository, MAY_HAVE_NUMBERS)
        if (found := numbers(source))
    ]


def test_nothing_but_what_is_listed_says_a_family_s_words(repository: Repository) -> None:
    assert not [
        (name, found)
        for name, source in others(repository, MAY_SAY_ITS_WORDS)
        if ITS_WORDS.search(source)
        if (found := its_words(source))
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('name = "innodb_flush_method"', 1),
        ('program = "/usr/sbin/mysqld"', 1),
        ('f"SHOW GLOBAL STATUS LIKE {name}"', 1),
        ('kind = "mysqld_exporter"', 1),
        ('"""As innodb_flush_method is."""', 0),
        ("# innodb_flush_method\nmysqld = 1", 0),
        ('storage_engine = "innodb"; show = "SHOW the rest"', 0),
    ],
)
def test_a_family_s_words_are_seen_in_texts_alone(source: str, found: int) -> None:
    assert len(its_words(source)) == found


@pytest.mark.parametrize("place", MAY_SAY_ITS_WORDS)
def test_who_may_say_its_words_does(repository: Repository, place: str) -> None:
    files = repository.named(".py", under=SOURCE + place)
    assert any(its_words(repository.text(name)) for name in files)


@pytest.mark.parametrize("place", MAY_KNOW_MYSQL)
def test_who_may_import_it_does(repository: Repository, place: str) -> None:
    files = repository.named(".py", under=SOURCE + place)
    assert any(knows_mysql(repository.text(name)) for name in files)


@pytest.mark.parametrize("place", MAY_HAVE_NUMBERS)
def test_who_may_have_its_numbers_does(repository: Repository, place: str) -> None:
    files = repository.named(".py", under=SOURCE + place)
    assert any(numbers(repository.text(name)) for name in files)
