//! The step machine of a template's users.

use std::sync::Arc;

use loadstone_measure::Nanos;
use loadstone_protocol::{ResultSet, Value};

use crate::dialect::Dialect;
use crate::random::{Purpose, Random};
use crate::{Answer, Machine, Params, StatementRef, Step};

use super::compiled::{Compiled, Role, Source, Statement, Transaction};
use super::draw::Drawn;

/// A transaction that was tried this often without success gives way to another: one that cannot
/// succeed must not hold its user for ever.
const MOST_ATTEMPTS: u32 = 10;

/// One user of a template.
///
/// A transaction that the server refuses is drawn again with new values but of the same kind, so
/// that deadlocks do not change the mix.
#[derive(Debug)]
pub(crate) struct TemplateMachine {
    shared: Arc<Compiled>,
    kinds: Random,
    values: Values,
    position: Position,
    in_transaction: bool,
    /// The kind of the next event, if the last one was abandoned.
    again: Option<usize>,
    attempts: u32,
    /// The kind of the last event that ended.
    done: Option<usize>,
}

#[derive(Copy, Clone, Debug, Default)]
struct Position {
    transaction: usize,
    statement: usize,
    repetition: u32,
}

/// What an event has drawn and read.
#[derive(Debug)]
struct Values {
    keys: Random,
    texts: Random,
    tables: Random,
    /// Indexed by the parameters' places.
    slots: Vec<Slot>,
    /// The parameters' texts, by the same index. Each has memory of its own, which a repeated
    /// statement reuses.
    written: Vec<Vec<u8>>,
    /// The copy that the last statement with copies went to.
    copy: u32,
    /// The next number of a sequence above its start, and the step to the one after it.
    number: i64,
    stride: i64,
    /// The server's dialect, for dates.
    dialect: &'static dyn Dialect,
}

#[derive(Copy, Clone, Debug)]
enum Slot {
    /// Not drawn, or not read.
    Empty,
    Null,
    Int(i64),
    Double(f64),
    /// The text is at the same place among the texts.
    Text,
}

impl TemplateMachine {
    pub(crate) fn new(shared: Arc<Compiled>, seed: u64, user: u64, users: u64) -> Self {
        let most = shared.transactions.iter().map(|one| one.parameters.len()).max().unwrap_or(0);
        let values = Values {
            keys: Random::new(seed, Purpose::Keys, &[user]),
            texts: Random::new(seed, Purpose::Values, &[user]),
            tables: Random::new(seed, Purpose::Tables, &[user]),
            slots: vec![Slot::Empty; most],
            written: vec![Vec::new(); most],
            copy: 1,
            number: user as i64,
            stride: users.max(user + 1) as i64,
            dialect: shared.dialect,
        };
        Self {
            kinds: Random::new(seed, Purpose::Kinds, &[user]),
            values,
            position: Position::default(),
            in_transaction: false,
            again: None,
            attempts: 0,
            done: None,
            shared,
        }
    }

    /// Uses the names of parameters as a stand-in for what the last statement would have read.
    pub(super) fn pretend_to_read(&mut self) {
        let transaction = &self.shared.transactions[self.position.transaction];
        let Some(statement) = transaction.statements.get(self.position.statement) else { return };
        for &place in &statement.reads {
            let name = format!("<{}>", transaction.names[usize::from(place)]);
            self.values.keep(place, Value::Bytes(name.as_bytes()));
        }
        self.position = self.position.after(statement);
    }

    /// The name of the current event, and how many statements it sends.
    pub(super) fn event(&self) -> (&'static str, usize) {
        let transaction = &self.shared.transactions[self.position.transaction];
        let sent = transaction.statements.iter().map(|one| one.repeat as usize).sum();
        (transaction.name[0], sent)
    }

    fn begin(&mut self) {
        let transaction = self.again.take().unwrap_or_else(|| self.draw_kind());
        self.position = Position { transaction, statement: 0, repetition: 0 };
        self.in_transaction = false;
        let used = self.shared.transactions[transaction].parameters.len();
        self.values.slots[..used].fill(Slot::Empty);
    }

    fn draw_kind(&mut self) -> usize {
        let all = &self.shared.transactions;
        if all.len() == 1 {
            return 0;
        }
        let drawn = self.kinds.below(self.shared.total);
        // There may be hundreds of kinds.
        all.partition_point(|one| one.up_to <= drawn)
    }

    /// Sends the statement at the position.
    pub(super) fn send(&mut self, params: &mut Params) -> Step {
        let transaction = &self.shared.transactions[self.position.transaction];
        let Some(statement) = transaction.statements.get(self.position.statement) else {
            self.done = Some(self.position.transaction);
            self.attempts = 0;
            return Step::Done;
        };
        self.in_transaction |= statement.role == Role::Begin;
        params.clear();
        let is_first = self.position.repetition == 0;
        let table = self.values.choose_copy(statement, is_first);
        self.values.fill(statement, transaction, params);
        Step::Send(StatementRef { kind: statement.kind, table })
    }

    /// Processes an answer; returns `Some` if the event cannot continue with it.
    fn take(&mut self, answer: Answer<'_>) -> Option<Step> {
        let transaction = &self.shared.transactions[self.position.transaction];
        let statement = transaction.statements.get(self.position.statement)?;
        let done = answer.completion;
        let rows = if done.has_result_set { done.rows } else { done.affected_rows };
        if statement.rows.is_some_and(|(fewest, most)| !(fewest..=most).contains(&rows)) {
            return Some(Step::Fail(statement.refusal));
        }
        if !statement.reads.is_empty() && !self.values.read(&statement.reads, answer.result()) {
            return Some(Step::Fail(statement.refusal));
        }
        if statement.role == Role::Commit {
            self.in_transaction = false;
        }
        self.position = self.position.after(statement);
        None
    }
}

impl Position {
    /// The position after the statement.
    #[inline]
    fn after(self, statement: &Statement) -> Self {
        if self.repetition + 1 < statement.repeat {
            Self { repetition: self.repetition + 1, ..self }
        } else {
            Self { statement: self.statement + 1, repetition: 0, ..self }
        }
    }
}

impl Machine for TemplateMachine {
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        match answer {
            None => self.begin(),
            Some(answer) => {
                if let Some(refused) = self.take(answer) {
                    return refused;
                }
            }
        }
        self.send(params)
    }

    fn abandon(&mut self) {
        self.in_transaction = false;
        self.attempts += 1;
        if self.attempts < MOST_ATTEMPTS {
            self.again = Some(self.position.transaction);
        } else {
            self.attempts = 0;
        }
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn reads_rows(&self) -> bool {
        self.shared.reads_rows
    }

    /// Where its values are read, its rows are counted, or it ends the transaction.
    fn needs_answer(&self) -> bool {
        let transaction = &self.shared.transactions[self.position.transaction];
        let sent = transaction.statements.get(self.position.statement);
        sent.is_none_or(|one| {
            one.role == Role::Commit || one.rows.is_some() || !one.reads.is_empty()
        })
    }

    fn kinds(&self) -> &'static [&'static str] {
        match self.done {
            Some(kind) if self.shared.transactions.len() > 1 => self.shared.transactions[kind].name,
            _ => &[],
        }
    }

    fn pause(&mut self) -> Nanos {
        let think_s = self.done.map_or(0.0, |kind| self.shared.transactions[kind].think_s);
        Nanos::from_seconds(think_s)
    }
}

impl Values {
    /// The number of the table's copy; 0 if the statement names none.
    #[inline]
    fn choose_copy(&mut self, statement: &Statement, is_first: bool) -> u32 {
        if statement.copies == 0 {
            return 0;
        }
        if is_first && !statement.same_copy {
            self.copy = 1 + self.tables.below(u64::from(statement.copies)) as u32;
        }
        self.copy
    }

    #[inline]
    fn fill(&mut self, statement: &Statement, transaction: &Transaction, params: &mut Params) {
        for &place in &statement.anew {
            self.slots[usize::from(place)] = Slot::Empty;
        }
        for &place in &statement.uses {
            match self.get(place, transaction) {
                Slot::Empty | Slot::Null => params.push_null(),
                Slot::Int(value) => params.push_int(value),
                Slot::Double(value) => params.push_double(value),
                Slot::Text => params.push_text(&self.written[usize::from(place)]),
            }
        }
    }

    /// The value of a parameter, drawn if it is not yet.
    fn get(&mut self, place: u16, transaction: &Transaction) -> Slot {
        let slot = self.slots[usize::from(place)];
        if !matches!(slot, Slot::Empty) {
            return slot;
        }
        let text = &mut self.written[usize::from(place)];
        text.clear();
        let drawn = match &transaction.parameters[usize::from(place)] {
            Source::Key(draw) => draw.draw(&mut self.keys, text),
            Source::Value(draw) => draw.draw(&mut self.texts, text),
            Source::Sequence { start } => Drawn::Int(start.wrapping_add(self.next_number())),
            Source::Offset { of, add } => match self.get(*of, transaction) {
                Slot::Int(value) => Drawn::Int(value.wrapping_add(*add)),
                _ => Drawn::Null,
            },
            Source::Read => Drawn::Null,
        };
        let slot = match drawn {
            Drawn::Null => Slot::Null,
            Drawn::Int(value) => Slot::Int(value),
            Drawn::Double(value) => Slot::Double(value),
            Drawn::Text => Slot::Text,
        };
        self.slots[usize::from(place)] = slot;
        slot
    }

    fn next_number(&mut self) -> i64 {
        let number = self.number;
        self.number += self.stride;
        number
    }

    /// Keeps the columns of the first row; returns whether there is one with that many columns.
    fn read(&mut self, reads: &[u16], result: Option<&ResultSet>) -> bool {
        let Some(result) = result else { return false };
        if usize::from(result.columns) != reads.len() {
            return false;
        }
        let mut values = result.values();
        for &place in reads {
            let Some(Ok(value)) = values.next() else { return false };
            self.keep(place, value);
        }
        true
    }

    /// Keeps the value of a parameter.
    fn keep(&mut self, place: u16, value: Value<'_>) {
        let text = &mut self.written[usize::from(place)];
        text.clear();
        self.slots[usize::from(place)] = match value {
            Value::Null => Slot::Null,
            Value::Int(value) => Slot::Int(value),
            Value::Double(value) => Slot::Double(value),
            Value::Bytes(bytes) => {
                text.extend_from_slice(bytes);
                Slot::Text
            }
            Value::Unsigned(value) => {
                text.extend_from_slice(value.to_string().as_bytes());
                Slot::Text
            }
            Value::Temporal(parts) => {
                self.dialect.push_temporal(parts, text);
                Slot::Text
            }
        };
    }
}
