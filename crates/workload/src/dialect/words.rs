//! Words of SQL on which families differ, as placeholders in the text of built-in statements and
//! tables.

/// A word on which families differ.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The column type of small integers.
    TinyInt,
    /// The column type of a date with the time of day.
    DateTime,
    /// The column type of integers that the server generates in sequence.
    Counter,
    /// The same with 64 bits.
    BigCounter,
    /// The time of the statement.
    Now,
    /// A parameter in hundredths, as an exact number.
    Hundredths,
}

/// Their placeholders in built-in texts.
pub(super) const SIGNS: [(&str, Word); 6] = [
    ("{tinyint}", Word::TinyInt),
    ("{datetime}", Word::DateTime),
    ("{counter}", Word::Counter),
    ("{big_counter}", Word::BigCounter),
    ("{now}", Word::Now),
    ("{hundredths}", Word::Hundredths),
];
