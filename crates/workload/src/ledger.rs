//! The workload `ledger`: numbered entries, for each of which the user knows the server's answer.

use loadstone_protocol::Verdict;

use crate::{Answer, Entries, Machine, Params, StatementRef, Step};

/// BEGIN, the entry, COMMIT: the kinds of [`crate::Catalogue`]'s statements, in this order.
pub(crate) const STATEMENTS: [&str; 3] = [
    "BEGIN",
    "INSERT INTO drill_ledger{table} (book, user_no, seq, amount) VALUES (?, ?, ?, ?)",
    "COMMIT",
];
const BEGIN: u16 = 0;
const ENTRY: u16 = 1;
const COMMIT: u16 = 2;

/// What all users of a ledger share.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) tables: u32,
    /// Distinguishes the entries of this step from all others in the tables.
    pub(crate) book: i64,
}

/// One user that writes numbered entries, and knows the server's answer to each.
///
/// An entry that was refused, or lost before its COMMIT was sent, must not exist: its number is
/// used again. So the numbers of a user have no gaps, and one that appears twice was executed
/// although it was refused, or was executed twice by something between client and server.
#[derive(Debug)]
pub(crate) struct LedgerMachine {
    table: u32,
    book: i64,
    user: u64,
    settled: u64,
    doubts: Vec<u64>,
    phase: Phase,
    /// The server's answer, if it refused the last statement.
    refusal: Option<Verdict>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Next: `Begun`.
    Idle,
    /// BEGIN was sent. Next: `Entered`, or `Idle` if the event is abandoned, as from all other
    /// phases.
    Begun,
    /// The entry was sent. Next: `Committing`.
    Entered,
    /// COMMIT was sent. Next: `Idle`.
    Committing,
}

impl LedgerMachine {
    pub(crate) fn new(ledger: Ledger, user: u64) -> Self {
        Self {
            table: (user % u64::from(ledger.tables)) as u32 + 1,
            book: ledger.book,
            user,
            settled: 0,
            doubts: Vec::new(),
            phase: Phase::Idle,
            refusal: None,
        }
    }

    fn send(&mut self, kind: u16, phase: Phase) -> Step {
        self.phase = phase;
        let table = if kind == ENTRY { self.table } else { 0 };
        Step::Send(StatementRef { kind, table })
    }

    fn push_entry(&self, params: &mut Params) {
        let number = self.settled + 1;
        params.push_int(self.book);
        params.push_int(self.user as i64);
        params.push_int(number as i64);
        params.push_int(amount(self.user, number));
    }
}

/// The amount of an entry, 1 to 1000: follows from its user and number, so that a changed one is
/// detected.
fn amount(user: u64, number: u64) -> i64 {
    ((user * 31 + number * 17) % 1000) as i64 + 1
}

impl Machine for LedgerMachine {
    fn step(&mut self, _answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        params.clear();
        match self.phase {
            Phase::Idle => self.send(BEGIN, Phase::Begun),
            Phase::Begun => {
                self.push_entry(params);
                self.send(ENTRY, Phase::Entered)
            }
            Phase::Entered => self.send(COMMIT, Phase::Committing),
            Phase::Committing => {
                self.settled += 1;
                self.phase = Phase::Idle;
                Step::Done
            }
        }
    }

    fn refused(&mut self, verdict: Verdict) {
        self.refusal = Some(verdict);
    }

    fn cut_short(
        &mut self,
        _end: Option<Answer<'_>>,
        statement: StatementRef,
        _command: Option<u16>,
    ) {
        // The server has skipped a COMMIT behind it.
        if statement.kind != COMMIT {
            self.phase = Phase::Entered;
        }
    }

    fn needs_answer(&self) -> bool {
        matches!(self.phase, Phase::Idle | Phase::Committing)
    }

    fn abandon(&mut self) {
        let refusal = self.refusal.take();
        // Any other answer of a server or proxy to COMMIT leaves the outcome open.
        let is_open = !matches!(refusal, Some(Verdict::RolledBack | Verdict::NotCommitted));
        if self.phase == Phase::Committing && is_open {
            self.settled += 1;
            self.doubts.push(self.settled);
        }
        self.phase = Phase::Idle;
    }

    fn in_transaction(&self) -> bool {
        self.phase != Phase::Idle
    }

    fn take_entries(&mut self) -> Option<Entries> {
        Some(Entries { settled: self.settled, doubts: std::mem::take(&mut self.doubts) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;
    use loadstone_protocol::{Completion, Param};

    fn machine(user: u64) -> LedgerMachine {
        LedgerMachine::new(Ledger { tables: 2, book: 77 }, user)
    }

    /// Steps until this many statements were sent, the first of them BEGIN; returns the parameters
    /// of the last.
    fn send(machine: &mut LedgerMachine, statements: u16) -> Vec<i64> {
        let completion = Completion::default();
        let mut params = Params::new();
        for kind in 0..statements {
            let answer = (kind > 0).then(|| Answer::of(&completion));
            let Step::Send(sent) = machine.step(answer, &mut params) else { panic!("{kind}") };
            assert_eq!(sent.kind, kind);
        }
        params
            .iter()
            .map(|param| match param {
                Param::Int(value) => value,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn acknowledge(machine: &mut LedgerMachine) {
        send(machine, 3);
        let completion = Completion::default();
        let step = machine.step(Some(Answer::of(&completion)), &mut Params::new());
        assert_eq!(step, Step::Done);
    }

    fn entries(machine: &mut LedgerMachine) -> (u64, Vec<u64>) {
        let entries = machine.take_entries().unwrap();
        (entries.settled, entries.doubts)
    }

    #[test]
    fn entries_are_numbered_and_go_to_the_table_of_their_user() {
        let mut machine = machine(3);
        acknowledge(&mut machine);
        assert_eq!(send(&mut machine, 2), [77, 3, 2, amount(3, 2)]);
        let catalogue = Catalogue::new(STATEMENTS.map(crate::Template::parse).to_vec());
        let mut sql = Vec::new();
        catalogue.write_prepared(StatementRef { kind: ENTRY, table: machine.table }, &mut sql);
        assert!(String::from_utf8(sql).unwrap().starts_with("INSERT INTO drill_ledger2 "));
        assert_eq!(entries(&mut machine), (1, vec![]));
    }

    #[test]
    fn what_was_lost_before_its_commit_is_written_again_under_its_number() {
        for statements in [1, 2] {
            let mut machine = machine(0);
            send(&mut machine, statements);
            machine.abandon();
            assert!(!machine.in_transaction());
            assert_eq!(entries(&mut machine), (0, vec![]));
            assert_eq!(send(&mut machine, 2)[2], 1);
        }
    }

    #[test]
    fn a_connection_that_is_lost_after_the_commit_was_sent_leaves_its_entry_in_doubt() {
        let mut machine = machine(0);
        acknowledge(&mut machine);
        send(&mut machine, 3);
        assert!(machine.in_transaction());
        machine.abandon();
        assert_eq!(entries(&mut machine), (2, vec![2]));
        assert_eq!(send(&mut machine, 2)[2], 3, "the number in doubt is not taken again");
        machine.abandon();
        assert_eq!(entries(&mut machine), (2, vec![]), "a doubt is told once");
    }

    #[test]
    fn a_refused_commit_is_certain_only_where_its_code_says_that_it_was_rolled_back() {
        let cases = [
            (Verdict::RolledBack, vec![]),
            (Verdict::NotCommitted, vec![]),
            (Verdict::Refused, vec![1]),
            (Verdict::ConnectionLost, vec![1]),
        ];
        for (verdict, doubts) in cases {
            let mut machine = machine(0);
            send(&mut machine, 3);
            machine.refused(verdict);
            machine.abandon();
            assert_eq!(entries(&mut machine), (doubts.len() as u64, doubts), "{verdict:?}");
        }
    }

    #[test]
    fn a_refusal_says_nothing_of_the_loss_that_comes_later() {
        let mut machine = machine(0);
        send(&mut machine, 2);
        machine.refused(Verdict::NotCommitted);
        machine.abandon();
        send(&mut machine, 3);
        machine.abandon();
        assert_eq!(entries(&mut machine), (1, vec![1]));
    }

    #[test]
    fn amounts_are_those_that_the_check_computes() {
        let amounts = [(0, 1), (1, 1), (63, 1_000), (4_000, 123_456_789)];
        assert_eq!(amounts.map(|(user, number)| amount(user, number)), [18, 49, 954, 414]);
    }
}
