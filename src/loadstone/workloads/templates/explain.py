"""Shows what a template would send: sample events, and a server's plans for its statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from loadstone import engine
from loadstone.config.problems import Problem
from loadstone.families import FAMILIES, connect, family_of, require
from loadstone.model.engine_plan import step_document
from loadstone.model.message import say
from loadstone.model.plan import Drive, Plan, Step, WorkloadSpec
from loadstone.model.target import Endpoint, Target
from loadstone.model.template import Statement, Template, TemplateSpec, TextPiece
from loadstone.sandbox import Sandbox, sandbox_at
from loadstone.servers.statements import Access, Prepared, Refusal, StatementRefused
from loadstone.workloads.templates.file import TemplateRefused
from loadstone.workloads.templates.size import table_bytes

# Statements per call; the engine shows up to twice as many of one event.
_SHOWN_AT_ONCE = 100


@dataclass(frozen=True)
class Explained:
    """A statement with values, and the server's plan for it."""

    transaction: str
    number: int
    sql: str
    access: tuple[Access, ...]


def samples(template: Template, count: int, seed: int = 0) -> tuple[engine.Sample, ...]:
    """That many events of one user.

    Raises:
        PlanRefused: the engine does not take the template.
    """
    return _samples(template, template.spec, count, seed)


def check_loadable(template: Template, file: str, endpoint: Endpoint) -> None:
    """Check that the tables can be created and filled, without changing anything.

    Raises:
        NotSupported: no templates can be used there.
        TargetError: the server cannot be reached.
        TemplateRefused: it takes no such columns, or it is a sandbox whose disk is too small.
    """
    require(endpoint.target, "templates")
    sandbox = sandbox_at(endpoint.target)
    if sandbox is not None:
        _check_room(template, file, sandbox)
    faults = []
    family = family_of(endpoint.target)
    with connect(endpoint, database=None) as connection:
        for table in template.tables:
            for column in table.columns:
                with family.statement_errors(endpoint.target):
                    refusal = family.refusal_of_column(connection, column.name, column.type)
                if refusal is not None and refusal.kind in ("grammar", "no_such_type"):
                    line = template.table_lines[table.name][column.name]
                    key = f"table.{table.name}.columns.{column.name}.type"
                    write = say("write what CREATE TABLE takes after a column's name")
                    faults.append(Problem(line, key, refusal.said, write))
    if faults:
        raise TemplateRefused(file, faults)


def _check_room(template: Template, file: str, sandbox: Sandbox) -> None:
    # Each row is written a second time, to the log of changes.
    sizes = {table.name: 2 * table_bytes(table) for table in template.tables}
    free = sandbox.disk.free_bytes
    if sum(sizes.values()) <= free:
        return
    largest = max(sizes, key=lambda name: sizes[name])
    said = say(
        "all rows take about {needed} with the log of changes, and {free} are free in {folder}",
        needed=_gb(sum(sizes.values())),
        free=_gb(free),
        folder=str(sandbox.folder),
    )
    line = template.table_lines[largest][""]
    fault = Problem(line, f"table.{largest}.rows", said, say("write fewer rows, or make room"))
    raise TemplateRefused(file, [fault])


def _gb(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"


def explain(template: Template, file: str, endpoint: Endpoint) -> Iterator[Explained]:
    """The server's EXPLAIN of each distinct statement; no statement is run.

    Raises:
        TargetError: the server cannot be reached.
        TemplateRefused: it refuses statements; names their lines.
    """
    faults: list[Problem] = []
    with connect(endpoint) as connection:
        for one in _each_once(template):
            try:
                access = family_of(endpoint.target).explained(connection, one.sql, one.prepared)
            except StatementRefused as error:
                faults.append(_fault(template, one, error.refusal))
                continue
            yield Explained(one.transaction, one.number, one.sql, access)
    if faults:
        raise TemplateRefused(file, faults)


def statements_once(template: Template) -> list[str]:
    """Each statement once, with values.

    Raises:
        PlanRefused: the engine does not take the template.
    """
    return [one.sql for one in _each_once(template)]


def check_statements(
    template: Template, file: str, endpoint: Endpoint, init_sql: Sequence[str] = ()
) -> None:
    """Check that the server understands each statement, before any is run.

    `init_sql`: what each session runs first, as it may change the meaning of SQL. Tables need not
    exist: a statement may create the one that the next one reads.

    Raises:
        TargetError: the server cannot be reached.
        TemplateRefused: a statement is no SQL, or has unknown columns or functions.
    """
    faults = []
    family = family_of(endpoint.target)
    with connect(endpoint) as connection:
        with family.statement_errors(endpoint.target), connection.cursor() as cursor:
            for sql in init_sql:
                cursor.execute(sql)
        for one in _each_once(template):
            # With placeholders, as the server must accept values that are not read yet; some
            # statements take only values.
            with family.statement_errors(endpoint.target):
                refusal = family.refusal_of(connection, one.prepared.sql)
                if refusal is not None and refusal.kind == "grammar":
                    refusal = family.refusal_of(connection, one.sql)
            if refusal is not None and refusal.kind in ("grammar", "no_such_name"):
                faults.append(_fault(template, one, refusal))
    if faults:
        raise TemplateRefused(file, faults)


class _Sent(NamedTuple):
    """A statement of a transaction."""

    transaction: str
    number: int
    sql: str
    """The SQL with values."""
    prepared: Prepared
    """The same with a placeholder for each value."""


def _each_once(template: Template) -> Iterator[_Sent]:
    placeholder = FAMILIES[template.family].dialect.placeholder
    for transaction in template.spec.transactions:
        for begin in range(0, len(transaction.statements), _SHOWN_AT_ONCE):
            some = transaction.statements[begin : begin + _SHOWN_AT_ONCE]
            once = tuple(each.model_copy(update={"repeat": 1}) for each in some)
            bare = {"statements": once, "autocommit": True, "read_only": False}
            alone = transaction.model_copy(update=bare)
            spec = TemplateSpec(transactions=(alone,))
            (sample,) = _samples(template, spec, 1, 0)
            for number, sql in enumerate(sample.statements, begin + 1):
                prepared = _with_placeholders(transaction.statements[number - 1], placeholder)
                yield _Sent(transaction.name, number, sql, prepared)


def _with_placeholders(statement: Statement, placeholder: Callable[[int], str]) -> Prepared:
    text, parameters = "", 0
    for piece in statement.pieces:
        if isinstance(piece, TextPiece):
            text += piece.text
        elif piece == "copy":
            text += "1"
        else:
            parameters += 1
            text += placeholder(parameters)
    return Prepared(text, parameters)


def _fault(template: Template, one: _Sent, refusal: Refusal) -> Problem:
    line = template.lines[one.transaction][one.number - 1]
    key = f"transaction.{one.transaction}.statements[{one.number}]"
    write = say("it was sent as: {sql}", sql=one.sql)
    if refusal.kind == "no_such_table" and template.tables:
        write = say("loadstone prepare makes the tables of the file there, with the same --target")
    return Problem(line, key, refusal.said, write)


def _samples(
    template: Template, spec: TemplateSpec, count: int, seed: int
) -> tuple[engine.Sample, ...]:
    name, target = template.name, Target(family=template.family)
    plan = Plan(
        name=name,
        targets=(target,),
        workload=WorkloadSpec(name=name, tables=1, table_size=1, template=spec),
        ladder=(1,),
        drive=Drive(seed=seed),
    )
    step = Step(number=1, workload=name, concurrency=1)
    return engine.samples(step_document(plan, step, [Endpoint(target=target)]), count)
