//! Rows that are kept for reading: by administration, tests, scripts, and workloads whose next
//! statement depends on an answer.

use super::columns::Columns;
use super::row;
use crate::{ResultSet, Row, WireError};

/// The memory that a value takes in addition to its bytes.
const VALUE_OVERHEAD: usize = size_of::<Option<Vec<u8>>>();
/// The memory that a result takes in addition to its rows: an answer may have any number of
/// results.
const RESULT_OVERHEAD: usize = size_of::<ResultSet>();
/// The most bytes of the length that is kept before a value.
const LONGEST_LENGTH: usize = 9;
/// How much memory is kept for the next row, and for the next reply's first result, in bytes.
const KEPT_CAPACITY: usize = 16 * 1024;

/// What an incoming message is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A DataRow.
    Row,
    /// A CopyData: it is kept as the only value of a row.
    Copied,
}

/// Everything that is kept of a connection's replies.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The incoming row.
    current: Vec<u8>,
    pub(super) rows: Option<KeptRows>,
    pub(super) results: Option<KeptResults>,
}

impl Kept {
    /// Appends a piece of the incoming row; `is_last`: its last one.
    pub(super) fn append(
        &mut self,
        part: Part,
        piece: &[u8],
        is_last: bool,
    ) -> Result<(), WireError> {
        if let Some(rows) = &mut self.rows {
            rows.budget.spend(piece.len())?;
        }
        if let Some(results) = &mut self.results {
            results.budget.spend(piece.len())?;
        }
        self.current.extend_from_slice(piece);
        if is_last {
            let finished = self.finish(part);
            self.current.clear();
            self.current.shrink_to(KEPT_CAPACITY);
            finished?;
        }
        Ok(())
    }

    fn finish(&mut self, part: Part) -> Result<(), WireError> {
        if let Some(rows) = &mut self.rows {
            rows.finish(part, &self.current)?;
        }
        if let Some(results) = &mut self.results {
            results.finish(part, &self.current)?;
        }
        Ok(())
    }
}

/// How much may be kept, in bytes.
#[derive(Debug)]
struct Budget {
    limit: usize,
    used: usize,
}

impl Budget {
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

/// The rows of replies, until they are taken.
#[derive(Debug)]
pub(super) struct KeptRows {
    budget: Budget,
    rows: Vec<Row>,
}

impl KeptRows {
    pub(super) fn new(limit: usize) -> Self {
        Self { budget: Budget { limit, used: 0 }, rows: Vec::new() }
    }

    fn finish(&mut self, part: Part, current: &[u8]) -> Result<(), WireError> {
        let row = match part {
            Part::Row => row::owned(current)?,
            Part::Copied => vec![Some(current.to_vec())],
        };
        self.budget.spend(size_of::<Row>() + row.len() * VALUE_OVERHEAD)?;
        self.rows.push(row);
        Ok(())
    }

    pub(super) fn into_rows(self) -> Vec<Row> {
        self.rows
    }
}

/// The results of the incoming reply.
#[derive(Debug)]
pub(super) struct KeptResults {
    budget: Budget,
    /// The first `count` belong to this reply; the others are memory for later results.
    results: Vec<ResultSet>,
    count: usize,
    /// The columns of the result whose rows arrive.
    columns: Option<Columns>,
}

impl KeptResults {
    pub(super) fn new(limit: usize) -> Self {
        let budget = Budget { limit, used: 0 };
        Self { budget, results: Vec::new(), count: 0, columns: None }
    }

    /// Another reply starts.
    pub(super) fn clear(&mut self) {
        (self.budget.used, self.count, self.columns) = (0, 0, None);
        self.results.truncate(1);
        self.results.retain(|result| result.bytes.capacity() <= KEPT_CAPACITY);
    }

    /// A result with rows starts.
    pub(super) fn begin(&mut self, columns: Columns) -> Result<(), WireError> {
        let described = size_of_val(columns.types.as_slice()) + columns.names.len();
        self.budget.spend(RESULT_OVERHEAD + described)?;
        if self.count == self.results.len() {
            self.results.push(ResultSet::default());
        }
        self.count += 1;
        if let Some(result) = self.last() {
            result.bytes.clear();
            result.types.clear();
            result.types.extend_from_slice(&columns.types);
            result.names.clear();
            result.names.extend_from_slice(&columns.names);
            (result.columns, result.rows, result.is_followed) = (columns.count, 0, false);
        }
        self.columns = Some(columns);
        Ok(())
    }

    /// A statement is complete: the incoming result has all its rows, or there is none.
    pub(super) fn end(&mut self) {
        if self.columns.take().is_none()
            && let Some(result) = self.last()
        {
            result.is_followed = true;
        }
    }

    fn finish(&mut self, part: Part, current: &[u8]) -> Result<(), WireError> {
        let columns = match self.columns.take() {
            Some(columns) => columns,
            None => self.begin_undescribed(part, current)?,
        };
        if part == Part::Copied {
            self.budget.spend(LONGEST_LENGTH)?;
        }
        let Some(result) = self.last() else { return Ok(()) };
        match part {
            Part::Row => row::append(&mut result.bytes, &columns, current)?,
            Part::Copied => row::append_text(&mut result.bytes, Some(current)),
        }
        result.rows += 1;
        self.columns = Some(columns);
        Ok(())
    }

    /// Rows that no description precedes: all their values are taken for texts.
    fn begin_undescribed(&mut self, part: Part, current: &[u8]) -> Result<Columns, WireError> {
        let count = match part {
            Part::Row => row::value_count(current)?,
            Part::Copied => 1,
        };
        self.begin(Columns { count, ..Columns::default() })?;
        Ok(self.columns.take().unwrap_or_default())
    }

    pub(super) fn results(&self) -> &[ResultSet] {
        self.results.get(..self.count).unwrap_or_default()
    }

    fn last(&mut self) -> Option<&mut ResultSet> {
        self.results.get_mut(self.count.checked_sub(1)?)
    }
}
