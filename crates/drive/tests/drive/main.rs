//! Whole steps against small servers of the tests' own.

mod handles;
mod script;
mod server;
mod turns;
