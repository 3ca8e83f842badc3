"""Groups the statements of a log into the transactions of their sessions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from loadstone.model.figure import Count
from loadstone.model.message import plain, say
from loadstone.mysql.tokens import NotSql
from loadstone.traffic.entries import Entry, ReadStats, not_a_statement, outside_of
from loadstone.traffic.grammar import Grammar
from loadstone.traffic.shapes import Frame, Sentence, frame_of, merged, skeleton_of

_MOST_STATEMENTS = 1_000
_MOST_SESSIONS = 50_000
LONG = say(
    "transactions of more than {most} statements: taken one by one", most=Count(_MOST_STATEMENTS)
)
FORGOTTEN = say(
    "transactions open in more than {most} sessions: taken as ended", most=Count(_MOST_SESSIONS)
)
ROLLED_BACK = say("transactions that were rolled back: the template commits them")


@dataclass(frozen=True)
class Transaction:
    """The statements of a session between BEGIN and COMMIT, or a single autocommitted one."""

    explicit: bool
    sentences: tuple[Sentence, ...]


@dataclass
class _Session:
    explicit: bool = False
    """Whether a transaction is open."""

    autocommit: bool = True
    sentences: list[Sentence] = field(default_factory=list)
    is_long: bool = False


@dataclass
class Span:
    """The start times of the first and the last statement, and the sessions."""

    from_s: float | None = None
    to_s: float | None = None
    sessions: set[int] = field(default_factory=set)
    """The sessions, up to the first million: no template has more users."""

    _MOST = 1_000_000

    def see(self, entry: Entry) -> None:
        """Take an entry into account."""
        self.from_s = entry.at_s if self.from_s is None else min(self.from_s, entry.at_s)
        self.to_s = entry.at_s if self.to_s is None else max(self.to_s, entry.at_s)
        if len(self.sessions) < self._MOST:
            self.sessions.add(entry.session)

    @property
    def seconds(self) -> float:
        """The time from the first statement to the last."""
        return (self.to_s or 0.0) - (self.from_s or 0.0)


class _Known:
    """Caches parsed statements by skeleton, since logs repeat the same few."""

    _MOST = 20_000

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._found: dict[tuple[str, ...], tuple[str, Frame | None]] = {}

    def read(self, text: str) -> tuple[str, Sentence | None]:
        """The kind of a statement, and its parts where it is about data.

        Raises:
            NotSql: the text was cut off, or is not a statement.
        """
        whole = merged(self._grammar.tokens_of(text))
        skeleton = skeleton_of(whole)
        found = self._found.get(skeleton)
        if found is None:
            kind = self._grammar.kind_of(text)
            found = kind, frame_of(whole) if kind == "data" else None
            # The value that SET assigns is a literal, and it decides the statement's kind.
            if skeleton and skeleton[0].upper() != "SET":
                self._keep(skeleton, found)
        purpose, frame = found
        return purpose, frame.fill(whole) if frame else None

    def _keep(self, skeleton: tuple[str, ...], found: tuple[str, Frame | None]) -> None:
        if len(self._found) >= self._MOST:
            self._found.clear()
        self._found[skeleton] = found


class Grouping:
    """Follows each session from its BEGIN to its COMMIT."""

    def __init__(self, stats: ReadStats, grammar: Grammar, schema: str | None = None) -> None:
        self.span = Span()
        self._heard = stats
        self._schema = schema
        self._known = _Known(grammar)
        self._schemas: OrderedDict[int, str] = OrderedDict()
        self._sessions: OrderedDict[int, _Session] = OrderedDict()

    def transactions(self, entries: Iterable[Entry]) -> Iterator[Transaction]:
        """Yield each transaction as it ends; those still open at the log's end come last."""
        for entry in entries:
            match entry.command:
                case "statement":
                    yield from self._statement(entry)
                case "schema":
                    self._schemas[entry.session] = entry.text
                case "connect" | "quit":
                    # The server rolls back an open transaction; the log may have lost its end.
                    yield from self._ended(self._sessions.pop(entry.session, None))
                    self._schemas.pop(entry.session, None)
                    if entry.text:
                        self._schemas[entry.session] = entry.text
            if len(self._schemas) > _MOST_SESSIONS:
                self._schemas.popitem(last=False)
        for session in self._sessions.values():
            yield from self._ended(session)

    def _statement(self, entry: Entry) -> Iterator[Transaction]:
        if self._schema and self._schemas.get(entry.session) != self._schema:
            self._heard.left_out[outside_of(self._schema)] += 1
            return
        try:
            kind, sentence = self._known.read(entry.text)
        except NotSql as unfit:
            self._heard.leave_out(entry.line, not_a_statement(unfit))
            return
        session = self._session(entry.session)
        if sentence:
            self.span.see(entry)
            yield from self._data(session, sentence)
        elif kind in ("begin", "commit", "rollback", "autocommit on", "autocommit off"):
            yield from self._bound(session, kind)
        else:
            self._heard.leave_out(entry.line, plain(kind))
        if len(self._sessions) > _MOST_SESSIONS:
            _, oldest = self._sessions.popitem(last=False)
            if oldest.sentences:
                self._heard.noted[FORGOTTEN] += 1
            yield from self._ended(oldest)

    def _session(self, number: int) -> _Session:
        session = self._sessions.setdefault(number, _Session())
        self._sessions.move_to_end(number)
        return session

    def _data(self, session: _Session, sentence: Sentence) -> Iterator[Transaction]:
        if not session.explicit and session.autocommit:
            yield Transaction(explicit=False, sentences=(sentence,))
            return
        session.explicit = True
        session.sentences.append(sentence)
        if len(session.sentences) > _MOST_STATEMENTS:
            session.is_long = True
        if session.is_long:
            yield from self._one_by_one(session)

    def _one_by_one(self, session: _Session) -> Iterator[Transaction]:
        for one in session.sentences:
            yield Transaction(explicit=False, sentences=(one,))
        session.sentences.clear()

    def _bound(self, session: _Session, kind: str) -> Iterator[Transaction]:
        if kind == "rollback" and session.sentences:
            self._heard.noted[ROLLED_BACK] += 1
        yield from self._ended(session)
        session.explicit = kind == "begin"
        if kind.startswith("autocommit"):
            session.autocommit = kind == "autocommit on"

    def _ended(self, session: _Session | None) -> Iterator[Transaction]:
        if session is None:
            return
        if session.is_long:
            self._heard.noted[LONG] += 1
        if session.sentences:
            yield Transaction(explicit=True, sentences=tuple(session.sentences))
        session.sentences.clear()
        session.is_long = session.explicit = False
