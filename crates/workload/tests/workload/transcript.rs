//! The interface of these tests: answers in, statements out.

use loadstone_protocol::{Completion, Param};
use loadstone_workload::{Answer, Machine, Params, StatementRef, Step, Workload, WorkloadSpec};

/// A statement as returned by the machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) statement: StatementRef,
    pub(crate) prepared: String,
    pub(crate) text: String,
    pub(crate) ints: Vec<i64>,
}

pub(crate) fn workload(plan: &str) -> Workload {
    let spec: WorkloadSpec = serde_json::from_str(plan).expect("a plan");
    Workload::from_spec(&spec).expect("a good plan")
}

/// The statements of one event, each answered at once.
pub(crate) fn event(workload: &Workload, machine: &mut dyn Machine) -> Vec<Sent> {
    event_until(workload, machine, usize::MAX)
}

/// The first `limit` statements of an event.
pub(crate) fn event_until(
    workload: &Workload,
    machine: &mut dyn Machine,
    limit: usize,
) -> Vec<Sent> {
    let (mut params, mut sent) = (Params::new(), Vec::new());
    let completion = Completion::default();
    let mut answer = None;
    while sent.len() < limit {
        match machine.step(answer, &mut params) {
            Step::Done => break,
            Step::Send(statement) => sent.push(taken_down(workload, statement, &params)),
            Step::Fail(why) => panic!("{why}"),
            Step::Sleep(_) | Step::Ran => panic!("a sequence only sends statements"),
        }
        answer = Some(Answer::of(&completion));
    }
    sent
}

pub(crate) fn taken_down(workload: &Workload, statement: StatementRef, params: &Params) -> Sent {
    let catalogue = workload.catalogue();
    let (mut prepared, mut text) = (Vec::new(), Vec::new());
    catalogue.write_prepared(statement, &mut prepared);
    catalogue.write_text(statement, params, &mut text);
    assert_eq!(params.len(), usize::from(catalogue.parameter_count(statement.kind)));
    let int = |param: Param<'_>| match param {
        Param::Int(value) => Some(value),
        _ => None,
    };
    Sent {
        statement,
        prepared: String::from_utf8(prepared).expect("ASCII"),
        text: String::from_utf8(text).expect("ASCII"),
        ints: params.iter().filter_map(int).collect(),
    }
}

/// The statement's shape: `T` for the table's number, `#` for a number, `C` and `P` for the texts.
pub(crate) fn shape(text: &str) -> String {
    let mut shape = String::new();
    for (position, part) in text.split('\'').enumerate() {
        if position % 2 == 1 {
            shape.push(match part.len() {
                119 => 'C',
                59 => 'P',
                other => panic!("a text of {other} bytes: {part:?}"),
            });
            continue;
        }
        let mut word_before = ' ';
        for piece in part.split_inclusive(|sign: char| !sign.is_ascii_digit()) {
            let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                shape.push(if word_before.is_alphabetic() { 'T' } else { '#' });
            }
            shape.push_str(&piece[digits..]);
            word_before = piece.chars().last().unwrap_or(' ');
        }
    }
    shape
}
