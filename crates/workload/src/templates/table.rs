//! The rows of a template's tables.

use serde::{Deserialize, Serialize};

use crate::SpecError;
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
    /// The statement that makes it; fails where it is there.
    pub create: String,
    /// The statements that make its secondary indexes.
    pub indexes: Vec<String>,
    /// How many rows it is loaded with.
    pub rows: u64,
    /// The columns of a row, in the order in which they are loaded.
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

/// Ids of 63 bits are more than any table has rows.
const MOST_ROWS: u64 = 1 << 40;

impl TableSpec {
    /// The names of the columns, with commas between them.
    pub(crate) fn columns(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|one| quoted(&one.name)).collect();
        names.join(", ")
    }

    /// The column that holds the number of the row.
    pub(crate) fn quoted_number(&self) -> Option<String> {
        let is_number = |one: &&ColumnSpec| matches!(one.value, ValueSpec::Sequence { .. });
        self.columns.iter().find(is_number).map(|one| quoted(&one.name))
    }

    /// Whether it can be loaded.
    pub(crate) fn compile(&self) -> Result<TableRows, SpecError> {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if self.name.is_empty() || !self.name.bytes().all(is_sign) {
            let allowed = "letters, digits and underscores";
            return refuse("layout.template: the name of a table", allowed);
        }
        if self.rows > MOST_ROWS {
            return refuse("layout.template: the rows of a table", "0 to 2^40");
        }
        if self.quoted_number().is_none() {
            return refuse("layout.template: a table", "one with a column of the kind sequence");
        }
        let cell = |one: &ColumnSpec| {
            Ok(match (&one.value, Draw::compile(&one.value)?) {
                (ValueSpec::Choice { values }, _) => Cell::Choice(escaped(values)),
                (ValueSpec::Constant { value }, _) => {
                    Cell::Choice(escaped(std::slice::from_ref(value)))
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

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
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
    Choice(Vec<Literal>),
}

impl TableRows {
    /// The row with this number.
    pub(crate) fn write(&self, seed: u64, table: u32, id: u64, row: &mut RowWriter<'_>) {
        let mut random = Random::new(seed, Purpose::Rows, &[u64::from(table), id]);
        let mut text = Vec::new();
        row.begin();
        for cell in &self.cells {
            text.clear();
            let drawn = match cell {
                Cell::Number => Drawn::Int(id as i64),
                Cell::Draw(draw) => draw.draw(&mut random, &mut text),
                Cell::Choice(values) => choose(values, &mut random, &mut text),
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

fn choose(values: &[Literal], random: &mut Random, text: &mut Vec<u8>) -> Drawn {
    let place = if values.len() == 1 { 0 } else { random.below(values.len() as u64) };
    match &values[place as usize] {
        Literal::Null => Drawn::Null,
        Literal::Int(value) => Drawn::Int(*value),
        Literal::Double(value) => Drawn::Double(*value),
        Literal::Text(written) => {
            text.extend_from_slice(written.as_bytes());
            Drawn::Text
        }
    }
}

/// Texts as they stand in rows: a backslash takes away the meaning of what follows it, in LOAD DATA and in a
/// statement alike.
fn escaped(values: &[Literal]) -> Vec<Literal> {
    let escape = |value: &Literal| match value {
        Literal::Text(text) => Literal::Text(escape(text)),
        other => other.clone(),
    };
    values.iter().map(escape).collect()
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for sign in text.chars() {
        match sign {
            '\\' | '\'' => out.extend(['\\', sign]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            other => out.push(other),
        }
    }
    out
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|sign| !sign.is_control() && sign != '\'' && sign != '\\')
}
