//! The workload `bulk_insert`: statements with many rows, as long as sysbench's.

use crate::text::push_decimal;
use crate::{Answer, Machine, Params, StatementRef, Step};

/// The longest statement that sysbench 1.0.20 sends: 524,287 bytes; it ends a statement if the next
/// row would extend it to 512 KiB.
const LONGEST_STATEMENT: usize = 512 * 1024 - 1;

/// What all users of a bulk insert share.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Bulk {
    pub(crate) tables: u32,
    pub(crate) first_id: i64,
}

/// One user that fills a table with rows `(id, id)`, without gaps unless a statement failed.
///
/// sysbench counts a row as an event and sends a statement every 38,000 events or so; here the
/// statement is the event, since latency only has a meaning for that. In sysbench each thread has a
/// table of its own; here too, as long as there are enough tables, otherwise users share one and
/// take turns with its ids.
#[derive(Debug)]
pub(crate) struct BulkMachine {
    table: u32,
    next_id: i64,
    stride: i64,
}

impl BulkMachine {
    pub(crate) fn new(bulk: Bulk, user: u64, users: u64) -> Self {
        let tables = u64::from(bulk.tables);
        let lane = user / tables;
        // Users of the same table: those with the same remainder.
        let lanes = (users.max(user + 1) - user % tables).div_ceil(tables);
        Self {
            table: (user % tables) as u32 + 1,
            next_id: bulk.first_id + lane as i64,
            stride: lanes as i64,
        }
    }

    fn push_rows(&mut self, room: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.reserve(room);
        loop {
            let before = out.len();
            out.extend_from_slice(if before > start { b",(" } else { b"(" });
            push_decimal(self.next_id, out);
            out.push(b',');
            push_decimal(self.next_id, out);
            out.push(b')');
            if out.len() - start > room {
                out.truncate(before);
                return;
            }
            self.next_id += self.stride;
        }
    }
}

impl Machine for BulkMachine {
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        if answer.is_some() {
            return Step::Done;
        }
        let statement = StatementRef { kind: 0, table: self.table };
        let head = "INSERT INTO sbtest VALUES".len() + self.table.to_string().len();
        params.clear();
        params.text_with(|out| self.push_rows(LONGEST_STATEMENT - head, out));
        Step::Send(statement)
    }

    /// The ids of the lost statement stay unused: it is unknown whether the server has its rows.
    fn abandon(&mut self) {}

    fn in_transaction(&self) -> bool {
        false
    }
}
