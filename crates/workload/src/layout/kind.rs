//! The kinds of tables that a load can make.

use serde::{Deserialize, Serialize};

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
    /// `drill_ledgerN`, empty at first: each entry of `ledger` adds a row. Nothing makes entries unique, so
    /// that one which was carried out twice stands there twice.
    Ledger,
    /// The nine tables of TPC-C, their names behind `tpcc_`.
    Tpcc,
    /// The tables of a template, with the names that it gives them.
    Template,
}
