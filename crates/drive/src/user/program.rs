//! The user waits for a program as it does for a sleep's end.

use super::{Activity, Pending, User};
use crate::error::os_text;
use crate::programs::Ended;
use crate::shard::ShardContext;
use loadstone_measure::Nanos;
use loadstone_protocol::Param;

impl User {
    /// Runs the program whose command line is in `shard.params`.
    pub(super) fn run_program(&mut self, shard: &mut ShardContext, wants_line: bool, now: Nanos) {
        let command = match shard.params.iter().next() {
            Some(Param::Text(line)) => line.to_vec(),
            _ => Vec::new(),
        };
        let Activity::Busy(event) = &mut self.activity else { return };
        match shard.run_program(self.index, &command, wants_line) {
            Ok(number) => {
                event.pending = Pending::Program { number };
                event.sent = now;
            }
            Err(error) => {
                let why = format!("no program can be run: {}", os_text(&error));
                self.missing_row(shard, why, now);
            }
        }
    }

    /// A program of this user has ended; its event may have failed or been lost in the meantime.
    pub(crate) fn on_program_end(&mut self, shard: &mut ShardContext, ended: Ended) {
        let Activity::Busy(event) = &mut self.activity else { return };
        if !matches!(event.pending, Pending::Program { number } if number == ended.number) {
            return;
        }
        event.pending = Pending::Answer;
        let now = shard.now();
        let took = now - event.sent;
        if ended.outcome.is_ok() {
            self.command_done(shard, took);
        }
        self.machine.ran(ended.outcome);
        let step = self.machine.step(None, &mut shard.params);
        self.take_step(shard, step, now);
        self.watch(shard);
    }
}
