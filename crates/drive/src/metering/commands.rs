//! Figures of each command of the scripts, if the plan asks for them.

use loadstone_measure::Nanos;

/// What a command did in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandFigures {
    /// How often it was executed successfully.
    pub(crate) count: u64,
    /// How long that took together.
    pub(crate) sum: Nanos,
    /// Errors here that failed the event.
    pub(crate) failed: u64,
    /// Errors here that restarted the event.
    pub(crate) restarted: u64,
}

impl CommandFigures {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.failed += other.failed;
        self.restarted += other.restarted;
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The figures of all commands, by member of a mix and number in its script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByCommand(Vec<Vec<CommandFigures>>);

impl ByCommand {
    /// The figures of a command. They are kept in place, so that only its first use allocates.
    pub(crate) fn of(&mut self, member: u16, command: u16) -> &mut CommandFigures {
        let (member, command) = (usize::from(member), usize::from(command));
        if self.0.len() <= member {
            self.0.resize_with(member + 1, Vec::new);
        }
        let commands = &mut self.0[member];
        if commands.len() <= command {
            commands.resize_with(command + 1, CommandFigures::default);
        }
        &mut commands[command]
    }

    /// Adds another shard's.
    pub(crate) fn add(&mut self, other: &Self) {
        for (member, command, figures) in other.all() {
            self.of(member, command).add(figures);
        }
    }

    /// Those of commands that did something, in their order, with member and number.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u16, u16, &CommandFigures)> {
        let members = (0..).zip(&self.0);
        members.flat_map(|(member, commands)| {
            let numbered = (0..).zip(commands).filter(|(_, figures)| !figures.is_empty());
            numbered.map(move |(command, figures)| (member, command, figures))
        })
    }

    /// Takes everything; the figures of the next interval start from zero, in the same memory.
    pub(crate) fn take(&mut self) -> Self {
        let taken = self.clone();
        for commands in &mut self.0 {
            commands.fill(CommandFigures::default());
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_one_interval_and_add_up_over_shards() {
        let (mut here, mut there) = (ByCommand::default(), ByCommand::default());
        for _ in 0..2 {
            let figures = here.of(1, 2);
            figures.count += 1;
            figures.sum += Nanos(5);
        }
        there.of(1, 2).failed += 1;
        there.of(0, 1).restarted += 1;
        let mut whole = here.take();
        whole.add(&there);
        let all: Vec<_> = whole.all().map(|(member, command, of)| (member, command, *of)).collect();
        let restarted = CommandFigures { restarted: 1, ..CommandFigures::default() };
        let both = CommandFigures { count: 2, sum: Nanos(10), failed: 1, restarted: 0 };
        assert_eq!(all, [(0, 1, restarted), (1, 2, both)]);
        assert_eq!(here.take().all().count(), 0);
    }
}
