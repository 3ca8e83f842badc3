//! Good and bad plans: what is refused, and with which error.

use loadstone_measure::Nanos;
use loadstone_workload::stop::Phase;
use loadstone_workload::{Arrival, LoadLayout, SpecError, StopRule, Workload, WorkloadSpec};

fn error_of(plan: &str) -> String {
    match serde_json::from_str::<WorkloadSpec>(plan) {
        Err(error) => error.to_string(),
        Ok(spec) => Workload::from_spec(&spec).expect_err(plan).to_string(),
    }
}

#[test]
fn the_contracts_plan_is_good() {
    let plan = r#"{"name": "oltp_read_write", "tables": 10, "table_size": 10000,
        "options": {"point_selects": 10},
        "distribution": {"kind": "special", "iterations": 12, "percent": 1, "hits": 75}}"#;
    let spec: WorkloadSpec = serde_json::from_str(plan).unwrap();
    assert_eq!(Workload::from_spec(&spec).unwrap().name(), "oltp_read_write");
    let again: WorkloadSpec = serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
    assert_eq!(again, spec);
}

/// Plans, and parts of their error messages.
const BAD_PLANS: &[(&str, &[&str])] = &[
    (r#"{"name": "oltp_readwrite"}"#, &["unknown workload \"oltp_readwrite\"", "hot_row"]),
    (
        r#"{"name": "oltp_read_only", "options": {"point_select": 1}}"#,
        &["oltp_read_only has no option \"point_select\"", "skip_trx, point_selects, range_"],
    ),
    (
        r#"{"name": "oltp_delete", "options": {"x": 1}}"#,
        &["oltp_delete has no option \"x\"; it has none"],
    ),
    (
        r#"{"name": "oltp_read_only", "options": {"point_selects": true}}"#,
        &["point_selects is a whole number from 0 to 1000000, not true"],
    ),
    (
        r#"{"name": "oltp_read_only", "options": {"point_selects": -1}}"#,
        &["point_selects is a whole number", "not -1"],
    ),
    (
        r#"{"name": "oltp_read_only", "options": {"point_selects": 1.5}}"#,
        &["point_selects is a whole number", "not 1.5"],
    ),
    (
        r#"{"name": "oltp_read_only", "options": {"skip_trx": "on"}}"#,
        &["skip_trx is true or false, not \"on\""],
    ),
    (r#"{"name": "oltp_delete", "tables": 0}"#, &["tables must be 1 and above"]),
    (r#"{"name": "oltp_delete", "table_size": 0}"#, &["table_size must be 1 to 2147483647"]),
    (r#"{"name": "oltp_delete", "table_size": 3000000000}"#, &["table_size must be"]),
    (
        r#"{"name": "oltp_write_only", "options":
                {"index_updates": 0, "non_index_updates": 0, "delete_inserts": 0}}"#,
        &["oltp_write_only: with these options an event has no statement"],
    ),
    (
        r#"{"name": "hot_row", "table_size": 5, "options": {"hot_rows": 6}}"#,
        &["hot_rows is at most table_size, 5, not 6"],
    ),
    (r#"{"name": "hot_row", "options": {"hot_rows": 0}}"#, &["hot_rows is a whole number from 1"]),
    (
        r#"{"name": "select_random_points", "options": {"random_points": 70000}}"#,
        &["random_points is a whole number from 1 to 65535, not 70000"],
    ),
    (
        r#"{"name": "oltp_delete", "distribution": {"kind": "pareto", "h": 1}}"#,
        &["distribution.h must be above 0 and below 1"],
    ),
    (
        r#"{"name": "oltp_delete", "distribution": {"kind": "special", "hits": 101}}"#,
        &["distribution.hits must be 0 to 100"],
    ),
    (
        r#"{"name": "oltp_delete", "distribution": {"kind": "gaussian", "iterations": 0}}"#,
        &["distribution.iterations must be 1 to 1000"],
    ),
    (
        r#"{"name": "oltp_delete", "distribution": {"kind": "zipfian", "exponent": -1}}"#,
        &["distribution.exponent must be 0 to 100"],
    ),
    (
        r#"{"name": "oltp_delete", "distribution": {"kind": "uniform", "h": 1}}"#,
        &["unknown field `h`"],
    ),
    (r#"{"name": "oltp_delete", "distribution": {"kind": "normal"}}"#, &["normal", "uniform"]),
    (r#"{"name": "oltp_delete", "table": 1}"#, &["unknown field `table`"]),
    (r#"{"name": "tpcc"}"#, &["warehouses must be 1 and above for tpcc"]),
    (
        r#"{"name": "tpcc", "warehouses": 1, "options": {"keying_and_think_time": 1}}"#,
        &["keying_and_think_time is true or false, not 1"],
    ),
];

#[test]
fn bad_workloads_are_refused_by_name() {
    for (plan, words) in BAD_PLANS {
        let error = error_of(plan);
        for word in *words {
            assert!(error.contains(word), "{plan}: {error}");
        }
        assert!(!error.contains('\n'), "one line: {error}");
    }
}

#[test]
fn arrivals_are_checked() {
    let arrival = |plan: &str| serde_json::from_str::<Arrival>(plan);
    let good = arrival(r#"{"kind": "closed", "think_s": 0.5}"#).unwrap();
    good.check().unwrap();
    assert_eq!(good.think(), Nanos::from_millis(500));
    assert!(good.open(1, 0, 1, Nanos::ZERO).is_none());
    let open = arrival(r#"{"kind": "open", "rate": 10, "gaps": "uniform"}"#).unwrap();
    open.check().unwrap();
    let mut due = open.open(1, 1, 2, Nanos::ZERO).unwrap();
    due.advance();
    assert_eq!(due.next(), Nanos::from_millis(300));
    assert_eq!(arrival(r#"{"kind": "closed"}"#).unwrap(), Arrival::default());
    for bad in [r#"{"kind": "open"}"#, r#"{"kind": "closed", "rate": 1}"#] {
        assert!(arrival(bad).is_err(), "{bad}");
    }
    let backwards = arrival(r#"{"kind": "closed", "think_s": -1}"#).unwrap();
    let expected = SpecError::OutOfRange { what: "arrival.think_s", allowed: "0 to 86400" };
    assert_eq!(backwards.check(), Err(expected));
}

#[test]
fn a_step_goes_through_its_phases() {
    let plan = r#"{"kind": "time", "warmup_s": 5.0, "duration_s": 30.0}"#;
    let rule: StopRule = serde_json::from_str(plan).unwrap();
    rule.check().unwrap();
    for (second, phase) in [
        (0.0, Phase::Warmup),
        (4.999, Phase::Warmup),
        (5.0, Phase::Window),
        (34.999, Phase::Window),
        (35.0, Phase::Over),
    ] {
        assert_eq!(rule.phase(Nanos::from_seconds(second), u64::MAX), phase, "at {second}");
    }
}

#[test]
fn events_end_a_step_before_its_time() {
    let plan = r#"{"kind": "events", "events": 1000, "warmup_s": 0, "duration_s": 60}"#;
    let rule: StopRule = serde_json::from_str(plan).unwrap();
    rule.check().unwrap();
    assert_eq!(rule.phase(Nanos::ZERO, 999), Phase::Window);
    assert_eq!(rule.phase(Nanos::ZERO, 1000), Phase::Over);
    assert_eq!(rule.phase(Nanos::from_seconds(60.0), 0), Phase::Over);
}

#[test]
fn impossible_stop_rules_are_refused() {
    for (plan, what) in [
        (r#"{"kind": "time", "duration_s": 0}"#, "stop.duration_s"),
        (r#"{"kind": "time", "duration_s": -3}"#, "stop.duration_s"),
        (r#"{"kind": "time", "warmup_s": -1, "duration_s": 3}"#, "stop.warmup_s"),
        (r#"{"kind": "events", "events": 0, "duration_s": 3}"#, "stop.events"),
        (r#"{"kind": "time", "duration_s": 1e12}"#, "stop.duration_s"),
    ] {
        let error = serde_json::from_str::<StopRule>(plan).unwrap().check().unwrap_err();
        assert!(error.to_string().starts_with(what), "{plan}: {error}");
    }
    for plan in [
        r#"{"kind": "time"}"#,
        r#"{"kind": "time", "duration_s": 1, "events": 3}"#,
        r#"{"kind": "events", "duration_s": 1}"#,
    ] {
        assert!(serde_json::from_str::<StopRule>(plan).is_err(), "{plan}");
    }
}

#[test]
fn impossible_layouts_are_refused() {
    for (plan, words) in [
        (r#"{"tables": 0, "table_size": 1}"#, "layout.tables"),
        (r#"{"tables": 1, "table_size": 0}"#, "layout.table_size"),
        (r#"{"tables": 1, "table_size": 1, "storage_engine": "x; DROP"}"#, "layout.storage_engine"),
        (r#"{"tables": 1, "table_size": 1, "storage_engine": ""}"#, "layout.storage_engine"),
        (
            r#"{"tables": 1, "table_size": 1, "distribution": {"kind": "pareto", "h": 0}}"#,
            "distribution.h",
        ),
        (r#"{"tables": 8, "table_size": 1, "kind": "tpcc", "warehouses": 1}"#, "layout.tables"),
        (r#"{"tables": 9, "table_size": 1, "kind": "tpcc"}"#, "layout.warehouses"),
        (
            r#"{"tables": 9, "table_size": 1, "kind": "tpcc", "warehouses": 1, "partitions": 2,
                "foreign_keys": true}"#,
            "layout.partitions must be 0 with foreign keys",
        ),
    ] {
        let error = serde_json::from_str::<LoadLayout>(plan).unwrap().check().unwrap_err();
        assert!(error.to_string().starts_with(words), "{plan}: {error}");
    }
    assert!(
        serde_json::from_str::<LoadLayout>(r#"{"tables": 1, "table_size": 1, "x": 1}"#).is_err()
    );
}
