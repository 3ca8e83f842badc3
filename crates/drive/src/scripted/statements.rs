//! Statements that a script has prepared on its connections.

use crate::connection::Conversation;
use loadstone_protocol::{Expect, Param};
use loadstone_script::Parameters;
use loadstone_workload::dialect::Dialect;
use loadstone_workload::{Catalogue, Params, Piece, StatementRef, Template};
use std::borrow::Cow;
use std::collections::HashMap;

pub(super) struct Statements {
    /// How their servers write parameters that stand in the text.
    dialect: &'static dyn Dialect,
    /// By the script's numbers of them.
    known: HashMap<u32, Statement>,
}

enum Statement {
    /// The server knows it by this id; `kinds` are those of the parameters that were sent to it last.
    Prepared { id: u32, kinds: Option<Vec<u8>> },
    /// It goes as text, with its parameters in place.
    Text(Box<Catalogue>),
}

impl Statements {
    pub(super) fn new(dialect: &'static dyn Dialect) -> Self {
        Self { dialect, known: HashMap::new() }
    }

    pub(super) fn prepared(&mut self, number: u32, id: u32) {
        self.known.insert(number, Statement::Prepared { id, kinds: None });
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

    pub(super) fn as_text(&mut self, number: u32, sql: &str) {
        let template = Template::new(pieces(sql));
        let catalogue = Catalogue::in_dialect(vec![template], self.dialect);
        self.known.insert(number, Statement::Text(Box::new(catalogue)));
    }

    /// Forgets it; the server's id of it, if it has one.
    pub(super) fn forget(&mut self, number: u32) -> Option<u32> {
        match self.known.remove(&number)? {
            Statement::Prepared { id, .. } => Some(id),
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
        match self.known.get_mut(&number)? {
            Statement::Prepared { id, kinds } => {
                let known = kinds
                    .as_ref()
                    .is_some_and(|known| parameters.iter().map(kind).eq(known.iter().copied()));
                if let Some(conversation) = conversation {
                    conversation.write_execute(out, *id, parameters.iter(), !known);
                    if !known {
                        *kinds = Some(parameters.iter().map(kind).collect());
                    }
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

fn kind(value: Param<'_>) -> u8 {
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
        statements.as_text(1, sql);
        let Some(Statement::Text(catalogue)) = statements.known.get(&1) else {
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
    fn a_text_is_written_as_the_servers_family_writes_it() {
        assert_eq!(written(&PostgreSql, "SELECT ?, ?"), "SELECT 7, 'it''s'");
    }
}
