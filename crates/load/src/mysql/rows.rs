//! How rows are sent to MySQL and MariaDB: by LOAD DATA LOCAL or by INSERT.

use super::codes;
use crate::method::{Method, MethodWish};
use crate::range::Range;
use loadstone_drive::client::{Client, Halt};
use loadstone_drive::{Failure, FailureKind};
use loadstone_protocol::{Completion, Row};
use loadstone_workload::layout::RowSource;
use loadstone_workload::{LayoutKind, LoadLayout};

/// The size of a piece of LOAD DATA's file, or of an INSERT statement: far below any
/// `max_allowed_packet`.
const PIECE: usize = 256 * 1024;

/// Asks the server whether it allows LOAD DATA LOCAL.
pub(super) fn choose(wish: MethodWish, client: &mut Client) -> Result<Method, Halt> {
    if wish == MethodWish::Insert {
        return Ok(Method::Insert);
    }
    if client.number("SELECT @@GLOBAL.local_infile")? == Some(1) {
        return Ok(Method::Infile);
    }
    if wish == MethodWish::Auto {
        return Ok(Method::Insert);
    }
    let text = "the server does not let LOAD DATA LOCAL through (local_infile is OFF)";
    let code = client.family().error_code(codes::NO_LOCAL_FILES);
    Err(Halt::Failed(Failure::new(FailureKind::NotSupported, Some(code), text)))
}

/// Sends the rows of a range; returns how many the server has stored.
pub(super) fn send(
    client: &mut Client,
    rows: (&LoadLayout, &RowSource),
    range: Range,
    method: Method,
) -> Result<u64, Halt> {
    match method {
        Method::Infile | Method::Copy => load_by_infile(client, rows, range),
        Method::Insert => load_by_insert(client, rows, range),
    }
}

fn load_by_infile(
    client: &mut Client,
    (layout, source): (&LoadLayout, &RowSource),
    range: Range,
) -> Result<u64, Halt> {
    let sql = format!(
        "LOAD DATA LOCAL INFILE 'loadstone' INTO TABLE {} CHARACTER SET {} ({})",
        layout.quoted_name(range.table),
        charset(layout),
        layout.columns(range.table)
    );
    let mut next = range.first;
    let completion = client.load_local(&sql, |piece| {
        while piece.len() < PIECE && next <= range.last {
            source.write_row_tsv(range.table, next, piece);
            next += 1;
        }
    })?;
    if completion.affected_rows == range.rows {
        refuse_changed(client, layout, range, &completion)?;
    }
    Ok(completion.affected_rows)
}

fn load_by_insert(
    client: &mut Client,
    (layout, source): (&LoadLayout, &RowSource),
    range: Range,
) -> Result<u64, Halt> {
    let name = layout.quoted_name(range.table);
    let head = format!("INSERT INTO {name} ({}) VALUES ", layout.columns(range.table));
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
            source.write_row_sql(range.table, next, &mut sql);
            next += 1;
        }
        // The rows are text, so the statement is too.
        let completion = client.query(&String::from_utf8_lossy(&sql))?;
        refuse_changed(client, layout, range, &completion)?;
        loaded += completion.affected_rows;
    }
    Ok(loaded)
}

/// Refuses rows if the server stored other values than those sent: truncated to the column's
/// length, clamped to its range, or with `?` for a character that it does not have. For LOAD DATA
/// LOCAL the server only gives a warning, whatever its SQL mode. Rows of built-in layouts always
/// fit.
fn refuse_changed(
    client: &mut Client,
    layout: &LoadLayout,
    range: Range,
    completion: &Completion,
) -> Result<(), Halt> {
    if completion.warnings == 0 || layout.kind != LayoutKind::Template {
        return Ok(());
    }
    let warnings = client.rows("SHOW WARNINGS")?;
    let column = |row: &Row, place: usize| {
        let text = row.get(place).and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    };
    // Columns: Level, Code, Message.
    let Some(found) = warnings.iter().find(|row| column(row, 0) != "Note") else {
        return Ok(());
    };
    let text = format!(
        "table {}: the server took other values than were sent for rows {} to {}: {}",
        layout.table_name(range.table),
        range.first,
        range.last,
        column(found, 2)
    );
    let number = column(found, 1).parse().ok();
    let code = number.map(|number| client.family().error_code(number));
    Err(Halt::Failed(Failure::new(FailureKind::StatementFailed, code, text)))
}

/// The character set of the rows, as LOAD DATA names it. If columns have other character sets the
/// server must convert; for ASCII rows it need not look at the bytes.
fn charset(layout: &LoadLayout) -> &'static str {
    if layout.is_ascii() { "binary" } else { "utf8mb4" }
}
