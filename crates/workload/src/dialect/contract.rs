//! What each dialect must define.

use super::words::{SIGNS, Word};
use std::fmt;

/// How a family of servers writes SQL. SQL that it returns is sent unchanged, except that a `?` in
/// a [`Word`] is a parameter in every dialect.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// The family's name, by which a plan selects it.
    fn family(&self) -> &'static str;

    /// Whether its protocol takes a statement's text together with parameters, and further
    /// statements before the first one is answered.
    fn has_extended_protocol(&self) -> bool;

    /// Appends the placeholder of a parameter in a prepared statement; `number` counts them from
    /// one.
    fn push_placeholder(&self, number: u16, out: &mut Vec<u8>);

    /// Appends a text as a literal, whatever it contains.
    fn push_text(&self, text: &[u8], out: &mut Vec<u8>);

    /// The literal of a floating-point number that is infinite or NaN.
    fn not_finite(&self, value: f64) -> &'static str;

    /// Appends a date or time of a row, of which the server sent these bytes, as a text that it
    /// reads as the same value.
    fn push_temporal(&self, bytes: &[u8], out: &mut Vec<u8>);

    /// A name as written in SQL, whatever it contains.
    fn quoted(&self, name: &str) -> String;

    /// How the family writes a word on which families differ.
    fn word(&self, word: Word) -> &'static str;

    /// The id of a new row for which the server generates one; `None`: the column is omitted.
    fn generated_id(&self) -> Option<i64>;

    /// How loaded rows are punctuated.
    fn punctuation(&self, notation: Notation) -> &'static Punctuation;

    /// How rows are sent in the form in which the server holds their values, if it takes them so.
    fn binary_rows(&self) -> Option<&'static dyn BinaryRows> {
        None
    }

    /// A text as written in such a row, between the quotes.
    fn escaped(&self, notation: Notation, text: &str) -> String;

    /// Creates a table; fails if it exists.
    fn create_table(&self, table: &NewTable<'_>) -> String;

    /// The statements for a foreign key that a table gets after all rows are there; `None`: it is
    /// created with its table, as loads may turn its check off.
    fn late_key(&self, key: &ForeignKey<'_>) -> Option<LateKey>;

    /// A user's statement that creates a table of this quoted name, with this comment added.
    fn with_comment(&self, create: &str, name: &str, comment: &str) -> String;
}

/// A family has one dialect, so the family identifies it.
impl PartialEq for dyn Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.family() == other.family()
    }
}

impl Eq for dyn Dialect {}

/// How rows are loaded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Notation {
    /// In a stream of rows, which is not a statement: LOAD DATA, COPY.
    Stream,
    /// In `INSERT … VALUES`.
    Values,
}

/// A stream of rows in which each value has the form of its column's type.
pub trait BinaryRows: fmt::Debug + Send + Sync {
    /// Appends what stands before the first row.
    fn begin(&self, out: &mut Vec<u8>);

    /// Appends the start of a row of so many values.
    fn row(&self, values: u16, out: &mut Vec<u8>);

    /// Appends a value of a column of the type `INTEGER`.
    fn integer(&self, value: i32, out: &mut Vec<u8>);

    /// Appends a text that `write` appends.
    fn text(&self, write: &mut dyn FnMut(&mut Vec<u8>), out: &mut Vec<u8>);

    /// Appends what stands behind the last row.
    fn end(&self, out: &mut Vec<u8>);
}

/// How a row is punctuated.
#[derive(Copy, Clone, Debug)]
pub struct Punctuation {
    /// Before its first value.
    pub open: &'static str,
    /// Between two of its values.
    pub separator: &'static str,
    /// On both sides of a text value.
    pub quote: &'static str,
    /// After its last value.
    pub close: &'static str,
    /// Between two rows.
    pub between: &'static str,
    /// Instead of a missing value.
    pub null: &'static str,
}

/// A table to be created.
#[derive(Copy, Clone, Debug)]
pub struct NewTable<'a> {
    /// Its name, which needs no quotes.
    pub name: &'a str,
    /// Its columns, without keys, in the dialect's SQL.
    pub columns: &'a str,
    /// An index that is created before the rows: its name and its columns.
    pub key: Option<(&'a str, &'a str)>,
    /// The columns of the primary key.
    pub primary_key: Option<&'a str>,
    /// Columns, and what they refer to; not those that come late.
    pub foreign_keys: &'a [(&'a str, &'a str)],
    /// The server's name of the storage engine, if it has several.
    pub storage_engine: &'a str,
    /// The comment that identifies it later.
    pub comment: Option<&'a str>,
    /// The column that partitions it, and the number of partitions.
    pub partitions: Option<(&'a str, u32)>,
}

/// A foreign key.
#[derive(Copy, Clone, Debug)]
pub struct ForeignKey<'a> {
    /// Its name, which needs no quotes.
    pub name: &'a str,
    /// The table that has it, which needs no quotes either.
    pub table: &'a str,
    /// The columns of that table.
    pub columns: &'a str,
    /// The table and the columns that they refer to.
    pub referred: &'a str,
}

/// The statements that add a foreign key to a table with rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateKey {
    /// The name of the key.
    pub name: String,
    /// Adds it for new rows. It locks both tables, for a moment.
    pub add: String,
    /// Checks the rows that are there. Other keys of both tables can be checked at the same time.
    pub check: String,
}

/// A built-in text in a dialect. Braces that enclose no word stay.
pub(crate) fn spelled(text: &str, dialect: &dyn Dialect) -> String {
    SIGNS.iter().fold(text.to_owned(), |text, (sign, word)| text.replace(sign, dialect.word(*word)))
}
