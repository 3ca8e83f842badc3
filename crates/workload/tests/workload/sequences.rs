//! The statements of the built-in workloads, one by one, compared with what sysbench 1.0.20 sent to
//! a server's general log with the same options.

use crate::transcript::{event, event_until, shape, workload};

const POINT: &str = "SELECT c FROM sbtestT WHERE id=#";
const SIMPLE: &str = "SELECT c FROM sbtestT WHERE id BETWEEN # AND #";
const SUM: &str = "SELECT SUM(k) FROM sbtestT WHERE id BETWEEN # AND #";
const ORDER: &str = "SELECT c FROM sbtestT WHERE id BETWEEN # AND # ORDER BY c";
const DISTINCT: &str = "SELECT DISTINCT c FROM sbtestT WHERE id BETWEEN # AND # ORDER BY c";
const INDEX: &str = "UPDATE sbtestT SET k=k+# WHERE id=#";
const NON_INDEX: &str = "UPDATE sbtestT SET c=C WHERE id=#";
const DELETE: &str = "DELETE FROM sbtestT WHERE id=#";
const INSERT: &str = "INSERT INTO sbtestT (id, k, c, pad) VALUES (#, #, C, P)";

#[track_caller]
fn check(plan: &str, expected: &[&str]) {
    let workload = workload(plan);
    let mut machine = workload.machine(42, 0, 1);
    for _ in 0..3 {
        let sent = event(&workload, machine.as_mut());
        let shapes: Vec<_> = sent.iter().map(|one| shape(&one.text)).collect();
        assert_eq!(shapes, expected);
    }
}

#[test]
fn read_write_is_twenty_statements() {
    let mut expected = vec!["BEGIN"];
    expected.extend([POINT; 10]);
    expected.extend([SIMPLE, SUM, ORDER, DISTINCT, INDEX, NON_INDEX, DELETE, INSERT, "COMMIT"]);
    assert_eq!(expected.len(), 20);
    check(r#"{"name": "oltp_read_write", "tables": 9}"#, &expected);
}

#[test]
fn read_only_is_sixteen_statements() {
    let mut expected = vec!["BEGIN"];
    expected.extend([POINT; 10]);
    expected.extend([SIMPLE, SUM, ORDER, DISTINCT, "COMMIT"]);
    check(r#"{"name": "oltp_read_only", "tables": 9}"#, &expected);
}

#[test]
fn write_only_is_six_statements() {
    let expected = ["BEGIN", INDEX, NON_INDEX, DELETE, INSERT, "COMMIT"];
    check(r#"{"name": "oltp_write_only", "tables": 9}"#, &expected);
}

#[test]
fn without_transactions_begin_and_commit_are_left_out() {
    let expected = [INDEX, NON_INDEX, DELETE, INSERT];
    check(r#"{"name": "oltp_write_only", "options": {"skip_trx": true}}"#, &expected);
}

#[test]
fn without_range_selects_all_four_sorts_are_left_out() {
    let options = r#"{"range_selects": false, "skip_trx": true, "point_selects": 2}"#;
    let expected = [POINT, POINT, INDEX, NON_INDEX, DELETE, INSERT];
    check(&format!(r#"{{"name": "oltp_read_write", "options": {options}}}"#), &expected);
}

#[test]
fn counts_repeat_statements_and_pairs() {
    let options = r#"{"point_selects": 0, "simple_ranges": 2, "sum_ranges": 0, "order_ranges": 3,
                      "distinct_ranges": 0, "index_updates": 0, "non_index_updates": 2,
                      "delete_inserts": 2}"#;
    let expected = [
        "BEGIN", SIMPLE, SIMPLE, ORDER, ORDER, ORDER, NON_INDEX, NON_INDEX, DELETE, INSERT, DELETE,
        INSERT, "COMMIT",
    ];
    check(&format!(r#"{{"name": "oltp_read_write", "options": {options}}}"#), &expected);
}

#[test]
fn single_statement_workloads_send_one() {
    for (name, expected) in [
        ("oltp_point_select", POINT),
        ("oltp_insert", INSERT),
        ("oltp_delete", DELETE),
        ("oltp_update_index", INDEX),
        ("oltp_update_non_index", NON_INDEX),
        (
            "select_random_points",
            "SELECT id, k, c, pad FROM sbtestT WHERE k IN (#, #, #, #, #, #, #, #, #, #)",
        ),
    ] {
        check(&format!(r#"{{"name": "{name}", "tables": 3}}"#), &[expected]);
    }
}

#[test]
fn random_ranges_are_as_many_and_as_wide_as_asked() {
    let options = r#"{"number_of_ranges": 2, "delta": 9}"#;
    let plan = format!(r#"{{"name": "select_random_ranges", "tables": 4, "options": {options}}}"#);
    let shape = "SELECT count(k) FROM sbtestT WHERE k BETWEEN # AND # OR k BETWEEN # AND #";
    check(&plan, &[shape]);
    let workload = workload(&plan);
    let mut machine = workload.machine(1, 0, 1);
    for _ in 0..50 {
        let sent = &event(&workload, machine.as_mut())[0];
        assert_eq!(sent.statement.table, 1, "only the first table is read");
        assert!(sent.ints.chunks(2).all(|range| range[1] == range[0] + 9));
    }
}

#[test]
fn a_group_goes_to_one_table_and_groups_choose_for_themselves() {
    let options = r#"{"simple_ranges": 3, "index_updates": 3, "delete_inserts": 3}"#;
    let workload =
        workload(&format!(r#"{{"name":"oltp_read_write","tables":50,"options":{options}}}"#));
    let mut machine = workload.machine(7, 3, 4);
    let mut groups_apart = 0;
    for _ in 0..20 {
        let sent = event(&workload, machine.as_mut());
        let table = |index: usize| sent[index].statement.table;
        let groups = [1..11, 11..14, 14..15, 17..20, 21..27];
        for group in groups.clone() {
            assert!(group.clone().all(|index| table(index) == table(group.start)), "{group:?}");
        }
        groups_apart += usize::from(table(1) != table(11)) + usize::from(table(17) != table(21));
        assert_eq!((table(0), table(sent.len() - 1)), (0, 0), "BEGIN and COMMIT have no table");
    }
    assert!(groups_apart > 30, "{groups_apart} of 40");
}

#[test]
fn an_insert_puts_back_what_its_delete_took() {
    let workload = workload(r#"{"name": "oltp_write_only", "options": {"delete_inserts": 4}}"#);
    let mut machine = workload.machine(7, 0, 1);
    let sent = event(&workload, machine.as_mut());
    for pair in sent[3..11].chunks(2) {
        assert_eq!(pair[0].ints[0], pair[1].ints[0]);
    }
}

#[test]
fn inserts_leave_the_id_to_the_server_unless_told_otherwise() {
    let auto = workload(r#"{"name": "oltp_insert"}"#);
    let own = workload(r#"{"name": "oltp_insert", "options": {"auto_inc": false}}"#);
    let (mut auto_machine, mut own_machine) = (auto.machine(1, 0, 1), own.machine(1, 0, 1));
    for _ in 0..100 {
        assert_eq!(event(&auto, auto_machine.as_mut())[0].ints[0], 0);
        let id = event(&own, own_machine.as_mut())[0].ints[0];
        assert!(!(0..=10_000).contains(&id), "{id} is a loaded row's");
    }
    assert!(auto.catalogue().is_text_only(0), "sysbench never prepares it");
}

#[test]
fn statements_are_prepared_once_a_table() {
    let workload = workload(r#"{"name": "oltp_update_non_index", "tables": 2}"#);
    let mut machine = workload.machine(1, 0, 1);
    let sent = &event(&workload, machine.as_mut())[0];
    let table = sent.statement.table;
    assert_eq!(sent.prepared, format!("UPDATE sbtest{table} SET c=? WHERE id=?"));
    assert!(!workload.catalogue().is_text_only(0));
}

#[test]
fn a_transaction_is_open_from_begin_to_the_answer_to_commit() {
    let workload = workload(r#"{"name": "oltp_write_only"}"#);
    let mut machine = workload.machine(1, 0, 1);
    assert!(!machine.in_transaction());
    for statements in 1..=6 {
        event_until(&workload, machine.as_mut(), statements);
        assert!(machine.in_transaction(), "after {statements} statements");
        machine.abandon();
        assert!(!machine.in_transaction());
    }
    event(&workload, machine.as_mut());
    assert!(!machine.in_transaction());
}

#[test]
fn bulk_insert_fills_its_own_table_without_gaps() {
    let workload = workload(r#"{"name": "bulk_insert", "tables": 2}"#);
    let mut machine = workload.machine(1, 1, 2);
    let sent: Vec<_> = (0..3).flat_map(|_| event(&workload, machine.as_mut())).collect();
    // What sysbench's second thread sent: ids, and lengths of the statements.
    for (one, (first, last, length)) in sent.iter().zip([
        (1, 39_033, 524_275),
        (39_034, 76_480, 524_283),
        (76_481, 112_186, 524_283),
    ]) {
        assert!(one.text.starts_with(&format!("INSERT INTO sbtest2 VALUES({first},{first}),(")));
        assert!(one.text.ends_with(&format!("),({last},{last})")));
        assert_eq!(one.text.len(), length);
    }
    assert!(workload.catalogue().is_text_only(0));
}

#[test]
fn users_that_share_a_bulk_table_take_turns_in_its_ids() {
    let workload = workload(r#"{"name": "bulk_insert", "tables": 2}"#);
    let mut seen = std::collections::HashSet::new();
    for user in 0..5 {
        let mut machine = workload.machine(1, user, 5);
        for sent in (0..2).flat_map(|_| event(&workload, machine.as_mut())) {
            let rows = sent.text.split_once("VALUES(").unwrap().1.trim_end_matches(')');
            for row in rows.split("),(") {
                assert!(seen.insert((sent.statement.table, row.to_owned())), "{row} twice");
            }
        }
    }
}

const HOT_UPDATE: &str =
    "UPDATE hot_rowT SET stock=stock-#, sold=sold+# WHERE product=# AND stock>#";

#[test]
fn a_sale_looks_first_and_sells_in_a_transaction() {
    let looks = [
        "SELECT name, price FROM hot_productT WHERE product=#",
        "SELECT stock FROM hot_rowT WHERE product=#",
    ];
    let sells = [HOT_UPDATE, "INSERT INTO hot_orderT (product, buyer, pieces) VALUES (#, #, #)"];
    let expected = [looks[0], looks[1], "BEGIN", sells[0], sells[1], "COMMIT"];
    check(r#"{"name": "hot_row", "tables": 3}"#, &expected);
    let bare = [looks[0], looks[1], sells[0], sells[1]];
    check(r#"{"name": "hot_row", "options": {"skip_trx": true}}"#, &bare);
}

#[test]
fn a_sale_is_of_one_product_of_one_table() {
    let plan = r#"{"name": "hot_row", "tables": 20, "options": {"hot_rows": 1000}}"#;
    let workload = workload(plan);
    let mut machine = workload.machine(7, 1, 4);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        let sent = event(&workload, machine.as_mut());
        let (table, product) = (sent[0].statement.table, sent[0].ints[0]);
        for one in [&sent[1], &sent[3], &sent[4]] {
            assert_eq!((one.statement.table, one.ints[0]), (table, product), "{}", one.text);
        }
        seen.insert((table, product));
    }
    assert!(seen.len() > 15, "{} of 20", seen.len());
}

#[test]
fn the_update_alone_is_the_short_form() {
    let options = r#"{"sale": false, "skip_trx": true}"#;
    check(&format!(r#"{{"name": "hot_row", "tables": 3, "options": {options}}}"#), &[HOT_UPDATE]);
    let plan = r#"{"name": "hot_row", "options": {"sale": false}}"#;
    check(plan, &["BEGIN", HOT_UPDATE, "COMMIT"]);
}

#[test]
fn hot_rows_are_the_first_of_their_table() {
    let plan = r#"{"name": "hot_row", "options": {"hot_rows": 3, "sale": false}}"#;
    let workload = workload(plan);
    let mut machine = workload.machine(1, 0, 1);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let sent = event(&workload, machine.as_mut());
        assert_eq!((sent[0].text.as_str(), sent[2].text.as_str()), ("BEGIN", "COMMIT"));
        seen.insert(sent[1].ints[0]);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
}
