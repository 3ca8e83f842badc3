//! Sends the rows of one range, by LOAD DATA LOCAL or by INSERT.

use crate::ownership::TableOwnership;
use crate::range::Range;
use crate::{Method, MethodWish};
use loadstone_drive::client::{Client, Halt};
use loadstone_drive::{Failure, FailureKind};
use loadstone_protocol::{Completion, Row};
use loadstone_workload::layout::RowSource;
use loadstone_workload::{LayoutKind, LoadLayout};

/// A piece of LOAD DATA's file, or of an INSERT statement: far below any `max_allowed_packet`.
const PIECE: usize = 256 * 1024;

/// ER_DUP_ENTRY. LOAD DATA LOCAL leaves such a row out and says nothing.
const ROW_EXISTS: u16 = 1062;

/// What is the same for all rows of a load, and what is known of their tables.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) layout: LoadLayout,
    pub(super) source: RowSource,
    pub(super) ownership: TableOwnership,
}

/// Asks the server whether it lets LOAD DATA LOCAL through.
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
    Err(Halt::Failed(Failure::new(
        FailureKind::NotSupported,
        Some(client.family().error_code(3948)),
        text,
    )))
}

impl Rows {
    /// Does `work` with a range's table, if it is still ours: see [`TableOwnership::hold`].
    pub(super) fn hold<T>(
        &self,
        client: &mut Client,
        range: Range,
        work: impl FnOnce(&mut Client) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        self.ownership.hold(client, range.table, &self.layout.table_name(range.table), work)
    }

    /// Loads one range, which is empty, in one transaction; whether it has come there in full.
    ///
    /// A statement whose connection was lost, or that was given up, may still be under way at the
    /// server, and then its rows come between: the range has to be loaded once more.
    pub(super) fn load(
        &self,
        client: &mut Client,
        range: Range,
        method: Method,
    ) -> Result<bool, Halt> {
        match self.hold(client, range, |client| self.send(client, range, method)) {
            Ok(loaded) => Ok(loaded == range.rows),
            Err(halt) if halt.errno() == Some(ROW_EXISTS) => Ok(false),
            Err(halt) => Err(halt),
        }
    }

    /// Empties a range and loads it, in one transaction: whoever else loads the same range meanwhile, in full,
    /// finds it so afterwards.
    pub(super) fn load_anew(
        &self,
        client: &mut Client,
        range: Range,
        method: Method,
    ) -> Result<(), Halt> {
        let loaded = self.hold(client, range, |client| {
            range.clear(client, &self.layout)?;
            self.send(client, range, method)
        })?;
        if loaded == range.rows {
            return Ok(());
        }
        let name = self.layout.table_name(range.table);
        let text = format!(
            "{name}: {loaded} of the {} rows {} to {} were taken by the server",
            range.rows, range.first, range.last
        );
        Err(Halt::Failed(Failure::new(FailureKind::StatementFailed, None, text)))
    }

    fn send(&self, client: &mut Client, range: Range, method: Method) -> Result<u64, Halt> {
        match method {
            Method::Infile => self.load_by_infile(client, range),
            Method::Insert => self.load_by_insert(client, range),
        }
    }

    fn load_by_infile(&self, client: &mut Client, range: Range) -> Result<u64, Halt> {
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'loadstone' INTO TABLE {} CHARACTER SET {} ({})",
            self.layout.quoted_name(range.table),
            self.layout.charset(),
            self.layout.columns(range.table)
        );
        let mut next = range.first;
        let completion = client.load_local(&sql, |piece| {
            while piece.len() < PIECE && next <= range.last {
                self.source.write_row_tsv(range.table, next, piece);
                next += 1;
            }
        })?;
        if completion.affected_rows == range.rows {
            self.refuse_changed(client, range, &completion)?;
        }
        Ok(completion.affected_rows)
    }

    fn load_by_insert(&self, client: &mut Client, range: Range) -> Result<u64, Halt> {
        let name = self.layout.quoted_name(range.table);
        let head = format!("INSERT INTO {name} ({}) VALUES ", self.layout.columns(range.table));
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
            // Rows are text, so the statement is.
            let completion = client.query(&String::from_utf8_lossy(&sql))?;
            self.refuse_changed(client, range, &completion)?;
            loaded += completion.affected_rows;
        }
        Ok(loaded)
    }

    /// Refuses rows of which the server has taken other values than those that were sent: cut to the column's
    /// length, put to the end of its range, or with `?` for a letter that it does not have. In LOAD DATA LOCAL it
    /// only warns of that, whatever its mode. What built-in layouts send fits.
    fn refuse_changed(
        &self,
        client: &mut Client,
        range: Range,
        completion: &Completion,
    ) -> Result<(), Halt> {
        if completion.warnings == 0 || self.layout.kind != LayoutKind::Template {
            return Ok(());
        }
        let warnings = client.rows("SHOW WARNINGS")?;
        let column = |row: &Row, place: usize| {
            let text = row.get(place).and_then(Option::as_deref).unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        // Level, Code, Message.
        let Some(found) = warnings.iter().find(|row| column(row, 0) != "Note") else {
            return Ok(());
        };
        let text = format!(
            "table {}: the server took other values than were sent for rows {} to {}: {}",
            self.layout.table_name(range.table),
            range.first,
            range.last,
            column(found, 2)
        );
        let number = column(found, 1).parse().ok();
        let code = number.map(|number| client.family().error_code(number));
        Err(Halt::Failed(Failure::new(FailureKind::StatementFailed, code, text)))
    }
}
