//! How the rows of one range travel.

use super::client::{Client, Halt};
use super::range::{self, Range};
use super::{Method, MethodWish};
use crate::error::{Failure, FailureKind};
use loadstone_workload::LoadLayout;
use loadstone_workload::layout::RowSource;

/// A piece of LOAD DATA's file, or of an INSERT statement: far below any `max_allowed_packet`.
const PIECE: usize = 256 * 1024;

/// ER_DUP_ENTRY. LOAD DATA LOCAL leaves such a row out and says nothing.
const ROW_EXISTS: u16 = 1062;

/// Connections for each table from which on rows by INSERT, which cost the server half as much again,
/// are there earlier.
const CONNECTIONS_A_TABLE: u32 = 3;

/// `innodb_autoinc_lock_mode`: INSERT takes a table's numbers without waiting, LOAD DATA does not.
const CONSECUTIVE: u64 = 1;

/// ER_UNKNOWN_SYSTEM_VARIABLE.
const UNKNOWN_VARIABLE: u16 = 1193;

/// What is the same for all rows of a load.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) layout: LoadLayout,
    pub(super) source: RowSource,
}

/// Asks the server by which statement the rows are there first.
pub(super) fn choose(
    wish: MethodWish,
    client: &mut Client,
    layout: &LoadLayout,
    parallel: u32,
) -> Result<Method, Halt> {
    if wish == MethodWish::Insert {
        return Ok(Method::Insert);
    }
    if client.number("SELECT @@GLOBAL.local_infile")? != Some(1) {
        return match wish {
            MethodWish::Auto => Ok(Method::Insert),
            _ => Err(no_infile()),
        };
    }
    let crowded = layout.tables.saturating_mul(CONNECTIONS_A_TABLE) <= parallel;
    if wish == MethodWish::Auto && crowded && takes_turns(client, layout)? {
        return Ok(Method::Insert);
    }
    Ok(Method::Infile)
}

/// Whether only one LOAD DATA at a time gets on in a table.
///
/// InnoDB keeps a table's AUTO-INC lock until such a statement's end, though all ids are given, unless
/// `innodb_autoinc_lock_mode` is 2, which is MySQL's default from 8.0 and not MariaDB's.
fn takes_turns(client: &mut Client, layout: &LoadLayout) -> Result<bool, Halt> {
    if !layout.auto_increment || layout.rows_per_table() <= range::ROWS {
        return Ok(false);
    }
    match client.number("SELECT @@GLOBAL.innodb_autoinc_lock_mode") {
        Ok(mode) => Ok(mode == Some(CONSECUTIVE)),
        Err(halt) if halt.errno() == Some(UNKNOWN_VARIABLE) => Ok(false),
        Err(halt) => Err(halt),
    }
}

fn no_infile() -> Halt {
    let text = "the server does not let LOAD DATA LOCAL through (local_infile is OFF)";
    Halt::Failed(Failure::new(FailureKind::NotSupported, Some(3948), text))
}

impl Rows {
    /// Loads one range, which is empty, in one transaction.
    ///
    /// A statement whose connection was lost, or that was given up, may still be under way at the
    /// server, and then its rows come between: the range is loaded once more.
    pub(super) fn load(
        &self,
        client: &mut Client,
        range: Range,
        method: Method,
    ) -> Result<(), Halt> {
        match self.try_load(client, range, method) {
            Ok(loaded) if loaded == range.rows() => return Ok(()),
            Ok(_) => {}
            Err(halt) if halt.errno() == Some(ROW_EXISTS) => {
                client.query("ROLLBACK")?;
            }
            Err(halt) => return Err(halt),
        }
        range.clear(client, &self.layout)?;
        let loaded = self.try_load(client, range, method)?;
        if loaded == range.rows() {
            return Ok(());
        }
        let name = self.layout.table_name(range.table);
        let text = format!(
            "{name}: {loaded} of the {} rows {} to {} were taken by the server",
            range.rows(),
            range.first,
            range.last
        );
        Err(Halt::Failed(Failure::new(FailureKind::StatementFailed, None, text)))
    }

    /// How many rows the server took.
    fn try_load(&self, client: &mut Client, range: Range, method: Method) -> Result<u64, Halt> {
        match method {
            Method::Infile => self.load_by_infile(client, range),
            Method::Insert => self.load_by_insert(client, range),
        }
    }

    fn load_by_infile(&self, client: &mut Client, range: Range) -> Result<u64, Halt> {
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'loadstone' INTO TABLE {} CHARACTER SET binary ({})",
            self.layout.table_name(range.table),
            self.layout.columns()
        );
        let mut next = range.first;
        let completion = client.load_local(&sql, |piece| {
            while piece.len() < PIECE && next <= range.last {
                self.source.write_row_tsv(range.table, next, piece);
                next += 1;
            }
        })?;
        Ok(completion.affected_rows)
    }

    fn load_by_insert(&self, client: &mut Client, range: Range) -> Result<u64, Halt> {
        client.query("BEGIN")?;
        let name = self.layout.table_name(range.table);
        let head = format!("INSERT INTO {name} ({}) VALUES ", self.layout.columns());
        let mut loaded = 0;
        let mut next = range.first;
        let mut sql = Vec::new();
        while next <= range.last {
            sql.clear();
            sql.extend_from_slice(head.as_bytes());
            while sql.len() < PIECE && next <= range.last {
                if sql.len() > head.len() {
                    sql.push(b',');
                }
                self.source.write_row_sql(range.table, next, &mut sql);
                next += 1;
            }
            // Rows are made of digits, so the statement is text.
            loaded += client.query(&String::from_utf8_lossy(&sql))?.affected_rows;
        }
        client.query("COMMIT")?;
        Ok(loaded)
    }
}
