//! The rows of a template's tables.

use serde::{Deserialize, Serialize};

use crate::SpecError;
use crate::dialect::{Dialect, Notation};
use crate::random::{Purpose, Random};
use crate::row_writer::RowWriter;
use crate::text::push_decimal;

use super::draw::{Draw, Drawn, refuse};
use super::spec::{Literal, ValueSpec};

/// A table of a template: one of the list `template` of a load's layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Its name.
    pub name: String,
    /// The statement that creates it; fails if it exists.
    pub create: String,
    /// The statements that create its secondary indexes.
    pub indexes: Vec<String>,
    /// The number of rows loaded.
    pub rows: u64,
    /// The columns of a row, in loading order.
    pub columns: Vec<ColumnSpec>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// Its values.
    pub value: ValueSpec,
}

/// 63-bit ids allow more rows than any table has.
const MOST_ROWS: u64 = 1 << 40;

impl TableSpec {
    /// The names of the columns, separated by commas.
    pub(crate) fn columns(&self, dialect: &dyn Dialect) -> String {
        let names: Vec<_> = self.columns.iter().map(|one| dialect.quoted(&one.name)).collect();
        names.join(", ")
    }

    /// The column that holds the number of the row.
    pub(crate) fn number(&self) -> Option<&str> {
        let is_number = |one: &&ColumnSpec| matches!(one.value, ValueSpec::Sequence { .. });
        self.columns.iter().find(is_number).map(|one| one.name.as_str())
    }

    /// Checks that it can be loaded.
    pub(crate) fn compile(&self, dialect: &dyn Dialect) -> Result<TableRows, SpecError> {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if self.name.is_empty() || !self.name.bytes().all(is_sign) {
            let allowed = "letters, digits and underscores";
            return refuse("layout.template: the name of a table", allowed);
        }
        if self.rows > MOST_ROWS {
            return refuse("layout.template: the rows of a table", "0 to 2^40");
        }
        if self.number().is_none() {
            return refuse("layout.template: a table", "one with a column of the kind sequence");
        }
        let cell = |one: &ColumnSpec| {
            Ok(match (&one.value, Draw::compile(&one.value)?) {
                (ValueSpec::Choice { values }, _) => Cell::Choice(escaped(values, dialect)),
                (ValueSpec::Cycle { values, step }, _) => {
                    Cell::Cycle(Cycle::new(values, *step, self.rows, dialect)?)
                }
                (ValueSpec::Constant { value }, _) => {
                    Cell::Choice(escaped(std::slice::from_ref(value), dialect))
                }
                (ValueSpec::Pattern { pattern }, _) if !is_plain(pattern) => {
                    let allowed = "without quotes, backslashes and control characters";
                    return refuse("layout.template: a pattern", allowed);
                }
                (_, Some(draw)) => Cell::Draw(draw),
                (ValueSpec::Sequence { .. }, None) => Cell::Number,
                _ => return refuse("layout.template: a column", "no offset and nothing read"),
            })
        };
        let cells = self.columns.iter().map(cell).collect::<Result<_, _>>()?;
        Ok(TableRows { cells })
    }
}

/// Writes the rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableRows {
    cells: Vec<Cell>,
}

#[derive(Clone, Debug)]
enum Cell {
    Number,
    Draw(Draw),
    Choice(Choice),
    Cycle(Cycle),
}

/// Values that rows take in turn.
#[derive(Clone, Debug)]
struct Cycle {
    values: Choice,
    step: i64,
}

/// Values of which a row has one, escaped for either notation.
#[derive(Clone, Debug)]
struct Choice {
    stream: Vec<Literal>,
    values: Vec<Literal>,
}

impl TableRows {
    /// The row with this number.
    pub(crate) fn write(&self, seed: u64, table: u32, id: u64, row: &mut RowWriter<'_>) {
        let mut random = Random::new(seed, Purpose::Rows, &[u64::from(table), id]);
        let mut text = Vec::new();
        let notation = row.notation();
        row.begin();
        for cell in &self.cells {
            text.clear();
            let drawn = match cell {
                Cell::Number => Drawn::Int(id as i64),
                Cell::Draw(draw) => draw.draw(&mut random, &mut text),
                Cell::Choice(of) => choose(of.values(notation), &mut random, &mut text),
                Cell::Cycle(cycle) => cycle.of_row(id, notation, &mut text),
            };
            match drawn {
                Drawn::Null => row.null(),
                Drawn::Int(value) => row.number(|out| push_decimal(value, out)),
                Drawn::Double(value) => {
                    row.number(|out| out.extend_from_slice(format!("{value:?}").as_bytes()))
                }
                Drawn::Text => row.text(|out| out.extend_from_slice(&text)),
            };
        }
        row.end();
    }
}

impl Cycle {
    fn new(
        values: &[Literal],
        step: i64,
        rows: u64,
        dialect: &dyn Dialect,
    ) -> Result<Self, SpecError> {
        const WHAT: &str = "layout.template: a cycle";
        if values.is_empty() {
            return refuse(WHAT, "at least one value");
        }
        let rounds = i64::try_from(rows / values.len() as u64).unwrap_or(i64::MAX);
        for value in values {
            match value {
                Literal::Int(value)
                    if step
                        .checked_mul(rounds)
                        .is_none_or(|far| value.checked_add(far).is_none()) =>
                {
                    return refuse(WHAT, "numbers that stay within 64 bits for all rows");
                }
                Literal::Int(_) => (),
                _ if step != 0 => return refuse(WHAT, "a step only for whole numbers"),
                _ => (),
            }
        }
        Ok(Self { values: escaped(values, dialect), step })
    }

    /// The value of the row with this number, of which the first has 1.
    fn of_row(&self, id: u64, notation: Notation, text: &mut Vec<u8>) -> Drawn {
        let values = self.values.values(notation);
        let (round, place) = ((id - 1) / values.len() as u64, (id - 1) % values.len() as u64);
        match written(&values[place as usize], text) {
            Drawn::Int(value) => Drawn::Int(value + self.step * round as i64),
            other => other,
        }
    }
}

impl Choice {
    fn values(&self, notation: Notation) -> &[Literal] {
        match notation {
            Notation::Stream => &self.stream,
            Notation::Values => &self.values,
        }
    }
}

fn choose(values: &[Literal], random: &mut Random, text: &mut Vec<u8>) -> Drawn {
    let place = if values.len() == 1 { 0 } else { random.below(values.len() as u64) };
    written(&values[place as usize], text)
}

fn written(value: &Literal, text: &mut Vec<u8>) -> Drawn {
    match value {
        Literal::Null => Drawn::Null,
        Literal::Int(value) => Drawn::Int(*value),
        Literal::Double(value) => Drawn::Double(*value),
        Literal::Text(letters) => {
            text.extend_from_slice(letters.as_bytes());
            Drawn::Text
        }
    }
}

/// Texts as written in rows.
fn escaped(values: &[Literal], dialect: &dyn Dialect) -> Choice {
    let escape = |notation| {
        let escape = |value: &Literal| match value {
            Literal::Text(text) => Literal::Text(dialect.escaped(notation, text)),
            other => other.clone(),
        };
        values.iter().map(escape).collect()
    };
    Choice { stream: escape(Notation::Stream), values: escape(Notation::Values) }
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|sign| !sign.is_control() && sign != '\'' && sign != '\\')
}
