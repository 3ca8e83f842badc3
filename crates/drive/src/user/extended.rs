//! Sends statements that are parsed for one execution.

use super::{Link, User};
use crate::connection::Loss;
use crate::shard::ShardContext;
use loadstone_workload::StatementRef;

impl User {
    /// Sends the statement and its parameters, which are those in `shard.params`.
    pub(super) fn send_once(&mut self, shard: &mut ShardContext, statement: StatementRef) {
        let Link::Open(connection) = &mut self.link else { return };
        let ShardContext { settings, params, command, .. } = shard;
        let catalogue = &settings.catalogue;
        let mut extended =
            connection.conversation.extended().expect("the plan's check refuses other families");
        if catalogue.is_verbatim(statement.kind) {
            let write = |out: &mut Vec<u8>| catalogue.write_text(statement, params, out);
            extended.write_once(command, write, std::iter::empty());
        } else {
            let write = |out: &mut Vec<u8>| catalogue.write_prepared(statement, out);
            extended.write_once(command, write, params.iter());
        }
        match connection.send_expected(&shard.command) {
            Ok(sent) => shard.meter.counts.bytes_out += sent as u64,
            Err(error) => self.lose(shard, &Loss::from_io(self.endpoint.family, &error)),
        }
    }
}
