//! The connections of one scripted user: as many as its script opens.

use crate::connection::{Connection, Conversation, Endpoint, Loss};
use std::sync::Arc;

/// The limit for the rows of one answer, in bytes: a script that reads more is not a workload.
pub(super) const MOST_ROW_BYTES: usize = 64 << 20;

/// Indexed by the script's connection number. Each connection has a place, which is part of its
/// poller token.
#[derive(Default)]
pub(super) struct Connections {
    open: Vec<Option<OpenConnection>>,
    /// Those that ended while the script did not wait for them.
    lost: Vec<LostConnection>,
}

pub(super) struct OpenConnection {
    pub(super) number: u32,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) connection: Connection,
}

/// A connection that has ended, of which its script does not know yet.
pub(super) struct LostConnection {
    pub(super) number: u32,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) loss: Loss,
}

impl Connections {
    /// A free place.
    pub(super) fn free_place(&self) -> usize {
        self.open.iter().position(Option::is_none).unwrap_or(self.open.len())
    }

    pub(super) fn put(&mut self, place: usize, open: OpenConnection) {
        if self.open.is_empty() {
            // Most scripts have one connection; without this there would be memory for four.
            self.open.reserve_exact(1);
        }
        if place == self.open.len() {
            self.open.push(None);
        }
        self.open[place] = Some(open);
    }

    pub(super) fn place_of(&self, number: u32) -> Option<usize> {
        let is_it =
            |open: &Option<OpenConnection>| open.as_ref().is_some_and(|it| it.number == number);
        self.open.iter().position(is_it)
    }

    /// How commands for the connection of this number are encoded.
    pub(super) fn conversation(&self, number: u32) -> Option<&Conversation> {
        let open = self.open.iter().flatten().find(|open| open.number == number)?;
        Some(&open.connection.conversation)
    }

    pub(super) fn conversation_mut(&mut self, number: u32) -> Option<&mut Conversation> {
        let open = self.open.iter_mut().flatten().find(|open| open.number == number)?;
        Some(&mut open.connection.conversation)
    }

    pub(super) fn get(&mut self, place: usize) -> Option<&mut OpenConnection> {
        self.open.get_mut(place)?.as_mut()
    }

    pub(super) fn take(&mut self, place: usize) -> Option<OpenConnection> {
        self.open.get_mut(place)?.take()
    }

    /// Keeps what a script is to learn when it uses the connection next.
    pub(super) fn keep_lost(&mut self, lost: LostConnection) {
        self.lost.push(lost);
    }

    /// The connection of this number, if it has ended without the script's knowledge.
    pub(super) fn take_lost(&mut self, number: u32) -> Option<LostConnection> {
        let place = self.lost.iter().position(|lost| lost.number == number)?;
        Some(self.lost.swap_remove(place))
    }

    /// Says goodbye on all of them.
    pub(super) fn quit(&mut self) {
        for open in self.open.drain(..).flatten() {
            open.connection.quit();
        }
    }
}
