//! The workload of an idle connection, which does nothing.

use loadstone_workload::{Answer, Machine, Params, Step};

/// The machine of a connection on which no event is ever due.
pub(crate) struct Idle;

impl Machine for Idle {
    fn step(&mut self, _: Option<Answer<'_>>, _: &mut Params) -> Step {
        Step::Done
    }

    fn abandon(&mut self) {}

    fn in_transaction(&self) -> bool {
        false
    }
}
