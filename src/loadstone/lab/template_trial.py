"""What a template would send: samples of its events, and a server's plans for its statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pymysql

from loadstone import engine
from loadstone.lab.experiment_faults import Fault
from loadstone.lab.template_file import TemplateRefused
from loadstone.model.engine_plan import step_document
from loadstone.model.plan import Drive, Plan, Step, WorkloadSpec
from loadstone.model.target import Endpoint, Target
from loadstone.model.template import Template, TemplateSpec, Transaction
from loadstone.target.connect import Connection, connect

_HAVE_NO_PLAN = ("BEGIN", "COMMIT")
# ER_PARSE_ERROR: also where a statement is one that EXPLAIN does not take.
_PARSE_ERROR = 1064


@dataclass(frozen=True)
class Access:
    """How the server would reach the rows of one table of a statement."""

    table: str
    how: str
    """The column `type` of EXPLAIN; `ALL` reads the whole table."""

    key: str
    rows: int | None


@dataclass(frozen=True)
class Explained:
    """A statement with values, and what the server says to it."""

    transaction: str
    number: int
    sql: str
    access: tuple[Access, ...]


def shipped() -> tuple[str, ...]:
    """The names of the templates that come along."""
    found = (each.name for each in files("loadstone.lab").joinpath("templates").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def text_of(name: str) -> str:
    """The text of one that comes along."""
    return files("loadstone.lab").joinpath("templates", f"{name}.toml").read_text(encoding="utf-8")


def samples(template: Template, count: int, seed: int = 0) -> tuple[engine.Sample, ...]:
    """So many events of a user.

    Raises:
        PlanRefused: the engine does not take the template.
    """
    return _samples(template.name, template.spec, count, seed)


def explain(template: Template, file: str, endpoint: Endpoint) -> Iterator[Explained]:
    """What the server says to EXPLAIN of each statement, of each once; nothing is carried out.

    Raises:
        TargetError: the server cannot be reached.
        TemplateRefused: it refuses statements; with their lines.
    """
    faults: list[Fault] = []
    with connect(endpoint) as connection:
        for transaction in template.spec.transactions:
            statements = _each_once(template.name, transaction)
            for number, sql in enumerate(statements, 1):
                try:
                    access = _explained(connection, sql)
                except pymysql.MySQLError as error:
                    line = template.lines[transaction.name][number - 1]
                    key = f"transaction.{transaction.name}.statements[{number}]"
                    faults.append(Fault(line, key, _said(error), f"it was sent as: {sql}"))
                    continue
                yield Explained(transaction.name, number, sql, access)
    if faults:
        raise TemplateRefused(file, faults)


def _each_once(name: str, transaction: Transaction) -> Sequence[str]:
    once = [each.model_copy(update={"repeat": 1}) for each in transaction.statements]
    alone = transaction.model_copy(update={"statements": tuple(once)})
    (sample,) = _samples(name, TemplateSpec(transactions=(alone,)), 1, 0)
    return [sql for sql in sample.statements if sql not in _HAVE_NO_PLAN]


def _samples(name: str, spec: TemplateSpec, count: int, seed: int) -> tuple[engine.Sample, ...]:
    plan = Plan(
        name=name,
        targets=(Target(),),
        workload=WorkloadSpec(name=name, tables=1, table_size=1, template=spec),
        ladder=(1,),
        drive=Drive(seed=seed),
    )
    step = Step(number=1, workload=name, concurrency=1)
    return engine.samples(step_document(plan, step, [Endpoint(target=Target())]), count)


def _explained(connection: Connection, sql: str) -> tuple[Access, ...]:
    """None where the server has no EXPLAIN for such a statement.

    Raises:
        MySQLError: the server refuses it.
    """
    with connection.cursor(pymysql.cursors.DictCursor) as cursor:
        try:
            cursor.execute(f"EXPLAIN FORMAT=TRADITIONAL {sql}")
        except pymysql.MySQLError as error:
            if error.args[0] == _PARSE_ERROR and _is_prepared(connection, sql):
                return ()
            raise
        rows: Sequence[dict[str, Any]] = cursor.fetchall()
    return tuple(
        Access(
            table=str(row["table"]),
            how=str(row["type"] or ""),
            key=str(row["key"] or ""),
            rows=None if row["rows"] is None else int(row["rows"]),
        )
        for row in rows
        if row["table"]
    )


def _is_prepared(connection: Connection, sql: str) -> bool:
    """Whether the server takes the statement at all; it is not carried out."""
    with connection.cursor() as cursor:
        try:
            cursor.execute("PREPARE loadstone_trial FROM %s", (sql,))
        except pymysql.MySQLError:
            return False
        cursor.execute("DEALLOCATE PREPARE loadstone_trial")
    return True


def _said(error: pymysql.MySQLError) -> str:
    number, text = (*error.args, "")[:2]
    return f"the server refuses it: {number} {text}"
