//! The kinds of tables that a load can create.

use serde::{Deserialize, Serialize};

/// A kind of tables.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutKind {
    /// `sbtestN` with id, k, c and pad.
    Sbtest,
    /// `sbtestN` with id and k, empty: `bulk_insert` fills it. One table for each user.
    Bulk,
    /// `hot_rowN` with product, stock and sold.
    Hot,
    /// `hot_productN` with the content of a product page; never modified.
    Products,
    /// `hot_orderN`, empty at first: each sale of `hot_rowN` adds a row.
    Orders,
    /// `drill_ledgerN`, empty at first: each entry of `ledger` adds a row. No key makes entries
    /// unique, so that an entry that was executed twice appears twice.
    Ledger,
    /// The nine tables of TPC-C, with the prefix `tpcc_`.
    Tpcc,
    /// The tables of a template, with its own names for them.
    Template,
}
