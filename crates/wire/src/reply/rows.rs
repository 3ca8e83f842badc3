//! Rows that are kept for reading: by administration, tests, scripts, and workloads whose next
//! statement depends on an answer.

use super::column_type;
use crate::cursor::Cursor;
use crate::{ResultSet, Row, WireError};

/// The memory that a value takes in addition to its bytes.
const VALUE_OVERHEAD: usize = size_of::<Option<Vec<u8>>>();
/// The memory that a result takes in addition to its rows: an answer may have any number of
/// results.
const RESULT_OVERHEAD: usize = size_of::<ResultSet>();

/// Incoming rows, within a limit.
#[derive(Debug)]
pub(super) struct KeptRows {
    limit: usize,
    used: usize,
    current: Vec<u8>,
    rows: Vec<Row>,
}

impl KeptRows {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: 0, current: Vec::new(), rows: Vec::new() }
    }

    /// Appends a part of the incoming row.
    pub(super) fn append(&mut self, part: &[u8]) -> Result<(), WireError> {
        self.spend(part.len())?;
        self.current.extend_from_slice(part);
        Ok(())
    }

    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_row.html>
    pub(super) fn finish_row(&mut self) -> Result<(), WireError> {
        let current = std::mem::take(&mut self.current);
        let mut cursor = Cursor::new(&current, "a row");
        let mut row = Row::new();
        while !cursor.is_empty() {
            self.spend(VALUE_OVERHEAD)?;
            row.push(cursor.nullable_bytes()?.map(<[u8]>::to_vec)); // string<lenenc> or 0xfb
        }
        self.rows.push(row);
        Ok(())
    }

    pub(super) fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    fn spend(&mut self, bytes: usize) -> Result<(), WireError> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit {
            return Err(WireError::TooLarge {
                what: "the kept result",
                length: self.used as u64,
                limit: self.limit as u64,
            });
        }
        Ok(())
    }
}

/// The results of the incoming reply, within a limit.
#[derive(Debug)]
pub(super) struct KeptResults {
    limit: usize,
    used: usize,
    /// The first `count` belong to this reply; the others are memory for later results.
    results: Vec<ResultSet>,
    count: usize,
    binary_rows: bool,
    /// The incoming definition.
    definition: Vec<u8>,
}

/// How much of one result's memory is kept for the next reply, in bytes.
const KEPT_CAPACITY: usize = 16 * 1024;

impl KeptResults {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            results: Vec::new(),
            count: 0,
            binary_rows: false,
            definition: Vec::new(),
        }
    }

    /// Also keeps binary rows.
    pub(super) fn with_binary_rows(self) -> Self {
        Self { binary_rows: true, ..self }
    }

    pub(super) fn has_binary_rows(&self) -> bool {
        self.binary_rows
    }

    /// Another reply starts.
    pub(super) fn clear(&mut self) {
        (self.used, self.count) = (0, 0);
        self.definition.clear();
        self.results.truncate(1);
        self.results.retain(|result| result.bytes.capacity() <= KEPT_CAPACITY);
    }

    /// A result with rows starts.
    pub(super) fn begin(&mut self, columns: u16) -> Result<(), WireError> {
        self.spend(RESULT_OVERHEAD)?;
        match self.results.get_mut(self.count) {
            Some(result) => {
                result.bytes.clear();
                result.types.clear();
                (result.columns, result.rows) = (columns, 0);
            }
            None => {
                if self.results.is_empty() {
                    // Most answers have one result; without this there would be memory for four.
                    self.results.reserve_exact(1);
                }
                self.results.push(ResultSet { columns, ..ResultSet::default() });
            }
        }
        self.count += 1;
        Ok(())
    }

    /// Appends a part of a column's definition; `is_last`: its last part.
    pub(super) fn append_definition(
        &mut self,
        part: &[u8],
        is_last: bool,
    ) -> Result<(), WireError> {
        self.spend(part.len())?;
        self.definition.extend_from_slice(part);
        if is_last {
            let parsed = column_type::parse(&self.definition);
            self.definition.clear();
            let column = parsed?;
            if let Some(result) = self.last() {
                result.types.push(column);
            }
        }
        Ok(())
    }

    /// A row starts.
    pub(super) fn count_row(&mut self) {
        if let Some(result) = self.last() {
            result.rows += 1;
        }
    }

    /// Appends a part of the incoming row.
    pub(super) fn append(&mut self, part: &[u8]) -> Result<(), WireError> {
        self.spend(part.len())?;
        if let Some(result) = self.last() {
            result.bytes.extend_from_slice(part);
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), WireError> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit {
            return Err(WireError::TooLarge {
                what: "the kept result",
                length: self.used as u64,
                limit: self.limit as u64,
            });
        }
        Ok(())
    }

    pub(super) fn results(&self) -> &[ResultSet] {
        self.results.get(..self.count).unwrap_or_default()
    }

    fn last(&mut self) -> Option<&mut ResultSet> {
        self.results.get_mut(self.count.checked_sub(1)?)
    }
}
