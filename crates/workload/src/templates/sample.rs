//! Events of a template as text, to be shown before they are run.

use serde::Serialize;

use crate::{Catalogue, Machine, Params, Step};

use super::machine::TemplateMachine;

/// How many statements of one event are shown; an event may have a million.
const MOST_SHOWN: usize = 200;

/// An event as it would be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// The transaction's name.
    pub transaction: &'static str,
    /// The statements with their parameters as literals; a value that would have been read appears
    /// as its name.
    pub statements: Vec<String>,
    /// How many more statements there are.
    pub more: usize,
}

/// This many events of a user.
pub(crate) fn samples(
    machine: &mut TemplateMachine,
    catalogue: &Catalogue,
    count: usize,
) -> Vec<Sample> {
    (0..count).map(|_| sample(machine, catalogue)).collect()
}

fn sample(machine: &mut TemplateMachine, catalogue: &Catalogue) -> Sample {
    let (mut params, mut statements) = (Params::new(), Vec::new());
    let mut step = machine.step(None, &mut params);
    let (transaction, sent) = machine.event();
    while let Step::Send(statement) = step
        && statements.len() < MOST_SHOWN
    {
        let mut text = Vec::new();
        catalogue.write_text(statement, &params, &mut text);
        statements.push(String::from_utf8_lossy(&text).into_owned());
        machine.pretend_to_read();
        step = machine.send(&mut params);
    }
    Sample { transaction, more: sent - statements.len(), statements }
}
