//! TPC-C-like: the five transactions of the order-entry benchmark, its tables and its mix, after
//! the published specification, revision 5.11. "Clause" means a clause of that document.
//!
//! Differences from it: nothing is audited; there are no terminals that show anything; Delivery is
//! executed at once instead of being queued (clause 2.7.2); a user may have several home warehouses
//! if there are fewer users than warehouses; dates of loaded rows are all the same, so that a seed
//! means the same rows.

mod customer;
mod deck;
mod delivery;
mod input;
mod machine;
mod money;
mod names;
mod new_order;
mod nurand;
mod order_status;
mod pace;
mod payment;
mod population;
pub(crate) mod schema;
mod statements;
mod stock_level;
mod transaction;

pub(crate) use machine::{Tpcc, TpccMachine};
pub(crate) use population::Population;
pub(crate) use statements::templates;

/// Districts of a warehouse (clause 1.2.1).
pub(crate) const DISTRICTS: u64 = 10;
/// Customers of a district.
pub(crate) const CUSTOMERS: u64 = 3_000;
/// The number of items, whatever the number of warehouses.
pub(crate) const ITEMS: u64 = 100_000;
/// The loaded orders of a district, one for each customer.
pub(crate) const ORDERS: u64 = CUSTOMERS;
/// The last of them are not delivered yet (clause 4.3.3.1).
pub(crate) const NEW_ORDERS: u64 = 900;
/// The first order that is not delivered.
pub(crate) const FIRST_NEW_ORDER: u64 = ORDERS - NEW_ORDERS + 1;
/// The fewest and the most lines of an order (clause 2.4.1.3).
pub(crate) const LINES: (u64, u64) = (5, 15);
