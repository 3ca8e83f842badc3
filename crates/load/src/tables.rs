//! Creates tables and their indexes, and counts their rows.

use crate::Missing;
use crate::range::Range;
use crate::row_loader::Rows;
use crate::target::Refusal;
use loadstone_drive::client::{Client, Halt};
use loadstone_drive::{Failure, FailureKind};
use loadstone_workload::LoadLayout;
use std::time::{Duration, Instant};

/// How long to wait for an abandoned statement to end.
const LONGEST_FAREWELL: Duration = Duration::from_secs(10);

/// The pause between two checks of it.
const FAREWELL_PAUSE: Duration = Duration::from_millis(50);

/// Creates the table, or inspects an existing one.
pub(super) fn make(client: &mut Client, rows: &Rows, table: u32) -> Result<(), Halt> {
    let Rows { server, layout, ownership, .. } = rows;
    let name = layout.table_name(table);
    let first_try = ownership.begins(table);
    match client.query(&layout.create_table_sql(table, ownership.mark(&name))) {
        Ok(_) => return ownership.made(client, table, &name),
        Err(halt) if server.refusal(&halt) == Some(Refusal::TableExists) => {}
        Err(halt) => return Err(halt),
    }
    ownership.found(client, table, &name, first_try)?;
    if layout.may_have_more() {
        return Ok(());
    }
    refuse_rows_beyond(client, layout, table)
}

/// The ranges of a table to load; incomplete ones are emptied.
pub(super) fn missing(
    client: &mut Client,
    rows: &Rows,
    ranges: &[Range],
    table: u32,
) -> Result<Vec<Range>, Halt> {
    let Rows { layout, ownership, .. } = rows;
    if ownership.is_new(table) {
        return Ok(ranges.to_vec());
    }
    if layout.may_have_more() {
        return Ok(Vec::new());
    }
    if let Some(known) = ownership.missing(table) {
        return Ok(ranges.iter().filter(|range| range.is_in(&known)).copied().collect());
    }
    settle(client, rows, table)?;
    let mut missing = Vec::new();
    for range in ranges {
        let clear = |client: &mut Client| range.clear_unless_full(client, layout);
        if !rows.hold(client, *range, clear)? {
            missing.push(*range);
        }
    }
    Ok(missing)
}

/// Waits until no other session adds rows to a table, before its ranges are counted or emptied.
///
/// The statement of a lost connection, or of a killed load, continues at the server for a moment.
/// MariaDB 10.11.19 then hangs: see [`note_missing`]. If it does not end in time, this gives up
/// waiting; the watchdog then handles any stall.
pub(super) fn settle(client: &mut Client, rows: &Rows, table: u32) -> Result<(), Halt> {
    let name = rows.layout.quoted_name(table);
    let began = Instant::now();
    while rows.server.others_that_add(client, &name)? > 0 && began.elapsed() < LONGEST_FAREWELL {
        client.pause(FAREWELL_PAUSE)?;
    }
    Ok(())
}

/// Inspects all ranges of a table before any are loaded, for later stages on other machines.
///
/// If each part counted its own ranges, it would count while others already load into the same
/// table. MariaDB 10.11.19 then sometimes hangs: a count that estimates its range and a row
/// inserted into the same page wait for each other, and neither a time limit nor KILL ends that.
pub(super) fn note_missing(
    client: &mut Client,
    rows: &Rows,
    ranges: &[Range],
    table: u32,
) -> Result<(), Halt> {
    if !rows.ownership.is_new(table) {
        let found = missing(client, rows, ranges, table)?;
        rows.ownership.note_missing(table, Range::runs(&found));
    }
    Ok(())
}

/// The incomplete ranges of a table; nothing is changed.
pub(super) fn look(
    client: &mut Client,
    layout: &LoadLayout,
    ranges: &[Range],
) -> Result<Vec<Missing>, Halt> {
    let mut missing = Vec::new();
    for range in ranges {
        let there = range.rows_there(client, layout)?.unwrap_or_default();
        if there < range.rows {
            missing.push(Missing {
                table: layout.table_name(range.table),
                condition: range.condition(layout),
                rows: range.rows - there,
            });
        }
    }
    Ok(missing)
}

/// A larger table is somebody's work: it is neither truncated nor extended.
fn refuse_rows_beyond(client: &mut Client, layout: &LoadLayout, table: u32) -> Result<(), Halt> {
    let name = layout.table_name(table);
    let (id, wanted) = layout.greatest(table);
    match client.number(&format!("SELECT MAX({id}) FROM {}", layout.quoted_name(table)))? {
        Some(last) if last > wanted => {
            let text = format!("{name} has rows up to {id} {last} where {wanted} were asked for");
            Err(Halt::Failed(Failure::new(FailureKind::StatementFailed, None, text)))
        }
        _ => Ok(()),
    }
}

/// Creates the secondary indexes, if the layout has some and they do not exist yet, and has the server do what else
/// makes a table ready.
pub(super) fn index(client: &mut Client, rows: &Rows, table: u32) -> Result<(), Halt> {
    let Rows { server, layout, ownership, .. } = rows;
    for sql in layout.create_indexes_sql(table) {
        let name = layout.table_name(table);
        let make = |client: &mut Client| {
            if server.has_index(client, &name, &sql)? {
                return Ok(());
            }
            match client.query(&sql) {
                Err(halt) if server.refusal(&halt) == Some(Refusal::IndexExists) => Ok(()),
                other => other.map(drop),
            }
        };
        ownership.alone_with(client, table, &name, make)?;
    }
    server.finish_table(client, &layout.table_name(table), &layout.greatest(table).0)
}

/// Adds the table's foreign keys that come late, if it has some and they do not exist yet.
///
/// The other table of a key is locked after the one that has it, and no key leads back: workers that
/// add keys cannot wait for each other in a circle.
pub(super) fn add_keys(client: &mut Client, rows: &Rows, table: u32) -> Result<(), Halt> {
    let Rows { server, layout, ownership, .. } = rows;
    let name = layout.table_name(table);
    for (key, parent) in layout.late_keys(table) {
        ownership.alone_with(client, table, &name, |client| {
            if server.has_key(client, &name, &key.name)? {
                return Ok(());
            }
            ownership.pin(client, parent, &layout.table_name(parent))?;
            client.query(&key.add).map(drop)
        })?;
    }
    Ok(())
}

/// Has the server check the rows of the table by these keys.
pub(super) fn check_keys(client: &mut Client, rows: &Rows, table: u32) -> Result<(), Halt> {
    for (key, _) in rows.layout.late_keys(table) {
        client.query(&key.check)?;
    }
    Ok(())
}

/// Counts the rows.
pub(super) fn verify(
    client: &mut Client,
    layout: &LoadLayout,
    table: u32,
    wanted: u64,
) -> Result<(), Halt> {
    let name = layout.table_name(table);
    let there = client.number(&format!("SELECT COUNT(*) FROM {}", layout.quoted_name(table)))?;
    if there == Some(wanted) || layout.may_have_more() {
        return Ok(());
    }
    let there = there.map_or_else(|| "an unknown number of".to_owned(), |rows| rows.to_string());
    let text = format!("{name} has {there} rows where {wanted} were asked for");
    Err(Halt::Failed(Failure::new(FailureKind::StatementFailed, None, text)))
}
