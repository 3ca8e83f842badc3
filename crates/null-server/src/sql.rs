//! Recognises a statement by its first words. There is no parser: load is answered at once, and
//! administrative statements by a plausible guess.

/// A statement, as far as its answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sql<'a> {
    /// Opens a transaction.
    Begin,
    /// Ends one: COMMIT or ROLLBACK, and PostgreSQL's END and ABORT.
    End,
    /// Changes a row.
    Write,
    /// Reads a table: the columns between SELECT and FROM, and whether it reads a range.
    Read { list: &'a [u8], range: bool },
    /// Asks about the server, its schemas or its variables: not load.
    Question(&'a [u8]),
    /// Changes a setting or a table's layout: answered with OK, not load.
    Setting,
    /// A command to this server itself.
    Control(Control<'a>),
}

/// A command to this server itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control<'a> {
    /// SHOW NULL STATUS.
    Status,
    /// FLUSH NULL STATUS: resets counters and log, and restarts the script's time.
    Flush,
    /// SET NULL SCRIPT {...}: replaces the script from now on.
    Script(&'a [u8]),
}

/// Schemas that are not part of the load.
const SYSTEM: [&[u8]; 4] = [b"information_schema", b"performance_schema", b"mysql", b"sys"];

pub(crate) fn understand(statement: &[u8]) -> Sql<'_> {
    let statement = without_comments(statement);
    let (verb, rest) = word(statement);
    if let Some(control) = control(verb, rest) {
        return Sql::Control(control);
    }
    if is(verb, b"SELECT") {
        return select(statement, rest);
    }
    if is(verb, b"SET") && is(word(rest).0, b"STATEMENT") {
        // MariaDB's: SET STATEMENT max_statement_time=1 FOR SELECT ...
        return find(rest, b" FOR ").map_or(Sql::Setting, |at| understand(&rest[at + 5..]));
    }
    let words: [(&[&[u8]], Sql<'_>); 4] = [
        (&[b"BEGIN", b"START"], Sql::Begin),
        (&[b"COMMIT", b"ROLLBACK", b"END", b"ABORT"], Sql::End),
        (&[b"INSERT", b"UPDATE", b"DELETE", b"REPLACE"], Sql::Write),
        (&[b"SHOW", b"DESCRIBE", b"DESC", b"EXPLAIN", b"WITH"], Sql::Question(statement)),
    ];
    let known = words.iter().find(|(verbs, _)| verbs.iter().any(|known| is(verb, known)));
    known.map_or(Sql::Setting, |(_, sql)| *sql)
}

/// How many `?` a statement has outside of literals, names and comments.
pub(crate) fn count_params(statement: &[u8]) -> u16 {
    let (mut count, mut within) = (0, None);
    for &byte in statement {
        match within {
            Some(quote) if byte == quote => within = None,
            Some(_) => {}
            None if matches!(byte, b'\'' | b'"' | b'`') => within = Some(byte),
            None => count += u16::from(byte == b'?'),
        }
    }
    count
}

/// The first position of `needle`, ignoring case.
pub(crate) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle))
}

fn select<'a>(statement: &'a [u8], rest: &'a [u8]) -> Sql<'a> {
    let Some(from) = find(rest, b" FROM ") else { return Sql::Question(statement) };
    let list = rest[..from].trim_ascii();
    let table = rest[from + 6..].trim_ascii_start();
    let schema = table.split(|&byte| byte == b'.').next().unwrap_or_default();
    let system = SYSTEM.iter().any(|known| is(unquoted(schema), known));
    // Loadstone's own questions about its tables; load asks for other things.
    let about = [&b"COUNT(*)"[..], b"MAX(", b"COALESCE(", b"table_name"];
    let counts = about.iter().any(|asked| starts(list, asked));
    if system || counts || find(table, b"loadstone_tables").is_some() {
        return Sql::Question(statement);
    }
    Sql::Read { list, range: find(table, b" BETWEEN ").is_some() }
}

fn control<'a>(verb: &[u8], rest: &'a [u8]) -> Option<Control<'a>> {
    let (null, rest) = word(rest);
    let (what, rest) = word(rest);
    if !is(null, b"NULL") {
        return None;
    }
    match () {
        () if is(verb, b"SHOW") && is(what, b"STATUS") => Some(Control::Status),
        () if is(verb, b"FLUSH") && is(what, b"STATUS") => Some(Control::Flush),
        () if is(verb, b"SET") && is(what, b"SCRIPT") => Some(Control::Script(rest.trim_ascii())),
        () => None,
    }
}

fn without_comments(mut statement: &[u8]) -> &[u8] {
    loop {
        statement = statement.trim_ascii();
        let Some(comment) = statement.strip_prefix(b"/*") else { return statement };
        match find(comment, b"*/") {
            Some(end) => statement = &comment[end + 2..],
            None => return statement,
        }
    }
}

/// The first word and the rest; an optimizer hint between them is skipped.
fn word(statement: &[u8]) -> (&[u8], &[u8]) {
    let statement = statement.trim_ascii_start();
    let end = statement
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))
        .unwrap_or(statement.len());
    let (word, rest) = statement.split_at(end);
    (word, without_comments(rest))
}

fn is(word: &[u8], known: &[u8]) -> bool {
    word.eq_ignore_ascii_case(known)
}

fn starts(text: &[u8], known: &[u8]) -> bool {
    text.get(..known.len()).is_some_and(|head| is(head, known))
}

fn unquoted(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_told_from_administration() {
        let read = |list: &'static [u8], range| Sql::Read { list, range };
        let cases: [(&str, Sql<'_>); 12] = [
            ("BEGIN", Sql::Begin),
            ("start transaction", Sql::Begin),
            (" commit ", Sql::End),
            ("UPDATE sbtest1 SET k=k+1 WHERE id=5", Sql::Write),
            ("/* a */ insert into sbtest1 VALUES (1)", Sql::Write),
            ("SELECT c FROM sbtest1 WHERE id=5", read(b"c", false)),
            ("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?", read(b"c", true)),
            ("select sum(k) from `sbtest2` where id=1", read(b"sum(k)", false)),
            ("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?)", read(b"id, k, c, pad", false)),
            ("SET autocommit=1", Sql::Setting),
            ("SHOW NULL STATUS", Sql::Control(Control::Status)),
            ("set null script {}", Sql::Control(Control::Script(b"{}"))),
        ];
        for (statement, expected) in cases {
            assert_eq!(understand(statement.as_bytes()), expected, "{statement}");
        }
    }

    #[test]
    fn questions_are_no_load() {
        for statement in [
            "SELECT VERSION()",
            "SELECT 1 FROM information_schema.schemata WHERE schema_name = 'a'",
            "SELECT COUNT(*) FROM `sbtest1`",
            "SELECT /*+ MAX_EXECUTION_TIME(3) */ COUNT(*) FROM `sbtest1`",
            "SELECT COALESCE(MAX(id), 0) FROM sbtest1",
            "SHOW GLOBAL VARIABLES",
        ] {
            let understood = understand(statement.as_bytes());
            assert!(matches!(understood, Sql::Question(_)), "{statement}: {understood:?}");
        }
        let limited = b"SET STATEMENT max_statement_time=3 FOR SELECT COUNT(*) FROM `sbtest1`";
        assert_eq!(understand(limited), Sql::Question(b"SELECT COUNT(*) FROM `sbtest1`"));
    }

    #[test]
    fn question_marks_in_texts_are_no_parameters() {
        assert_eq!(count_params(b"SELECT '?', \"?\", `?`, ? FROM t WHERE a = ?"), 2);
        assert_eq!(count_params(b"COMMIT"), 0);
    }
}
