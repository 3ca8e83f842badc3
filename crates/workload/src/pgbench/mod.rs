//! Scripts of pgbench: their language, and the machine that runs one for a virtual user.
//!
//! <https://www.postgresql.org/docs/current/pgbench.html>

mod evaluate;
mod expression;
mod function;
mod lexer;
mod number;
mod parser;
mod value;
mod variables;

pub use evaluate::Context;
pub use expression::Expression;
pub use parser::ParseError;
pub use value::{EvalError, Value};
pub use variables::{Content, Names, Variables};
