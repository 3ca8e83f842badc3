//! What holds for every workload, seed and place in an event.

use crate::transcript::{event, event_until, workload};
use loadstone_workload::{Answer, LayoutKind, Params, builtin};
use proptest::prelude::*;

fn names() -> Vec<&'static str> {
    builtin().iter().map(|one| one.name).collect()
}

fn any_distribution() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#"{"kind": "uniform"}"#,
        r#"{"kind": "special"}"#,
        r#"{"kind": "special", "percent": 100, "hits": 100}"#,
        r#"{"kind": "special", "percent": 0}"#,
        r#"{"kind": "gaussian"}"#,
        r#"{"kind": "gaussian", "iterations": 1}"#,
        r#"{"kind": "pareto"}"#,
        r#"{"kind": "zipfian"}"#,
        r#"{"kind": "zipfian", "exponent": 0}"#,
        r#"{"kind": "zipfian", "exponent": 1}"#,
        r#"{"kind": "zipfian", "exponent": 2.5}"#,
    ])
}

/// Not the bulk insert, whose statements are half a megabyte, nor `tpcc`, which reads rows, nor
/// `ledger`, whose entries are numbered independently of a table's content.
fn any_plan() -> impl Strategy<Value = (String, i64)> {
    let names = names()
        .into_iter()
        .filter(|name| !["bulk_insert", "tpcc", "ledger"].contains(name))
        .collect::<Vec<_>>();
    let size = prop_oneof![1i64..5, 1i64..100_000, Just(i64::from(i32::MAX))];
    (prop::sample::select(names), 1u32..20, size, any_distribution()).prop_map(
        |(name, tables, size, distribution)| {
            let plan = format!(
                r#"{{"name": "{name}", "tables": {tables}, "table_size": {size},
                     "distribution": {distribution}}}"#
            );
            (plan, size)
        },
    )
}

proptest! {
    #[test]
    fn keys_are_rows_of_the_table((plan, size) in any_plan(), seed: u64, user in 0u64..10_000) {
        let workload = workload(&plan);
        let mut machine = workload.machine(seed, user, 10_000);
        for _ in 0..5 {
            for sent in event(&workload, machine.as_mut()) {
                let is_range = sent.text.contains("BETWEEN");
                // The first end of a range is a row; `oltp_insert` leaves its id to the server.
                let stride = if is_range { 2 } else { 1 };
                let skip = usize::from(workload.name() == "oltp_insert");
                // The buyer of an order is not a row.
                let keys = if sent.text.contains("hot_order") { 1 } else { usize::MAX };
                for key in sent.ints.iter().skip(skip).step_by(stride).take(keys) {
                    prop_assert!((1..=size).contains(key), "{} of {size}", sent.text);
                }
                for range in sent.ints.chunks(2).filter(|_| is_range) {
                    let wide = if sent.text.contains("count(k)") { 5 } else { 99 };
                    prop_assert_eq!(range[1] - range[0], wide);
                }
            }
        }
    }

    #[test]
    fn the_same_seed_and_user_give_the_same_statements(
        (plan, _) in any_plan(), seed: u64, user in 0u64..10_000, users in 10_000u64..20_000,
    ) {
        let workload = workload(&plan);
        let events = |seed, user| {
            let mut machine = workload.machine(seed, user, users);
            (0..4).flat_map(|_| event(&workload, machine.as_mut())).collect::<Vec<_>>()
        };
        prop_assert_eq!(events(seed, user), events(seed, user));
    }

    #[test]
    fn an_event_can_be_abandoned_anywhere((plan, _) in any_plan(), at in 0usize..25, seed: u64) {
        let workload = workload(&plan);
        let mut machine = workload.machine(seed, 0, 1);
        let whole = event(&workload, machine.as_mut()).len();
        event_until(&workload, machine.as_mut(), at);
        machine.abandon();
        prop_assert!(!machine.in_transaction());
        prop_assert_eq!(event(&workload, machine.as_mut()).len(), whole);
    }
}

#[test]
fn more_tables_do_not_move_the_keys() {
    let keys = |tables: u32| {
        let workload = workload(&format!(r#"{{"name": "oltp_read_write", "tables": {tables}}}"#));
        let mut machine = workload.machine(42, 1, 4);
        let events = (0..10).flat_map(|_| event(&workload, machine.as_mut()));
        events.flat_map(|sent| sent.ints).collect::<Vec<_>>()
    };
    assert_eq!(keys(1), keys(250));
}

#[test]
fn users_draw_keys_of_their_own() {
    let workload = workload(r#"{"name": "oltp_point_select", "table_size": 1000000000}"#);
    let mut seen = std::collections::HashSet::new();
    for user in 0..1_000 {
        let sent = event(&workload, workload.machine(42, user, 1_000).as_mut());
        seen.insert(sent[0].ints[0]);
    }
    // The hot zone has 7.5 million keys, so a pair among a thousand users is rare.
    assert!(seen.len() > 990, "{}", seen.len());
}

#[test]
fn parameters_keep_their_memory_between_events() {
    let workload = workload(r#"{"name": "oltp_insert"}"#);
    let mut machine = workload.machine(1, 0, 1);
    let mut params = Params::new();
    for _ in 0..1_000 {
        machine.step(None, &mut params);
        assert_eq!(params.len(), 4);
        let completion = loadstone_protocol::Completion::default();
        machine.step(Some(Answer::of(&completion)), &mut params);
    }
}

#[test]
fn a_user_is_small() {
    // Ten thousand of them are ordinary.
    assert!(
        std::mem::size_of_val(&*workload(r#"{"name": "oltp_read_write"}"#).machine(1, 0, 1)) < 200
    );
}

#[test]
fn descriptions_have_the_options_with_their_defaults() {
    let described = serde_json::to_value(builtin()).unwrap();
    let find = |name: &str| {
        described.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let read_write = find("oltp_read_write");
    assert_eq!(read_write["options"]["point_selects"], 10);
    assert_eq!(read_write["options"]["skip_trx"], false);
    assert_eq!(read_write["writes"], true);
    assert_eq!(read_write["layout"], "sbtest");
    assert_eq!(find("bulk_insert")["layout"], "bulk");
    assert_eq!(find("hot_row")["layout"], "hot");
    assert_eq!(find("oltp_read_only")["writes"], false);
    assert_eq!(find("tpcc")["layout"], "tpcc");
    assert_eq!(find("ledger")["layout"], "ledger");
    assert_eq!(described.as_array().unwrap().len(), 14);
    assert!(builtin().iter().any(|one| one.layout == LayoutKind::Hot));
}
