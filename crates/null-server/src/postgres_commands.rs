//! Answers the messages of PostgreSQL's clients. What comes between two Syncs has one answer.
//!
//! <https://www.postgresql.org/docs/current/protocol-flow.html>

use crate::answer::{Reply, Then};
use crate::connection::{Came, Connection, Phase};
use crate::core::Core;
use crate::library::Known;
use crate::log::{Kind, Outcome};
use crate::postgres_catalog::{self, Shown};
use crate::postgres_messages::{
    Found, Message, message, put, put_complete, put_copy_in, put_data_row, put_description,
    put_parameters, string,
};
use crate::postgres_session::{Does, Session, Statement};
use crate::rows::Rows;
use crate::script::Script;
use crate::scripted_faults::Verdict;
use crate::sql::{Control, Sql, find, understand};
use crate::tls::Names;
use std::sync::Arc;

/// invalid_sql_statement_name
const NO_STATEMENT: (u16, &str) = (1243, "26000");
/// feature_not_supported
const NOT_SUPPORTED: (u16, &str) = (1235, "0A000");
/// invalid_parameter_value
const WRONG_VALUE: (u16, &str) = (1231, "22023");

/// How many characters an error shows of a statement that has no answer.
const ASKED_MAX: usize = 70;

/// What comes of one of the messages.
enum Next {
    /// Its answer waits for the others up to the next Sync.
    GoOn,
    /// All answers so far are sent.
    Send(Reply),
    /// The connection is closed without an answer.
    Close,
    Garbled,
}

impl Connection {
    /// Takes messages until an answer is due. Returns how many bytes they had.
    pub(crate) fn take_messages(&mut self, core: &mut Core, bytes: &[u8], came: Came) -> usize {
        let mut used = 0;
        while self.answering.is_none() && matches!(self.phase, Phase::Login | Phase::Commands) {
            match message(&bytes[used..], self.phase == Phase::Login) {
                Found::Part => break,
                Found::Garbled => {
                    self.garbled(core);
                    break;
                }
                Found::Whole(found) => {
                    used += found.length;
                    self.on_postgres(core, found, came);
                }
            }
        }
        used
    }

    fn on_postgres(&mut self, core: &mut Core, message: Message<'_>, came: Came) {
        let Some(mut session) = self.postgres.take() else {
            return self.start_up(core, message, came);
        };
        let next = self.next(core, &mut session, message, came);
        self.postgres = Some(session);
        match next {
            Next::GoOn => {}
            Next::Send(reply) => self.answer(core, reply, came),
            Next::Close => self.close(core),
            Next::Garbled => self.garbled(core),
        }
    }

    fn next(
        &mut self,
        core: &mut Core,
        session: &mut Session,
        Message { kind, body, .. }: Message<'_>,
        came: Came,
    ) -> Next {
        match kind {
            b'X' => return Next::Close,
            b'S' => return Next::Send(session.ready()),
            b'd' | b'c' | b'f' if session.copied.is_some() => return copy(session, kind, body),
            // Rows that were on their way when the statement failed.
            b'd' | b'c' | b'f' => return Next::GoOn,
            b'H' => return Next::Send(session.answer()),
            _ if session.skips && kind != b'Q' => return Next::GoOn,
            _ => {}
        }
        match kind {
            b'Q' => match string(body) {
                Some((sql, [])) => self.simple_query(core, session, sql, came),
                _ => Next::Garbled,
            },
            b'P' => self.parse(core, session, body),
            b'B' => bind(session, body),
            b'D' => describe(core, session, body),
            b'E' => execute(core, session, came),
            b'C' => close_statement(core, session, body),
            _ => Next::Garbled,
        }
    }

    fn simple_query(
        &mut self,
        core: &mut Core,
        session: &mut Session,
        statement: &[u8],
        came: Came,
    ) -> Next {
        if let Some(answer) = self.about_the_server(core, statement) {
            core.stats.others += 1;
            session.kind = Kind::Administration;
            match answer {
                Ok(shown) => {
                    shown.put_description(&mut session.out);
                    show(session, &shown);
                }
                Err(text) => session.fail(NOT_SUPPORTED.0, NOT_SUPPORTED.1, &text),
            }
            return Next::Send(session.ready());
        }
        let sql = understand(statement);
        if let Some(known) = core.library.known(sql) {
            core.stats.queries += 1;
            if core.library.has_rows(known.answer) {
                session.out.extend_from_slice(core.library.description(known.answer));
            }
            return match load(core, session, known, Kind::Query, came) {
                Next::GoOn => Next::Send(session.ready()),
                other => other,
            };
        }
        core.stats.others += 1;
        session.kind = Kind::Administration;
        match sql {
            Sql::Question(question) => {
                put_rows(session, &core.question(question, self.id, self.tls_names()));
            }
            Sql::Control(Control::Status) => put_rows(session, &core.status_rows()),
            Sql::Control(Control::Flush) => {
                core.flush();
                put_complete(&mut session.out, "SET");
            }
            Sql::Control(Control::Script(text)) => {
                match Script::from_json(&String::from_utf8_lossy(text)) {
                    Ok(script) => {
                        core.set_script(script);
                        put_complete(&mut session.out, "SET");
                    }
                    Err(error) => {
                        session.fail(WRONG_VALUE.0, WRONG_VALUE.1, &error.to_string());
                    }
                }
            }
            _ if find(statement, b"COPY ") == Some(0) => {
                session.copied = Some(0);
                put_copy_in(&mut session.out);
                return Next::Send(session.answer());
            }
            _ => put_complete(&mut session.out, "SET"),
        }
        Next::Send(session.ready())
    }

    fn parse(&self, core: &mut Core, session: &mut Session, body: &[u8]) -> Next {
        let Some((name, rest)) = string(body) else { return Next::Garbled };
        let Some((sql, _types)) = string(rest) else { return Next::Garbled };
        core.stats.prepares += u64::from(!name.is_empty());
        if session.kind != Kind::Execute {
            session.kind = Kind::Prepare;
        }
        let does = match self.about_the_server(core, sql) {
            None => Does::Load(core.library.prepared(sql)),
            Some(Ok(shown)) => Does::Show(Arc::new(shown)),
            Some(Err(text)) => return fail(session, NOT_SUPPORTED, &text),
        };
        session.statements.insert(name.to_vec(), Statement { does, params: parameters(sql) });
        put(&mut session.out, b'1', |_| {});
        Next::GoOn
    }

    /// The answer to a statement about the server, or why there is none; `None`: it is none.
    fn about_the_server(&self, core: &Core, statement: &[u8]) -> Option<Result<Shown, String>> {
        if let Some(shown) = postgres_catalog::size(&core.settings, statement) {
            return Some(Ok(shown));
        }
        if !postgres_catalog::is_about_the_server(statement) {
            return None;
        }
        let now = core.now(self.id, self.tls_names());
        let shown = postgres_catalog::answer(&core.settings, statement, now);
        Some(shown.ok_or_else(|| {
            let asked = String::from_utf8_lossy(statement);
            let words = asked.split_whitespace().collect::<Vec<_>>().join(" ");
            let start: String = words.chars().take(ASKED_MAX).collect();
            format!("the null server has no answer to {start}")
        }))
    }

    fn tls_names(&self) -> Option<Names> {
        self.tls.as_ref().and_then(|tls| tls.names())
    }
}

/// What is bound: load, or something about the server.
fn execute(core: &mut Core, session: &mut Session, came: Came) -> Next {
    match session.bound.as_ref().map(|bound| bound.does.clone()) {
        Some(Does::Load(known)) => {
            // Those before one Sync have one answer, and count as one.
            core.stats.executes += u64::from(session.kind != Kind::Execute);
            load(core, session, known, Kind::Execute, came)
        }
        Some(Does::Show(shown)) => {
            core.stats.others += 1;
            session.kind = Kind::Administration;
            show(session, &shown);
            Next::GoOn
        }
        None => fail(session, NO_STATEMENT, "there is no portal"),
    }
}

/// A load statement: answered as the script says, otherwise from the library.
fn load(core: &mut Core, session: &mut Session, known: Known, kind: Kind, came: Came) -> Next {
    session.kind = kind;
    if !core.faults.is_plain() {
        core.load_came(came.whole);
        match core.faults.verdict() {
            Verdict::Answer => {}
            Verdict::Error(rule) => {
                let rule = &core.faults.script.errors[rule];
                session.fail(rule.errno, &rule.sql_state, &rule.message);
                return Next::GoOn;
            }
            Verdict::Drop => {
                let reply = Reply::own(kind, Outcome::Dropped, Vec::new());
                return Next::Send(Reply { then: Then::Drop, ..reply });
            }
        }
    }
    match core.library.execution(known.answer) {
        Some(execution) => session.out.extend_from_slice(execution),
        None => session.take_effect(known.effect),
    }
    session.outcome =
        if core.library.has_rows(known.answer) { Outcome::Rows } else { Outcome::Done };
    Next::GoOn
}

fn fail(session: &mut Session, (errno, state): (u16, &str), text: &str) -> Next {
    session.fail(errno, state, text);
    Next::GoOn
}

/// The highest number of a `$n`; question marks are no parameters here.
fn parameters(sql: &[u8]) -> u16 {
    let digits = |at: usize| sql[at..].iter().take_while(|byte| byte.is_ascii_digit());
    let number = |at: usize| {
        digits(at).fold(0_u16, |sum, digit| {
            sum.saturating_mul(10).saturating_add(u16::from(digit - b'0'))
        })
    };
    let marks = sql.iter().enumerate().filter(|(_, byte)| **byte == b'$');
    marks.map(|(at, _)| number(at + 1)).max().unwrap_or(0)
}

fn bind(session: &mut Session, body: &[u8]) -> Next {
    let Some((_portal, rest)) = string(body) else { return Next::Garbled };
    let Some((name, _values)) = string(rest) else { return Next::Garbled };
    let Some(statement) = session.statements.get(name).cloned() else {
        let text =
            format!("prepared statement \"{}\" does not exist", String::from_utf8_lossy(name));
        return fail(session, NO_STATEMENT, &text);
    };
    session.bound = Some(statement);
    put(&mut session.out, b'2', |_| {});
    Next::GoOn
}

fn describe(core: &Core, session: &mut Session, body: &[u8]) -> Next {
    let Some((what, rest)) = body.split_first() else { return Next::Garbled };
    let Some((name, _)) = string(rest) else { return Next::Garbled };
    let described = match what {
        b'P' => session.bound.as_ref(),
        _ => session.statements.get(name),
    };
    let Some(Statement { does, params }) = described.cloned() else {
        return fail(session, NO_STATEMENT, "there is nothing of this name to describe");
    };
    if *what == b'S' {
        put_parameters(&mut session.out, params);
    }
    match does {
        Does::Load(known) => {
            session.out.extend_from_slice(core.library.description(known.answer));
        }
        Does::Show(shown) => shown.put_description(&mut session.out),
    }
    Next::GoOn
}

fn close_statement(core: &mut Core, session: &mut Session, body: &[u8]) -> Next {
    core.stats.closes += 1;
    if let Some((b'S', rest)) = body.split_first()
        && let Some((name, _)) = string(rest)
    {
        session.statements.remove(name);
    }
    put(&mut session.out, b'3', |_| {});
    Next::GoOn
}

/// Rows of a COPY, or its end.
fn copy(session: &mut Session, kind: u8, body: &[u8]) -> Next {
    // psql sends the line that ends its rows, too.
    let lines = body.split_inclusive(|&byte| byte == b'\n').filter(|line| *line != b"\\.\n");
    let copied = session.copied.take().unwrap_or_default() + lines.count() as u64;
    match kind {
        b'd' => {
            session.copied = Some(copied);
            return Next::GoOn;
        }
        b'c' => put_complete(&mut session.out, &format!("COPY {copied}")),
        _ => session.fail(1317, "57014", "COPY from stdin failed"),
    }
    Next::Send(session.ready())
}

/// The rows of an answer about the server.
fn show(session: &mut Session, shown: &Shown) {
    shown.put_rows(&mut session.out);
    session.outcome = Outcome::Rows;
}

fn put_rows(session: &mut Session, rows: &Rows) {
    put_description(&mut session.out, &rows.columns);
    for row in &rows.rows {
        put_data_row(&mut session.out, row);
    }
    put_complete(&mut session.out, &format!("SELECT {}", rows.rows.len()));
    session.outcome = Outcome::Rows;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_as_many_parameters_as_its_highest_number() {
        assert_eq!(parameters(b"SELECT c FROM t WHERE id BETWEEN $1 AND $2 OR k=$1"), 2);
        assert_eq!(parameters(b"INSERT INTO t VALUES ($1, $12)"), 12);
        assert_eq!(parameters(b"COMMIT"), 0);
    }
}
