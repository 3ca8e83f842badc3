//! Words of SQL that families write in ways of their own, as signs in the text of built-in statements and tables.

/// A word that families write in ways of their own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The type of a column of small numbers.
    TinyInt,
    /// The type of a date with the time of day.
    DateTime,
    /// Behind a column whose values the server counts up; with the space before it.
    Identity,
    /// The time of the statement.
    Now,
    /// A parameter in hundredths, as an exact number.
    Hundredths,
}

/// How built-in texts write them.
pub(super) const SIGNS: [(&str, Word); 5] = [
    ("{tinyint}", Word::TinyInt),
    ("{datetime}", Word::DateTime),
    ("{identity}", Word::Identity),
    ("{now}", Word::Now),
    ("{hundredths}", Word::Hundredths),
];
