//! The tables that workloads run on: their DDL and their rows.
//!
//! The `sbtest` layout is that of sysbench 1.0.20, column by column, so that either program runs on
//! the other's tables. Rows depend only on the seed, the table and the id: the data are the same
//! whichever worker loaded them, in parallel or again.

mod kind;
mod rows;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use kind::LayoutKind;
pub use rows::RowSource;

use crate::dialect::{Dialect, LateKey, NewTable, spelled, usual_dialect};
use crate::templates::{TableRows, TableSpec};
use crate::tpcc::schema::{Making, TABLES, Table};
use crate::{Distribution, SpecError};

/// The number of ids that one statement loads: some 5 MB of text, less than a second of work, and
/// one transaction for the server.
const IDS_A_RANGE: u64 = 25_000;

/// The tables to load: the part `layout` of a load's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadLayout {
    /// The number of tables.
    pub tables: u32,
    /// The number of rows in each.
    pub table_size: u64,
    /// The server's name of the storage engine.
    #[serde(default = "innodb")]
    pub storage_engine: String,
    /// Whether `sbtestN` gets its index on `k`, after its rows.
    #[serde(default = "yes")]
    pub secondary_index: bool,
    /// Whether the server generates `id` in sequence.
    #[serde(default = "yes")]
    pub auto_increment: bool,
    /// The distribution of the values of `k`.
    #[serde(default)]
    pub distribution: Distribution,
    /// The kind of tables.
    #[serde(default = "sbtest")]
    pub kind: LayoutKind,
    /// The number of warehouses in the tables of `tpcc`.
    #[serde(default)]
    pub warehouses: u32,
    /// Whether the `tpcc` tables have foreign keys.
    #[serde(default)]
    pub foreign_keys: bool,
    /// The number of their partitions by warehouse; not partitioned if zero.
    #[serde(default)]
    pub partitions: u32,
    /// A template's tables, if the layout is one.
    #[serde(default)]
    pub template: Vec<TableSpec>,
    /// Its dialect; not in the document, as the target determines it: see
    /// [`LoadLayout::in_dialect`].
    #[serde(skip, default = "usual_dialect")]
    dialect: &'static dyn Dialect,
}

/// The most partitions that a table may have.
const MOST_PARTITIONS: u32 = 8192;

/// Ids of order lines are 64-bit numbers; this many warehouses are more than any server holds.
const MOST_WAREHOUSES: u32 = 1_000_000;

const SBTEST_COUNTED_UP: &str = "id {counter}, \
    k INTEGER DEFAULT '0' NOT NULL, \
    c CHAR(120) DEFAULT '' NOT NULL, \
    pad CHAR(60) DEFAULT '' NOT NULL";
const SBTEST: &str = "id INTEGER NOT NULL, \
    k INTEGER DEFAULT '0' NOT NULL, \
    c CHAR(120) DEFAULT '' NOT NULL, \
    pad CHAR(60) DEFAULT '' NOT NULL";
const BULK: &str = "id INTEGER NOT NULL, \
    k INTEGER DEFAULT '0' NOT NULL";
const HOT: &str = "product INTEGER NOT NULL, \
    stock BIGINT NOT NULL, \
    sold BIGINT DEFAULT '0' NOT NULL";
const PRODUCTS: &str = "product INTEGER NOT NULL, \
    price INTEGER NOT NULL, \
    name CHAR(60) NOT NULL";
const ORDERS: &str = "id {big_counter}, \
    product INTEGER NOT NULL, \
    buyer INTEGER NOT NULL, \
    pieces INTEGER NOT NULL";
const LEDGER: &str = "id {big_counter}, \
    book BIGINT NOT NULL, \
    user_no INTEGER NOT NULL, \
    seq BIGINT NOT NULL, \
    amount INTEGER NOT NULL";

fn innodb() -> String {
    "innodb".to_owned()
}

fn yes() -> bool {
    true
}

fn sbtest() -> LayoutKind {
    LayoutKind::Sbtest
}

impl LoadLayout {
    /// The layout in another dialect.
    #[must_use]
    pub fn in_dialect(self, dialect: &'static dyn Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Its dialect.
    #[must_use]
    pub fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// Checks that it can be created.
    ///
    /// # Errors
    /// [`SpecError::OutOfRange`].
    pub fn check(&self) -> Result<(), SpecError> {
        if self.tables == 0 {
            return Err(SpecError::OutOfRange { what: "layout.tables", allowed: "1 and above" });
        }
        if !(1..=i32::MAX as u64).contains(&self.table_size) {
            let allowed = "1 to 2147483647";
            return Err(SpecError::OutOfRange { what: "layout.table_size", allowed });
        }
        let is_word = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if !is_word(&self.storage_engine) {
            let allowed = "letters, digits and underscores";
            return Err(SpecError::OutOfRange { what: "layout.storage_engine", allowed });
        }
        if self.kind == LayoutKind::Tpcc {
            self.check_tpcc()?;
        }
        if self.kind == LayoutKind::Template {
            self.compiled()?;
        }
        self.distribution.sampler(self.table_size).map(|_| ())
    }

    /// The template's tables, in the form that writes their rows.
    fn compiled(&self) -> Result<Arc<[TableRows]>, SpecError> {
        if self.tables as usize != self.template.len() {
            let allowed = "as many as layout.template has";
            return Err(SpecError::OutOfRange { what: "layout.tables", allowed });
        }
        self.template.iter().map(|table| table.compile(self.dialect)).collect()
    }

    /// A table of the template.
    fn of_template(&self, table: u32) -> &TableSpec {
        &self.template[table as usize - 1]
    }

    fn check_tpcc(&self) -> Result<(), SpecError> {
        let refuse = |what, allowed| Err(SpecError::OutOfRange { what, allowed });
        if self.tables as usize != TABLES.len() {
            return refuse("layout.tables", "9 for tpcc");
        }
        if !(1..=MOST_WAREHOUSES).contains(&self.warehouses) {
            return refuse("layout.warehouses", "1 to 1000000");
        }
        if self.partitions > MOST_PARTITIONS {
            return refuse("layout.partitions", "0 to 8192");
        }
        if self.partitions > 0 && self.foreign_keys {
            return refuse("layout.partitions", "0 with foreign keys: servers have not both");
        }
        Ok(())
    }

    /// The name of the table `table`, from one.
    #[must_use]
    pub fn table_name(&self, table: u32) -> String {
        match self.kind {
            LayoutKind::Sbtest | LayoutKind::Bulk => format!("sbtest{table}"),
            LayoutKind::Hot => format!("hot_row{table}"),
            LayoutKind::Products => format!("hot_product{table}"),
            LayoutKind::Orders => format!("hot_order{table}"),
            LayoutKind::Ledger => format!("drill_ledger{table}"),
            LayoutKind::Tpcc => Table::numbered(table).name.to_owned(),
            LayoutKind::Template => self.of_template(table).name.clone(),
        }
    }

    /// The name as written in SQL: the name of a template's table may be a reserved word.
    #[must_use]
    pub fn quoted_name(&self, table: u32) -> String {
        self.dialect.quoted(&self.table_name(table))
    }

    /// Creates the table; fails if it exists. `mark` becomes its comment, which identifies it
    /// later.
    #[must_use]
    pub fn create_table_sql(&self, table: u32, mark: Option<&str>) -> String {
        let columns = match self.kind {
            LayoutKind::Sbtest if self.auto_increment => SBTEST_COUNTED_UP,
            LayoutKind::Sbtest => SBTEST,
            LayoutKind::Bulk => BULK,
            LayoutKind::Hot => HOT,
            LayoutKind::Products => PRODUCTS,
            LayoutKind::Orders => ORDERS,
            LayoutKind::Ledger => LEDGER,
            LayoutKind::Tpcc => return Table::numbered(table).create_sql(self.making(), mark),
            LayoutKind::Template => {
                let create = &self.of_template(table).create;
                return match mark {
                    Some(mark) => self.dialect.with_comment(create, &self.quoted_name(table), mark),
                    None => create.clone(),
                };
            }
        };
        self.dialect.create_table(&NewTable {
            name: &self.table_name(table),
            columns: &spelled(columns, self.dialect),
            key: None,
            primary_key: self.id_column(table).as_deref(),
            foreign_keys: &[],
            storage_engine: &self.storage_engine,
            comment: mark,
            partitions: None,
        })
    }

    fn making(&self) -> Making<'_> {
        let Self { storage_engine, foreign_keys, partitions, dialect, .. } = self;
        Making {
            storage_engine,
            foreign_keys: *foreign_keys,
            partitions: *partitions,
            dialect: *dialect,
        }
    }

    /// Creates the table's secondary indexes, if it has any.
    #[must_use]
    pub fn create_indexes_sql(&self, table: u32) -> Vec<String> {
        match self.kind {
            LayoutKind::Sbtest if self.secondary_index => {
                vec![format!("CREATE INDEX k_{table} ON {}(k)", self.table_name(table))]
            }
            LayoutKind::Ledger => {
                let name = self.table_name(table);
                vec![format!("CREATE INDEX entry_{table} ON {name}(book, user_no, seq)")]
            }
            LayoutKind::Tpcc => Table::numbered(table).create_indexes_sql(),
            LayoutKind::Template => self.of_template(table).indexes.clone(),
            _ => Vec::new(),
        }
    }

    /// The foreign keys that are added after the rows of all tables, each with the number of the
    /// table that it refers to.
    #[must_use]
    pub fn late_keys(&self, table: u32) -> Vec<(LateKey, u32)> {
        match self.kind {
            LayoutKind::Tpcc => Table::numbered(table).late_keys(self.making()),
            _ => Vec::new(),
        }
    }

    /// The columns of a row as [`RowSource`] writes them.
    #[must_use]
    pub fn columns(&self, table: u32) -> Cow<'static, str> {
        Cow::Borrowed(match self.kind {
            LayoutKind::Sbtest => "id, k, c, pad",
            LayoutKind::Bulk => "id, k",
            LayoutKind::Hot => "product, stock, sold",
            LayoutKind::Products => "product, price, name",
            LayoutKind::Orders => "product, buyer, pieces",
            LayoutKind::Ledger => "book, user_no, seq, amount",
            LayoutKind::Tpcc => Table::numbered(table).columns,
            LayoutKind::Template => {
                return Cow::Owned(self.of_template(table).columns(self.dialect));
            }
        })
    }

    /// Whether rows are pure ASCII. Those of a template may contain any character.
    #[must_use]
    pub fn is_ascii(&self) -> bool {
        self.kind != LayoutKind::Template
    }

    /// The number of ids of a loaded table, which start at one. Each stands for one row, but all
    /// order lines of a `tpcc` order share the order's id: [`RowSource::rows`] counts them.
    #[must_use]
    pub fn ids(&self, table: u32) -> u64 {
        match self.kind {
            LayoutKind::Sbtest | LayoutKind::Hot | LayoutKind::Products => self.table_size,
            LayoutKind::Bulk | LayoutKind::Orders | LayoutKind::Ledger => 0,
            LayoutKind::Tpcc => Table::numbered(table).ids(u64::from(self.warehouses)),
            LayoutKind::Template => self.of_template(table).rows,
        }
    }

    /// The number of ids that one statement loads.
    #[must_use]
    pub fn ids_a_range(&self, table: u32) -> u64 {
        match self.kind {
            LayoutKind::Tpcc => Table::numbered(table).ids_a_range(),
            _ => IDS_A_RANGE,
        }
    }

    /// The SQL condition for exactly the rows with ids in a range.
    #[must_use]
    pub fn condition(&self, table: u32, first: u64, last: u64) -> String {
        match self.id_column(table) {
            Some(column) => format!("{column} BETWEEN {first} AND {last}"),
            None => Table::numbered(table).condition(first, last),
        }
    }

    /// A column, and its greatest value in a table with no more rows than requested.
    #[must_use]
    pub fn greatest(&self, table: u32) -> (String, u64) {
        match self.id_column(table) {
            Some(column) => (column.into_owned(), self.ids(table)),
            None => Table::numbered(table).greatest(u64::from(self.warehouses)),
        }
    }

    /// The column that holds the id, if there is one.
    fn id_column(&self, table: u32) -> Option<Cow<'static, str>> {
        match self.kind {
            LayoutKind::Sbtest | LayoutKind::Bulk | LayoutKind::Orders | LayoutKind::Ledger => {
                Some("id".into())
            }
            LayoutKind::Hot | LayoutKind::Products => Some("product".into()),
            LayoutKind::Tpcc => None,
            LayoutKind::Template => {
                self.of_template(table).number().map(|name| self.dialect.quoted(name).into())
            }
        }
    }

    /// Whether rows added after loading stay when the load is repeated, and are not counted: orders
    /// and entries, whose keys the server generates. In any other table they would conflict with
    /// the rows to load.
    #[must_use]
    pub fn may_have_more(&self) -> bool {
        matches!(self.kind, LayoutKind::Orders | LayoutKind::Ledger)
    }

    /// The source of the rows.
    ///
    /// # Errors
    /// The same as [`LoadLayout::check`].
    pub fn rows(&self, seed: u64) -> Result<RowSource, SpecError> {
        self.check()?;
        let k = self.distribution.sampler(self.table_size)?;
        let template = match self.kind {
            LayoutKind::Template => self.compiled()?,
            _ => Arc::default(),
        };
        Ok(RowSource::new((self.kind, self.dialect), k, seed, template))
    }
}
