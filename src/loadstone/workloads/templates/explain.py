"""What a template would send: samples of its events, and a server's plans for its statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pymysql

from loadstone import engine
from loadstone.config.problems import Problem
from loadstone.model.engine_plan import step_document
from loadstone.model.plan import Drive, Plan, Step, WorkloadSpec
from loadstone.model.target import Endpoint, Target
from loadstone.model.template import Piece, Statement, Template, TemplateSpec, TextPiece
from loadstone.mysql.connect import Connection, connect, statement_errors
from loadstone.mysql.facts import quoted
from loadstone.sandbox import Sandbox, sandbox_at
from loadstone.workloads.templates.file import TemplateRefused
from loadstone.workloads.templates.size import table_bytes

# Of one event the engine shows twice as many.
_SHOWN_AT_ONCE = 100
# ER_PARSE_ERROR: also where a statement is one that EXPLAIN does not take.
_PARSE_ERROR = 1064
_NO_SUCH_TABLE = 1146
# Not in the grammar, a column and a function that are unknown.
_MEANS_NOTHING = (_PARSE_ERROR, 1054, 1305)
# Not in the grammar; longer than there are, or with more digits; characters and orders that are
# unknown; in MariaDB a type that is unknown.
_NO_SUCH_TYPE = (_PARSE_ERROR, 1074, 1425, 1426, 1427, 1439, 1115, 1273, 4161)


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


def samples(template: Template, count: int, seed: int = 0) -> tuple[engine.Sample, ...]:
    """So many events of a user.

    Raises:
        PlanRefused: the engine does not take the template.
    """
    return _samples(template.name, template.spec, count, seed)


def check_loadable(template: Template, file: str, endpoint: Endpoint) -> None:
    """See that the tables can be made and filled, before any is; nothing is carried out.

    Raises:
        TargetError: the server cannot be reached.
        TemplateRefused: it takes no such columns, or it is a sandbox whose disk is too small.
    """
    sandbox = sandbox_at(endpoint.target)
    if sandbox is not None:
        _check_room(template, file, sandbox)
    faults = []
    with connect(endpoint, database=None) as connection:
        for table in template.tables:
            for column in table.columns:
                made = f"CREATE TABLE loadstone_trial.t ({quoted(column.name)} {column.type})"
                error = _refusal(connection, made)
                if error is not None and error.args[0] in _NO_SUCH_TYPE:
                    line = template.table_lines[table.name][column.name]
                    key = f"table.{table.name}.columns.{column.name}.type"
                    write = "write what CREATE TABLE takes behind a column's name"
                    faults.append(Problem(line, key, _said(error), write))
    if faults:
        raise TemplateRefused(file, faults)


def _check_room(template: Template, file: str, sandbox: Sandbox) -> None:
    # Each row is written once more: to the binary log.
    sizes = {table.name: 2 * table_bytes(table) for table in template.tables}
    free = sandbox.disk.free_bytes
    if sum(sizes.values()) <= free:
        return
    largest = max(sizes, key=lambda name: sizes[name])
    said = (
        f"all rows take about {_gb(sum(sizes.values()))} with their binary log, and {_gb(free)} are"
        f" free in {sandbox.folder}"
    )
    line = template.table_lines[largest][""]
    fault = Problem(line, f"table.{largest}.rows", said, "write fewer rows, or make room")
    raise TemplateRefused(file, [fault])


def _gb(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"


def explain(template: Template, file: str, endpoint: Endpoint) -> Iterator[Explained]:
    """What the server says to EXPLAIN of each statement, of each once; nothing is carried out.

    Raises:
        TargetError: the server cannot be reached.
        TemplateRefused: it refuses statements; with their lines.
    """
    faults: list[Problem] = []
    with connect(endpoint) as connection:
        for one in _each_once(template):
            try:
                access = _explained(connection, one.sql)
            except pymysql.MySQLError as error:
                faults.append(_fault(template, one, error))
                continue
            yield Explained(one.transaction, one.number, one.sql, access)
    if faults:
        raise TemplateRefused(file, faults)


def check_statements(
    template: Template, file: str, endpoint: Endpoint, init_sql: Sequence[str] = ()
) -> None:
    """See that the server knows what each statement means, before any is carried out.

    `init_sql`: what each session is told before, as it may change what SQL means. Tables are not
    asked for: a statement may make the one that the next one reads.

    Raises:
        TargetError: the server cannot be reached.
        TemplateRefused: a statement is none, or has columns or functions that are not there.
    """
    faults = []
    with connect(endpoint) as connection:
        with statement_errors(endpoint.target), connection.cursor() as cursor:
            for sql in init_sql:
                cursor.execute(sql)
        for one in _each_once(template):
            # With placeholders, as the server has to take what is not read yet; some statements
            # take values only.
            error = _refusal(connection, one.prepared)
            if error is not None and error.args[0] == _PARSE_ERROR:
                error = _refusal(connection, one.sql)
            if error is not None and error.args[0] in _MEANS_NOTHING:
                faults.append(_fault(template, one, error))
    if faults:
        raise TemplateRefused(file, faults)


class _Sent(NamedTuple):
    """A statement of a transaction."""

    transaction: str
    number: int
    sql: str
    """With values."""
    prepared: str
    """With a placeholder for each."""


def _each_once(template: Template) -> Iterator[_Sent]:
    for transaction in template.spec.transactions:
        for begin in range(0, len(transaction.statements), _SHOWN_AT_ONCE):
            some = transaction.statements[begin : begin + _SHOWN_AT_ONCE]
            once = tuple(each.model_copy(update={"repeat": 1}) for each in some)
            bare = {"statements": once, "autocommit": True, "read_only": False}
            alone = transaction.model_copy(update=bare)
            spec = TemplateSpec(transactions=(alone,))
            (sample,) = _samples(template.name, spec, 1, 0)
            for number, sql in enumerate(sample.statements, begin + 1):
                prepared = _with_placeholders(transaction.statements[number - 1])
                yield _Sent(transaction.name, number, sql, prepared)


def _with_placeholders(statement: Statement) -> str:
    def written(piece: Piece) -> str:
        if isinstance(piece, TextPiece):
            return piece.text
        return "1" if piece == "copy" else "?"

    return "".join(map(written, statement.pieces))


def _fault(template: Template, one: _Sent, error: pymysql.MySQLError) -> Problem:
    line = template.lines[one.transaction][one.number - 1]
    key = f"transaction.{one.transaction}.statements[{one.number}]"
    write = f"it was sent as: {one.sql}"
    if error.args[0] == _NO_SUCH_TABLE and template.tables:
        write = "loadstone prepare makes the tables of the file there, with the same --target"
    return Problem(line, key, _said(error), write)


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
            if error.args[0] == _PARSE_ERROR and _refusal(connection, sql) is None:
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


def _refusal(connection: Connection, sql: str) -> pymysql.MySQLError | None:
    """What the server has against the statement; it is not carried out."""
    with connection.cursor() as cursor:
        try:
            cursor.execute("PREPARE loadstone_trial FROM %s", (sql,))
        except pymysql.MySQLError as error:
            return error
        cursor.execute("DEALLOCATE PREPARE loadstone_trial")
    return None


def _said(error: pymysql.MySQLError) -> str:
    number, text = (*error.args, "")[:2]
    return f"the server refuses it: {number} {text}"
