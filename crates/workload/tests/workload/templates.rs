//! Templates: what their users send, given answers as from a server.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_protocol::{Completion, ResultSet};
use loadstone_workload::{Answer, LoadLayout, Machine, Params, Step, Workload, WorkloadSpec};

use crate::transcript::{Sent, taken_down};

/// A workload of these transactions.
fn template(transactions: &str) -> Workload {
    let plan = format!(r#"{{"name": "own", "template": {{"transactions": [{transactions}]}}}}"#);
    Workload::from_spec(&serde_json::from_str::<WorkloadSpec>(&plan).expect("a plan"))
        .expect("a good plan")
}

fn transaction(name: &str, weight: u32, parameters: &str, statements: &str) -> String {
    format!(
        r#"{{"name": "{name}", "weight": {weight}, "think_s": 0.0, "autocommit": false,
            "parameters": [{parameters}], "statements": [{statements}]}}"#
    )
}

/// One row of these values, as in a text result.
fn row(values: &[&str]) -> ResultSet {
    let mut bytes = Vec::new();
    for value in values {
        bytes.push(value.len() as u8);
        bytes.extend_from_slice(value.as_bytes());
    }
    ResultSet { columns: values.len() as u16, rows: 1, bytes, ..ResultSet::default() }
}

/// Statements of the next event; a SELECT is answered with `found`, everything else has changed a
/// row.
fn attempt(
    workload: &Workload,
    machine: &mut dyn Machine,
    found: &ResultSet,
) -> (Vec<Sent>, Option<&'static str>) {
    let (mut params, mut sent) = (Params::new(), Vec::new());
    let mut step = machine.step(None, &mut params);
    loop {
        match step {
            Step::Done => return (sent, None),
            Step::Fail(why) => return (sent, Some(why)),
            Step::Send(statement) => sent.push(taken_down(workload, statement, &params)),
            other => panic!("a template only sends statements: {other:?}"),
        }
        let is_select = sent.last().expect("one was sent").prepared.starts_with("SELECT");
        let completion = Completion {
            has_result_set: is_select,
            rows: if is_select { found.rows } else { 0 },
            affected_rows: u64::from(!is_select),
            ..Completion::default()
        };
        let results = if is_select { std::slice::from_ref(found) } else { &[] };
        let answer = Answer { completion: &completion, results };
        step = machine.step(Some(answer), &mut params);
    }
}

fn texts(sent: &[Sent]) -> Vec<&str> {
    sent.iter().map(|one| one.text.as_str()).collect()
}

const ID: &str = r#"{"name": "id", "per": "statement",
    "value": {"kind": "integer", "low": 1, "high": 1000000}}"#;

#[test]
fn values_stay_for_an_event_or_for_a_statement() {
    let kept = r#"{"name": "kept", "value": {"kind": "integer", "low": 1, "high": 1000000}}"#;
    let last = r#"{"name": "last", "value": {"kind": "offset", "of": 0, "add": 99}}"#;
    let statements = r#"
        {"pieces": [{"text": "A "}, {"parameter": 0}, {"text": " "}, {"parameter": 2}], "repeat": 3},
        {"pieces": [{"text": "B "}, {"parameter": 1}]},
        {"pieces": [{"text": "C "}, {"parameter": 1}, {"text": " "}, {"parameter": 0}]}"#;
    let workload = template(&transaction("t", 1, &[ID, kept, last].join(","), statements));
    let mut machine = workload.machine(1, 0, 1);
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        let (sent, failed) = attempt(&workload, machine.as_mut(), &row(&["1"]));
        assert_eq!((failed, sent.len()), (None, 7));
        assert_eq!((sent[0].text.as_str(), sent[6].text.as_str()), ("BEGIN", "COMMIT"));
        let of = |place: usize| sent[place].ints.clone();
        for place in 1..=3 {
            assert_eq!(of(place)[1], of(place)[0] + 99);
            seen.insert(of(place)[0]);
        }
        assert_eq!(of(4)[0], of(5)[0], "one value for the event");
        seen.insert(of(5)[1]);
    }
    assert_eq!(seen.len(), 80, "a new one for each statement");
    assert_eq!(sent_prepared(&workload), "A ? ?");
}

fn sent_prepared(workload: &Workload) -> String {
    let mut out = Vec::new();
    let statement = loadstone_workload::StatementRef { kind: 1, table: 0 };
    workload.catalogue().write_prepared(statement, &mut out);
    String::from_utf8(out).expect("ASCII")
}

#[test]
fn a_long_chain_of_offsets_is_one_sum() {
    const LINKS: u32 = 50_000;
    let link = |of: u32| {
        format!(r#"{{"name": "p", "value": {{"kind": "offset", "of": {of}, "add": 2}}}}"#)
    };
    let all: Vec<_> = std::iter::once(ID.to_owned()).chain((0..LINKS).map(link)).collect();
    let statement =
        format!(r#"{{"pieces": [{{"parameter": 0}}, {{"parameter": {LINKS}}}], "repeat": 2}}"#);
    let workload = template(&transaction("t", 1, &all.join(","), &statement));
    let mut machine = workload.machine(1, 0, 1);
    let (sent, _) = attempt(&workload, machine.as_mut(), &row(&[]));
    assert_ne!(sent[1].ints[0], sent[2].ints[0]);
    for one in &sent[1..=2] {
        assert_eq!(one.ints[1], one.ints[0] + 2 * i64::from(LINKS));
    }
}

#[test]
fn a_text_outlasts_those_that_are_drawn_anew() {
    let text = |name: &str, per: &str| {
        format!(
            r#"{{"name": "{name}", "per": "{per}",
                "value": {{"kind": "text", "least": 8, "most": 30}}}}"#
        )
    };
    let parameters = [text("kept", "event"), text("fresh", "statement")].join(",");
    let both = r#"[{"parameter": 0}, {"text": " "}, {"parameter": 1}]"#;
    let statements = format!(r#"{{"pieces": {both}, "repeat": 3}}, {{"pieces": {both}}}"#);
    let workload = template(&transaction("t", 1, &parameters, &statements));
    let mut machine = workload.machine(1, 0, 1);
    let (mut seen, mut kept_before) = (BTreeSet::new(), BTreeSet::new());
    for event in 1..=20 {
        let (sent, _) = attempt(&workload, machine.as_mut(), &row(&[]));
        let (kept, _) = sent[1].text.split_once(' ').expect("two texts");
        for one in &sent[1..=4] {
            let (first, second) = one.text.split_once(' ').expect("two texts");
            assert_eq!(first, kept);
            seen.insert(second.to_owned());
        }
        assert_eq!(seen.len(), 4 * event);
        assert!(kept_before.insert(kept.to_owned()), "a new one for each event");
    }
}

#[test]
fn what_was_read_is_sent_later() {
    let parameters = r#"{"name": "price", "value": {"kind": "read"}},
        {"name": "name", "value": {"kind": "read"}}"#;
    let statements = r#"
        {"pieces": [{"text": "SELECT price, name"}], "reads": [0, 1], "rows": [1, 1]},
        {"pieces": [{"text": "INSERT "}, {"parameter": 1}, {"text": " "}, {"parameter": 0}]}"#;
    let workload = template(&transaction("buy", 1, parameters, statements));
    let mut machine = workload.machine(1, 0, 1);
    assert!(machine.reads_rows());
    let (sent, failed) = attempt(&workload, machine.as_mut(), &row(&["12.50", "it's"]));
    assert_eq!(failed, None);
    assert_eq!(texts(&sent)[2], r"INSERT 'it\'s' '12.50'");

    // Another number of columns, or no row.
    for found in [row(&["12.50"]), ResultSet { columns: 2, ..ResultSet::default() }] {
        let (_, failed) = attempt(&workload, machine.as_mut(), &found);
        assert_eq!(failed, Some("transaction buy, statement 1: not 1 rows"));
        assert!(machine.in_transaction());
        machine.abandon();
        assert!(!machine.in_transaction());
    }
}

#[test]
fn the_server_is_told_types_anew_where_they_may_change() {
    let choice = |values: &str| {
        format!(r#"{{"name": "a", "value": {{"kind": "choice", "values": [{values}]}}}}"#)
    };
    let read = r#"{"name": "a", "value": {"kind": "read"}}"#.to_owned();
    for (parameter, varies) in [
        (ID.to_owned(), false),
        (choice(r#""a", "b""#), false),
        (choice("1, null"), true),
        (choice(r#"1, "a""#), true),
        (choice("1, 2.5"), true),
        (read, true),
    ] {
        let statements = r#"{"pieces": [{"text": "DO "}, {"parameter": 0}]}"#;
        let workload = template(&transaction("t", 1, &parameter, statements));
        let catalogue = workload.catalogue();
        let told: Vec<_> = (0..3).map(|kind| catalogue.types_vary(kind)).collect();
        assert_eq!(told, [false, varies, false], "{parameter}");
    }
}

#[test]
fn rows_that_are_not_expected_fail_the_event() {
    let statements = r#"{"pieces": [{"text": "UPDATE x"}], "rows": [2, 3]}"#;
    let workload = template(&transaction("t", 1, "", statements));
    let mut machine = workload.machine(1, 0, 1);
    assert!(!machine.reads_rows());
    let (sent, failed) = attempt(&workload, machine.as_mut(), &row(&[]));
    assert_eq!(failed, Some("transaction t, statement 1: not 2 to 3 rows"));
    assert_eq!(texts(&sent), ["BEGIN", "UPDATE x"]);
}

#[test]
fn a_transaction_that_reads_is_held_to_that_by_the_server() {
    let held = transaction("t", 1, "", r#"{"pieces": [{"text": "DO 1"}]}"#).replacen(
        r#""name""#,
        r#""read_only": true, "name""#,
        1,
    );
    let workload = template(&held);
    let (sent, failed) = attempt(&workload, workload.machine(1, 0, 1).as_mut(), &row(&[]));
    assert_eq!(
        (failed, texts(&sent)),
        (None, vec!["START TRANSACTION READ ONLY", "DO 1", "COMMIT"])
    );
}

#[test]
fn the_mix_is_that_of_the_weights_and_refusals_do_not_change_it() {
    let statement = r#"{"pieces": [{"text": "DO 1"}]}"#;
    let all: Vec<_> = [("look", 80), ("buy", 15), ("pay", 5)]
        .map(|(name, weight)| transaction(name, weight, "", statement))
        .into();
    let workload = template(&all.join(","));
    let mut machine = workload.machine(7, 0, 1);
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut params = Params::new();
    let ok = Completion::default();
    for event in 0..20_000 {
        // Every third one is refused once.
        if event % 3 == 0 {
            machine.step(None, &mut params);
            machine.abandon();
        }
        let mut step = machine.step(None, &mut params);
        while step != Step::Done {
            step = machine.step(Some(Answer::of(&ok)), &mut params);
        }
        *counts.entry(machine.kinds()[0]).or_default() += 1;
    }
    // The deviation of the largest is 57.
    assert!(counts["look"].abs_diff(16_000) < 300, "{counts:?}");
    assert!(counts["buy"].abs_diff(3_000) < 260 && counts["pay"].abs_diff(1_000) < 160);
}

#[test]
fn a_transaction_that_never_succeeds_makes_way() {
    let statement = |text: &str| format!(r#"{{"pieces": [{{"text": "{text}"}}]}}"#);
    let workload = template(
        &[("a", 1), ("b", 1)]
            .map(|(name, weight)| transaction(name, weight, "", &statement(name)))
            .join(","),
    );
    let mut machine = workload.machine(7, 0, 1);
    let (mut params, ok) = (Params::new(), Completion::default());
    let mut kinds = Vec::new();
    for _ in 0..200 {
        machine.step(None, &mut params);
        let Step::Send(statement) = machine.step(Some(Answer::of(&ok)), &mut params) else {
            panic!("a statement follows BEGIN")
        };
        kinds.push(taken_down(&workload, statement, &params).text);
        machine.abandon();
    }
    for ten in kinds.chunks(10) {
        assert!(ten.iter().all(|kind| *kind == ten[0]), "{ten:?}");
    }
    assert!(kinds.contains(&"a".to_owned()) && kinds.contains(&"b".to_owned()));
}

#[test]
fn a_statement_and_its_repeats_go_to_one_copy_of_a_table() {
    let on =
        |more: &str| format!(r#"{{"pieces": [{{"text": "T t"}}, "copy"], "copies": 8{more}}}"#);
    let statements = [on(r#", "repeat": 3"#), on(""), on(r#", "same_copy": true"#)].join(",");
    let workload = template(&transaction("t", 1, "", &statements));
    let mut machine = workload.machine(3, 0, 1);
    let mut apart = 0;
    for _ in 0..100 {
        let (sent, _) = attempt(&workload, machine.as_mut(), &row(&[]));
        let said = texts(&sent);
        assert!(said[1] == said[2] && said[2] == said[3] && said[4] == said[5], "{said:?}");
        assert!((1..=8).any(|number| said[1] == format!("T t{number}")));
        apart += usize::from(said[3] != said[4]);
    }
    // Seven of eight are expected.
    assert!((70..=98).contains(&apart), "{apart}");
}

#[test]
fn sequences_of_users_do_not_meet() {
    let number = r#"{"name": "n", "value": {"kind": "sequence", "start": 100}}"#;
    let statement = r#"{"pieces": [{"text": "I "}, {"parameter": 0}]}"#;
    let workload = template(&transaction("t", 1, number, statement));
    let mut all = Vec::new();
    for user in 0..3 {
        let mut machine = workload.machine(1, user, 3);
        for _ in 0..10 {
            all.extend(attempt(&workload, machine.as_mut(), &row(&[])).0[1].ints.clone());
        }
    }
    all.sort_unstable();
    assert!(all.into_iter().eq(100..130));
}

#[test]
fn users_think_behind_a_transaction() {
    let plan = transaction("t", 1, "", r#"{"pieces": [{"text": "DO 1"}]}"#)
        .replace(r#""think_s": 0.0"#, r#""think_s": 0.25"#);
    let workload = template(&plan);
    let mut machine = workload.machine(1, 0, 1);
    assert_eq!(machine.pause().seconds(), 0.0);
    attempt(&workload, machine.as_mut(), &row(&[]));
    assert_eq!(machine.pause().seconds(), 0.25);
    assert!(machine.kinds().is_empty(), "there is one kind only");
}

#[test]
fn samples_show_names_for_what_would_have_been_read() {
    let parameters = format!(r#"{ID}, {{"name": "price", "value": {{"kind": "read"}}}}"#);
    let statements = r#"
        {"pieces": [{"text": "SELECT p WHERE id = "}, {"parameter": 0}], "reads": [1]},
        {"pieces": [{"text": "INSERT "}, {"parameter": 1}], "repeat": 300}"#;
    let workload = template(&transaction("buy", 1, &parameters, statements));
    let samples = workload.samples(5, 2);
    let [first, second] = &samples[..] else { panic!("two samples") };
    assert_eq!(first.transaction, "buy");
    assert!(first.statements[1].starts_with("SELECT p WHERE id = "));
    assert_eq!(first.statements[2], "INSERT '<price>'");
    assert_eq!((first.statements.len(), first.more), (200, 103));
    assert_ne!(first.statements[1], second.statements[1]);
}

#[test]
fn templates_that_cannot_be_are_refused() {
    let statement = r#"{"pieces": [{"text": "DO 1"}]}"#;
    let of = |parameters: &str, statements: &str| transaction("t", 1, parameters, statements);
    for (transactions, words) in [
        (String::new(), "the weights of its transactions"),
        (transaction("t", 0, "", statement), "the weights of its transactions"),
        (of("", ""), "of at least one statement"),
        (of("", r#"{"pieces": [{"parameter": 0}]}"#), "a statement's parameter"),
        (of(ID, r#"{"pieces": [], "reads": [0]}"#), "what a statement reads"),
        (of("", r#"{"pieces": [], "repeat": 0}"#), "the repeats of a statement"),
        (of("", r#"{"pieces": [], "rows": [2, 1]}"#), "the rows of a statement"),
        (
            of(r#"{"name": "a", "value": {"kind": "offset", "of": 0, "add": 1}}"#, statement),
            "an offset must be of a whole number that stands before it",
        ),
        (
            of(r#"{"name": "a", "value": {"kind": "text", "least": 2, "most": 1}}"#, statement),
            "a length of text",
        ),
    ] {
        let plan =
            format!(r#"{{"name": "own", "template": {{"transactions": [{transactions}]}}}}"#);
        let spec: WorkloadSpec = serde_json::from_str(&plan).unwrap();
        let error = Workload::from_spec(&spec).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let plan = r#"{"name": "own", "template": {"transactions": [], "tables": []}}"#;
    let error = serde_json::from_str::<WorkloadSpec>(plan).unwrap_err().to_string();
    assert!(error.contains("unknown field `tables`"), "{error}");
}

fn layout(columns: &str, rows: u64) -> LoadLayout {
    let plan = format!(
        r#"{{"kind": "template", "tables": 1, "table_size": 1, "template": [{{"name": "order",
            "create": "CREATE TABLE `order` (…)", "indexes": ["CREATE INDEX i"], "rows": {rows},
            "columns": [{columns}]}}]}}"#
    );
    serde_json::from_str(&plan).expect("a layout")
}

const NUMBER: &str = r#"{"name": "key", "value": {"kind": "sequence", "start": 1}}"#;

#[test]
fn tables_of_a_template_have_its_names_and_its_rows() {
    let columns = format!(
        r#"{NUMBER}, {{"name": "state", "value": {{"kind": "choice", "values": ["it's\t", null, 7]}}}},
           {{"name": "price", "value": {{"kind": "decimal", "low": 100, "high": 199, "places": 2}}}}"#
    );
    let layout = layout(&columns, 40_000);
    layout.check().unwrap();
    assert_eq!((layout.table_name(1).as_str(), layout.ids(1)), ("order", 40_000));
    assert_eq!(layout.quoted_name(1), "`order`");
    assert_eq!(layout.columns(1), "`key`, `state`, `price`");
    assert_eq!(layout.condition(1, 5, 9), "`key` BETWEEN 5 AND 9");
    assert_eq!(layout.greatest(1), ("`key`".to_owned(), 40_000));
    assert_eq!(layout.create_indexes_sql(1), ["CREATE INDEX i"]);
    let rows = layout.rows(42).unwrap();
    let mut tsv = Vec::new();
    for id in 1..=200 {
        rows.write_row_tsv(1, id, &mut tsv);
    }
    let tsv = String::from_utf8(tsv).unwrap();
    let mut states = BTreeSet::new();
    for (number, line) in (1..).zip(tsv.lines()) {
        let fields: Vec<_> = line.split('\t').collect();
        let [key, state, price] = fields[..] else { panic!("{line:?}") };
        assert_eq!(key, number.to_string());
        assert!(price.starts_with("1.") && price.len() == 4, "{price}");
        states.insert(state.to_owned());
    }
    assert_eq!(states.into_iter().collect::<Vec<_>>(), ["7", r"\N", r"it\'s\t"]);
    let mut sql = Vec::new();
    rows.write_row_sql(1, 3, &mut sql);
    assert!(sql.starts_with(b"(3,") && sql.ends_with(b"')"));
}

fn cycle(values: &str, step: i64) -> String {
    let value = format!(r#"{{"kind": "cycle", "values": {values}, "step": {step}}}"#);
    format!(r#"{NUMBER}, {{"name": "c", "value": {value}}}"#)
}

#[test]
fn rows_go_through_a_cycle_in_order() {
    let columns = format!(
        r#"{NUMBER}, {{"name": "parent", "value": {{"kind": "cycle", "values": [1, 2, 2], "step": 2}}}},
           {{"name": "day", "value": {{"kind": "cycle", "values": ["it's", null]}}}}"#
    );
    let rows = layout(&columns, 7).rows(42).unwrap();
    let mut tsv = Vec::new();
    for id in 1..=7 {
        rows.write_row_tsv(1, id, &mut tsv);
    }
    let tsv = String::from_utf8(tsv).unwrap();
    let expected = ["1\t1", "2\t2", "3\t2", "4\t3", "5\t4", "6\t4", "7\t5"];
    for ((line, begin), day) in tsv.lines().zip(expected).zip([r"it\'s", r"\N"].iter().cycle()) {
        assert_eq!(line, format!("{begin}\t{day}"));
    }
    let mut sql = Vec::new();
    rows.write_row_sql(1, 6, &mut sql);
    assert_eq!(String::from_utf8(sql).unwrap(), "(6,4,NULL)");
}

#[test]
fn tables_that_cannot_be_loaded_are_refused() {
    let text = r#"{"name": "t", "value": {"kind": "text", "least": 1, "most": 2}}"#;
    let read = r#"{"name": "t", "value": {"kind": "read"}}"#;
    for (columns, words) in [
        (text.to_owned(), "one with a column of the kind sequence"),
        (format!("{NUMBER}, {read}"), "no offset and nothing read"),
        (
            format!(r#"{NUMBER}, {{"name": "t", "value": {{"kind": "pattern", "pattern": "'"}}}}"#),
            "without quotes",
        ),
        (cycle(r#"[]"#, 0), "at least one value"),
        (cycle(r#"[1, "a"]"#, 1), "a step only for whole numbers"),
        (cycle("[9223372036854775807]", 1), "within 64 bits"),
    ] {
        let error = layout(&columns, 1).check().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let mut named = layout(NUMBER, 1);
    named.template[0].name = "it's".into();
    let error = named.check().unwrap_err().to_string();
    assert!(error.contains("letters, digits and underscores"), "{error}");
    let mut none = layout(NUMBER, 1);
    none.template.clear();
    assert!(none.check().is_err());
}
