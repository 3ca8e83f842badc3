//! All statements of a workload, each written for the prepared or for the text protocol.

use std::io::Write as _;

use loadstone_protocol::Param;

use crate::Params;
use crate::dialect::{Dialect, usual_dialect};
use crate::text::push_decimal;

/// What a statement is in the catalogue: its kind and the table it goes to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementRef {
    /// Which template, from zero.
    pub kind: u16,
    /// Which table, from one; zero where the statement has none.
    pub table: u32,
}

/// A part of a statement's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Written as it stands.
    Text(String),
    /// The table's number.
    TableNumber,
    /// A placeholder, or the parameter as a literal.
    Parameter,
    /// The parameter's text as it is, not as a literal: for SQL that the machine writes itself. A
    /// statement with one cannot be prepared.
    Verbatim,
}

/// The text of one kind of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
    parameters: u16,
    is_verbatim: bool,
    text_only: bool,
    types_vary: bool,
    commits: bool,
}

impl Template {
    /// From its pieces.
    #[must_use]
    pub fn new(pieces: Vec<Piece>) -> Self {
        let is_parameter = |piece: &&Piece| matches!(piece, Piece::Parameter | Piece::Verbatim);
        let parameters = pieces.iter().filter(is_parameter).count();
        let is_verbatim = pieces.contains(&Piece::Verbatim);
        let parameters = u16::try_from(parameters).unwrap_or(u16::MAX);
        let commits = matches!(pieces.as_slice(), [Piece::Text(text)] if is_commit(text));
        Self { pieces, parameters, is_verbatim, text_only: is_verbatim, types_vary: false, commits }
    }

    /// From SQL in which `{table}` stands for the table's number, `?` for a parameter and `{verbatim}`
    /// for a verbatim one. For the built-in statements, none of which has these signs in a literal.
    #[must_use]
    pub(crate) fn parse(sql: &str) -> Self {
        const SIGNS: [(&str, Piece); 3] = [
            ("{table}", Piece::TableNumber),
            ("{verbatim}", Piece::Verbatim),
            ("?", Piece::Parameter),
        ];
        let mut pieces = Vec::new();
        let mut rest = sql;
        let first_sign = |text: &str| {
            let found = SIGNS.iter().filter_map(|sign| Some((text.find(sign.0)?, sign.clone())));
            found.min_by_key(|(position, _)| *position)
        };
        while let Some((position, (sign, piece))) = first_sign(rest) {
            pieces.push(Piece::Text(rest[..position].to_owned()));
            pieces.push(piece);
            rest = &rest[position + sign.len()..];
        }
        pieces.push(Piece::Text(rest.to_owned()));
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Self::new(pieces)
    }

    /// A parameter may be of one type now and of another, or NULL, the next time.
    #[must_use]
    pub fn types_vary(mut self) -> Self {
        self.types_vary = true;
        self
    }

    /// Never to be prepared, although it could be.
    #[must_use]
    pub fn text_only(mut self) -> Self {
        self.text_only = true;
        self
    }
}

/// COMMIT or END, of a transaction that was not prepared for two phases.
fn is_commit(sql: &str) -> bool {
    let sql = sql.trim_end().trim_end_matches(';');
    let mut words = sql.split_whitespace();
    let is_end = words
        .next()
        .is_some_and(|word| ["COMMIT", "END"].iter().any(|end| word.eq_ignore_ascii_case(end)));
    is_end && !sql.contains(';') && !words.any(|word| word.eq_ignore_ascii_case("PREPARED"))
}

/// The statements of a workload, shared by all users of a step. It has a template for each kind and
/// none for each table, so that 50,000 tables cost nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    templates: Vec<Template>,
    dialect: &'static dyn Dialect,
}

/// Without a statement, in the dialect of plans that name no family.
impl Default for Catalogue {
    fn default() -> Self {
        Self::in_dialect(Vec::new(), usual_dialect())
    }
}

impl Catalogue {
    /// In the dialect of plans that name no family: a plan with a target has its dialect.
    #[cfg(test)]
    pub(crate) fn new(templates: Vec<Template>) -> Self {
        Self::in_dialect(templates, usual_dialect())
    }

    /// Of these templates, written in this dialect; a kind is a template's index.
    #[must_use]
    pub fn in_dialect(templates: Vec<Template>, dialect: &'static dyn Dialect) -> Self {
        Self { templates, dialect }
    }

    /// How it is written.
    #[must_use]
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// Adds those of another; returns the kind that its first one has here. `None`, and nothing is
    /// added, where kinds run out of numbers.
    pub(crate) fn append(&mut self, other: &Self) -> Option<u16> {
        let first = u16::try_from(self.templates.len()).ok()?;
        u16::try_from(self.templates.len() + other.templates.len()).ok()?;
        self.templates.extend(other.templates.iter().cloned());
        Some(first)
    }

    /// How many kinds there are: `0..kinds()`.
    #[must_use]
    pub fn kinds(&self) -> usize {
        self.templates.len()
    }

    /// How many parameters a statement of this kind has.
    #[must_use]
    pub fn parameter_count(&self, kind: u16) -> u16 {
        self.template(kind).parameters
    }

    /// Whether statements of this kind go as text even where the rest is prepared: bulk inserts, and
    /// `oltp_insert`, which sysbench never prepares.
    #[must_use]
    pub fn is_text_only(&self, kind: u16) -> bool {
        self.template(kind).text_only
    }

    /// Whether statements of this kind commit a transaction, and do nothing else.
    #[must_use]
    pub fn commits(&self, kind: u16) -> bool {
        self.template(kind).commits
    }

    /// Whether a part of such a statement's text is a parameter: it has no placeholders.
    #[must_use]
    pub fn is_verbatim(&self, kind: u16) -> bool {
        self.template(kind).is_verbatim
    }

    /// Whether the types of parameters go along with each execution of such a statement, and not only with the
    /// first one: the server reads values by the types that it was sent last.
    #[must_use]
    pub fn types_vary(&self, kind: u16) -> bool {
        self.template(kind).types_vary
    }

    /// Append the statement with placeholders for its parameters, to prepare it.
    pub fn write_prepared(&self, statement: StatementRef, out: &mut Vec<u8>) {
        let mut number = 0;
        for piece in &self.template(statement.kind).pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::TableNumber => push_decimal(i64::from(statement.table), out),
                Piece::Parameter | Piece::Verbatim => {
                    number += 1;
                    self.dialect.push_placeholder(number, out);
                }
            }
        }
    }

    /// Append the statement with its parameters as literals. Parameters that are missing are NULL.
    pub fn write_text(&self, statement: StatementRef, params: &Params, out: &mut Vec<u8>) {
        let mut values = params.iter();
        for piece in &self.template(statement.kind).pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::TableNumber => push_decimal(i64::from(statement.table), out),
                Piece::Parameter => self.push_literal(values.next().unwrap_or(Param::Null), out),
                Piece::Verbatim => match values.next() {
                    Some(Param::Text(text)) => out.extend_from_slice(text),
                    other => self.push_literal(other.unwrap_or(Param::Null), out),
                },
            }
        }
    }

    /// Numbers and texts that are plain are written alike by all families.
    fn push_literal(&self, value: Param<'_>, out: &mut Vec<u8>) {
        match value {
            Param::Null => out.extend_from_slice(b"NULL"),
            Param::Int(value) => push_decimal(value, out),
            // `{:?}` keeps a point or an exponent, so that the server sees no integer.
            Param::Double(value) if value.is_finite() => {
                write!(out, "{value:?}").expect("a vector takes all that is written");
            }
            Param::Double(value) => {
                out.extend_from_slice(self.dialect.not_finite(value).as_bytes());
            }
            Param::Text(text) if is_plain(text) => {
                out.push(b'\'');
                out.extend_from_slice(text);
                out.push(b'\'');
            }
            Param::Text(text) => self.dialect.push_text(text, out),
        }
    }

    fn template(&self, kind: u16) -> &Template {
        &self.templates[usize::from(kind)]
    }
}

/// Whether a text certainly has nothing to escape, whatever the server's mode. Looks at all bytes at once
/// instead of stopping at the first: the texts of the built-in workloads are all plain.
fn is_plain(text: &[u8]) -> bool {
    text.iter().fold(true, |plain, byte| plain & (byte.is_ascii_alphanumeric() | (*byte == b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::PostgreSql;

    fn written(sql: &str, params: &Params) -> (String, String) {
        let catalogue = Catalogue::new(vec![Template::parse(sql)]);
        let statement = StatementRef { kind: 0, table: 42 };
        let (mut prepared, mut text) = (Vec::new(), Vec::new());
        catalogue.write_prepared(statement, &mut prepared);
        catalogue.write_text(statement, params, &mut text);
        (String::from_utf8(prepared).unwrap(), String::from_utf8(text).unwrap())
    }

    #[test]
    fn parameters_become_placeholders_or_literals() {
        let mut params = Params::new();
        params.push_int(-7);
        params.push_text("it's");
        params.push_null();
        params.push_double(2.0);
        params.push_double(f64::NAN);
        let (prepared, text) = written("CALL p{table}(?, ?, ?, ?, ?)", &params);
        assert_eq!(prepared, "CALL p42(?, ?, ?, ?, ?)");
        assert_eq!(text, r"CALL p42(-7, 'it\'s', NULL, 2.0, NULL)");
    }

    #[test]
    fn placeholders_and_texts_are_those_of_the_catalogues_dialect() {
        let template = Template::parse("UPDATE t{table} SET a=?, b=?, c=? WHERE d=?");
        let catalogue = Catalogue::in_dialect(vec![template.clone()], &PostgreSql);
        let mut params = Params::new();
        params.push_text("it's");
        params.push_text("plain");
        params.push_double(f64::NAN);
        params.push_int(7);
        let statement = StatementRef { kind: 0, table: 2 };
        let (mut prepared, mut text) = (Vec::new(), Vec::new());
        catalogue.write_prepared(statement, &mut prepared);
        catalogue.write_text(statement, &params, &mut text);
        assert_eq!(prepared, b"UPDATE t2 SET a=$1, b=$2, c=$3 WHERE d=$4");
        assert_eq!(text, b"UPDATE t2 SET a='it''s', b='plain', c='NaN' WHERE d=7");
        assert_ne!(catalogue, Catalogue::new(vec![template]));
    }

    #[test]
    fn a_statement_that_commits_does_nothing_else() {
        let commits = |sql| Catalogue::new(vec![Template::parse(sql)]).commits(0);
        for sql in ["COMMIT", " commit;", "COMMIT WORK", "END TRANSACTION", "COMMIT AND CHAIN"] {
            assert!(commits(sql), "{sql}");
        }
        for sql in [
            "ROLLBACK",
            "COMMIT PREPARED 'a'",
            "COMMIT; ROLLBACK",
            "COMMITTED",
            "INSERT INTO t VALUES (?); COMMIT",
            "",
        ] {
            assert!(!commits(sql), "{sql}");
        }
    }

    #[test]
    fn missing_parameters_are_null() {
        assert_eq!(written("SELECT ?", &Params::new()).1, "SELECT NULL");
    }

    #[test]
    fn verbatim_text_goes_in_as_it_is_and_is_never_prepared() {
        let mut params = Params::new();
        params.push_text("(1,'a')");
        assert_eq!(written("VALUES{verbatim}", &params).1, "VALUES(1,'a')");
        let catalogue = Catalogue::new(vec![Template::parse("VALUES{verbatim}")]);
        assert!(catalogue.is_text_only(0));
        assert_eq!((catalogue.kinds(), catalogue.parameter_count(0)), (1, 1));
    }

    #[test]
    fn plain_text_is_written_as_escaping_would() {
        for text in ["", "12345678901-12345678901", "a b", "quote'"] {
            let mut escaped = Vec::new();
            usual_dialect().push_text(text.as_bytes(), &mut escaped);
            let mut params = Params::new();
            params.push_text(text);
            assert_eq!(written("?", &params).1.as_bytes(), escaped);
        }
    }
}
