//! Statements that a script has prepared on its connections.

use crate::connection::Conversation;
use loadstone_protocol::{Expect, Param};
use loadstone_script::Parameters;
use loadstone_workload::{Catalogue, Params, Piece, StatementRef, Template};
use std::collections::HashMap;

/// Indexed by the script's statement number.
#[derive(Default)]
pub(super) struct Statements(HashMap<u32, Statement>);

enum Statement {
    /// The server's id; `kinds` are the parameter types that it was last sent.
    Prepared { id: u32, kinds: Option<Vec<u8>> },
    /// Sent as text, with its parameters in place.
    Text(Box<Catalogue>),
}

impl Statements {
    pub(super) fn prepared(&mut self, number: u32, id: u32) {
        self.0.insert(number, Statement::Prepared { id, kinds: None });
    }

    pub(super) fn as_text(&mut self, number: u32, sql: &str) {
        let template = Template::new(pieces(sql));
        self.0.insert(number, Statement::Text(Box::new(Catalogue::new(vec![template]))));
    }

    /// Forgets it; returns the server's id of it, if there is one.
    pub(super) fn forget(&mut self, number: u32) -> Option<u32> {
        match self.0.remove(&number)? {
            Statement::Prepared { id, .. } => Some(id),
            Statement::Text(_) => None,
        }
    }

    /// Appends the command that executes it, if there is a connection; returns what answer to
    /// expect. `None`: there is no such statement.
    pub(super) fn write(
        &mut self,
        number: u32,
        parameters: Parameters<'_>,
        conversation: Option<&Conversation>,
        out: &mut Vec<u8>,
    ) -> Option<Expect> {
        match self.0.get_mut(&number)? {
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
                let whole = StatementRef { kind: 0, table: 0 };
                if let Some(conversation) = conversation {
                    conversation.write_query_with(out, |out| {
                        catalogue.write_text(whole, &owned(parameters), out);
                    });
                }
                Some(Expect::Query)
            }
        }
    }
}

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

/// The parts of a statement; a question mark in quotes is not a placeholder.
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

    #[test]
    fn a_question_mark_in_quotes_stays_what_it_is() {
        let catalogue =
            Catalogue::new(vec![Template::new(pieces("SELECT '?', `a?` WHERE b=? AND c=?"))]);
        let mut params = Params::new();
        params.push_int(7);
        params.push_text("it's");
        let mut out = Vec::new();
        catalogue.write_text(StatementRef { kind: 0, table: 0 }, &params, &mut out);
        let sql = String::from_utf8(out).expect("text");
        assert_eq!(sql, r"SELECT '?', `a?` WHERE b=7 AND c='it\'s'");
    }
}
