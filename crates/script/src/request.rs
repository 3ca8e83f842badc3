//! A script's requests to the code that drives it, and the answers.

use loadstone_protocol::{Code, Param, ResultSet};

use crate::ffi_value::RawValue;

/// What a user waits for. Connections and statements have numbers assigned by the script's state,
/// each of them unique.
#[derive(Debug)]
pub enum Request<'a> {
    /// Nothing: the last function has returned.
    Idle,
    /// Wait for the next event. The event before it is over.
    NextEvent,
    /// End the event, before the next one is requested.
    EventOver,
    /// Count one more of something.
    Count {
        /// What is counted: sysbench's number of the counter.
        counter: u32,
    },
    /// Sleep.
    Sleep {
        /// How long.
        nanos: u64,
    },
    /// Open a connection.
    Connect {
        /// Its number from now on.
        connection: u32,
    },
    /// Close a connection.
    Disconnect {
        /// Its number.
        connection: u32,
    },
    /// Close a connection, and open a new one under its number.
    Reconnect {
        /// Its number.
        connection: u32,
    },
    /// Execute a statement as text.
    Query {
        /// The connection.
        connection: u32,
        /// The statement.
        sql: &'a [u8],
    },
    /// Prepare a statement.
    Prepare {
        /// The connection.
        connection: u32,
        /// Its number from now on.
        statement: u32,
        /// The statement.
        sql: &'a [u8],
        /// Its parameters without their values: their kinds, where the server is to know them.
        parameters: Parameters<'a>,
    },
    /// Execute a prepared statement.
    Execute {
        /// The connection.
        connection: u32,
        /// The statement's number.
        statement: u32,
        /// Its parameters.
        parameters: Parameters<'a>,
    },
    /// Close a prepared statement. The server does not answer.
    CloseStatement {
        /// The connection.
        connection: u32,
        /// The statement's number.
        statement: u32,
    },
}

/// The result of a [`Request`].
#[derive(Copy, Clone, Debug)]
pub enum Answer<'a> {
    /// It was done: an event starts, a connection is open, a statement is prepared.
    Done,
    /// A statement was executed.
    Results(&'a [ResultSet]),
    /// The server refused, or the connection is lost: the script gets an error.
    Refused {
        /// The error code of the servers' family.
        code: Code,
        /// The SQL state.
        sql_state: [u8; 5],
        /// The message.
        message: &'a str,
    },
    /// To [`Request::NextEvent`]: there is no further event.
    NoMore,
}

/// The parameters of a prepared statement, as bound by the script.
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

/// Fulfils a script's requests, one after another.
pub trait Server {
    /// The result, once it is available. Never called with [`Request::Idle`].
    fn answer(&mut self, request: &Request<'_>) -> Answer<'_>;
}
