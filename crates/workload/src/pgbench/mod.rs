//! Scripts of pgbench: their language, and the machine that runs one for a virtual user.
//!
//! <https://www.postgresql.org/docs/current/pgbench.html>

mod evaluate;
mod expression;
mod function;
mod lexer;
mod machine;
mod number;
mod parser;
mod permute;
mod script;
mod spec;
mod sql;
mod trace;
mod value;
mod variables;

pub use evaluate::Context;
pub use expression::Expression;
pub(crate) use machine::PgbenchMachine;
pub use parser::ParseError;
pub use script::{
    Amount, Command, ErrorPlace, Keeps, Listed, Script, ScriptError, SqlPiece, What, listing,
};
pub use spec::PgbenchSpec;
pub(crate) use spec::Prepared;
pub use value::{EvalError, Value};
pub use variables::{Content, Names, Variables};
