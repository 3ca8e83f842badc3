//! Ranges of ids: what one statement loads, and what is taken up again after an interruption.

use crate::client::{Client, Halt};
use loadstone_workload::LoadLayout;

/// Rows a range: some 5 MB of text, less than a second of work, and one transaction for the server.
pub(super) const ROWS: u64 = 25_000;

/// The rows `first` to `last` of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) table: u32,
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Range {
    pub(super) fn rows(self) -> u64 {
        self.last - self.first + 1
    }

    /// All ranges of a table.
    pub(super) fn of_table(layout: &LoadLayout, table: u32) -> Vec<Self> {
        let rows = layout.rows_per_table();
        let count = rows.div_ceil(ROWS);
        let range = |number: u64| Self {
            table,
            first: number * ROWS + 1,
            last: ((number + 1) * ROWS).min(rows),
        };
        (0..count).map(range).collect()
    }

    /// Makes the range empty.
    pub(super) fn clear(self, client: &mut Client, layout: &LoadLayout) -> Result<(), Halt> {
        let (name, inside) = (layout.table_name(self.table), self.condition(layout));
        client.query(&format!("DELETE FROM {name} WHERE {inside}")).map(drop)
    }

    /// Makes the range empty, or says that it is there in full.
    pub(super) fn clear_unless_full(
        self,
        client: &mut Client,
        layout: &LoadLayout,
    ) -> Result<bool, Halt> {
        let (name, inside) = (layout.table_name(self.table), self.condition(layout));
        let there = client.number(&format!("SELECT COUNT(*) FROM {name} WHERE {inside}"))?;
        match there {
            Some(rows) if rows == self.rows() => Ok(true),
            Some(0) => Ok(false),
            _ => self.clear(client, layout).map(|()| false),
        }
    }

    fn condition(self, layout: &LoadLayout) -> String {
        format!("{} BETWEEN {} AND {}", layout.id_column(), self.first, self.last)
    }
}

/// The order of work: one range of each table in turn, so that connections meet in a table as late
/// as possible.
pub(super) fn interleave(by_table: Vec<Vec<Range>>) -> Vec<Range> {
    let longest = by_table.iter().map(Vec::len).max().unwrap_or(0);
    let row = |place: usize| by_table.iter().filter_map(move |ranges| ranges.get(place));
    (0..longest).flat_map(row).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(table_size: u64) -> LoadLayout {
        let text = format!("{{\"tables\": 2, \"table_size\": {table_size}}}");
        serde_json::from_str(&text).expect("a layout")
    }

    #[test]
    fn ranges_cover_each_row_once() {
        for size in [1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS] {
            let ranges = Range::of_table(&layout(size), 1);
            let mut next = 1;
            for range in &ranges {
                assert_eq!(range.first, next);
                next = range.last + 1;
            }
            assert_eq!(next, size + 1);
        }
    }

    #[test]
    fn tables_take_turns() {
        let all = vec![Range::of_table(&layout(2 * ROWS), 1), Range::of_table(&layout(ROWS), 2)];
        let tables: Vec<u32> = interleave(all).iter().map(|range| range.table).collect();
        assert_eq!(tables, [1, 2, 1]);
    }
}
