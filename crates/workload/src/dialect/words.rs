//! Words of SQL on which families differ, as placeholders in the text of built-in statements and
//! tables.

/// A word on which families differ.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The column type of small integers.
    TinyInt,
    /// The column type of a date with the time of day.
    DateTime,
    /// Marks a column whose values the server generates in sequence; with the space before it.
    Identity,
    /// The time of the statement.
    Now,
    /// A parameter in hundredths, as an exact number.
    Hundredths,
}

/// Their placeholders in built-in texts.
pub(super) const SIGNS: [(&str, Word); 5] = [
    ("{tinyint}", Word::TinyInt),
    ("{datetime}", Word::DateTime),
    ("{identity}", Word::Identity),
    ("{now}", Word::Now),
    ("{hundredths}", Word::Hundredths),
];
