//! The five transactions, statement by statement, given answers as from a loaded server.

use std::collections::BTreeMap;

use loadstone_protocol::{Completion, ResultSet};
use loadstone_workload::{Answer, Machine, Params, Step, Workload};

use crate::transcript::{Sent, taken_down, workload};

pub(crate) type Rows = Vec<Vec<String>>;

/// The answer to a statement, by how it starts. `None` is an OK.
pub(crate) fn answered(sent: &Sent) -> Option<Rows> {
    let row = |values: &[&str]| Some(vec![values.iter().map(ToString::to_string).collect()]);
    let ids = &sent.ints;
    match sent.prepared.split(" FROM ").next().expect("a text") {
        "SELECT w_tax" => row(&["0.1000"]),
        "SELECT c_discount, c_last, c_credit" => row(&["0.0500", "BARBARBAR", "GC"]),
        "SELECT d_tax, d_next_o_id" => row(&["0.2000", "3001"]),
        "SELECT i_price, i_name, i_data" if ids[0] > 100_000 => Some(Vec::new()),
        "SELECT i_price, i_name, i_data" => row(&["12.34", "name", "data"]),
        stock if stock.starts_with("SELECT s_quantity, s_dist_") => {
            row(&["50", &stock[19..28], "data"])
        }
        "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip" => {
            row(&["WARE", "", "", "", "", ""])
        }
        "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip" => {
            row(&["DIST", "", "", "", "", ""])
        }
        "SELECT c_id" => Some([11, 22, 33, 44].map(|id| vec![id.to_string()]).to_vec()),
        credit if credit.starts_with("SELECT c_credit, ") => {
            let mut values = vec![if ids[2] % 2 == 0 { "BC" } else { "GC" }];
            values.resize(14, "");
            row(&values)
        }
        "SELECT c_data" => row(&[&"x".repeat(495)]),
        "SELECT c_balance, c_first, c_middle, c_last" => row(&["-10.00", "", "", ""]),
        "SELECT o_id, o_entry_d, o_carrier_id" => row(&["2999", "", ""]),
        "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d" => {
            row(&["1", "1", "5", "0.00", ""])
        }
        // The third district has nothing to deliver.
        "SELECT no_o_id" if ids[1] == 3 => Some(Vec::new()),
        "SELECT no_o_id" => row(&["2101"]),
        "SELECT o_c_id" => row(&["77"]),
        "SELECT SUM(ol_amount)" => row(&["1234.56"]),
        "SELECT d_next_o_id" => row(&["3001"]),
        "SELECT COUNT(DISTINCT s_i_id)" => row(&["9"]),
        other => {
            assert!(!other.starts_with("SELECT"), "{other}");
            None
        }
    }
}

/// A result as received over the text protocol.
pub(crate) fn result(rows: &Rows, columns: u16) -> ResultSet {
    let mut bytes = Vec::new();
    for value in rows.iter().flatten() {
        let length = u16::try_from(value.len()).expect("a short text");
        match u8::try_from(length) {
            Ok(short @ ..=250) => bytes.push(short),
            _ => {
                bytes.push(0xfc);
                bytes.extend(length.to_le_bytes());
            }
        }
        bytes.extend_from_slice(value.as_bytes());
    }
    ResultSet { columns, rows: rows.len() as u64, bytes, ..ResultSet::default() }
}

/// How many columns it asks for.
pub(crate) fn columns(sent: &Sent) -> u16 {
    let listed = sent.prepared.split(" FROM ").next().expect("a text");
    listed.matches(", ").count() as u16 + 1
}

/// How an attempt at an event ended.
#[derive(Debug, PartialEq)]
enum Ended {
    Done,
    Failed(&'static str),
    CutOff,
}

/// The statements of an event, each answered by `answer`, until there are `limit` of them.
fn attempt(
    workload: &Workload,
    machine: &mut dyn Machine,
    limit: usize,
    answer: impl Fn(&Sent) -> Option<Rows>,
) -> (Vec<Sent>, Ended) {
    let (mut params, mut sent) = (Params::new(), Vec::<Sent>::new());
    let mut step = machine.step(None, &mut params);
    loop {
        match step {
            Step::Done => return (sent, Ended::Done),
            Step::Fail(why) => return (sent, Ended::Failed(why)),
            Step::Send(statement) => sent.push(taken_down(workload, statement, &params)),
            other => panic!("TPC-C's users only send statements: {other:?}"),
        }
        if sent.len() == limit {
            return (sent, Ended::CutOff);
        }
        let last = sent.last().expect("one was sent");
        let rows = answer(last).map(|rows| result(&rows, columns(last)));
        let completion = Completion {
            rows: rows.as_ref().map_or(0, |rows| rows.rows),
            has_result_set: rows.is_some(),
            ..Completion::default()
        };
        let given = Answer { completion: &completion, results: rows.as_slice() };
        step = machine.step(Some(given), &mut params);
    }
}

fn event(workload: &Workload, machine: &mut dyn Machine) -> Vec<Sent> {
    let (sent, ended) = attempt(workload, machine, usize::MAX, answered);
    assert_eq!(ended, Ended::Done);
    sent
}

/// What has just ended.
fn kind(machine: &dyn Machine) -> &'static str {
    machine.kinds().last().copied().expect("an event has ended")
}

fn tpcc(warehouses: u32) -> Workload {
    workload(&format!(r#"{{"name": "tpcc", "warehouses": {warehouses}}}"#))
}

/// Events of one user until there are some of each kind, by kind.
fn events_by_kind(workload: &Workload, count: usize) -> BTreeMap<&'static str, Vec<Vec<Sent>>> {
    let mut machine = workload.machine(42, 0, 1);
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for _ in 0..count {
        let sent = event(workload, machine.as_mut());
        found.entry(kind(machine.as_ref())).or_default().push(sent);
    }
    found
}

fn words(sent: &[Sent]) -> Vec<String> {
    let first_two = |one: &Sent| {
        let words: Vec<_> = one.prepared.split(' ').collect();
        match words[0] {
            "SELECT" => words[..2].join(" ").trim_end_matches(',').to_owned(),
            "INSERT" | "DELETE" => [words[0], words[2]].join(" "),
            "UPDATE" => words[..2].join(" "),
            _ => words[0].to_owned(),
        }
    };
    sent.iter().map(first_two).collect()
}

#[test]
fn the_mix_is_within_half_a_percent_and_one_order_of_a_hundred_is_rolled_back() {
    let workload = tpcc(2);
    let (users, events) = (8, 2_550);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for user in 0..users {
        let mut machine = workload.machine(1, user, users);
        for _ in 0..events {
            event(&workload, machine.as_mut());
            for kind in machine.kinds() {
                *counts.entry(*kind).or_default() += 1;
            }
        }
    }
    let rolled_back = counts["new_order_rolled_back"];
    let share = |kind| 100.0 * counts[kind] as f64 / f64::from(users as u32 * events);
    for (kind, wanted) in [
        ("new_order", 45.0),
        ("payment", 43.0),
        ("order_status", 4.0),
        ("delivery", 4.0),
        ("stock_level", 4.0),
    ] {
        assert!((share(kind) - wanted).abs() < 0.5, "{kind}: {}", share(kind));
    }
    // 92 are expected of 9,180; the deviation is 9.5.
    assert!((45..=139).contains(&rolled_back), "{rolled_back}");
}

#[test]
fn a_new_order_reads_and_writes_what_clause_2_4_2_2_says() {
    let workload = tpcc(3);
    let all = events_by_kind(&workload, 400);
    for sent in &all["new_order"] {
        let said = words(sent);
        let lines = (said.len() - 8) / 4;
        assert!((5..=15).contains(&lines));
        let mut expected = vec![
            "BEGIN",
            "SELECT w_tax",
            "SELECT c_discount",
            "SELECT d_tax",
            "UPDATE tpcc_district",
            "INSERT tpcc_orders",
            "INSERT tpcc_new_order",
        ];
        for _ in 0..lines {
            expected.extend([
                "SELECT i_price",
                "SELECT s_quantity",
                "UPDATE tpcc_stock",
                "INSERT tpcc_order_line",
            ]);
        }
        expected.push("COMMIT");
        assert_eq!(said, expected);
        let [_, district, order, _, count, _] = sent[5].ints[..] else { panic!("{:?}", sent[5]) };
        assert_eq!((order, count as usize), (3_001, lines));
        for (number, line) in sent[7..].chunks(4).take(lines).enumerate() {
            let [item, stock, update, insert] = line else { panic!("{line:?}") };
            let [left, quantity, remote, supplier, of_item] = update.ints[..] else { panic!() };
            assert_eq!((left, of_item), (50 - quantity, item.ints[0]));
            assert_eq!(stock.ints, [supplier, of_item]);
            assert_eq!(remote == 1, supplier != sent[1].ints[0]);
            assert_eq!(insert.ints[3], number as i64 + 1);
            assert_eq!(insert.ints[6..], [quantity, quantity * 1_234]);
            assert!(insert.text.contains(&format!("'s_dist_{district:02}'")), "{}", insert.text);
        }
    }
}

#[test]
fn an_unused_item_rolls_the_order_back() {
    let workload = tpcc(1);
    let all = events_by_kind(&workload, 2_000);
    let rolled_back = &all["new_order_rolled_back"];
    assert!(!rolled_back.is_empty());
    for sent in rolled_back {
        let [.., item, last] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((item.ints[0], last.text.as_str()), (100_001, "ROLLBACK"));
    }
}

#[test]
fn a_payment_tells_on_customers_with_bad_credit() {
    let workload = tpcc(1);
    let all = events_by_kind(&workload, 600);
    let (mut by_name, mut bad) = (0, 0);
    for sent in &all["payment"] {
        let said = words(sent);
        let mut expected = vec![
            "BEGIN",
            "UPDATE tpcc_warehouse",
            "SELECT w_name",
            "UPDATE tpcc_district",
            "SELECT d_name",
        ];
        let is_by_name = said[5] == "SELECT c_id";
        expected.extend(is_by_name.then_some("SELECT c_id"));
        let customer = sent[expected.len()].ints[2];
        if is_by_name {
            by_name += 1;
            // Four have the name: the second is in the middle.
            assert_eq!(customer, 22);
        }
        expected.push("SELECT c_credit");
        let is_bad = customer % 2 == 0;
        expected.extend(is_bad.then_some("SELECT c_data"));
        expected.extend(["UPDATE tpcc_customer", "INSERT tpcc_history", "COMMIT"]);
        assert_eq!(said, expected);
        let amount = sent[1].ints[0];
        let update = &sent[sent.len() - 3];
        assert_eq!(update.ints[..2], [amount, amount]);
        if is_bad {
            bad += 1;
            let data = update.text.split('\'').nth(1).unwrap();
            let said = format!("{customer} ");
            assert!(data.starts_with(&said) && data.ends_with("xxx"), "{data}");
            assert_eq!(data.len(), 500, "the end of what stood there is cut off");
            assert!(data.contains(&format!("{}.{:02} x", amount / 100, amount % 100)), "{data}");
        }
        let history = &sent[sent.len() - 2];
        assert!(history.text.ends_with("'WARE    DIST')"), "{}", history.text);
        assert_eq!(history.ints.last(), Some(&amount));
    }
    assert!(bad > by_name && by_name > all["payment"].len() / 2);
}

#[test]
fn the_other_three_do_what_their_clauses_say() {
    let workload = tpcc(2);
    let all = events_by_kind(&workload, 400);
    for sent in &all["order_status"] {
        let mut said = words(sent);
        said.retain(|one| one != "SELECT c_id");
        assert_eq!(said, ["BEGIN", "SELECT c_balance", "SELECT o_id", "SELECT ol_i_id", "COMMIT"]);
        assert_eq!(sent[sent.len() - 2].ints[2], 2_999);
    }
    for sent in &all["stock_level"] {
        assert_eq!(words(sent), ["BEGIN", "SELECT d_next_o_id", "SELECT COUNT(DISTINCT", "COMMIT"]);
        let [_, _, from, to, threshold] = sent[2].ints[..] else { panic!("{:?}", sent[2]) };
        assert_eq!((from, to), (2_981, 3_001));
        assert!((10..=20).contains(&threshold));
    }
    for sent in &all["delivery"] {
        let delivered = sent.iter().filter(|one| one.text.starts_with("DELETE")).count();
        assert_eq!((delivered, sent.len()), (9, 2 + 9 * 7 + 1));
        let paid = sent.iter().filter(|one| one.text.contains("c_delivery_cnt + 1"));
        for one in paid {
            assert_eq!((one.ints[0], one.ints[3]), (123_456, 77));
        }
    }
}

#[test]
fn a_transaction_that_is_refused_is_begun_again_with_the_same_input() {
    let workload = tpcc(4);
    let mut machine = workload.machine(3, 0, 1);
    for limit in 1..60 {
        let (refused, ended) = attempt(&workload, machine.as_mut(), limit, answered);
        if ended == Ended::Done {
            continue;
        }
        assert!(machine.in_transaction());
        machine.abandon();
        assert!(!machine.in_transaction());
        let again = event(&workload, machine.as_mut());
        assert_eq!(again[..refused.len()], refused[..]);
    }
}

#[test]
fn what_never_succeeds_does_not_hold_a_user_for_ever() {
    let workload = tpcc(1);
    let mut machine = workload.machine(3, 0, 1);
    // After BEGIN come the parameters.
    let mut inputs = Vec::new();
    for _ in 0..25 {
        inputs.push(attempt(&workload, machine.as_mut(), 3, answered).0);
        machine.abandon();
    }
    assert!(inputs[..10].iter().all(|sent| *sent == inputs[0]));
    assert_ne!(inputs[10], inputs[0]);
    assert_eq!(words(&inputs[10]), words(&inputs[0]), "the mix is kept");
}

#[test]
fn a_row_that_is_missing_fails_the_event_and_is_named() {
    let workload = tpcc(1);
    let mut machine = workload.machine(5, 0, 1);
    let nothing = |sent: &Sent| answered(sent).map(|_| Rows::new());
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let (_, ended) = attempt(&workload, machine.as_mut(), usize::MAX, nothing);
        match ended {
            Ended::Failed(why) => seen.insert(why),
            other => {
                // Having nothing to deliver is not an error.
                assert_eq!((other, kind(machine.as_ref())), (Ended::Done, "delivery"));
                continue;
            }
        };
        machine.abandon();
        // Move on to another transaction.
        event(&workload, machine.as_mut());
    }
    assert!(seen.contains("tpcc_warehouse has not the warehouse of a New-Order"), "{seen:?}");
    assert!(seen.contains("tpcc_warehouse has not the warehouse of a Payment"), "{seen:?}");
    assert!(seen.iter().all(|why| why.contains(" has no")), "{seen:?}");
}

#[test]
fn users_wait_only_where_keying_and_thinking_is_wanted() {
    let mut machine = tpcc(1).machine(1, 0, 1);
    assert_eq!(machine.pause().0, 0);
    let paced = workload(
        r#"{"name": "tpcc", "warehouses": 1, "options": {"keying_and_think_time": true}}"#,
    );
    let mut machine = paced.machine(1, 0, 1);
    for _ in 0..50 {
        let pause = machine.pause().seconds();
        let sent = event(&paced, machine.as_mut());
        let least = match kind(machine.as_ref()) {
            "new_order" | "new_order_rolled_back" => 18.0,
            "payment" => 3.0,
            _ => 2.0,
        };
        assert!((least..least + 120.0).contains(&pause), "{pause} before {:?}", words(&sent));
    }
}
