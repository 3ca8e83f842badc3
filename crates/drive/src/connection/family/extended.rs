//! What only some protocols have: statements that are parsed for one execution, and pipelines.

use super::postgres;
use loadstone_protocol::{Expect, Param};

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

    /// From here on nothing that is written waits for an answer.
    pub(crate) fn begin_pipeline(&mut self) {
        match self {
            Self::Postgres(own) => own.begin_pipeline(),
        }
    }

    /// Appends a request to prepare this SQL, and expects its reply. Returns the number to execute it
    /// by, which it has at once.
    pub(crate) fn queue_prepare(&mut self, out: &mut Vec<u8>, sql: &[u8]) -> u32 {
        match self {
            Self::Postgres(own) => {
                own.write_prepare(out, sql);
                own.expect(Expect::Prepare);
                own.last_prepared()
            }
        }
    }

    /// Appends the execution of a prepared statement, and expects its reply.
    pub(crate) fn queue_execute<'a>(
        &mut self,
        out: &mut Vec<u8>,
        statement_id: u32,
        params: impl Iterator<Item = Param<'a>> + Clone,
    ) {
        match self {
            Self::Postgres(own) => {
                own.write_execute(out, statement_id, params);
                own.expect(Expect::Execute);
            }
        }
    }

    /// Appends the end of the pipeline, and expects the reply to it. If a statement was refused, the
    /// replies to those behind it do not come, and this is the next one.
    pub(crate) fn end_pipeline(&mut self, out: &mut Vec<u8>) {
        match self {
            Self::Postgres(own) => own.end_pipeline(out),
        }
    }
}
