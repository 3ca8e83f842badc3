//! Parameters of prepared statements.

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// A signed integer of 64 bits.
    Int(i64),
    /// A floating-point number of double precision.
    Double(f64),
    /// Text or bytes.
    Text(&'a [u8]),
}
