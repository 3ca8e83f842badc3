//! Connections on which this side has said goodbye, and which the server is about to close.
//!
//! Who closes first keeps the connection's port for a minute (TIME-WAIT, RFC 9293, 3.3.2). A user that reconnects all the
//! time would use up the ports of this machine, 28,000 by default, at 470 connections a second. The server has one port
//! for all its connections: if it closes first, nothing runs out.

use crate::connection::{Connection, Interest, Poller, Ready};
use std::collections::BTreeMap;

/// The tokens of these connections have this bit, and no others of a user have.
const FAREWELL: u64 = 1 << 63;

pub(crate) struct Farewells {
    /// By token, which is by age.
    leaving: BTreeMap<u64, Connection>,
    next: u64,
    /// A server that does not close gets no more than so many descriptors; the oldest are closed here.
    most: usize,
}

impl Farewells {
    pub(crate) fn new(most: usize) -> Self {
        Self { leaving: BTreeMap::new(), next: FAREWELL, most }
    }

    /// Says goodbye on a connection that `poller` watches.
    pub(crate) fn add(&mut self, poller: &Poller, connection: Connection) {
        let Some(connection) = connection.leave() else { return };
        // A connection that cannot be watched is closed at once, as every one of a unix socket is.
        if poller.modify(connection.fd(), self.next, Interest::Arrival).is_err() {
            return;
        }
        self.leaving.insert(self.next, connection);
        self.next += 1;
        if self.leaving.len() > self.most {
            self.leaving.pop_first();
        }
    }

    /// Whether an event of the poller is about such a connection. If the server has closed it, so does this side.
    pub(crate) fn takes(&mut self, ready: Ready) -> bool {
        if ready.token & FAREWELL == 0 {
            return false;
        }
        if ready.ended {
            self.leaving.remove(&ready.token);
        }
        true
    }
}
