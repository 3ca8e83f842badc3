//! Ranges of ids: what one statement loads, and the unit in which an interrupted load resumes.

use loadstone_drive::client::{Client, Halt};
use loadstone_drive::plan::Part;
use loadstone_workload::LoadLayout;
use loadstone_workload::layout::RowSource;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The ids `first` to `last` of a table, and how many rows have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) table: u32,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) rows: u64,
}

impl Range {
    /// All ranges of a table.
    pub(super) fn of_table(layout: &LoadLayout, source: &RowSource, table: u32) -> Vec<Self> {
        let (ids, each) = (layout.ids(table), layout.ids_a_range(table));
        let range = |number: u64| {
            let (first, last) = (number * each + 1, ((number + 1) * each).min(ids));
            Self { table, first, last, rows: source.rows(table, first, last) }
        };
        (0..ids.div_ceil(each)).map(range).collect()
    }

    /// Ranges of one table, in rising order, as the first and the last id of each run without a
    /// gap.
    pub(super) fn runs(ranges: &[Self]) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for range in ranges {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == range.first => *last = range.last,
                _ => runs.push((range.first, range.last)),
            }
        }
        runs
    }

    /// Whether one of these runs contains all of it.
    pub(super) fn is_in(self, runs: &[(u64, u64)]) -> bool {
        runs.iter().any(|(first, last)| *first <= self.first && self.last <= *last)
    }

    /// Makes the range empty.
    pub(super) fn clear(self, client: &mut Client, layout: &LoadLayout) -> Result<(), Halt> {
        let (name, inside) = (layout.quoted_name(self.table), self.condition(layout));
        client.query(&format!("DELETE FROM {name} WHERE {inside}")).map(drop)
    }

    /// Empties the range, or returns that it is complete.
    pub(super) fn clear_unless_full(
        self,
        client: &mut Client,
        layout: &LoadLayout,
    ) -> Result<bool, Halt> {
        match self.rows_there(client, layout)? {
            Some(rows) if rows == self.rows => Ok(true),
            Some(0) => Ok(false),
            _ => self.clear(client, layout).map(|()| false),
        }
    }

    /// Counts the range's rows.
    pub(super) fn rows_there(
        self,
        client: &mut Client,
        layout: &LoadLayout,
    ) -> Result<Option<u64>, Halt> {
        let (name, inside) = (layout.quoted_name(self.table), self.condition(layout));
        client.number(&format!("SELECT COUNT(*) FROM {name} WHERE {inside}"))
    }

    /// The range as an SQL condition.
    pub(super) fn condition(self, layout: &LoadLayout) -> String {
        layout.condition(self.table, self.first, self.last)
    }
}

/// The order of work: one range of each table in turn, so that connections share a table as late as
/// possible.
pub(super) fn interleave(by_table: Vec<Vec<Range>>) -> Vec<Range> {
    let longest = by_table.iter().map(Vec::len).max().unwrap_or(0);
    let row = |place: usize| by_table.iter().filter_map(move |ranges| ranges.get(place));
    (0..longest).flat_map(row).copied().collect()
}

/// The order of work of so many connections: as many tables at a time as there are connections, so that a table's rows
/// end, and its indexes are created, while other tables are loaded.
pub(super) fn in_groups(by_table: Vec<Vec<Range>>, connections: usize) -> Vec<Range> {
    let groups = by_table.chunks(connections.max(1));
    groups.flat_map(|group| interleave(group.to_vec())).collect()
}

/// The ranges of one part, in the order of `all`: each range goes to the part that has the fewest
/// rows so far, so that no part exceeds another by more than one range.
pub(super) fn share(all: Vec<Range>, part: Part) -> Vec<Range> {
    let mut parts: BinaryHeap<_> = (0..part.of).map(|number| Reverse((0, number))).collect();
    let is_own = |range: &Range| {
        parts.peek_mut().is_some_and(|mut least| {
            let Reverse((rows, number)) = &mut *least;
            *rows += range.rows;
            *number == part.number
        })
    };
    all.into_iter().filter(is_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(table_size: u64) -> LoadLayout {
        let text = format!("{{\"tables\": 2, \"table_size\": {table_size}}}");
        serde_json::from_str(&text).expect("a layout")
    }

    fn ranges(layout: &LoadLayout, table: u32) -> Vec<Range> {
        Range::of_table(layout, &layout.rows(1).expect("a source"), table)
    }

    #[test]
    fn ranges_cover_each_row_once() {
        const IDS: u64 = 25_000;
        for size in [1, IDS - 1, IDS, IDS + 1, 3 * IDS] {
            let mut next = 1;
            for range in ranges(&layout(size), 1) {
                assert_eq!((range.first, range.rows), (next, range.last - range.first + 1));
                next = range.last + 1;
            }
            assert_eq!(next, size + 1);
        }
    }

    #[test]
    fn the_ranges_of_order_lines_know_how_many_there_are() {
        let plan = r#"{"tables": 9, "table_size": 1, "kind": "tpcc", "warehouses": 2}"#;
        let layout: LoadLayout = serde_json::from_str(plan).expect("a layout");
        let ranges = ranges(&layout, 9);
        assert_eq!(ranges.len(), 20);
        assert!(ranges.iter().all(|range| (29_000..31_000).contains(&range.rows)));
    }

    #[test]
    fn tables_take_turns() {
        let all = vec![ranges(&layout(50_000), 1), ranges(&layout(25_000), 2)];
        let tables: Vec<u32> = interleave(all).iter().map(|range| range.table).collect();
        assert_eq!(tables, [1, 2, 1]);
    }

    #[test]
    fn as_many_tables_are_loaded_at_a_time_as_there_are_connections() {
        let all: Vec<_> = (1..=2).flat_map(|_| [1, 2]).collect();
        let layout = layout(50_000);
        let by_table =
            |tables: &[u32]| tables.iter().map(|table| ranges(&layout, *table)).collect();
        let order = |connections| -> Vec<u32> {
            in_groups(by_table(&all), connections).iter().map(|range| range.table).collect()
        };
        assert_eq!(order(2), [1, 2, 1, 2, 1, 2, 1, 2]);
        assert_eq!(order(1), [1, 1, 2, 2, 1, 1, 2, 2]);
        assert_eq!(order(0), order(1));
        assert_eq!(order(9), [1, 2, 1, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn what_is_missing_is_told_in_runs_that_hold_its_ranges_and_no_other() {
        let all = ranges(&layout(130_000), 1);
        let missing = [all[0], all[1], all[3], all[5]];
        let runs = Range::runs(&missing);
        assert_eq!(runs, [(1, 50_000), (75_001, 100_000), (125_001, 130_000)]);
        let held: Vec<Range> = all.into_iter().filter(|range| range.is_in(&runs)).collect();
        assert_eq!(held, missing);
        assert!(Range::runs(&[]).is_empty());
    }

    #[test]
    fn parts_have_each_range_once_and_as_many_rows_to_within_one_range() {
        let tpcc = r#"{"tables": 9, "table_size": 1, "kind": "tpcc", "warehouses": 2}"#;
        let tpcc: LoadLayout = serde_json::from_str(tpcc).expect("a layout");
        for (layout, tables) in [(layout(260_000), 2), (layout(1), 2), (tpcc, 9)] {
            let all = interleave((1..=tables).map(|table| ranges(&layout, table)).collect());
            let largest = all.iter().map(|range| range.rows).max().unwrap_or(0);
            for of in [1, 2, 3, 40] {
                let shares: Vec<_> =
                    (0..of).map(|number| share(all.clone(), Part { number, of })).collect();
                let rows = |share: &Vec<Range>| share.iter().map(|range| range.rows).sum::<u64>();
                let (least, most) = (shares.iter().map(rows).min(), shares.iter().map(rows).max());
                assert!(most.zip(least).is_some_and(|(most, least)| most - least <= largest));
                let mut dealt = shares.concat();
                dealt.sort_by_key(|range| (range.table, range.first));
                let mut whole = all.clone();
                whole.sort_by_key(|range| (range.table, range.first));
                assert_eq!(dealt, whole);
            }
        }
    }
}
