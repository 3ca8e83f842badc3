//! The figures of a script's commands, if the plan asks for them: the server's and the client's own.

use super::User;
use crate::shard::ShardContext;
use loadstone_measure::Nanos;
use loadstone_workload::Step;

impl User {
    /// The current command has been executed, and took so long.
    pub(super) fn command_done(&self, shard: &mut ShardContext, latency: Nanos) {
        if shard.meter.commands.is_some() {
            self.time_command(shard, self.machine.command(), latency);
        }
    }

    /// This command has been executed, and took so long.
    pub(super) fn time_command(
        &self,
        shard: &mut ShardContext,
        command: Option<u16>,
        latency: Nanos,
    ) {
        if let Some(commands) = &mut shard.meter.commands
            && let Some(command) = command
        {
            let figures = commands.of(self.member, command);
            figures.count += 1;
            figures.sum += latency;
        }
    }

    /// An error at the current command restarts its event, or fails it.
    pub(super) fn command_failed(&self, shard: &mut ShardContext, restart: bool) {
        if let Some(commands) = &mut shard.meter.commands
            && let Some(command) = self.machine.command()
        {
            let figures = commands.of(self.member, command);
            figures.restarted += u64::from(restart);
            figures.failed += u64::from(!restart);
        }
    }

    /// The client has executed a command of its own, which began at `began`: times it, and those
    /// that follow it, one by one.
    pub(super) fn time_own_commands(&mut self, shard: &mut ShardContext, mut began: Nanos) {
        let step = loop {
            let now = shard.now();
            self.command_done(shard, now - began);
            began = now;
            match self.machine.step(None, &mut shard.params) {
                Step::Executed => {}
                other => break other,
            }
        };
        self.take_step(shard, step, began);
    }
}
