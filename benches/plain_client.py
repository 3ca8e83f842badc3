"""LOAD DATA LOCAL of an existing file: the least time that filling a table takes.

The client is this machine's `mariadb` or `mysql` if there is one, otherwise PyMySQL: only its wall
time counts, and that is the server's.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pymysql

from benches.place import ROOT, Place

NAME = next(filter(shutil.which, ("mariadb", "mysql")), "PyMySQL")

_CREATE = (
    "CREATE TABLE {table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL,"
    " c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
    " ENGINE = innodb"
)
_LOAD = "LOAD DATA LOCAL INFILE '{file}' INTO TABLE {table} CHARACTER SET binary"
_INDEX = "CREATE INDEX k_{table} ON {table}(k)"


def statements(file: Path, table: str) -> list[str]:
    """Table, rows and index, as `prepare` creates them."""
    return [text.format(file=file, table=table) for text in (_CREATE, _LOAD, _INDEX)]


def command(place: Place, file: Path, table: str) -> tuple[list[str], dict[str, str]]:
    """The command to run, and its environment."""
    port, user = str(place.sandbox.port), place.user
    if NAME == "PyMySQL":
        words = [sys.executable, "-m", "benches.plain_client", port, user, str(file), table]
        return words, {"MYSQL_PWD": place.password, "PYTHONPATH": str(ROOT)}
    login = ["--host=127.0.0.1", "--protocol=tcp", f"--port={port}", f"--user={user}"]
    told = ["--local-infile=1", "--skip-ssl", "--execute", "; ".join(statements(file, table))]
    return [NAME, *login, *told, "sbtest"], {"MYSQL_PWD": place.password}


def write_file(file: Path, rows: int) -> None:
    """Write rows of the sbtest layout, tab-separated, with the same lengths as `prepare`."""
    source = random.Random(rows)
    with file.open("w") as out:
        out.writelines(_lines(source, rows))


def _lines(source: random.Random, rows: int) -> Iterator[str]:
    for number in range(1, rows + 1):
        digits = f"{source.getrandbits(560):0165d}"[-165:]
        groups = [digits[at : at + 11] for at in range(0, 165, 11)]
        k = source.randint(1, rows)
        yield f"{number}\t{k}\t{'-'.join(groups[:10])}\t{'-'.join(groups[10:])}\n"


def main() -> None:
    """Load one file into one table, with PyMySQL."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("user")
    parser.add_argument("file", type=Path)
    parser.add_argument("table")
    asked = parser.parse_args()
    connection = pymysql.connect(
        host="127.0.0.1",
        port=asked.port,
        user=asked.user,
        password=os.environ["MYSQL_PWD"],
        database="sbtest",
        local_infile=True,
        autocommit=True,
    )
    with connection, connection.cursor() as cursor:
        for statement in statements(asked.file, asked.table):
            cursor.execute(statement)


if __name__ == "__main__":
    main()
