//! Several workloads at once: their statements in one catalogue, and users that run one of them or,
//! drawn by weight for each event, several in turn.

use std::sync::Arc;

use loadstone_measure::Nanos;
use loadstone_protocol::ServerError;

use crate::dialect::usual_dialect;
use crate::random::{Purpose, Random};
use crate::{
    Answer, Catalogue, Machine, Params, Printer, SpecError, StatementRef, Step, Undone, Workload,
};

/// Workloads that users of one step run side by side.
#[derive(Clone, Debug)]
pub struct Mix {
    members: Vec<Member>,
    catalogue: Arc<Catalogue>,
    shares: Arc<[Share]>,
}

#[derive(Clone, Debug)]
struct Member {
    workload: Workload,
    /// The start of its statements in the catalogue of all.
    first_kind: u16,
}

/// A drawn member, and the sum of the weights up to and including its own.
#[derive(Clone, Copy, Debug)]
struct Share {
    upto: f64,
    member: u16,
}

impl Mix {
    /// A mix of these members, which use one dialect; those with a weight are drawn by it.
    ///
    /// # Errors
    /// Together they have more statements than can be numbered.
    pub fn new(members: Vec<(Workload, Option<f64>)>) -> Result<Self, SpecError> {
        let first = members.first().map(|(workload, _)| workload.catalogue().dialect());
        let dialect = first.unwrap_or_else(usual_dialect);
        let mut catalogue = Catalogue::in_dialect(Vec::new(), dialect);
        let mut shares: Vec<Share> = Vec::new();
        let mut made = Vec::new();
        for (number, (workload, weight)) in (0_u16..).zip(members) {
            let (what, allowed) = ("members", "workloads of at most 65535 statements together");
            let first_kind = catalogue
                .append(&workload.catalogue())
                .ok_or(SpecError::OutOfRange { what, allowed })?;
            if let Some(weight) = weight {
                let before = shares.last().map_or(0.0, |share| share.upto);
                shares.push(Share { upto: before + weight, member: number });
            }
            made.push(Member { workload, first_kind });
        }
        Ok(Self { members: made, catalogue: Arc::new(catalogue), shares: shares.into() })
    }

    /// Whether a member has statements in pipelines.
    #[must_use]
    pub fn has_pipelines(&self) -> bool {
        self.members.iter().any(|member| member.workload.has_pipelines())
    }

    /// Whether a member is a script of pgbench.
    #[must_use]
    pub fn has_scripts(&self) -> bool {
        self.members.iter().any(|member| member.workload.is_script())
    }

    /// Whether a member's machines read rows.
    #[must_use]
    pub fn reads_rows(&self) -> bool {
        self.members.iter().any(|member| member.workload.reads_rows())
    }

    /// The statements of all members.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    /// The machine of user `user` of the `users` that only run this member's events.
    #[must_use]
    pub fn machine_of(&self, member: u16, seed: u64, user: u64, users: u64) -> Box<dyn Machine> {
        let members = vec![self.member_machine(member, seed, user, users)];
        Box::new(MixMachine { members, turn: 0 })
    }

    /// The machine of user `user` of the `users` that run events of all members with a weight.
    #[must_use]
    pub fn machine(&self, seed: u64, user: u64, users: u64) -> Box<dyn Machine> {
        let member_machine = |share: &Share| self.member_machine(share.member, seed, user, users);
        Box::new(MixMachine { members: self.shares.iter().map(member_machine).collect(), turn: 0 })
    }

    /// Draws members by their weights; each `place` (a user, a shard) has a stream of its own.
    #[must_use]
    pub fn picker(&self, seed: u64, place: &[u64]) -> WeightedPicker {
        WeightedPicker {
            shares: Arc::clone(&self.shares),
            random: Random::new(seed, Purpose::Lots, place),
        }
    }

    fn member_machine(&self, member: u16, seed: u64, user: u64, users: u64) -> MemberMachine {
        let Member { workload, first_kind } = &self.members[usize::from(member)];
        // Otherwise two members of one workload would draw the same keys.
        let seed = match member {
            0 => seed,
            other => Random::new(seed, Purpose::Members, &[u64::from(other)]).bits(),
        };
        let machine = workload.machine(seed, user, users);
        MemberMachine { member, first_kind: *first_kind, machine }
    }
}

/// Draws the member of a mix that an event belongs to.
#[derive(Clone, Debug)]
pub struct WeightedPicker {
    shares: Arc<[Share]>,
    random: Random,
}

impl WeightedPicker {
    /// The member of the next event.
    pub fn draw(&mut self) -> u16 {
        let all = self.shares.last().map_or(0.0, |share| share.upto);
        let at = self.random.unit() * all;
        let drawn = self.shares.iter().find(|share| at < share.upto).or(self.shares.last());
        drawn.map_or(0, |share| share.member)
    }
}

/// One user's machine for one of the members.
struct MemberMachine {
    member: u16,
    first_kind: u16,
    machine: Box<dyn Machine>,
}

struct MixMachine {
    members: Vec<MemberMachine>,
    /// The member whose turn it is.
    turn: usize,
}

impl MixMachine {
    fn current(&self) -> &MemberMachine {
        &self.members[self.turn]
    }
}

impl Machine for MixMachine {
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        let member_machine = &mut self.members[self.turn];
        match member_machine.machine.step(answer, params) {
            Step::Send(StatementRef { kind, table }) => {
                Step::Send(StatementRef { kind: kind + member_machine.first_kind, table })
            }
            Step::Queue(StatementRef { kind, table }) => {
                Step::Queue(StatementRef { kind: kind + member_machine.first_kind, table })
            }
            over => over,
        }
    }

    fn cut_short(
        &mut self,
        end: Option<Answer<'_>>,
        StatementRef { kind, table }: StatementRef,
        command: Option<u16>,
    ) {
        let MemberMachine { machine, first_kind, .. } = &mut self.members[self.turn];
        machine.cut_short(end, StatementRef { kind: kind - *first_kind, table }, command);
    }

    fn needs_answer(&self) -> bool {
        self.current().machine.needs_answer()
    }

    fn ran(&mut self, outcome: Result<Vec<u8>, String>) {
        self.members[self.turn].machine.ran(outcome);
    }

    fn abandon(&mut self) {
        self.members[self.turn].machine.abandon();
    }

    fn in_transaction(&self) -> bool {
        self.current().machine.in_transaction()
    }

    fn reads_rows(&self) -> bool {
        self.members.iter().any(|member_machine| member_machine.machine.reads_rows())
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.current().machine.kinds()
    }

    fn command(&self) -> Option<u16> {
        self.current().machine.command()
    }

    fn return_after_each_command(&mut self) {
        for member_machine in &mut self.members {
            member_machine.machine.return_after_each_command();
        }
    }

    fn failed(&mut self, error: &ServerError) {
        self.members[self.turn].machine.failed(error);
    }

    fn undone(&mut self, attempt: &Undone) {
        self.members[self.turn].machine.undone(attempt);
    }

    fn print_to(&mut self, printer: &Printer) {
        for member_machine in &mut self.members {
            member_machine.machine.print_to(printer);
        }
    }

    fn take_reason(&mut self) -> Option<String> {
        self.members[self.turn].machine.take_reason()
    }

    fn pause(&mut self) -> Nanos {
        self.members[self.turn].machine.pause()
    }

    fn select(&mut self, member: u16) {
        if let Some(turn) =
            self.members.iter().position(|member_machine| member_machine.member == member)
        {
            self.turn = turn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkloadSpec;

    fn workload(name: &str) -> Workload {
        let spec = format!(r#"{{"name": "{name}", "tables": 2, "table_size": 100}}"#);
        let spec: WorkloadSpec = serde_json::from_str(&spec).expect("a spec");
        Workload::from_spec(&spec).expect("a workload")
    }

    fn first_statement(machine: &mut dyn Machine, mix: &Mix) -> (u16, String) {
        let mut params = Params::new();
        let Step::Send(statement) = machine.step(None, &mut params) else { panic!("no statement") };
        machine.abandon();
        let mut sql = Vec::new();
        mix.catalogue().write_text(statement, &params, &mut sql);
        (statement.kind, String::from_utf8(sql).expect("a text"))
    }

    #[test]
    fn each_member_has_statements_and_keys_of_its_own() {
        let members = ["oltp_point_select", "oltp_update_index", "oltp_point_select"];
        let members = members.map(|name| (workload(name), Some(1.0))).to_vec();
        let mix = Mix::new(members).expect("a mix");
        let mut machine = mix.machine(7, 0, 1);
        let mut said = Vec::new();
        for member in [0, 1, 2, 0] {
            machine.select(member);
            said.push(first_statement(machine.as_mut(), &mix));
        }
        assert_eq!(said.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [0, 1, 2, 0]);
        assert!(said[0].1.starts_with("SELECT c") && said[1].1.starts_with("UPDATE"));
        // The same statement, but with keys of its own.
        let mut drawn = |member| {
            machine.select(member);
            (0..20).map(|_| first_statement(machine.as_mut(), &mix).1).collect::<Vec<_>>()
        };
        let (first, third) = (drawn(0), drawn(2));
        assert!(third[0].starts_with("SELECT c") && first != third);
    }

    #[test]
    fn a_mix_of_one_draws_the_keys_that_the_workload_draws_alone() {
        let alone = workload("oltp_point_select");
        let mix = Mix::new(vec![(alone.clone(), None)]).expect("a mix");
        let (mut one, mut other) = (alone.machine(7, 3, 8), mix.machine_of(0, 7, 3, 8));
        let all: Vec<_> = (0..20).map(|_| first_statement(one.as_mut(), &mix)).collect();
        let same: Vec<_> = (0..20).map(|_| first_statement(other.as_mut(), &mix)).collect();
        assert_eq!(all, same);
    }

    #[test]
    fn members_are_drawn_by_their_weights_and_those_without_one_never() {
        let weights = [Some(9.0), None, Some(1.0)];
        let members = weights.map(|weight| (workload("oltp_point_select"), weight)).to_vec();
        let mut picker = Mix::new(members).expect("a mix").picker(7, &[0]);
        let mut drawn = [0_u32; 3];
        (0..10_000).for_each(|_| drawn[usize::from(picker.draw())] += 1);
        // Binomial with 0.1: six standard deviations are 180.
        assert!(drawn[1] == 0 && drawn[2].abs_diff(1_000) < 180, "{drawn:?}");
    }
}
