//! Rows that somebody wants to read: administration and tests, never the load.

use crate::WireError;
use crate::cursor::Cursor;

/// A row of a text result set: each value as the server wrote it, `None` for NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// What a value costs beside its bytes.
const VALUE_OVERHEAD: usize = size_of::<Option<Vec<u8>>>();

/// Rows as they come in, within a limit.
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

    /// A part of the row that is coming in.
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
