//! What the five transactions of TPC-C have in common.

use crate::{Answer, Params, StatementRef};

use super::statements::Sql;

/// What a transaction does next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Send this, with the parameters that were filled in.
    Send(StatementRef),
    Commit,
    Rollback,
}

impl From<Sql> for Next {
    fn from(sql: Sql) -> Self {
        Self::Send(sql.statement())
    }
}

/// One of the five transactions between its BEGIN and its end.
pub(super) trait Transaction {
    /// The next statement. The first call comes with the answer to BEGIN. `kept` is memory for a
    /// text from one call to the next. `None`: the answer does not have the requested row.
    fn advance(
        &mut self,
        answer: Answer<'_>,
        kept: &mut Vec<u8>,
        params: &mut Params,
    ) -> Option<Next>;

    /// Whether the next statement, or whether there is one, depends on the answer that comes next.
    fn needs_answer(&self) -> bool;

    /// The row whose absence `None` means.
    fn awaited(&self) -> &'static str;

    /// Starts again from the first statement, with the same input.
    fn restart(&mut self);
}

/// The parameters that identify rows: all of them numbers.
pub(super) fn push_all(numbers: &[i64], params: &mut Params) {
    numbers.iter().for_each(|number| params.push_int(*number));
}
