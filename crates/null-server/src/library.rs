//! Prebuilt answers to load, shared by all connections.

use crate::packet::{Shape, put_ok, put_packet};
use crate::postgres_messages::{put_complete, put_data_row, put_description};
use crate::rows::{Column, Form, Rows, Type, Value, put_columns};
use crate::sql::{Sql, understand};
use std::collections::HashMap;

/// The answer to a write.
const WROTE: u32 = 0;
/// The answer to BEGIN, COMMIT and settings.
const DONE: u32 = 1;
/// The most different column lists kept; any further one is answered like `c`.
const LISTS_MAX: usize = 4096;

/// What a statement does to its connection's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Nothing,
    Opens,
    Ends,
}

/// A recognised load statement, and which answer it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) answer: u32,
    pub(crate) effect: Effect,
}

#[derive(Debug)]
struct Answer {
    /// Indexed by form and shape.
    bytes: [Vec<u8>; 8],
    columns: Vec<Column>,
    postgres: PostgresAnswer,
}

/// The same for PostgreSQL.
#[derive(Debug, Default)]
struct PostgresAnswer {
    description: Vec<u8>,
    /// Rows and tag; `None`: the tag depends on the statement.
    execution: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(crate) struct Library {
    answers: Vec<Answer>,
    /// Reads seen so far, by their text between SELECT and FROM.
    lists: HashMap<Vec<u8>, u32>,
    /// The number of rows of a range.
    range_rows: u32,
}

impl Library {
    pub(crate) fn new(range_rows: u32) -> Self {
        let answers = vec![Answer::ok(1, Some("UPDATE 1")), Answer::ok(0, None)];
        Self { answers, lists: HashMap::new(), range_rows }
    }

    /// The answer to a load statement; `None`: it is something else.
    pub(crate) fn known(&mut self, sql: Sql<'_>) -> Option<Known> {
        let (answer, effect) = match sql {
            Sql::Begin => (DONE, Effect::Opens),
            Sql::End => (DONE, Effect::Ends),
            Sql::Write => (WROTE, Effect::Nothing),
            Sql::Read { list, range } => (self.read(list, range), Effect::Nothing),
            Sql::Question(_) | Sql::Setting | Sql::Control(_) => return None,
        };
        Some(Known { answer, effect })
    }

    /// The answer to a prepared statement, whatever it is: only load is prepared.
    pub(crate) fn prepared(&mut self, statement: &[u8]) -> Known {
        let sql = understand(statement);
        self.known(sql).unwrap_or_else(|| match sql {
            Sql::Question(_) => Known { answer: self.read(b"1", false), effect: Effect::Nothing },
            _ => Known { answer: DONE, effect: Effect::Nothing },
        })
    }

    /// The bytes of an answer.
    pub(crate) fn bytes(&self, answer: u32, form: Form, shape: Shape) -> &[u8] {
        &self.answers[answer as usize].bytes[place(form, shape)]
    }

    /// PostgreSQL's description of an answer.
    pub(crate) fn description(&self, answer: u32) -> &[u8] {
        &self.answers[answer as usize].postgres.description
    }

    /// PostgreSQL's rows and the tag behind them; `None`: the tag depends on the statement.
    pub(crate) fn execution(&self, answer: u32) -> Option<&[u8]> {
        self.answers[answer as usize].postgres.execution.as_deref()
    }

    /// Whether the answer is a result set.
    pub(crate) fn has_rows(&self, answer: u32) -> bool {
        !self.answers[answer as usize].columns.is_empty()
    }

    /// The answer to COM_STMT_PREPARE.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html>
    pub(crate) fn prepare_answer(
        &self,
        id: u32,
        known: Known,
        params: u16,
        shape: Shape,
    ) -> Vec<u8> {
        let columns = &self.answers[known.answer as usize].columns;
        let (mut out, mut sequence) = (Vec::new(), 1);
        put_packet(&mut out, &mut sequence, |out| {
            out.push(0x00); // int<1>
            out.extend_from_slice(&id.to_le_bytes()); // int<4>
            out.extend_from_slice(&(columns.len() as u16).to_le_bytes()); // int<2>
            out.extend_from_slice(&params.to_le_bytes()); // int<2>
            out.extend_from_slice(&[0; 3]); // int<1> filler, int<2> warnings
        });
        let params = vec![Column::new("?", Type::Text); usize::from(params)];
        put_columns(&mut out, &mut sequence, &params, shape);
        put_columns(&mut out, &mut sequence, columns, shape);
        out
    }

    fn read(&mut self, list: &[u8], range: bool) -> u32 {
        let mut key = [0_u8; 64];
        // A short list is looked up without a copy on the heap.
        if let Some(room) = key.get_mut(..list.len() + 1) {
            room[..list.len()].copy_from_slice(list);
            room[list.len()] = u8::from(range);
            if let Some(&answer) = self.lists.get(&*room) {
                return answer;
            }
        }
        self.learn(list, range)
    }

    #[cold]
    fn learn(&mut self, list: &[u8], range: bool) -> u32 {
        let key = [list, &[u8::from(range)]].concat();
        if let Some(&answer) = self.lists.get(&key) {
            return answer;
        }
        if self.lists.len() >= LISTS_MAX {
            return self.read(b"c", range);
        }
        let answer = self.answers.len() as u32;
        self.answers.push(Answer::rows(&rows_of(list, if range { self.range_rows } else { 1 })));
        self.lists.insert(key, answer);
        answer
    }
}

impl Answer {
    /// `tag`: PostgreSQL's.
    fn ok(affected: u64, tag: Option<&str>) -> Self {
        let build = |shape| {
            let (mut out, mut sequence) = (Vec::new(), 1);
            put_ok(&mut out, &mut sequence, affected, shape);
            out
        };
        let mut bytes: [Vec<u8>; 8] = Default::default();
        for form in [Form::Text, Form::Binary] {
            for shape in Shape::ALL {
                bytes[place(form, shape)] = build(shape);
            }
        }
        let postgres = PostgresAnswer::of(&Rows::default(), tag);
        Self { bytes, columns: Vec::new(), postgres }
    }

    fn rows(rows: &Rows) -> Self {
        let mut bytes: [Vec<u8>; 8] = Default::default();
        for form in [Form::Text, Form::Binary] {
            for shape in Shape::ALL {
                bytes[place(form, shape)] = rows.bytes(form, shape);
            }
        }
        let postgres = PostgresAnswer::of(rows, Some(&format!("SELECT {}", rows.rows.len())));
        Self { bytes, columns: rows.columns.clone(), postgres }
    }
}

impl PostgresAnswer {
    fn of(rows: &Rows, tag: Option<&str>) -> Self {
        let mut description = Vec::new();
        put_description(&mut description, &rows.columns);
        let execution = tag.map(|tag| {
            let mut out = Vec::new();
            for row in &rows.rows {
                put_data_row(&mut out, row);
            }
            put_complete(&mut out, tag);
            out
        });
        Self { description, execution }
    }
}

fn place(form: Form, shape: Shape) -> usize {
    shape.index() | if form == Form::Binary { 4 } else { 0 }
}

/// Columns as in sysbench's tables; aggregates are one row, however large the range.
fn rows_of(list: &[u8], count: u32) -> Rows {
    let list = String::from_utf8_lossy(list);
    let list = list.strip_prefix("DISTINCT ").unwrap_or(&list);
    let (columns, row): (Vec<Column>, Vec<Value>) = split(list).into_iter().map(column).unzip();
    let count = if list.contains('(') { 1 } else { count };
    Rows { columns, rows: vec![row; count as usize] }
}

fn column(text: &str) -> (Column, Value) {
    let lower = text.to_ascii_lowercase();
    let (kind, value) = match lower.trim_matches('`') {
        "id" | "k" | "stock" | "sold" | "product" => (Type::Int, Value::Int(5000)),
        "c" => (Type::Text, Value::Text(groups(10))),
        "pad" => (Type::Text, Value::Text(groups(5))),
        name if name.starts_with("sum(") => (Type::Decimal, Value::from("500000")),
        name if name.starts_with("count(") => (Type::BigInt, Value::Int(100)),
        _ => (Type::Text, Value::from("1")),
    };
    (Column::new(text.trim_matches('`'), kind), value)
}

/// Groups of eleven digits, as in sysbench's `c` (119 bytes) and `pad` (59).
fn groups(count: usize) -> String {
    vec!["08566691963"; count].join("-")
}

/// Splits at commas outside of parentheses.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_select_gets_119_bytes() {
        let rows = rows_of(b"c", 1);
        assert_eq!(rows.rows.len(), 1);
        assert!(matches!(&rows.rows[0][0], Value::Text(text) if text.len() == 119));
        assert!(matches!(&rows_of(b"pad", 1).rows[0][0], Value::Text(text) if text.len() == 59));
    }

    #[test]
    fn lists_of_columns_are_split_outside_of_parentheses() {
        assert_eq!(split("id, k, IF(a, b), c"), ["id", "k", "IF(a, b)", "c"]);
        assert_eq!(rows_of(b"DISTINCT c", 7).rows.len(), 7);
        assert_eq!(rows_of(b"SUM(k)", 7).rows.len(), 1);
    }

    #[test]
    fn a_list_is_built_once_and_too_many_are_answered_like_c() {
        let mut library = Library::new(100);
        let first = library.prepared(b"SELECT c FROM sbtest1 WHERE id=?");
        assert_eq!(library.prepared(b"SELECT c FROM sbtest2 WHERE id=?"), first);
        assert!(library.has_rows(first.answer));
        for index in 0..LISTS_MAX + 10 {
            library.prepared(format!("SELECT {index} FROM t").as_bytes());
        }
        assert_eq!(library.lists.len(), LISTS_MAX);
    }
}
