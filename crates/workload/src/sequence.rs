//! Workloads whose events are a fixed sequence of statements with drawn parameters: all except bulk
//! insert.

use std::sync::Arc;

use crate::distribution::Sampler;
use crate::random::{Purpose, Random};
use crate::text::{C_GROUPS, PAD_GROUPS, push_groups};
use crate::unique::UniqueIds;
use crate::{Answer, Machine, Params, StatementRef, Step};

/// The definition of an event, shared by all users.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) groups: Vec<Group>,
    pub(crate) tables: u32,
    /// Draws row ids and values of `k`.
    pub(crate) keys: Sampler,
}

/// Statements that go to one table, repeated `repeat` times.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) repeat: u32,
    pub(crate) table: Table,
    pub(crate) statements: Vec<Statement>,
}

/// The table of a group.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// None: BEGIN and COMMIT.
    None,
    /// Any of them, equally likely, drawn once for the group.
    Any,
    /// The first, however many there are.
    First,
    /// The table of the last group that had one.
    Same,
}

/// One statement of a group.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) kind: u16,
    pub(crate) fill: Fill,
}

/// The parameters of a statement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// None; a transaction is open from here.
    Begin,
    /// None; the transaction ends with its answer.
    Commit,
    /// A row id.
    Id,
    /// A row id and the last id of the range; the range may reach beyond the table's end.
    IdRange { size: i64 },
    /// `c` and a row id.
    CAndId,
    /// A row id, kept for the following statements.
    KeptId,
    /// The kept id.
    SameId,
    /// The row that was deleted before: the kept id, a new `k`, `c` and `pad`.
    Insert,
    /// The kept id, and a buyer.
    Order,
    /// A new row.
    NewRow { id: NewId },
    /// This many values of `k`.
    Points { count: u32 },
    /// This many ranges of `k`, from a value to `delta` above it.
    Ranges { count: u32, delta: i64 },
}

/// Where the id of a new row comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewId {
    /// It is one that no row has.
    Drawn,
    /// This one goes along, and the server replaces it.
    Sent(i64),
    /// The server generates it; the column is left out.
    Omitted,
}

/// The number of possible buyers: all that the 32-bit column holds.
const BUYERS: u64 = i32::MAX as u64;

/// A user's position in its event.
#[derive(Copy, Clone, Debug, Default)]
struct Position {
    group: u16,
    statement: u16,
    repetition: u32,
}

/// One user's streams and the state of its event.
#[derive(Debug)]
struct Draws {
    keys: Random,
    tables: Random,
    values: Random,
    insert_ids: UniqueIds,
    table: u32,
    /// The last table used.
    last_table: u32,
    id: i64,
}

/// One user of a [`Sequence`].
#[derive(Debug)]
pub(crate) struct SequenceMachine {
    sequence: Arc<Sequence>,
    position: Position,
    draws: Draws,
    in_transaction: bool,
}

impl SequenceMachine {
    pub(crate) fn new(sequence: Arc<Sequence>, seed: u64, user: u64, users: u64) -> Self {
        let draws = Draws {
            keys: Random::new(seed, Purpose::Keys, &[user]),
            tables: Random::new(seed, Purpose::Tables, &[user]),
            values: Random::new(seed, Purpose::Values, &[user]),
            insert_ids: UniqueIds::new(seed, user, users, sequence.keys.size()),
            table: 0,
            last_table: 1,
            id: 0,
        };
        Self { sequence, position: Position::default(), draws, in_transaction: false }
    }

    /// Send the statement at the position.
    fn send(&mut self, params: &mut Params) -> Step {
        let Some(group) = self.sequence.groups.get(usize::from(self.position.group)) else {
            self.abandon();
            return Step::Done;
        };
        if self.position.repetition == 0 && self.position.statement == 0 {
            self.draws.table = self.draws.choose_table(group.table, self.sequence.tables);
        }
        let statement = &group.statements[usize::from(self.position.statement)];
        self.in_transaction |= statement.fill == Fill::Begin;
        params.clear();
        self.draws.fill(statement.fill, &self.sequence.keys, params);
        Step::Send(StatementRef { kind: statement.kind, table: self.draws.table })
    }

    /// Moves past the answered statement.
    fn advance(&mut self) {
        let group = &self.sequence.groups[usize::from(self.position.group)];
        let answered = &group.statements[usize::from(self.position.statement)];
        if answered.fill == Fill::Commit {
            self.in_transaction = false;
        }
        self.position = self.position.after(group);
    }
}

impl Position {
    fn after(self, group: &Group) -> Self {
        if usize::from(self.statement) + 1 < group.statements.len() {
            Self { statement: self.statement + 1, ..self }
        } else if self.repetition + 1 < group.repeat {
            Self { statement: 0, repetition: self.repetition + 1, ..self }
        } else {
            Self { group: self.group + 1, statement: 0, repetition: 0 }
        }
    }
}

impl Machine for SequenceMachine {
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        match answer {
            None => self.abandon(),
            Some(_) => self.advance(),
        }
        self.send(params)
    }

    fn abandon(&mut self) {
        self.position = Position::default();
        self.in_transaction = false;
    }

    /// Only the end of the transaction does: no parameter comes from a row.
    fn needs_answer(&self) -> bool {
        let group = self.sequence.groups.get(usize::from(self.position.group));
        let sent =
            group.and_then(|group| group.statements.get(usize::from(self.position.statement)));
        sent.is_none_or(|statement| statement.fill == Fill::Commit)
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction
    }
}

impl Draws {
    fn choose_table(&mut self, table: Table, tables: u32) -> u32 {
        self.last_table = match table {
            Table::None => return 0,
            Table::Same => self.last_table,
            Table::First => 1,
            Table::Any => 1 + self.tables.below(u64::from(tables)) as u32,
        };
        self.last_table
    }

    #[inline]
    fn fill(&mut self, fill: Fill, keys: &Sampler, params: &mut Params) {
        match fill {
            Fill::Begin | Fill::Commit => {}
            Fill::Id => params.push_int(self.key(keys)),
            Fill::IdRange { size } => {
                let first = self.key(keys);
                params.push_int(first);
                params.push_int(first + size - 1);
            }
            Fill::CAndId => {
                self.push_groups(C_GROUPS, params);
                let id = self.key(keys);
                params.push_int(id);
            }
            Fill::KeptId => {
                self.id = self.key(keys);
                params.push_int(self.id);
            }
            Fill::SameId => params.push_int(self.id),
            Fill::Order => {
                params.push_int(self.id);
                params.push_int(1 + self.values.below(BUYERS) as i64);
            }
            Fill::Insert => self.push_row(self.id, keys, params),
            Fill::NewRow { id } => match id {
                NewId::Drawn => {
                    let id = self.insert_ids.draw();
                    self.push_row(id, keys, params);
                }
                NewId::Sent(id) => self.push_row(id, keys, params),
                NewId::Omitted => self.push_row_without_id(keys, params),
            },
            Fill::Points { count } => {
                for _ in 0..count {
                    params.push_int(self.key(keys));
                }
            }
            Fill::Ranges { count, delta } => {
                for _ in 0..count {
                    let first = self.key(keys);
                    params.push_int(first);
                    params.push_int(first + delta);
                }
            }
        }
    }

    /// Ids and `k` are 32-bit columns, so they fit.
    #[inline]
    fn key(&mut self, keys: &Sampler) -> i64 {
        keys.draw(&mut self.keys) as i64
    }

    fn push_row(&mut self, id: i64, keys: &Sampler, params: &mut Params) {
        params.push_int(id);
        self.push_row_without_id(keys, params);
    }

    fn push_row_without_id(&mut self, keys: &Sampler, params: &mut Params) {
        params.push_int(self.key(keys));
        self.push_groups(C_GROUPS, params);
        self.push_groups(PAD_GROUPS, params);
    }

    fn push_groups(&mut self, groups: usize, params: &mut Params) {
        params.text_with(|out| push_groups(groups, &mut self.values, out));
    }
}
