//! Runs a script for one user.

use super::evaluate::Context;
use super::expression::Expression;
use super::script::{Amount, Command, Keeps, SqlPiece, What};
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
    in_pipeline: bool,
    in_transaction: bool,
    /// Why the program that has just ended is no success.
    ran_badly: Option<String>,
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
            in_pipeline: false,
            in_transaction: false,
            ran_badly: None,
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
            let Some(command) = shared.script.commands.get(at) else { return self.end() };
            self.number = Some(command.number);
            let mut next = at + 1;
            let mut step = None;
            match &command.what {
                What::Sql { pieces, keeps } => {
                    if self.in_pipeline && keeps.is_some() {
                        let why = "in a pipeline no rows become variables";
                        return Err(on_line(command.line, why));
                    }
                    self.push_values(pieces, params);
                    let kind = shared.kinds.get(at).copied().flatten().unwrap_or_default();
                    let statement = StatementRef { kind, table: 0 };
                    let queued = self.in_pipeline;
                    step =
                        Some(if queued { Step::Queue(statement) } else { Step::Send(statement) });
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
                What::StartPipeline | What::SyncPipeline | What::EndPipeline => {
                    let found = self.pipeline(&command.what);
                    step = found.map_err(|why| on_line(command.line, why))?;
                }
                What::Shell { variable, words } => {
                    self.push_program(words, params).map_err(|why| on_line(command.line, &why))?;
                    step = Some(Step::Run { wants_line: variable.is_some() });
                }
            }
            self.at = Some(next);
            if let Some(step) = step {
                self.has_acted = true;
                return Ok(step);
            }
            if self.is_timed {
                return Ok(Step::Executed);
            }
        }
    }

    /// What the start, a Sync or the end of a pipeline asks for.
    fn pipeline(&mut self, what: &What) -> Result<Option<Step>, &'static str> {
        match (what, self.in_pipeline) {
            (What::StartPipeline, true) => Err("a pipeline has started already"),
            (What::StartPipeline, false) => {
                self.in_pipeline = true;
                Ok(None)
            }
            (_, false) => Err("no pipeline has started"),
            (What::SyncPipeline, true) => Ok(Some(Step::Sync)),
            (_, true) => {
                self.in_pipeline = false;
                Ok(Some(Step::EndPipeline))
            }
        }
    }

    fn end(&mut self) -> Result<Step, String> {
        self.number = None;
        if self.in_pipeline {
            return Err("the script ends in a pipeline".to_owned());
        }
        if !self.has_acted {
            self.has_acted = true;
            return Ok(Step::Sleep(Nanos::ZERO));
        }
        (self.at, self.before) = (None, None);
        Ok(Step::Done)
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

    /// The command line of a program: its words, with the values of variables.
    fn push_program(&self, words: &[SqlPiece], params: &mut Params) -> Result<(), String> {
        let mut line = Vec::new();
        for word in words {
            if !line.is_empty() {
                line.push(b' ');
            }
            match word {
                SqlPiece::Text(text) => line.extend_from_slice(text.as_bytes()),
                SqlPiece::Variable(place) => match self.variables.get(*place) {
                    Some(Content::Value(value)) => value.push_text(&mut line),
                    Some(Content::Text(text)) => line.extend_from_slice(text),
                    None => {
                        let name = self.shared.names.name(*place);
                        return Err(format!("there is no variable {name}"));
                    }
                },
            }
        }
        params.push_text(line);
        Ok(())
    }

    /// The command that the event waits for.
    fn awaited(&self) -> Option<&Command> {
        self.at.and_then(|at| self.shared.script.commands.get(at.checked_sub(1)?))
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

/// The number that a program printed, with spaces around it or not.
fn integer(line: &[u8]) -> Result<i64, String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    text.parse().map_err(|_| match text {
        "" => "the program has printed no integer".to_owned(),
        other => format!("the program has printed '{}', not an integer", other.escape_debug()),
    })
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
            // It has slept, has run a program, or is in a pipeline.
            None => self.ran_badly.take().map_or(Ok(()), Err),
        };
        taken.and_then(|()| self.go_on(params)).unwrap_or_else(|why| {
            self.reason = Some(why);
            Step::Fail(FAILED)
        })
    }

    fn cut_short(&mut self, end: Option<Answer<'_>>, command: Option<u16>) {
        self.number = command;
        if let Some(end) = end {
            self.in_transaction = end.completion.status & IN_TRANSACTION != 0;
        }
    }

    fn ran(&mut self, outcome: Result<Vec<u8>, String>) {
        let Some(Command { what: What::Shell { variable, .. }, line, .. }) = self.awaited() else {
            return;
        };
        let (variable, line) = (*variable, *line);
        let found = match (outcome, variable) {
            (Err(why), _) => Err(why),
            (Ok(_), None) => Ok(()),
            (Ok(text), Some(place)) => integer(&text)
                .map(|value| self.variables.set(place, Content::Value(Value::Int(value)))),
        };
        self.ran_badly = found.err().map(|why| on_line(line, &why));
    }

    fn abandon(&mut self) {
        (self.at, self.number) = (None, None);
        (self.in_pipeline, self.in_transaction) = (false, false);
        self.ran_badly = None;
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
    use loadstone_protocol::{Completion, Param};

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
                Step::Queue(statement) => {
                    let mut out = b"queued: ".to_vec();
                    self.catalogue.write_prepared(statement, &mut out);
                    String::from_utf8(out).unwrap()
                }
                Step::Run { wants_line } => {
                    let Some(Param::Text(line)) = self.params.iter().next() else { panic!() };
                    format!("run {} {wants_line}", String::from_utf8_lossy(line))
                }
                Step::Sync => "sync".to_owned(),
                Step::EndPipeline => "end of the pipeline".to_owned(),
                Step::Sleep(nanos) => format!("sleep {}", nanos.0),
                Step::Executed => format!("ran {}", self.machine.command().unwrap()),
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
    fn programs_get_the_values_of_variables_and_give_them() {
        let script = "\\set d 5 / 2.0\n\\shell echo :d  ::d a:d :scale\n\\setshell n expr 40 + :scale\n\
                      SELECT :n;";
        let mut run = Run::new(script, |_| {});
        assert_eq!(run.next(None), "run echo 2.5 :d a:d 3 false");
        run.machine.ran(Ok(Vec::new()));
        assert_eq!(run.next(None), "run expr 40 + 3 true");
        run.machine.ran(Ok(b" 43 \n".to_vec()));
        assert_eq!(run.next(None), "SELECT 43");
    }

    #[test]
    fn a_program_that_does_not_do_its_work_fails_the_event() {
        let mut run = Run::new("\\setshell n which\nSELECT :n, :nobody;\n\\shell :nobody", |_| {});
        for (outcome, why) in [
            (Ok(b"1.5\n".to_vec()), "the program has printed '1.5', not an integer"),
            (Ok(b"\x1b[2J".to_vec()), "the program has printed '\\u{1b}[2J', not an integer"),
            (Ok(b"\n".to_vec()), "the program has printed no integer"),
            (Err("it has failed".to_owned()), "it has failed"),
        ] {
            assert_eq!(run.next(None), "run which true");
            run.machine.ran(outcome);
            assert_eq!(run.next(None), format!("failed: line 1: {why}"));
            run.machine.abandon();
        }
        run.next(None);
        run.machine.ran(Ok(b"1".to_vec()));
        assert_eq!(run.next(None), "SELECT 1, :nobody");
        assert_eq!(run.answered(), "failed: line 3: there is no variable nobody");
    }

    #[test]
    fn statements_in_a_pipeline_wait_for_its_end_alone() {
        let script = "\\startpipeline\nSELECT :scale;\n\\sleep 1 us\n\\syncpipeline\nBEGIN;\n\
                      \\endpipeline\nSELECT 3;";
        let mut run = Run::new(script, |spec| spec.in_text = false);
        for _ in 0..2 {
            for expected in ["queued: SELECT $1", "sleep 1000", "sync", "queued: BEGIN"] {
                assert_eq!(run.next(None), expected);
            }
            assert_eq!(run.next(None), "end of the pipeline");
            assert_eq!(run.answered(), "SELECT 3");
            assert_eq!(run.answered(), "done");
        }
    }

    #[test]
    fn a_pipeline_that_is_cut_short_may_leave_a_transaction_open() {
        let script = "\\startpipeline\nBEGIN;\n\\endpipeline\nSELECT 1;";
        let mut run = Run::new(script, |spec| spec.in_text = false);
        run.next(None);
        assert_eq!(run.next(None), "end of the pipeline");
        let open = Completion { status: IN_TRANSACTION, ..Completion::default() };
        run.machine.cut_short(Some(Answer::of(&open)), Some(2));
        assert!(run.machine.in_transaction());
        run.machine.abandon();
        assert!(!run.machine.in_transaction());
        assert_eq!(run.next(None), "queued: BEGIN");
    }

    #[test]
    fn commands_about_a_pipeline_have_their_order() {
        for (script, why) in [
            ("\\startpipeline\n\\startpipeline", "line 2: a pipeline has started already"),
            ("\\endpipeline", "line 1: no pipeline has started"),
            ("\\syncpipeline", "line 1: no pipeline has started"),
            ("\\startpipeline", "the script ends in a pipeline"),
            (
                "\\startpipeline\nSELECT 1 AS a \\gset",
                "line 2: in a pipeline no rows become variables",
            ),
        ] {
            let script = format!("{script}\n\\if false\nSELECT 1;\n\\endif");
            let mut run = Run::new(&script, |spec| spec.in_text = false);
            assert_eq!(run.next(None), format!("failed: {why}"));
            run.machine.abandon();
            assert_eq!(run.next(None), format!("failed: {why}"), "as the first time");
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_its_line() {
        for (script, expected) in [
            ("\\set a", "pgbench: line 1: \\set needs a variable and an expression"),
            ("\\set a 1", "pgbench: the script has no statement"),
            (
                "SELECT 1;\n\\startpipeline",
                "pgbench: line 2: a pipeline needs values as parameters, not in_text",
            ),
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
