//! What a script asks of whoever drives it, and the answers.

use loadstone_protocol::{Code, Param, ResultSet};

use crate::ffi_value::RawValue;

/// What a user waits for. Connections and statements have numbers that its script's state has given
/// them; no two are alike.
#[derive(Debug)]
pub enum Request<'a> {
    /// Nothing: the last wish is fulfilled.
    Idle,
    /// The time of the next event. The event before it is over.
    NextEvent,
    /// An end to the event, before the next is asked for.
    EventOver,
    /// That one more is counted.
    Count {
        /// Of what: the field's number of it.
        counter: u32,
    },
    /// Time to pass.
    Sleep {
        /// How much.
        nanos: u64,
    },
    /// A new connection.
    Connect {
        /// Its number from now on.
        connection: u32,
    },
    /// An end to it.
    Disconnect {
        /// Which.
        connection: u32,
    },
    /// An end to it, and a new one under its number.
    Reconnect {
        /// Which.
        connection: u32,
    },
    /// The answer to a text.
    Query {
        /// Where.
        connection: u32,
        /// The statement.
        sql: &'a [u8],
    },
    /// A prepared statement.
    Prepare {
        /// Where.
        connection: u32,
        /// Its number from now on.
        statement: u32,
        /// The statement.
        sql: &'a [u8],
    },
    /// The answer to a prepared statement.
    Execute {
        /// Where.
        connection: u32,
        /// Which.
        statement: u32,
        /// Its parameters.
        parameters: Parameters<'a>,
    },
    /// An end to a prepared statement. The server does not answer.
    CloseStatement {
        /// Where.
        connection: u32,
        /// Which.
        statement: u32,
    },
}

/// What came of a [`Request`].
#[derive(Copy, Clone, Debug)]
pub enum Answer<'a> {
    /// It was done: an event begins, a connection is open, a statement is known.
    Done,
    /// A statement was carried out.
    Results(&'a [ResultSet]),
    /// The server refused, or the connection is gone: the script hears of it as an error.
    Refused {
        /// Its code in the servers' family.
        code: Code,
        /// Five characters.
        sql_state: [u8; 5],
        /// In words.
        message: &'a str,
    },
    /// To [`Request::NextEvent`]: there is none.
    NoMore,
}

/// The parameters of a prepared statement, as the script has bound them.
#[derive(Copy, Clone, Debug)]
pub struct Parameters<'a> {
    pub(crate) cells: &'a [&'a RawValue],
}

impl<'a> Parameters<'a> {
    /// In the order of the statement's placeholders.
    pub fn iter(self) -> impl Iterator<Item = Param<'a>> + Clone {
        self.cells.iter().map(|cell| cell.value())
    }
}

/// Who carries out what a script asks for, one request after the other.
pub trait Server {
    /// What came of it, when it is over. [`Request::Idle`] asks for nothing and is never seen here.
    fn answer(&mut self, request: &Request<'_>) -> Answer<'_>;
}
