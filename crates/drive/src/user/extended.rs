//! Sends statements that are parsed for one execution.

use super::{Link, User};
use crate::connection::{Extended, Loss};
use crate::shard::ShardContext;
use loadstone_workload::StatementRef;

/// Why there is an extended protocol where a plan asks for it.
pub(super) const CHECKED: &str = "the plan's check refuses families without it";

impl User {
    /// Sends the statement and its parameters, which are those in `shard.params`.
    pub(super) fn send_once(&mut self, shard: &mut ShardContext, statement: StatementRef) {
        let Link::Open(connection) = &mut self.link else { return };
        write_once(shard, &mut connection.conversation.extended().expect(CHECKED), statement);
        match connection.send_expected(&shard.command) {
            Ok(sent) => shard.meter.counts.bytes_out += sent as u64,
            Err(error) => self.lose(shard, &Loss::from_io(self.endpoint.family, &error)),
        }
    }
}

/// Appends the statement to `shard.command`, with the parameters in `shard.params`.
pub(super) fn write_once(
    shard: &mut ShardContext,
    extended: &mut Extended<'_>,
    statement: StatementRef,
) {
    let ShardContext { settings, params, command, .. } = shard;
    let catalogue = &settings.catalogue;
    if catalogue.is_verbatim(statement.kind) {
        let write = |out: &mut Vec<u8>| catalogue.write_text(statement, params, out);
        extended.write_once(command, write, std::iter::empty());
    } else {
        let write = |out: &mut Vec<u8>| catalogue.write_prepared(statement, out);
        extended.write_once(command, write, params.iter());
    }
}
