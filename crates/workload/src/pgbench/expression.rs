//! Expressions of `\set`, `\if` and `\elif`.

use super::function::Function;
use super::value::Value;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A constant.
    Constant(Value),
    /// The variable at this place.
    Variable(u16),
    /// A function or an operator.
    Call(Function, Vec<Expression>),
    /// Both; the second one is not evaluated where the first one decides.
    And(Box<[Expression; 2]>),
    /// One of both; likewise.
    Or(Box<[Expression; 2]>),
    /// The result behind the first condition that is true, or the last expression.
    Case(Vec<(Expression, Expression)>, Box<Expression>),
}
