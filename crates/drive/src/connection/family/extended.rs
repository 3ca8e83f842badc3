//! What only some protocols have: statements that are parsed for one execution.

use super::postgres;
use loadstone_protocol::Param;

/// A conversation whose protocol has it. Families without it have no variant.
pub(crate) enum Extended<'a> {
    Postgres(&'a mut postgres::Conversation),
}

impl Extended<'_> {
    /// Appends SQL that `write` appends, with its parameters, and expects the reply to its execution.
    pub(crate) fn write_once<'a>(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
        params: impl Iterator<Item = Param<'a>> + Clone,
    ) {
        match self {
            Self::Postgres(own) => {
                own.write_parse_and_execute(out, write, params);
                own.expect_parse_and_execute();
            }
        }
    }
}
