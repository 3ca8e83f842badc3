//! Statements that a script has prepared on its connections.

use crate::connection::Conversation;
use loadstone_protocol::{Expect, Param};
use loadstone_script::Parameters;
use loadstone_workload::dialect::Dialect;
use loadstone_workload::{Catalogue, Params, Piece, StatementRef, Template};
use std::borrow::Cow;
use std::num::NonZeroU64;

pub(super) struct Statements {
    /// How their servers write parameters that stand in the text.
    dialect: &'static dyn Dialect,
    /// Sorted by their numbers: each new one is greater than all before it.
    known: Vec<Known>,
}

struct Known {
    /// The script's number of it.
    number: u32,
    /// The script's number of its connection.
    connection: u32,
    statement: Statement,
}

enum Statement {
    /// The server knows it by this id; `kinds` are those of the parameters that were sent to it last.
    Prepared { id: u32, kinds: Option<Kinds> },
    /// It goes as text, with its parameters in place.
    Text(Box<Catalogue>),
}

/// The id of a statement whose session is lost. No server gives it, so each refuses to execute that statement, as one
/// that it does not know.
const GONE: u32 = 0;

impl Statements {
    pub(super) fn new(dialect: &'static dyn Dialect) -> Self {
        Self { dialect, known: Vec::new() }
    }

    pub(super) fn prepared(&mut self, connection: u32, number: u32, id: u32) {
        self.keep(connection, number, Statement::Prepared { id, kinds: None });
    }

    /// A script's statement with the placeholders of the servers' dialect, to be prepared.
    pub(super) fn preparable<'a>(&self, sql: &'a [u8]) -> Cow<'a, [u8]> {
        let mut placeholder = Vec::new();
        self.dialect.push_placeholder(1, &mut placeholder);
        if placeholder == b"?" {
            return Cow::Borrowed(sql);
        }
        let template = Template::new(pieces(&String::from_utf8_lossy(sql)));
        let mut out = Vec::with_capacity(sql.len());
        Catalogue::in_dialect(vec![template], self.dialect).write_prepared(WHOLE, &mut out);
        Cow::Owned(out)
    }

    pub(super) fn as_text(&mut self, connection: u32, number: u32, sql: &str) {
        let template = Template::new(pieces(sql));
        let catalogue = Catalogue::in_dialect(vec![template], self.dialect);
        self.keep(connection, number, Statement::Text(Box::new(catalogue)));
    }

    fn keep(&mut self, connection: u32, number: u32, statement: Statement) {
        match self.place_of(number) {
            Ok(place) => self.known[place].statement = statement,
            Err(place) => {
                self.make_room();
                self.known.insert(place, Known { number, connection, statement });
            }
        }
    }

    /// Room for another one. Little at a time: a script prepares its statements once, and each of thousands of users
    /// would keep the rest.
    fn make_room(&mut self) {
        if self.known.len() == self.known.capacity() {
            self.known.reserve_exact((self.known.len() / 8).max(2));
        }
    }

    fn place_of(&self, number: u32) -> Result<usize, usize> {
        self.known.binary_search_by_key(&number, |known| known.number)
    }

    /// The connection has a new session: another statement may have the id of one that an earlier session knew. What
    /// goes as text needs no session.
    pub(super) fn lose_session(&mut self, connection: u32) {
        for known in self.known.iter_mut().filter(|known| known.connection == connection) {
            if let Statement::Prepared { id, kinds } = &mut known.statement {
                (*id, *kinds) = (GONE, None);
            }
        }
    }

    /// The script has closed the connection, and its statements with it.
    pub(super) fn forget_all(&mut self, connection: u32) {
        self.known.retain(|known| known.connection != connection);
    }

    /// Forgets it; the id by which the connection's session knows it, if it does.
    pub(super) fn forget(&mut self, number: u32) -> Option<u32> {
        let place = self.place_of(number).ok()?;
        match self.known.remove(place).statement {
            Statement::Prepared { id, .. } => Some(id).filter(|id| *id != GONE),
            Statement::Text(_) => None,
        }
    }

    /// Appends the command that executes it, where there is a connection; what answer it has. `None`: there is no
    /// such statement.
    pub(super) fn write(
        &mut self,
        number: u32,
        parameters: Parameters<'_>,
        conversation: Option<&Conversation>,
        out: &mut Vec<u8>,
    ) -> Option<Expect> {
        let place = self.place_of(number).ok()?;
        match &mut self.known[place].statement {
            Statement::Prepared { id, kinds } => {
                let now = Kinds::of(parameters.iter());
                let known = now.is_some() && *kinds == now;
                if let Some(conversation) = conversation {
                    conversation.write_execute(out, *id, parameters.iter(), !known);
                    *kinds = now;
                }
                Some(Expect::Execute)
            }
            Statement::Text(catalogue) => {
                if let Some(conversation) = conversation {
                    conversation.write_query_with(out, |out| {
                        catalogue.write_text(WHOLE, &owned(parameters), out);
                    });
                }
                Some(Expect::Query)
            }
        }
    }
}

/// The only statement of a catalogue of one.
const WHOLE: StatementRef = StatementRef { kind: 0, table: 0 };

/// The kinds of a statement's parameters, two bits for each behind a first 1.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kinds(NonZeroU64);

impl Kinds {
    /// `None`: there are too many. Then they are sent with each call.
    fn of<'a>(parameters: impl Iterator<Item = Param<'a>>) -> Option<Self> {
        let mut bits = 1_u64;
        for value in parameters {
            if bits.leading_zeros() < 2 {
                return None;
            }
            bits = bits << 2 | kind(value);
        }
        NonZeroU64::new(bits).map(Self)
    }
}

fn kind(value: Param<'_>) -> u64 {
    match value {
        Param::Null => 0,
        Param::Int(_) => 1,
        Param::Double(_) => 2,
        Param::Text(_) => 3,
    }
}

fn owned(parameters: Parameters<'_>) -> Params {
    let mut params = Params::new();
    for value in parameters.iter() {
        match value {
            Param::Null => params.push_null(),
            Param::Int(value) => params.push_int(value),
            Param::Double(value) => params.push_double(value),
            Param::Text(text) => params.push_text(text),
        }
    }
    params
}

/// The parts of a statement; a question mark in quotes is no placeholder.
fn pieces(sql: &str) -> Vec<Piece> {
    let (mut pieces, mut text, mut quote) = (Vec::new(), String::new(), None);
    for sign in sql.chars() {
        match (sign, quote) {
            ('?', None) => {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                pieces.push(Piece::Parameter);
                continue;
            }
            ('\'' | '"' | '`', None) => quote = Some(sign),
            (sign, Some(open)) if sign == open => quote = None,
            _ => {}
        }
        text.push(sign);
    }
    pieces.push(Piece::Text(text));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_workload::dialect::{MySql, PostgreSql};

    /// The text of a script's statement with the parameters 7 and `it's`.
    fn written(dialect: &'static dyn Dialect, sql: &str) -> String {
        let mut statements = Statements::new(dialect);
        statements.as_text(1, 1, sql);
        let [Known { number: 1, statement: Statement::Text(catalogue), .. }] =
            statements.known.as_slice()
        else {
            panic!("it is not kept as text");
        };
        let mut params = Params::new();
        params.push_int(7);
        params.push_text("it's");
        let mut out = Vec::new();
        catalogue.write_text(WHOLE, &params, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_question_mark_in_quotes_stays_what_it_is() {
        let sql = written(&MySql, "SELECT '?', `a?` WHERE b=? AND c=?");
        assert_eq!(sql, r"SELECT '?', `a?` WHERE b=7 AND c='it\'s'");
    }

    #[test]
    fn a_statement_is_prepared_with_the_placeholders_of_the_servers_family() {
        let sql = b"SELECT '?', a FROM t WHERE b=? AND c=?";
        assert_eq!(*Statements::new(&MySql).preparable(sql), *sql);
        let numbered = b"SELECT '?', a FROM t WHERE b=$1 AND c=$2";
        assert_eq!(*Statements::new(&PostgreSql).preparable(sql), *numbered);
    }

    #[test]
    fn statements_are_known_by_their_numbers_until_they_are_forgotten() {
        let mut statements = Statements::new(&MySql);
        for number in [3, 7, 8] {
            statements.prepared(1, number, number * 10);
        }
        statements.prepared(1, 7, 71);
        assert_eq!(statements.forget(4), None);
        assert_eq!(statements.forget(7), Some(71));
        assert_eq!(statements.forget(7), None);
        assert_eq!((statements.forget(3), statements.forget(8)), (Some(30), Some(80)));
    }

    #[test]
    fn a_new_session_knows_no_statement_of_an_earlier_one() {
        let mut statements = Statements::new(&MySql);
        for (connection, number) in [(1, 3), (2, 4), (1, 5)] {
            statements.prepared(connection, number, 1);
        }
        statements.as_text(1, 6, "SELECT ?");
        statements.lose_session(1);
        statements.prepared(1, 7, 1);
        assert_eq!([3, 4, 7].map(|number| statements.forget(number)), [None, Some(1), Some(1)]);
        assert_eq!(statements.known.len(), 2, "one of a lost session, and one that goes as text");
        statements.forget_all(1);
        assert!(statements.known.is_empty());
    }

    #[test]
    fn kinds_of_parameters_differ_by_their_number_order_and_kind() {
        let of = |values: &[Param<'_>]| Kinds::of(values.iter().copied()).map(|kinds| kinds.0);
        let (null, int, text) = (Param::Null, Param::Int(0), Param::Text(b""));
        let lists: [&[Param<'_>]; 6] =
            [&[], &[null], &[null, null], &[int, text], &[text, int], &[Param::Double(0.0)]];
        let distinct: std::collections::HashSet<_> = lists.into_iter().map(of).collect();
        assert_eq!((distinct.len(), distinct.contains(&None)), (6, false));
        assert_ne!(of(&[text; 31]), of(&[int; 31]));
        assert_eq!(of(&[null; 32]), None, "they are sent with each call");
    }

    #[test]
    fn a_text_is_written_as_the_servers_family_writes_it() {
        assert_eq!(written(&PostgreSql, "SELECT ?, ?"), "SELECT 7, 'it''s'");
    }
}
