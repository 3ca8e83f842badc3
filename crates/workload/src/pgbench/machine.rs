//! Runs a script for one user.

use super::evaluate::Context;
use super::expression::Expression;
use super::script::{Amount, Keeps, SqlPiece, What};
use super::spec::Prepared;
use super::value::Value;
use super::variables::{Content, Variables};
use crate::random::{Purpose, Random};
use crate::{Answer, Machine, Params, StatementRef, Step};
use loadstone_measure::Nanos;
use loadstone_protocol::{ResultSet, Value as Column};
use std::sync::Arc;

/// Both families have this flag in a completion's state: a transaction is open.
const IN_TRANSACTION: u16 = 1;

/// Why an event of a script cannot go on; [`Machine::take_reason`] says more.
const FAILED: &str = "the script has failed";

/// One user of a script.
#[derive(Debug)]
pub(crate) struct PgbenchMachine {
    shared: Arc<Prepared>,
    variables: Variables,
    random: Random,
    /// Both as they were at the event's start, where a restarted event has them again.
    before: Option<(Variables, Random)>,
    /// The command that comes next; `None`: no event is under way.
    at: Option<usize>,
    /// The number of the command that was executed last, or is being executed.
    number: Option<u16>,
    /// Each command that the client executes itself is a step of its own.
    is_timed: bool,
    /// The event has sent something, or slept: one that does nothing would never let go.
    has_acted: bool,
    in_transaction: bool,
    reason: Option<String>,
}

impl PgbenchMachine {
    pub(crate) fn new(shared: Arc<Prepared>, seed: u64, user: u64) -> Self {
        let mut variables = shared.start.clone();
        if let Some(place) = shared.client_id {
            variables.set(place, Content::Value(Value::Int(user as i64)));
        }
        Self {
            shared,
            variables,
            random: Random::new(seed, Purpose::Values, &[user]),
            before: None,
            at: None,
            number: None,
            is_timed: false,
            has_acted: false,
            in_transaction: false,
            reason: None,
        }
    }

    fn begin(&mut self) {
        (self.at, self.number, self.has_acted) = (Some(0), None, false);
        if self.shared.repeats_draws {
            // The event before this one was given up: this one is its repetition.
            if let Some((variables, random)) = self.before.take() {
                (self.variables, self.random) = (variables, random);
            }
            self.before = Some((self.variables.clone(), self.random.clone()));
        }
    }

    fn evaluate(&mut self, expression: &Expression) -> Result<Value, String> {
        let Self { shared, variables, random, .. } = self;
        let mut context = Context { names: &shared.names, variables, random };
        expression.evaluate(&mut context).map_err(|error| error.to_string())
    }

    /// Executes commands up to one that has to wait.
    fn go_on(&mut self, params: &mut Params) -> Result<Step, String> {
        let shared = Arc::clone(&self.shared);
        loop {
            let at = self.at.unwrap_or_default();
            let Some(command) = shared.script.commands.get(at) else { return Ok(self.end()) };
            self.number = Some(command.number);
            let mut next = at + 1;
            let mut step = None;
            match &command.what {
                What::Sql { pieces, .. } => {
                    self.push_values(pieces, params);
                    let kind = shared.kinds.get(at).copied().flatten().unwrap_or_default();
                    step = Some(Step::Send(StatementRef { kind, table: 0 }));
                }
                What::Set { variable, value } => {
                    let value = self.evaluate(value).map_err(|why| on_line(command.line, &why))?;
                    self.variables.set(*variable, Content::Value(value));
                }
                What::Sleep { amount, unit_us } => {
                    let units = self.units(amount).map_err(|why| on_line(command.line, &why))?;
                    step = Some(Step::Sleep(Nanos(units.saturating_mul(unit_us * 1_000))));
                }
                What::JumpUnless(condition, to) => {
                    let found =
                        self.evaluate(condition).map_err(|why| on_line(command.line, &why))?;
                    if !found.is_true() {
                        next = *to;
                    }
                }
                What::Jump(to) => next = *to,
                // No plan with one of these is accepted.
                What::Shell { .. }
                | What::StartPipeline
                | What::SyncPipeline
                | What::EndPipeline => {}
            }
            self.at = Some(next);
            if let Some(step) = step {
                self.has_acted = true;
                return Ok(step);
            }
            if self.is_timed {
                return Ok(Step::Ran);
            }
        }
    }

    fn end(&mut self) -> Step {
        self.number = None;
        if !self.has_acted {
            self.has_acted = true;
            return Step::Sleep(Nanos::ZERO);
        }
        (self.at, self.before) = (None, None);
        Step::Done
    }

    fn units(&mut self, amount: &Amount) -> Result<u64, String> {
        match amount {
            Amount::Fixed(units) => Ok(*units),
            Amount::Variable(place) => {
                let value = self.evaluate(&Expression::Variable(*place))?;
                let units = value.int().map_err(|error| error.to_string())?;
                Ok(u64::try_from(units).unwrap_or_default())
            }
        }
    }

    fn push_values(&self, pieces: &[SqlPiece], params: &mut Params) {
        for piece in pieces {
            let SqlPiece::Variable(place) = piece else { continue };
            match self.variables.get(*place) {
                Some(Content::Value(value)) if self.shared.in_text => {
                    params.text_with(|out| value.push_text(out));
                }
                Some(Content::Value(value)) => push_value(*value, params),
                Some(Content::Text(text)) => params.push_text(text),
                // What is no variable stays as it stands.
                None if self.shared.in_text => {
                    params.push_text(format!(":{}", self.shared.names.name(*place)));
                }
                None => params.push_null(),
            }
        }
    }

    /// Keeps the rows of the statement that was answered, if its command says so.
    fn take(&mut self, answer: &Answer<'_>) -> Result<(), String> {
        self.in_transaction = answer.completion.status & IN_TRANSACTION != 0;
        let shared = Arc::clone(&self.shared);
        let command = self.at.and_then(|at| shared.script.commands.get(at.checked_sub(1)?));
        let Some(command) = command else { return Ok(()) };
        let What::Sql { keeps: Some(keeps), .. } = &command.what else { return Ok(()) };
        let rows = answer.result.map_or(0, |result| result.rows);
        if !keeps.is_all && rows != 1 {
            return Err(on_line(
                command.line,
                &format!("\\gset needs one row, and there are {rows}"),
            ));
        }
        if let Some(result) = answer.result {
            self.keep(keeps, result);
        }
        Ok(())
    }

    /// The values of the last row.
    fn keep(&mut self, keeps: &Keeps, result: &ResultSet) {
        let columns = usize::from(result.columns);
        let before = (result.rows.saturating_sub(1) as usize).saturating_mul(columns);
        for (name, value) in result.column_names().zip(result.values().skip(before)) {
            let name = format!("{}{}", keeps.prefix, String::from_utf8_lossy(name));
            // A variable that the script never reads has no place.
            let Some(place) = self.shared.names.known(&name) else { continue };
            self.variables.set(place, content(value.unwrap_or(Column::Null)));
        }
    }
}

fn on_line(line: usize, why: &str) -> String {
    format!("line {line}: {why}")
}

fn push_value(value: Value, params: &mut Params) {
    match value {
        Value::Null => params.push_null(),
        Value::Bool(value) => params.push_text(if value { "true" } else { "false" }),
        Value::Int(value) => params.push_int(value),
        Value::Double(_) => params.text_with(|out| value.push_text(out)),
    }
}

fn content(column: Column<'_>) -> Content {
    match column {
        Column::Null => Content::Value(Value::Null),
        Column::Int(value) => Content::Value(Value::Int(value)),
        Column::Unsigned(value) => Content::Text(value.to_string().into_bytes()),
        Column::Double(value) => Content::Value(Value::Double(value)),
        Column::Temporal(bytes) | Column::Bytes(bytes) => Content::Text(bytes.to_vec()),
    }
}

impl Machine for PgbenchMachine {
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        params.clear();
        let taken = match answer {
            Some(answer) => self.take(&answer),
            None if self.at.is_none() => {
                self.begin();
                Ok(())
            }
            None => Ok(()), // it has slept
        };
        taken.and_then(|()| self.go_on(params)).unwrap_or_else(|why| {
            self.reason = Some(why);
            Step::Fail(FAILED)
        })
    }

    fn abandon(&mut self) {
        (self.at, self.number, self.in_transaction) = (None, None, false);
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn reads_rows(&self) -> bool {
        let reads = |what: &What| matches!(what, What::Sql { keeps: Some(_), .. });
        self.shared.script.commands.iter().any(|command| reads(&command.what))
    }

    fn command(&self) -> Option<u16> {
        self.number
    }

    fn return_after_each_command(&mut self) {
        self.is_timed = true;
    }

    fn take_reason(&mut self) -> Option<String> {
        self.reason.take()
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::PgbenchSpec;
    use super::*;
    use crate::Catalogue;
    use crate::dialect::PostgreSql;
    use loadstone_protocol::Completion;

    struct Run {
        machine: PgbenchMachine,
        catalogue: Catalogue,
        params: Params,
    }

    impl Run {
        fn new(script: &str, changes: impl FnOnce(&mut PgbenchSpec)) -> Self {
            let mut spec = PgbenchSpec {
                script: script.to_owned(),
                variables: [("scale".to_owned(), "3".to_owned())].into(),
                in_text: true,
                repeats_draws: false,
            };
            changes(&mut spec);
            let (prepared, templates) = Prepared::new(&spec).expect("a script");
            Self {
                machine: PgbenchMachine::new(Arc::new(prepared), 1, 7),
                catalogue: Catalogue::in_dialect(templates, &PostgreSql),
                params: Params::new(),
            }
        }

        /// What comes next, as text.
        fn next(&mut self, answer: Option<Answer<'_>>) -> String {
            match self.machine.step(answer, &mut self.params) {
                Step::Send(statement) => {
                    let mut out = Vec::new();
                    self.catalogue.write_text(statement, &self.params, &mut out);
                    String::from_utf8(out).unwrap()
                }
                Step::Sleep(nanos) => format!("sleep {}", nanos.0),
                Step::Ran => format!("ran {}", self.machine.command().unwrap()),
                Step::Done => "done".to_owned(),
                Step::Fail(_) => format!("failed: {}", self.machine.take_reason().unwrap()),
            }
        }

        fn answered(&mut self) -> String {
            let completion = Completion::default();
            self.next(Some(Answer::of(&completion)))
        }
    }

    #[test]
    fn a_transaction_goes_through_its_commands() {
        let script = "\\set a :scale * 2\n\\sleep 5 ms\nSELECT :a, :client_id, :nobody;\n\
                      \\if :a > 5\nSELECT 'more';\n\\else\nSELECT 'less';\n\\endif\nCOMMIT;";
        let mut run = Run::new(script, |_| {});
        for _ in 0..2 {
            assert_eq!(run.next(None), "sleep 5000000");
            assert_eq!(run.next(None), "SELECT 6, 7, :nobody");
            assert_eq!(run.answered(), "SELECT 'more'");
            assert_eq!(run.answered(), "COMMIT");
            assert_eq!(run.answered(), "done");
        }
    }

    #[test]
    fn each_command_is_a_step_of_its_own_where_that_is_asked_for() {
        let script = "\\set a 1\n\\if :a > 1\nSELECT 1;\n\\elif :a = 1\nSELECT :a;\n\\else\n\
                      SELECT 3;\n\\endif\n\\set b 1 / (1 - :a)";
        let mut run = Run::new(script, |_| {});
        run.machine.return_after_each_command();
        for _ in 0..2 {
            assert_eq!(run.machine.command(), None);
            let steps: Vec<_> = (0..4).map(|_| run.next(None)).collect();
            assert_eq!(steps, ["ran 0", "ran 1", "ran 3", "SELECT 1"]);
            assert_eq!(run.machine.command(), Some(4));
            // The branch ends where \\else stands.
            assert_eq!(run.answered(), "ran 5");
            assert_eq!(run.next(None), "failed: line 9: division by zero");
            assert_eq!(run.machine.command(), Some(8));
            run.machine.abandon();
        }
    }

    #[test]
    fn values_are_parameters_where_they_do_not_stand_in_the_text() {
        let mut run = Run::new("SELECT :scale, :nobody;", |spec| spec.in_text = false);
        let mut out = Vec::new();
        let Step::Send(statement) = run.machine.step(None, &mut run.params) else { panic!() };
        run.catalogue.write_prepared(statement, &mut out);
        assert_eq!(out, b"SELECT $1, $2");
        assert_eq!(run.params.len(), 2);
    }

    #[test]
    fn rows_become_variables() {
        let mut run = Run::new("SELECT 1 \\gset p_\nSELECT :p_a, :p_b;", |_| {});
        let completion = Completion::default();
        let row = |rows| ResultSet {
            columns: 2,
            rows,
            bytes: b"\x01x\xfb".repeat(rows as usize),
            names: b"a\0b\0".to_vec(),
            ..ResultSet::default()
        };
        run.next(None);
        let one = row(1);
        let answer = Answer { completion: &completion, result: Some(&one) };
        assert_eq!(run.next(Some(answer)), "SELECT x, NULL");
        run.machine.abandon();
        run.next(None);
        let two = row(2);
        let answer = Answer { completion: &completion, result: Some(&two) };
        let failed = "failed: line 1: \\gset needs one row, and there are 2";
        assert_eq!(run.next(Some(answer)), failed);
    }

    #[test]
    fn a_restarted_event_draws_the_same_where_that_is_asked_for() {
        for repeats in [true, false] {
            let script = "\\set a random(1, 1000000000)\nSELECT :a;";
            let mut run = Run::new(script, |spec| spec.repeats_draws = repeats);
            let first = run.next(None);
            run.machine.abandon();
            assert_eq!(run.next(None) == first, repeats);
            assert_eq!(run.answered(), "done");
            assert_ne!(run.next(None), first);
        }
    }

    #[test]
    fn an_event_that_does_nothing_lets_others_have_their_turn() {
        let mut run = Run::new("\\if false\nSELECT 1;\n\\endif", |_| {});
        assert_eq!(run.next(None), "sleep 0");
        assert_eq!(run.next(None), "done");
    }

    #[test]
    fn a_transaction_is_open_as_long_as_the_server_says_so() {
        let mut run = Run::new("BEGIN;\nEND;", |_| {});
        run.next(None);
        let open = Completion { status: IN_TRANSACTION, ..Completion::default() };
        run.next(Some(Answer::of(&open)));
        assert!(run.machine.in_transaction());
        assert_eq!(run.answered(), "done");
        assert!(!run.machine.in_transaction());
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_its_line() {
        for (script, expected) in [
            ("\\set a", "pgbench: line 1: \\set needs a variable and an expression"),
            ("\\set a 1", "pgbench: the script has no statement"),
            ("SELECT 1;\n\\startpipeline", "pgbench: line 2: no pipelines"),
        ] {
            let spec = PgbenchSpec {
                script: script.to_owned(),
                variables: Default::default(),
                in_text: true,
                repeats_draws: false,
            };
            assert_eq!(Prepared::new(&spec).unwrap_err().to_string(), expected);
        }
    }
}
