//! How rows are sent to PostgreSQL: by COPY or by INSERT.

use crate::method::{Method, MethodWish};
use crate::range::Range;
use loadstone_drive::client::{Client, Halt};
use loadstone_drive::{Failure, FailureKind};
use loadstone_workload::LoadLayout;
use loadstone_workload::layout::RowSource;

/// The size of a message with rows, or of an INSERT statement.
const PIECE: usize = 256 * 1024;

pub(super) fn choose(wish: MethodWish) -> Result<Method, Halt> {
    match wish {
        MethodWish::Auto => Ok(Method::Copy),
        MethodWish::Insert => Ok(Method::Insert),
        MethodWish::Infile => {
            let text = "infile: PostgreSQL has no LOAD DATA; with auto its COPY is used";
            Err(Halt::Failed(Failure::new(FailureKind::NotSupported, None, text)))
        }
    }
}

/// Sends the rows of a range; returns how many the server has stored.
pub(super) fn send(
    client: &mut Client,
    (layout, source): (&LoadLayout, &RowSource),
    range: Range,
    method: Method,
) -> Result<u64, Halt> {
    let name = layout.quoted_name(range.table);
    let columns = layout.columns(range.table);
    let mut next = range.first;
    if method != Method::Insert {
        let sql = format!("COPY {name} ({columns}) FROM STDIN");
        let completion = client.load_local(&sql, |piece| {
            let start = piece.len();
            while piece.len() - start < PIECE && next <= range.last {
                source.write_row_tsv(range.table, next, piece);
                next += 1;
            }
        })?;
        return Ok(completion.affected_rows);
    }
    let head = format!("INSERT INTO {name} ({columns}) VALUES ");
    let (mut loaded, mut sql) = (0, Vec::new());
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
        loaded += client.query(&String::from_utf8_lossy(&sql))?.affected_rows;
    }
    Ok(loaded)
}
