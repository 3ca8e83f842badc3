//! Loads the rows: first all ranges in parallel, then, table by table, those that failed. A table whose rows all came
//! at the first attempt is finished at once, while others are loaded.
//!
//! A range that was tried before has to be counted or emptied before it is retried, and either
//! makes the server estimate how many rows are in it. MariaDB 10.11.19 has been seen to hang there
//! if a LOAD DATA into the same table runs at the same time. So nothing is retried before all other
//! ranges are loaded, and then each table has one connection.

use crate::Method;
use crate::job::Job;
use crate::range::Range;
use crate::{tables, workers};
use loadstone_drive::client::{Client, Halt};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A range that must be retried.
#[derive(Clone, Copy, Debug)]
struct Again {
    range: Range,
    /// It contains rows that did not come from the same statement as the others.
    is_mixed: bool,
    /// Its statement stalled.
    has_stalled: bool,
}

/// Loads these ranges, which are empty.
pub(super) fn load(job: &Job, missing: &[Range]) -> Result<(), Halt> {
    let again: Mutex<Vec<Again>> = Mutex::default();
    let left = ranges_left(missing);
    workers::for_each(job, missing, |client, range| {
        if let Some(found) = try_once(job, client, range)? {
            again.lock().unwrap_or_else(PoisonError::into_inner).push(found);
            return Ok(());
        }
        match left.get(&range.table).map(|left| left.fetch_sub(1, Ordering::AcqRel)) {
            Some(1) => table_is_loaded(job, client, range.table),
            _ => Ok(()),
        }
    })?;
    let mut by_table: BTreeMap<u32, Vec<Again>> = BTreeMap::new();
    for found in again.into_inner().unwrap_or_else(PoisonError::into_inner) {
        by_table.entry(found.range.table).or_default().push(found);
    }
    let tables: Vec<u32> = by_table.keys().copied().collect();
    workers::for_each(job, &tables, |client, table| {
        for found in by_table.get(&table).map_or(&[][..], Vec::as_slice) {
            if job.stop.is_set() {
                return Err(Halt::Stopped);
            }
            let retries = job.plan.connect.retries.saturating_sub(1);
            workers::with_retries(job, client, retries, |client, has_stalled| {
                try_again(job, client, *found, has_stalled)
            })?;
            job.count_loaded(found.range);
        }
        Ok(())
    })
}

/// How many ranges of each table are not loaded yet.
fn ranges_left(missing: &[Range]) -> BTreeMap<u32, AtomicUsize> {
    let mut left: BTreeMap<u32, AtomicUsize> = BTreeMap::new();
    for range in missing {
        *left.entry(range.table).or_default().get_mut() += 1;
    }
    left
}

/// The server has confirmed all rows of a table that were missing, none of them twice.
fn table_is_loaded(job: &Job, client: &mut Client, table: u32) -> Result<(), Halt> {
    if job.plan.stage.is_some() {
        return Ok(());
    }
    if job.rows.ownership.is_new(table) {
        job.confirmed.add(table);
    }
    // A table that others refer to cannot be had alone while rows of theirs come.
    if job.plan.layout.foreign_keys {
        return Ok(());
    }
    let retries = job.plan.connect.retries;
    workers::with_retries(job, client, retries, |client, _| {
        tables::index(client, &job.rows, table)
    })?;
    job.indexed.add(table);
    Ok(())
}

/// Tries a range once; returns it if it must be retried.
fn try_once(job: &Job, client: &mut Client, range: Range) -> Result<Option<Again>, Halt> {
    let again = Again { range, is_mixed: false, has_stalled: false };
    // A stall of an earlier range says nothing about this one.
    drop(client.pulse().take_stall());
    match job.rows.load(client, range, job.method) {
        Ok(true) => {
            job.count_loaded(range);
            Ok(None)
        }
        Ok(false) => Ok(Some(Again { is_mixed: true, ..again })),
        Err(halt) => {
            let passed = workers::recover(job, client, halt, job.plan.connect.retries > 0)?;
            Ok(Some(Again { has_stalled: passed.is_some(), ..again }))
        }
    }
}

/// Retries a range, with the other kind of statement if the first one stalled.
fn try_again(job: &Job, client: &mut Client, found: Again, has_stalled: bool) -> Result<(), Halt> {
    let Again { range, is_mixed, .. } = found;
    let method = match found.has_stalled || has_stalled {
        true => Method::Insert,
        false => job.method,
    };
    tables::settle(client, &job.rows, range.table)?;
    let clear = |client: &mut Client| range.clear_unless_full(client, &job.rows.layout);
    if !is_mixed {
        if job.rows.hold(client, range, clear)? {
            return Ok(());
        }
        if job.rows.load(client, range, method)? {
            return Ok(());
        }
    }
    job.rows.load_anew(client, range, method)
}
