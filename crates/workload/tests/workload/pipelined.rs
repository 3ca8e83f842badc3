//! Workloads in flights: what is sent at once, and that all of it is what is sent one by one.

use loadstone_protocol::{Completion, ResultSet, Verdict};
use loadstone_workload::{Answer, Machine, Params, Pipelined, StatementRef, Step, Workload};

use crate::tpcc::{Rows, answered, columns, result};
use crate::transcript::{Sent, taken_down, workload};

/// The flags of a completion's state: none, and that a transaction is open.
const IDLE: u16 = 0;
const OPEN: u16 = 1;

fn pipelined(workload: &Workload) -> Pipelined {
    Pipelined::new(workload.machine(42, 0, 1))
}

/// What a server says to a statement that returns these rows, or changes one.
fn completion(rows: Option<&ResultSet>) -> Completion {
    Completion {
        rows: rows.map_or(0, |rows| rows.rows),
        affected_rows: u64::from(rows.is_none()),
        has_result_set: rows.is_some(),
        ..Completion::default()
    }
}

/// The flights of the next event, each with its statements. Only the last one of each is answered.
fn flights(
    workload: &Workload,
    machine: &mut dyn Machine,
    answer: impl Fn(&Sent) -> Option<Rows>,
) -> Vec<Vec<Sent>> {
    let (mut params, mut flights) = (Params::new(), Vec::new());
    let mut flight = Vec::new();
    let mut step = machine.step(None, &mut params);
    loop {
        match step {
            Step::Queue(statement) => {
                flight.push(taken_down(workload, statement, &params));
                step = machine.step(None, &mut params);
                continue;
            }
            Step::Send(statement) => {
                assert!(flight.is_empty(), "{flight:?}");
                flight.push(taken_down(workload, statement, &params));
            }
            Step::EndPipeline => {}
            Step::Done => return flights,
            other => panic!("{other:?}"),
        }
        let last = flight.last().expect("a flight has a statement");
        let rows = answer(last).map(|rows| result(&rows, columns(last)));
        let completion = completion(rows.as_ref());
        flights.push(std::mem::take(&mut flight));
        let given = Answer { completion: &completion, results: rows.as_slice() };
        step = machine.step(Some(given), &mut params);
    }
}

/// How many statements each flight of an event has.
fn sizes(plan: &str) -> Vec<usize> {
    let workload = workload(plan);
    let found = flights(&workload, &mut pipelined(&workload), |_| None);
    found.iter().map(Vec::len).collect()
}

#[test]
fn a_transaction_is_one_flight_and_a_statement_outside_one_is_sent_alone() {
    for (plan, expected) in [
        (r#"{"name": "oltp_read_write", "tables": 9}"#, vec![20]),
        (r#"{"name": "oltp_read_only"}"#, vec![16]),
        (r#"{"name": "oltp_write_only"}"#, vec![6]),
        (r#"{"name": "oltp_write_only", "options": {"skip_trx": true}}"#, vec![1; 4]),
        (r#"{"name": "oltp_point_select"}"#, vec![1]),
        (r#"{"name": "bulk_insert"}"#, vec![1]),
        (r#"{"name": "hot_row"}"#, vec![1, 1, 4]),
        (r#"{"name": "ledger", "book": 7}"#, vec![3]),
    ] {
        assert_eq!(sizes(plan), expected, "{plan}");
    }
}

#[test]
fn the_statements_are_those_that_are_sent_one_by_one() {
    for (plan, rows) in [
        (r#"{"name": "oltp_read_write", "tables": 9}"#, false),
        (r#"{"name": "hot_row"}"#, false),
        (r#"{"name": "tpcc", "warehouses": 2}"#, true),
    ] {
        let workload = workload(plan);
        let answer = |sent: &Sent| if rows { answered(sent) } else { None };
        let (mut one_by_one, mut at_once) = (workload.machine(42, 0, 1), pipelined(&workload));
        for _ in 0..300 {
            let alone = alone(&workload, one_by_one.as_mut(), answer);
            assert_eq!(flights(&workload, &mut at_once, answer).concat(), alone);
        }
    }
}

/// The same event, each statement answered before the next one is sent.
fn alone(
    workload: &Workload,
    machine: &mut dyn Machine,
    answer: impl Fn(&Sent) -> Option<Rows>,
) -> Vec<Sent> {
    let (mut params, mut sent) = (Params::new(), Vec::new());
    let mut step = machine.step(None, &mut params);
    while step != Step::Done {
        let Step::Send(statement) = step else { panic!("{step:?}") };
        let last = taken_down(workload, statement, &params);
        let rows = answer(&last).map(|rows| result(&rows, columns(&last)));
        let completion = completion(rows.as_ref());
        sent.push(last);
        let given = Answer { completion: &completion, results: rows.as_slice() };
        step = machine.step(Some(given), &mut params);
    }
    sent
}

#[test]
fn tpcc_waits_for_the_rows_that_it_reads_and_for_nothing_else() {
    let workload = workload(r#"{"name": "tpcc", "warehouses": 2}"#);
    let mut machine = pipelined(&workload);
    let (mut statements, mut waits) = (0, 0);
    for _ in 0..300 {
        for flight in flights(&workload, &mut machine, answered) {
            let (last, before) = flight.split_last().expect("a statement");
            assert!(before.iter().all(|one| !one.text.starts_with("SELECT")), "{before:?}");
            let is_end =
                ["SELECT", "COMMIT", "ROLLBACK"].iter().any(|end| last.text.starts_with(end));
            assert!(is_end, "{last:?}");
            statements += flight.len();
            waits += 1;
        }
    }
    assert!(waits * 3 < statements * 2, "{waits} flights of {statements} statements");
}

#[test]
fn a_template_waits_where_it_reads_a_value_or_expects_rows() {
    let statements = r#"
        {"pieces": [{"text": "UPDATE seen"}]},
        {"pieces": [{"text": "SELECT price FROM product"}], "reads": [0]},
        {"pieces": [{"text": "INSERT "}, {"parameter": 0}], "repeat": 2},
        {"pieces": [{"text": "UPDATE stock"}], "rows": [1, 1]},
        {"pieces": [{"text": "UPDATE sold"}]}"#;
    let workload = workload(&format!(
        r#"{{"name": "own", "template": {{"transactions": [{{"name": "buy", "weight": 1,
            "think_s": 0.0, "autocommit": false, "statements": [{statements}],
            "parameters": [{{"name": "price", "value": {{"kind": "read"}}}}]}}]}}}}"#
    ));
    let price =
        |sent: &Sent| sent.text.starts_with("SELECT").then(|| vec![vec!["12.50".to_owned()]]);
    let found = flights(&workload, &mut pipelined(&workload), price);
    let texts: Vec<Vec<&str>> =
        found.iter().map(|flight| flight.iter().map(|one| one.text.as_str()).collect()).collect();
    assert_eq!(
        texts,
        [
            vec!["BEGIN", "UPDATE seen", "SELECT price FROM product"],
            vec!["INSERT '12.50'", "INSERT '12.50'", "UPDATE stock"],
            vec!["UPDATE sold", "COMMIT"],
        ]
    );
}

/// Queues a flight up to its end; returns its statements.
fn queue(machine: &mut dyn Machine) -> Vec<StatementRef> {
    let (mut params, mut queued) = (Params::new(), Vec::new());
    loop {
        match machine.step(None, &mut params) {
            Step::Queue(statement) => queued.push(statement),
            Step::EndPipeline => return queued,
            other => panic!("{other:?}"),
        }
    }
}

fn cut_short(machine: &mut dyn Machine, statement: StatementRef, status: u16) {
    let end = Completion { status, ..Completion::default() };
    machine.cut_short(Some(Answer::of(&end)), statement, None);
}

#[test]
fn after_an_error_the_end_of_the_flight_says_whether_a_transaction_is_open() {
    let workload = workload(r#"{"name": "oltp_write_only"}"#);
    let mut machine = pipelined(&workload);
    for (place, status, is_open) in [(3, OPEN, true), (5, IDLE, false), (0, IDLE, false)] {
        let queued = queue(&mut machine);
        assert_eq!(queued.len(), 6);
        assert!(machine.in_transaction());
        cut_short(&mut machine, queued[place], status);
        assert_eq!(machine.in_transaction(), is_open);
        machine.abandon();
        assert!(!machine.in_transaction());
    }
    assert_eq!(flights(&workload, &mut machine, |_| None)[0][0].text, "BEGIN");
}

#[test]
fn an_entry_of_a_ledger_is_in_doubt_only_where_its_commit_may_have_been_executed() {
    let workload = workload(r#"{"name": "ledger", "book": 7}"#);
    for (place, verdict, doubts) in [
        (0, Verdict::Refused, vec![]),
        (1, Verdict::Refused, vec![]),
        (1, Verdict::NotCommitted, vec![]),
        (2, Verdict::NotCommitted, vec![]),
        (2, Verdict::Refused, vec![1]),
    ] {
        let mut machine = pipelined(&workload);
        let refused = queue(&mut machine)[place];
        cut_short(&mut machine, refused, if place == 1 { OPEN } else { IDLE });
        machine.refused(verdict);
        machine.abandon();
        let entries = machine.take_entries().expect("a ledger");
        assert_eq!((entries.settled, entries.doubts), (doubts.len() as u64, doubts), "{place}");
    }
    // The connection is lost: all of it was sent, and nothing says how far the server came.
    let mut machine = pipelined(&workload);
    queue(&mut machine);
    machine.abandon();
    assert_eq!(machine.take_entries().expect("a ledger").doubts, [1]);
}

#[test]
fn an_entry_is_settled_by_the_end_of_its_flight_and_not_before() {
    let workload = workload(r#"{"name": "ledger", "book": 7}"#);
    let mut machine = pipelined(&workload);
    queue(&mut machine);
    assert_eq!(machine.take_entries().expect("a ledger").settled, 0);
    let done = Completion::default();
    let step = machine.step(Some(Answer::of(&done)), &mut Params::new());
    assert_eq!((step, machine.take_entries().expect("a ledger").settled), (Step::Done, 1));
    assert!(!machine.in_transaction());
}
