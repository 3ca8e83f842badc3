//! Runs a script for one user.

use super::evaluate::Context;
use super::expression::Expression;
use super::script::{Amount, Command, Keeps, SqlPiece, What, is_name, number_at};
use super::spec::Prepared;
use super::trace::executed;
use super::value::{EvalError, Value, without_spaces};
use super::variables::{Content, Variables};
use crate::machine::IN_TRANSACTION;
use crate::random::{Purpose, Random};
use crate::{Answer, Machine, Params, Printer, StatementRef, Step, Undone};
use loadstone_measure::Nanos;
use loadstone_protocol::{ResultSet, ServerError, Value as Column};
use std::sync::Arc;

/// Why an event of a script cannot go on; [`Machine::take_reason`] says more.
const FAILED: &str = "the script has failed";

/// One user of a script.
#[derive(Debug)]
pub(crate) struct PgbenchMachine {
    shared: Arc<Prepared>,
    variables: Variables,
    random: Random,
    /// Its number.
    user: u64,
    /// As it was at the event's start, where a restarted event draws the same again.
    before: Option<Random>,
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
    /// The error of the attempt was printed, and what comes of the event is to follow.
    tells_outcome: bool,
    /// Takes what `debug` shows.
    printer: Option<Printer>,
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
            user,
            before: None,
            at: None,
            number: None,
            is_timed: false,
            has_acted: false,
            in_pipeline: false,
            in_transaction: false,
            ran_badly: None,
            reason: None,
            tells_outcome: false,
            printer: None,
        }
    }

    fn begin(&mut self) {
        (self.at, self.number, self.has_acted) = (Some(0), None, false);
        self.before = self.shared.repeats_draws.then(|| self.random.clone());
    }

    fn evaluate(&mut self, expression: &Expression) -> Result<Value, String> {
        let Self { shared, variables, random, .. } = self;
        let mut debugged = Vec::new();
        let mut context =
            Context { names: &shared.names, variables, random, debugged: &mut debugged };
        let found = expression.evaluate(&mut context);
        for value in debugged {
            self.show(value);
        }
        found.map_err(|error| error.to_string())
    }

    fn print(&self, what: &str) {
        if let Some(printer) = &self.printer {
            printer.print(format!("pgbench: client {} {what}\n", self.user));
        }
    }

    /// What the user does next.
    fn trace(&self, command: &Command) {
        if let What::Sql { pieces, .. } = &command.what {
            return self.print(&format!("sending {}", self.text(pieces)));
        }
        if let Some(listed) = self.shared.script.listing.get(usize::from(command.number)) {
            self.print(&format!("executing {}", executed(&listed.text)));
        }
    }

    /// A statement as it is sent.
    fn text(&self, pieces: &[SqlPiece]) -> String {
        let mut text = Vec::new();
        let mut parameters = 0;
        for piece in pieces {
            match piece {
                SqlPiece::Text(plain) => text.extend_from_slice(plain.as_bytes()),
                SqlPiece::Variable(_) if !self.shared.in_text => {
                    parameters += 1;
                    text.extend_from_slice(format!("${parameters}").as_bytes());
                }
                SqlPiece::Variable(place) => match self.variables.get(*place) {
                    Some(Content::Value(value)) => value.push_text(&mut text),
                    Some(Content::Text(value)) => text.extend_from_slice(value),
                    None => {
                        text.push(b':');
                        text.extend_from_slice(self.shared.names.name(*place).as_bytes());
                    }
                },
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The line of a value that `debug` was given.
    fn show(&self, value: Value) {
        let Some(printer) = &self.printer else { return };
        let (script, command) = (self.shared.number, self.number.unwrap_or_default());
        let place = format!("debug(script={script},command={})", u32::from(command) + 1);
        printer.print(format!("{place}: {}\n", value.described()));
    }

    /// Executes commands up to one that has to wait.
    fn go_on(&mut self, params: &mut Params) -> Result<Step, String> {
        let shared = Arc::clone(&self.shared);
        loop {
            let at = self.at.unwrap_or_default();
            let Some(command) = shared.script.commands.get(at) else { return self.end() };
            self.number = Some(command.number);
            if shared.traces {
                self.trace(command);
            }
            let mut next = at + 1;
            let mut step = None;
            match &command.what {
                What::Sql { pieces, keeps } => {
                    if self.in_pipeline && keeps.is_some() {
                        let is_all = keeps.as_ref().is_some_and(|keeps| keeps.is_all);
                        let name = if is_all { "aset" } else { "gset" };
                        let why = format!("\\{name} is not allowed in pipeline mode");
                        return Err(on_line(command.line, &why));
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
                What::SetNothing { name, value } => {
                    self.evaluate(value).map_err(|why| on_line(command.line, &why))?;
                    let why = format!("invalid variable name: \"{name}\"");
                    return Err(on_line(command.line, &why));
                }
                What::Sleep { amount, unit_us } => {
                    let units = self
                        .units(amount)
                        .map_err(|why| on_line(command.line, &why.to_string()))?;
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

    fn units(&self, amount: &Amount) -> Result<u64, EvalError> {
        let place = match amount {
            Amount::Fixed(units) => return Ok(*units),
            Amount::Variable(place) => *place,
        };
        let name = self.shared.names.name(place);
        let content = self.variables.get(place);
        let text = content.ok_or_else(|| EvalError::Undefined(name.to_owned()))?.text();
        // As C reads a number: what stands behind it does not matter.
        let (units, _) = number_at(without_spaces(&text));
        let units = units.unwrap_or_default();
        if units == 0 && !text.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(EvalError::Malformed(name.to_owned(), text));
        }
        Ok(u64::try_from(units).unwrap_or_default())
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
        if self.shared.traces {
            self.print("receiving");
        }
        let shared = Arc::clone(&self.shared);
        let command = self.at.and_then(|at| shared.script.commands.get(at.checked_sub(1)?));
        let Some(command) = command else { return Ok(()) };
        let What::Sql { keeps: Some(keeps), .. } = &command.what else { return Ok(()) };
        let last = answer.results.len().saturating_sub(1);
        if !keeps.is_all {
            // The last statement's rows count, even if it has none.
            let result = answer.results.last().filter(|result| !result.is_followed);
            let rows = result.map_or(0, |result| result.rows);
            if rows != 1 {
                let why = format!("query {last}: expected one row, got {rows}");
                return Err(on_line(command.line, &why));
            }
        }
        let first = if keeps.is_all { 0 } else { last };
        for (query, result) in answer.results.iter().enumerate().skip(first) {
            if result.rows > 0 {
                self.keep(keeps, result).map_err(|name| {
                    let kind = if keeps.is_all { "aset" } else { "gset" };
                    let why = format!("query {query}: {kind}: error storing into variable {name}");
                    on_line(command.line, &why)
                })?;
            }
        }
        Ok(())
    }

    /// The values of the last row. The error is a column's name that no variable can have.
    fn keep(&mut self, keeps: &Keeps, result: &ResultSet) -> Result<(), String> {
        let columns = usize::from(result.columns);
        let before = (result.rows.saturating_sub(1) as usize).saturating_mul(columns);
        for (name, value) in result.column_names().zip(result.values().skip(before)) {
            let name = format!("{}{}", keeps.prefix, String::from_utf8_lossy(name));
            if !is_name(&name) {
                return Err(name);
            }
            // A variable that the script never reads has no place.
            let Some(place) = self.shared.names.known(&name) else { continue };
            self.variables.set(place, content(value.unwrap_or(Column::Null)));
        }
        Ok(())
    }
}

fn on_line(line: usize, why: &str) -> String {
    format!("line {line}: {why}")
}

/// What comes of an event after an error, as pgbench says it.
fn outcome(attempt: &Undone) -> String {
    let what = match attempt.restarts {
        true => "repeats the transaction after the error",
        false => "ends the failed transaction",
    };
    let most = attempt.most_tries.map(|most| format!("/{most}")).unwrap_or_default();
    let used = attempt
        .time_used
        .map(|share| format!(", {:.3}% of the maximum time of tries was used", 100.0 * share));
    format!("{what} (try {}{most}{})", attempt.tries, used.unwrap_or_default())
}

/// The number that a program printed, with spaces around it or not.
fn integer(line: &[u8]) -> Result<i64, String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    // As C reads a number: an empty line is 0.
    if text.is_empty() {
        return Ok(0);
    }
    let other = || format!("the program has printed '{}', not an integer", text.escape_debug());
    text.parse().map_err(|_| other())
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

    fn cut_short(
        &mut self,
        end: Option<Answer<'_>>,
        _statement: StatementRef,
        command: Option<u16>,
    ) {
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

    fn failed(&mut self, error: &ServerError) {
        let may_be_tried_again = matches!(&error.sql_state, b"40001" | b"40P01");
        if self.shared.shows_errors && may_be_tried_again {
            let (command, script) = (self.number.unwrap_or_default(), self.shared.number);
            let place = format!("command {command} (SQL) of script {script}");
            self.print(&format!("got an error in {place}; ERROR:  {}", error.message));
            self.tells_outcome = true;
        }
    }

    fn undone(&mut self, attempt: &Undone) {
        if let Some(before) = self.before.take().filter(|_| attempt.restarts) {
            self.random = before;
        }
        if std::mem::take(&mut self.tells_outcome) && attempt.is_loading {
            self.print(&outcome(attempt));
        }
    }

    fn print_to(&mut self, printer: &Printer) {
        self.printer = Some(printer.clone());
    }

    fn take_reason(&mut self) -> Option<String> {
        self.reason.take()
    }
}

#[cfg(test)]
mod tests;
