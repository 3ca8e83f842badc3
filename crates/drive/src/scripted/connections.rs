//! The connections of one scripted user: as many as its script opens.

use crate::connection::{Connection, Conversation, Endpoint};
use std::sync::Arc;

/// The limit for the rows of one answer, in bytes: a script that reads more is not a workload.
pub(super) const MOST_ROW_BYTES: usize = 64 << 20;

/// Indexed by the script's connection number. Each connection has a place, which is part of its
/// poller token.
#[derive(Default)]
pub(super) struct Connections(Vec<Option<OpenConnection>>);

pub(super) struct OpenConnection {
    pub(super) number: u32,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) connection: Connection,
}

impl Connections {
    /// A free place.
    pub(super) fn free_place(&self) -> usize {
        self.0.iter().position(Option::is_none).unwrap_or(self.0.len())
    }

    pub(super) fn put(&mut self, place: usize, open: OpenConnection) {
        if place == self.0.len() {
            self.0.push(None);
        }
        self.0[place] = Some(open);
    }

    pub(super) fn place_of(&self, number: u32) -> Option<usize> {
        let is_it =
            |open: &Option<OpenConnection>| open.as_ref().is_some_and(|it| it.number == number);
        self.0.iter().position(is_it)
    }

    /// How commands for the connection of this number are encoded.
    pub(super) fn conversation(&self, number: u32) -> Option<&Conversation> {
        let open = self.0.iter().flatten().find(|open| open.number == number)?;
        Some(&open.connection.conversation)
    }

    pub(super) fn conversation_mut(&mut self, number: u32) -> Option<&mut Conversation> {
        let open = self.0.iter_mut().flatten().find(|open| open.number == number)?;
        Some(&mut open.connection.conversation)
    }

    pub(super) fn get(&mut self, place: usize) -> Option<&mut OpenConnection> {
        self.0.get_mut(place)?.as_mut()
    }

    pub(super) fn take(&mut self, place: usize) -> Option<OpenConnection> {
        self.0.get_mut(place)?.take()
    }

    /// Says goodbye on all of them.
    pub(super) fn quit(&mut self) {
        for open in self.0.drain(..).flatten() {
            open.connection.quit();
        }
    }
}
