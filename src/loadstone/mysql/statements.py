"""What a statement would do, judged by its words: read, write to named tables, or unknown.

A guard relies on it, so it errs on the safe side: a statement counts as reading, or as writing to
certain tables, only if each of its words has its place in a form that is known here. Anything else
(a CALL, a change of definitions, an executable comment, a quote that another `sql_mode` would end
elsewhere) may write to anything. The words do not show what functions and views in a reading
statement do on the server: such statements also run in read-only transactions, and users must agree
to the tables that writing statements name. docs/decisions/0026 explains why this is not a parser
for all of SQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from loadstone.model.effect import Effect, TableName
from loadstone.model.message import plain, say
from loadstone.model.refusals import message_of
from loadstone.mysql.tokens import NotSql, Token, name_of, tokens_of, with_code

_READS = frozenset({"SELECT", "VALUES", "TABLE"})
_ASKS = frozenset({"SHOW", "HELP", "CHECKSUM", "DO"})
_EXPLAINS = frozenset({"EXPLAIN", "DESC", "DESCRIBE"})
_CHANGES = frozenset({"INSERT", "REPLACE", "UPDATE", "DELETE"})
_AFTER_VERB = frozenset({"LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "QUICK", "INTO"})
_JOINS = frozenset({"JOIN", "STRAIGHT_JOIN"})
_QUERY = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_NO_TABLE = _QUERY | {"LATERAL", "JSON_TABLE", "ONLY", "SET", "FROM", "WHERE"}
# Words reserved by MySQL and MariaDB: they cannot be an alias that more tables follow.
_BEHIND_TABLES = frozenset({"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT"})
_SETS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})

# They concern the whole server, its accounts, its files or other sessions; no load has any of them.
_ADMINISTERS = frozenset(
    "GRANT REVOKE KILL SHUTDOWN RESTART RESET PURGE CHANGE START STOP INSTALL UNINSTALL FLUSH CLONE"
    " BINLOG".split()
)
_DEFINES = frozenset({"CREATE", "ALTER", "DROP", "RENAME"})
_BEFORE_WHAT = frozenset({"OR", "REPLACE", "IF", "NOT", "EXISTS"})
_OF_THE_SERVER = frozenset(
    "USER ROLE SERVER DATABASE SCHEMA TABLESPACE UNDO LOGFILE INSTANCE RESOURCE".split()
)
_SET_FOR_ALL = ("GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD", "DEFAULT")


class _Unclear(Exception):
    """A statement is not understood; the message says which part of it."""


def effect_of(sql: str) -> Effect:
    """What the statement would do, over a connection whose schema is the target's."""
    try:
        tokens = _understood(sql)
    except NotSql as cut:
        return Effect(unclear=message_of(cut))
    except _Unclear as unclear:
        return Effect(unclear=message_of(unclear))
    calls = tuple(sorted({name_of(tokens[at]).lower() for at in _calls(tokens)}))
    words = {name_of(each).lower() for each in tokens if each.kind in ("word", "name")}
    names = tuple(sorted(words))
    try:
        writes = _written(tokens)
        _refuse_calls_elsewhere(tokens)
    except _Unclear as unclear:
        return Effect(unclear=message_of(unclear), calls=calls, names=names)
    return Effect(writes=tuple(dict.fromkeys(writes)), calls=calls, names=names)


def administers(sql: str) -> str | None:
    """The part that affects the whole server or its accounts; `None` if there is none."""
    try:
        tokens = with_code(tokens_of(sql))
    except NotSql:
        return None  # the code that parses it reports the error
    return _administers(tokens)


def _administers(tokens: Sequence[Token]) -> str | None:
    words = [token.text.upper() for token in tokens if token.kind == "word"]
    verb = words[0] if words else ""
    if verb in _ADMINISTERS or words[:2] == ["LOCK", "INSTANCE"]:
        return " ".join(words[:2])
    if verb in _DEFINES:
        what = next((word for word in words[1:] if word not in _BEFORE_WHAT), "")
        is_program = "FUNCTION" in words[1:5] and "SONAME" in words
        return f"{verb} {what}" if is_program or what in _OF_THE_SERVER else None
    if verb != "SET":
        return None
    if words[1:2] == ["STATEMENT"]:
        return _administers(_behind_for(tokens))
    return next(filter(None, map(_set_for_all, _settings(tokens))), None)


def _behind_for(tokens: Sequence[Token]) -> Sequence[Token]:
    """The statement in MariaDB's `SET STATEMENT a = 1 FOR …`; empty if there is no FOR."""
    begins = (at for at, token in enumerate(tokens, 1) if token.text.upper() == "FOR")
    return tokens[next(begins, len(tokens)) :]


def _set_for_all(setting: Sequence[Token]) -> str | None:
    """The variable that `a = 1` in `SET …` sets for the whole server; `None` if it does not."""
    if not setting:
        return None
    first = setting[0].text.upper()
    if first in _SET_FOR_ALL:
        return f"SET {first}"
    joined = "".join(token.text for token in setting[:3]).replace("`", "").upper()
    return "SET GLOBAL" if joined.startswith(("@@GLOBAL", "@@PERSIST")) else None


def _settings(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The parts between the commas after SET."""
    begin, depth = 1, 0
    for at, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and not depth:
            yield tokens[begin:at]
            begin = at + 1
    yield tokens[begin:]


def _understood(sql: str) -> list[Token]:
    """The tokens of one statement that every server splits in the same way.

    Raises:
        NotSql: it is not a statement.
        _Unclear: some servers would split it differently.
    """
    tokens = [token for token in tokens_of(sql) if token.kind != "hint"]
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        if token.kind == "code":
            raise _Unclear(say("an executable comment"))
        if token.text == ";":
            raise _Unclear(say("more than one statement"))
        # With NO_BACKSLASH_ESCAPES such a text ends at another quote.
        if token.kind == "text" and ("\\'" in token.text or '\\"' in token.text):
            raise _Unclear(say("a quote after a backslash"))
        # With ANSI_QUOTES, texts in double quotes are names.
        is_quoted = token.kind == "text" and token.text.endswith('"')
        if is_quoted and following and following.text in ("(", "."):
            raise _Unclear(say("{text} before {sign}", text=token.text, sign=following.text))
    return tokens


def _calls(tokens: Sequence[Token]) -> Iterator[int]:
    """The positions of names that a parenthesis follows."""
    for at, following in enumerate(tokens[1:]):
        if following.text == "(" and tokens[at].kind in ("word", "name"):
            yield at


def _refuse_calls_elsewhere(tokens: Sequence[Token]) -> None:
    """Refuse functions after a point, of any schema; `INSERT INTO shop.orders (…)` calls none."""
    for at in _calls(tokens):
        names_rows = at > 2 and tokens[at - 3].text.upper() in ("INTO", "INSERT", "REPLACE")
        if at > 1 and tokens[at - 1].text == "." and not names_rows:
            raise _Unclear(plain(f"{name_of(tokens[at - 2])}.{name_of(tokens[at])}()"))


def _written(tokens: Sequence[Token]) -> list[TableName]:
    """The tables that the statement writes to; raises _Unclear if they cannot be determined."""
    at = next((at for at, token in enumerate(tokens) if token.text != "("), 0)
    words = [token.text.upper() for token in tokens if token.kind == "word"]
    verb = _word(tokens, at)
    if verb == "WITH" and at == 0:
        at = _behind_with(tokens)
        verb = _word(tokens, at)
    if verb in _READS or verb in _ASKS:
        return _locked(tokens, at, words)
    if verb in _EXPLAINS:
        if "ANALYZE" in words and _CHANGES.intersection(words):
            raise _Unclear(plain(f"{verb} ANALYZE"))
        return []
    if verb in _CHANGES and tokens[0].text != "(":
        return _changed(verb, tokens, at)
    if verb == "TRUNCATE":
        first = at + 2 if _word(tokens, at + 1) == "TABLE" else at + 1
        return [_name(tokens, first)[0]]
    if verb == "SET" and all(map(_is_own_variable, _settings(tokens))):
        return []
    raise _Unclear(plain(verb) if verb else say("a text that is not a statement"))


def _changed(verb: str, tokens: Sequence[Token], at: int) -> list[TableName]:
    if verb in ("INSERT", "REPLACE"):
        return [_name(tokens, _behind_words(tokens, at + 1))[0]]
    if verb == "UPDATE":
        found, end = _tables(tokens, _behind_words(tokens, at + 1), {"SET"})
        if end == len(tokens):
            raise _Unclear(say("UPDATE without SET"))
        return found
    # Tables named before FROM are also named after it, or are aliases of those.
    begin = _at_depth_0(tokens, at, {"FROM"})
    if begin is None:
        raise _Unclear(say("DELETE without FROM"))
    return _tables(tokens, begin + 1, _BEHIND_TABLES, may_use=True)[0]


def _is_own_variable(setting: Sequence[Token]) -> bool:
    """Whether it sets `@name`, which only belongs to the connection."""
    first = setting[0].text if setting else ""
    is_own = len(first) > 1 and first[0] == "@" and first[1] != "@"
    return is_own and len(setting) > 1 and setting[1].text in ("=", ":=")


def _locked(tokens: Sequence[Token], at: int, words: Sequence[str]) -> list[TableName]:
    """The tables whose rows a read locks.

    Raises:
        _Unclear: they cannot be determined, or it writes to files or sequences.
    """
    for word in ("OUTFILE", "DUMPFILE", "NEXTVAL", "SETVAL"):
        if word in words:
            raise _Unclear(plain(word))
    pairs = set(zip(words, words[1:], strict=False))
    if ("NEXT", "VALUE") in pairs:
        raise _Unclear(plain("NEXT VALUE"))
    locking = {("FOR", "UPDATE"), ("FOR", "SHARE"), ("LOCK", "IN")} & pairs
    if not locking:
        return []
    said = say("a locking read ({words}) within another statement", words=" ".join(min(locking)))
    begin = _at_depth_0(tokens, at, {"FROM"})
    if begin is None or tokens[0].text.upper() != "SELECT" or _SETS.intersection(words):
        raise _Unclear(said)
    if words.count("SELECT") > 1 or _QUERY.intersection(words[1:]):
        raise _Unclear(said)
    return _tables(tokens, begin + 1, _BEHIND_TABLES)[0]


def _tables(
    tokens: Sequence[Token], begin: int, ends: Collection[str], *, may_use: bool = False
) -> tuple[list[TableName], int]:
    """The tables of a list with joins, and where it ends; aliases and conditions are skipped.

    Args:
        tokens: those of the statement.
        begin: where the list begins.
        ends: words that end it.
        may_use: before any join, USING starts the list of a DELETE again.

    Raises:
        _Unclear: something in it is not a name of a table.
    """
    found: list[TableName] = []
    at, depth, is_name, joined = begin, 0, True, False
    while at < len(tokens):
        word = _word(tokens, at)
        sign = tokens[at].text
        if is_name and sign == "(" and _word(tokens, at + 1) in _QUERY:
            at, is_name = _behind_group(tokens, at), False  # rows of a subquery
        elif is_name and sign == "(":
            at, depth = at + 1, depth + 1
        elif is_name:
            name, at = _name(tokens, at)
            found.append(name)
            is_name = False
        elif word in ends and not depth:
            return found, at
        elif sign == "," or _joins(tokens, at) or (word == "USING" and may_use and not joined):
            joined |= sign != ","
            at, is_name = at + 1, True
        elif sign == "(":
            at = _behind_group(tokens, at)
        elif word in _QUERY or (sign == ")" and not depth):
            raise _Unclear(say("{text} among tables", text=tokens[at].text))
        else:
            depth -= sign == ")"
            at += 1
    if is_name or depth:
        raise _Unclear(say("a list of tables without an end"))
    return found, at


def _joins(tokens: Sequence[Token], at: int) -> bool:
    """Whether a join, and so a table, follows; `USE INDEX FOR JOIN (k)` is none."""
    return _word(tokens, at) in _JOINS and _word(tokens, at - 1) != "FOR"


def _name(tokens: Sequence[Token], at: int) -> tuple[TableName, int]:
    """The table named there, and the position after it; `shop.orders.*` is a name, too.

    Raises:
        _Unclear: it is not a name.
    """
    parts = [_part(tokens, at)]
    at += 1
    while at < len(tokens) and tokens[at].text == ".":
        if at + 1 < len(tokens) and tokens[at + 1].text == "*":
            at += 2
            break
        parts.append(_part(tokens, at + 1))
        at += 2
    if len(parts) > 2:
        raise _Unclear(say("the name {name}", name=".".join(parts)))
    return TableName(schema_name=parts[0] if len(parts) == 2 else None, name=parts[-1]), at


def _part(tokens: Sequence[Token], at: int) -> str:
    token = tokens[at] if at < len(tokens) else None
    is_name = token is not None and (
        token.kind == "name"
        or (
            token.kind == "word"
            and token.text.upper() not in _NO_TABLE
            and not token.text.startswith("@")
        )
    )
    if token is None or not is_name:
        raise _Unclear(
            say("{text} in place of a table", text=token.text)
            if token
            else say("nothing in place of a table")
        )
    return name_of(token)


def _word(tokens: Sequence[Token], at: int) -> str:
    """The word in upper case; empty if there is none. After a point any word is a name."""
    is_word = at < len(tokens) and tokens[at].kind == "word"
    is_name = at > 0 and tokens[at - 1].text == "."
    return tokens[at].text.upper() if is_word and not is_name else ""


def _behind_words(tokens: Sequence[Token], at: int) -> int:
    while _word(tokens, at) in _AFTER_VERB:
        at += 1
    return at


def _behind_with(tokens: Sequence[Token]) -> int:
    """Where the statement begins after the named queries of WITH."""
    at = _at_depth_0(tokens, 1, _READS | _CHANGES)
    if at is None:
        raise _Unclear(say("WITH without a statement"))
    return at


def _at_depth_0(tokens: Sequence[Token], begin: int, words: Collection[str]) -> int | None:
    """The position of the first of these words outside all parentheses."""
    depth = 0
    for at in range(begin, len(tokens)):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if not depth and _word(tokens, at) in words:
            return at
    return None


def _behind_group(tokens: Sequence[Token], at: int) -> int:
    """The position after a group in parentheses; raises _Unclear if it is not closed."""
    depth = 0
    for end in range(at, len(tokens)):
        depth += (tokens[end].text == "(") - (tokens[end].text == ")")
        if not depth:
            return end + 1
    raise _Unclear(say("a parenthesis without an end"))
