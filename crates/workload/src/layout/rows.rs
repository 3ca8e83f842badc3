//! The rows of the loaded tables, computed from the seed, the table and the id.

use std::sync::Arc;

use super::kind::LayoutKind;
use crate::dialect::{BinaryRows, Dialect, Notation};
use crate::distribution::Sampler;
use crate::random::{Purpose, Random};
use crate::row_writer::RowWriter;
use crate::templates::TableRows;
use crate::text::{C_GROUPS, PAD_GROUPS, push_groups};
use crate::tpcc::Population;
use crate::tpcc::schema::Table;

/// The stock of each hot product: more than a day at a million sales per second uses up, in a
/// `BIGINT`.
const STOCK: u64 = 1_000_000_000_000;

/// A product's price is between one and this.
const PRICES: u64 = 100_000;

/// Writes the rows of a layout's tables.
#[derive(Clone, Debug)]
pub struct RowSource {
    kind: LayoutKind,
    k: Sampler,
    seed: u64,
    /// The tables of a template.
    template: Arc<[TableRows]>,
    dialect: &'static dyn Dialect,
}

impl RowSource {
    pub(super) fn new(
        (kind, dialect): (LayoutKind, &'static dyn Dialect),
        k: Sampler,
        seed: u64,
        template: Arc<[TableRows]>,
    ) -> Self {
        Self { kind, k, seed, template, dialect }
    }

    /// The number of rows with the ids `first` to `last` of a table (zero if the range is empty):
    /// one each, but an order of `tpcc` has several lines.
    #[must_use]
    pub fn rows(&self, table: u32, first: u64, last: u64) -> u64 {
        match self.kind {
            LayoutKind::Tpcc => self.population().rows(Table::numbered(table), first, last),
            _ => last + 1 - first,
        }
    }

    /// Appends the rows of an id as a stream of rows: lines of tab-separated values in MySQL.
    pub fn write_row_tsv(&self, table: u32, id: u64, out: &mut Vec<u8>) {
        self.write_row(table, id, Notation::Stream, out);
    }

    /// The form for [`Self::write_row_binary`], if the server takes one and the types of the
    /// columns are known.
    #[must_use]
    pub fn binary(&self) -> Option<&'static dyn BinaryRows> {
        self.dialect.binary_rows().filter(|_| self.kind == LayoutKind::Sbtest)
    }

    /// Appends the row of an id of one of sysbench's tables in this form.
    pub fn write_row_binary(&self, form: &dyn BinaryRows, table: u32, id: u64, out: &mut Vec<u8>) {
        let mut random = Random::new(self.seed, Purpose::Rows, &[u64::from(table), id]);
        form.row(4, out);
        // A table has no more rows than an INTEGER counts.
        form.integer(id as i32, out);
        form.integer(self.k.draw(&mut random) as i32, out);
        for groups in [C_GROUPS, PAD_GROUPS] {
            form.text(&mut |out| push_groups(groups, &mut random, out), out);
        }
    }

    /// Appends the rows of an id as `(…),(…)` for INSERT … VALUES.
    pub fn write_row_sql(&self, table: u32, id: u64, out: &mut Vec<u8>) {
        self.write_row(table, id, Notation::Values, out);
    }

    fn write_row(&self, table: u32, id: u64, notation: Notation, out: &mut Vec<u8>) {
        let mut row = RowWriter::new(self.dialect, notation, out);
        match self.kind {
            LayoutKind::Sbtest => {
                let mut random = Random::new(self.seed, Purpose::Rows, &[u64::from(table), id]);
                row.begin().int(id).int(self.k.draw(&mut random));
                row.text(|out| push_groups(C_GROUPS, &mut random, out));
                row.text(|out| push_groups(PAD_GROUPS, &mut random, out)).end();
            }
            LayoutKind::Bulk => row.begin().int(id).int(id).end(),
            LayoutKind::Hot => row.begin().int(id).int(STOCK).int(0).end(),
            LayoutKind::Products => {
                let mut random = Random::new(self.seed, Purpose::Rows, &[u64::from(table), id]);
                row.begin().int(id).int(1 + random.below(PRICES));
                row.text(|out| push_groups(PAD_GROUPS, &mut random, out)).end();
            }
            // None is loaded; this is what a sale would add.
            LayoutKind::Orders => row.begin().int(id).int(1).int(1).end(),
            // None is loaded either; this is what a drill would add.
            LayoutKind::Ledger => row.begin().int(0).int(1).int(id).int(1).end(),
            LayoutKind::Tpcc => self.population().write(Table::numbered(table), id, &mut row),
            LayoutKind::Template => {
                if let Some(rows) = self.template.get(table as usize - 1) {
                    rows.write(self.seed, table, id, &mut row);
                }
            }
        }
    }

    fn population(&self) -> Population {
        Population { seed: self.seed }
    }
}
