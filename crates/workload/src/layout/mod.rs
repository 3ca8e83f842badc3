//! The tables that workloads run on: their DDL and their rows.
//!
//! The `sbtest` layout is that of sysbench 1.0.20, column by column, so that either program runs on the
//! other's tables. Rows depend on the seed, the table and the id alone: the same data whatever was loaded
//! by whom, in parallel or again.

mod rows;

use serde::{Deserialize, Serialize};

pub use rows::RowSource;

use crate::{Distribution, SpecError};

/// Which tables.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutKind {
    /// `sbtestN` with id, k, c and pad.
    Sbtest,
    /// `sbtestN` with id and k, empty: `bulk_insert` fills it. One table for each user.
    Bulk,
    /// `hot_rowN` with product, stock and sold.
    Hot,
    /// `hot_productN` with what a product's page shows; nobody changes it.
    Products,
    /// `hot_orderN`, empty at first: each sale of `hot_rowN` adds a row.
    Orders,
}

/// The tables to load: the part `layout` of a load's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadLayout {
    /// How many tables.
    pub tables: u32,
    /// How many rows in each.
    pub table_size: u64,
    /// The server's name of the storage engine.
    #[serde(default = "innodb")]
    pub storage_engine: String,
    /// Whether `sbtestN` gets its index on `k`, after its rows.
    #[serde(default = "yes")]
    pub secondary_index: bool,
    /// Whether `id` is AUTO_INCREMENT.
    #[serde(default = "yes")]
    pub auto_increment: bool,
    /// How the values of `k` are spread.
    #[serde(default)]
    pub distribution: Distribution,
    /// Which tables.
    #[serde(default = "sbtest")]
    pub kind: LayoutKind,
}

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
    /// Whether it can be made.
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
        self.distribution.sampler(self.table_size).map(|_| ())
    }

    /// The name of the table `table`, from one.
    #[must_use]
    pub fn table_name(&self, table: u32) -> String {
        match self.kind {
            LayoutKind::Sbtest | LayoutKind::Bulk => format!("sbtest{table}"),
            LayoutKind::Hot => format!("hot_row{table}"),
            LayoutKind::Products => format!("hot_product{table}"),
            LayoutKind::Orders => format!("hot_order{table}"),
        }
    }

    /// Makes the table; fails where it is there.
    #[must_use]
    pub fn create_table_sql(&self, table: u32) -> String {
        let name = self.table_name(table);
        let auto = if self.auto_increment { " AUTO_INCREMENT" } else { "" };
        let columns = match self.kind {
            LayoutKind::Sbtest => format!(
                "id INTEGER NOT NULL{auto}, \
                 k INTEGER DEFAULT '0' NOT NULL, \
                 c CHAR(120) DEFAULT '' NOT NULL, \
                 pad CHAR(60) DEFAULT '' NOT NULL, \
                 PRIMARY KEY (id)"
            ),
            LayoutKind::Bulk => "id INTEGER NOT NULL, \
                 k INTEGER DEFAULT '0' NOT NULL, \
                 PRIMARY KEY (id)"
                .to_owned(),
            LayoutKind::Hot => "product INTEGER NOT NULL, \
                 stock BIGINT NOT NULL, \
                 sold BIGINT DEFAULT '0' NOT NULL, \
                 PRIMARY KEY (product)"
                .to_owned(),
            LayoutKind::Products => "product INTEGER NOT NULL, \
                 price INTEGER NOT NULL, \
                 name CHAR(60) NOT NULL, \
                 PRIMARY KEY (product)"
                .to_owned(),
            LayoutKind::Orders => "id BIGINT NOT NULL AUTO_INCREMENT, \
                 product INTEGER NOT NULL, \
                 buyer INTEGER NOT NULL, \
                 pieces INTEGER NOT NULL, \
                 PRIMARY KEY (id)"
                .to_owned(),
        };
        format!("CREATE TABLE {name} ({columns}) ENGINE = {}", self.storage_engine)
    }

    /// Makes the table's secondary index, where it has one.
    #[must_use]
    pub fn create_index_sql(&self, table: u32) -> Option<String> {
        (self.kind == LayoutKind::Sbtest && self.secondary_index)
            .then(|| format!("CREATE INDEX k_{table} ON {}(k)", self.table_name(table)))
    }

    /// The columns of a row as [`RowSource`] writes them.
    #[must_use]
    pub fn columns(&self) -> &'static str {
        match self.kind {
            LayoutKind::Sbtest => "id, k, c, pad",
            LayoutKind::Bulk => "id, k",
            LayoutKind::Hot => "product, stock, sold",
            LayoutKind::Products => "product, price, name",
            LayoutKind::Orders => "product, buyer, pieces",
        }
    }

    /// The column that holds the row's id: 1 to [`LoadLayout::rows_per_table`].
    #[must_use]
    pub fn id_column(&self) -> &'static str {
        match self.kind {
            LayoutKind::Sbtest | LayoutKind::Bulk | LayoutKind::Orders => "id",
            LayoutKind::Hot | LayoutKind::Products => "product",
        }
    }

    /// How many rows a loaded table has.
    #[must_use]
    pub fn rows_per_table(&self) -> u64 {
        match self.kind {
            LayoutKind::Sbtest | LayoutKind::Hot | LayoutKind::Products => self.table_size,
            LayoutKind::Bulk | LayoutKind::Orders => 0,
        }
    }

    /// Whether rows that came after loading stay when it is asked for again, and are not counted: orders,
    /// whose keys the server gives. In any other table they would be in the way of those to come.
    #[must_use]
    pub fn may_have_more(&self) -> bool {
        self.kind == LayoutKind::Orders
    }

    /// Where the rows come from.
    ///
    /// # Errors
    /// As [`LoadLayout::check`].
    pub fn rows(&self, seed: u64) -> Result<RowSource, SpecError> {
        self.check()?;
        Ok(RowSource::new(self.kind, self.distribution.sampler(self.table_size)?, seed))
    }
}
