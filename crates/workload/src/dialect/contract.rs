//! What each dialect has to say.

use super::words::{SIGNS, Word};
use std::fmt;

/// How a family of servers writes SQL. What it returns of SQL is text that the server takes as it stands, but that a
/// `?` in a [`Word`] is a parameter in every dialect.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// The family's name, by which a plan chooses it.
    fn family(&self) -> &'static str;

    /// Appends what stands for a parameter where a statement is prepared; `number` counts them from one.
    fn push_placeholder(&self, number: u16, out: &mut Vec<u8>);

    /// Appends a text as a literal, whatever is in it.
    fn push_text(&self, text: &[u8], out: &mut Vec<u8>);

    /// The literal of a floating-point number that is infinite, or none.
    fn not_finite(&self, value: f64) -> &'static str;

    /// Appends a date or time of a row, of which the server has sent these bytes, as a text that it takes for the same.
    fn push_temporal(&self, bytes: &[u8], out: &mut Vec<u8>);

    /// A name as it stands in SQL, whatever is in it.
    fn quoted(&self, name: &str) -> String;

    /// What the family writes for a word that others write in another way.
    fn word(&self, word: Word) -> &'static str;

    /// The id of a new row for which the server takes its next one. A family without such a value has to leave the
    /// column out, and then `oltp_insert` needs a statement of its own.
    fn generated_id(&self) -> i64;

    /// How loaded rows are punctuated.
    fn punctuation(&self, notation: Notation) -> &'static Punctuation;

    /// A text as it stands in such a row, between the quotes.
    fn escaped(&self, notation: Notation, text: &str) -> String;

    /// Makes a table; fails where it is there.
    fn create_table(&self, table: &NewTable<'_>) -> String;

    /// A statement that makes a table, written by a user, which is to give it this comment as well.
    fn with_comment(&self, create: &str, comment: &str) -> String;
}

/// A family has one dialect.
impl PartialEq for dyn Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.family() == other.family()
    }
}

impl Eq for dyn Dialect {}

/// Where rows stand that are loaded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Notation {
    /// In a stream of rows, which is no statement: LOAD DATA, COPY.
    Stream,
    /// In `INSERT … VALUES`.
    Values,
}

/// How a row is punctuated.
#[derive(Copy, Clone, Debug)]
pub struct Punctuation {
    /// Before its first value.
    pub open: &'static str,
    /// Between two of its values.
    pub separator: &'static str,
    /// On both sides of a text.
    pub quote: &'static str,
    /// Behind its last value.
    pub close: &'static str,
    /// Between two rows.
    pub between: &'static str,
    /// In place of a value that is none.
    pub null: &'static str,
}

/// A table to be made.
#[derive(Copy, Clone, Debug)]
pub struct NewTable<'a> {
    /// Its name, which needs no quotes.
    pub name: &'a str,
    /// Its columns, without keys, in the words of the dialect.
    pub columns: &'a str,
    /// An index that is there before the rows: its name and its columns.
    pub key: Option<(&'a str, &'a str)>,
    /// The columns of the primary key.
    pub primary_key: Option<&'a str>,
    /// Columns, and what they refer to.
    pub foreign_keys: &'a [(&'a str, &'a str)],
    /// The server's name of the storage engine, where it has several.
    pub storage_engine: &'a str,
    /// From which it is known again.
    pub comment: Option<&'a str>,
    /// By which column it is cut into how many pieces.
    pub partitions: Option<(&'a str, u32)>,
}

/// A built-in text in a dialect. Signs that are no words stay.
pub(crate) fn spelled(text: &str, dialect: &dyn Dialect) -> String {
    SIGNS.iter().fold(text.to_owned(), |text, (sign, word)| text.replace(sign, dialect.word(*word)))
}
