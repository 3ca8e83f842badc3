//! What a read of a connection brought, encrypted or not.

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// `count` bytes, from `wire` bytes off the socket; `more` when others may be waiting already.
    Bytes { count: usize, wire: usize, more: bool },
    /// Nothing for now.
    Nothing,
    /// The server has closed the connection.
    End,
}
