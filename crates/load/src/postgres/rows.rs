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
    if method != Method::Insert {
        return copy(client, source, range, &format!("{name} ({columns})"));
    }
    let mut next = range.first;
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

/// Sends the rows of a range by COPY to these columns of a table: in the binary format, of which
/// the server makes rows in about four fifths of the time, or as texts.
fn copy(client: &mut Client, source: &RowSource, range: Range, columns: &str) -> Result<u64, Halt> {
    let Range { table, first, last, .. } = range;
    let mut next = first;
    let completion = if let Some(form) = source.binary() {
        client.load_local(&format!("COPY {columns} FROM STDIN (FORMAT binary)"), |piece| {
            if next == first {
                form.begin(piece);
            }
            // One more than there are rows: the end.
            let start = piece.len();
            while piece.len() - start < PIECE && next <= last + 1 {
                match next <= last {
                    true => source.write_row_binary(form, table, next, piece),
                    false => form.end(piece),
                }
                next += 1;
            }
        })
    } else {
        client.load_local(&format!("COPY {columns} FROM STDIN"), |piece| {
            let start = piece.len();
            while piece.len() - start < PIECE && next <= last {
                source.write_row_tsv(table, next, piece);
                next += 1;
            }
        })
    };
    Ok(completion?.affected_rows)
}
