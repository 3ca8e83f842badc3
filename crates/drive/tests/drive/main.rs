//! Whole steps against small servers of the tests' own.

mod handles;
mod server;
mod turns;
