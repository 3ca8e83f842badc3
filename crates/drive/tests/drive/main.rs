//! Whole steps against small servers of the tests' own.

mod server;
mod turns;
