//! The tables: their DDL compared with what sysbench 1.0.20 sends, their rows, and that they stay
//! the same.

use loadstone_workload::LoadLayout;
use loadstone_workload::dialect::PostgreSql;

fn layout(more: &str) -> LoadLayout {
    let plan = format!(r#"{{"tables": 2, "table_size": 1000{more}}}"#);
    serde_json::from_str(&plan).expect("a good plan")
}

#[test]
fn sbtest_tables_are_sysbenchs() {
    let table = layout("");
    assert_eq!(
        table.create_table_sql(7, None),
        "CREATE TABLE sbtest7 (id INTEGER NOT NULL AUTO_INCREMENT, \
         k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = innodb"
    );
    assert_eq!(table.create_indexes_sql(7), ["CREATE INDEX k_7 ON sbtest7(k)"]);
    assert_eq!(table.columns(7), "id, k, c, pad");
    assert_eq!(table.ids(7), 1000);
    assert_eq!(table.condition(7, 1, 9), "id BETWEEN 1 AND 9");
}

#[test]
fn options_change_the_tables() {
    let plain = layout(r#", "auto_increment": false, "secondary_index": false"#);
    assert!(plain.create_table_sql(1, None).contains("id INTEGER NOT NULL, "));
    assert!(plain.create_indexes_sql(1).is_empty());
    assert!(
        layout(r#", "storage_engine": "rocksdb""#)
            .create_table_sql(1, None)
            .ends_with("ENGINE = rocksdb")
    );
}

#[test]
fn bulk_tables_begin_empty() {
    let bulk = layout(r#", "kind": "bulk""#);
    assert_eq!(
        bulk.create_table_sql(1, None),
        "CREATE TABLE sbtest1 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, \
         PRIMARY KEY (id)) ENGINE = innodb"
    );
    assert_eq!((bulk.ids(1), bulk.create_indexes_sql(1).len()), (0, 0));
}

#[test]
fn hot_rows_have_plenty_in_stock() {
    let hot = layout(r#", "kind": "hot""#);
    assert_eq!(hot.table_name(2), "hot_row2");
    assert_eq!(hot.columns(2), "product, stock, sold");
    assert_eq!(hot.greatest(2), ("product".to_owned(), 1000));
    let mut row = Vec::new();
    hot.rows(1).unwrap().write_row_sql(1, 9, &mut row);
    assert_eq!(row, b"(9,1000000000000,0)");
}

#[test]
fn a_sale_has_a_page_to_read_and_orders_to_add_to() {
    let products = layout(r#", "kind": "products""#);
    assert_eq!((products.table_name(2), products.ids(2)), ("hot_product2".into(), 1000));
    assert_eq!(products.columns(2), "product, price, name");
    assert_eq!(products.greatest(2), ("product".into(), 1000));
    let mut row = Vec::new();
    products.rows(42).unwrap().write_row_tsv(1, 9, &mut row);
    let row = String::from_utf8(row).unwrap();
    let fields: Vec<_> = row.strip_suffix('\n').unwrap().split('\t').collect();
    let [product, price, name] = fields[..] else { panic!("{row}") };
    assert_eq!((product, name.len()), ("9", 59));
    assert!((1..=100_000).contains(&price.parse::<i64>().unwrap()));

    let orders = layout(r#", "kind": "orders""#);
    assert_eq!((orders.table_name(1), orders.ids(1)), ("hot_order1".into(), 0));
    assert!(
        orders.create_table_sql(1, None).contains("id BIGINT NOT NULL AUTO_INCREMENT, product")
    );
    assert!(orders.may_have_more() && !products.may_have_more());
}

#[test]
fn a_ledger_begins_empty_and_lets_an_entry_stand_there_twice() {
    let ledger = layout(r#", "kind": "ledger""#);
    assert_eq!((ledger.table_name(2), ledger.ids(2)), ("drill_ledger2".into(), 0));
    assert_eq!(ledger.columns(2), "book, user_no, seq, amount");
    assert!(ledger.create_table_sql(2, None).contains("amount INTEGER NOT NULL, PRIMARY KEY (id)"));
    let index = "CREATE INDEX entry_2 ON drill_ledger2(book, user_no, seq)";
    assert_eq!(ledger.create_indexes_sql(2), [index]);
    assert!(ledger.may_have_more());
}

#[test]
fn rows_have_the_columns_in_both_notations() {
    let rows = layout("").rows(42).unwrap();
    let (mut tsv, mut sql) = (Vec::new(), Vec::new());
    rows.write_row_tsv(1, 77, &mut tsv);
    rows.write_row_sql(1, 77, &mut sql);
    let tsv = String::from_utf8(tsv).unwrap();
    let fields: Vec<_> = tsv.strip_suffix('\n').unwrap().split('\t').collect();
    let [id, k, c, pad] = fields[..] else { panic!("{tsv}") };
    assert_eq!(id, "77");
    assert!((1..=1000).contains(&k.parse::<u64>().unwrap()));
    assert_eq!((c.len(), pad.len()), (119, 59));
    assert_eq!(String::from_utf8(sql).unwrap(), format!("({id},{k},'{c}','{pad}')"));
}

#[test]
fn a_row_in_binary_has_the_same_values() {
    let of = |more: &str| layout(more).in_dialect(&PostgreSql).rows(42).unwrap();
    let rows = of("");
    let form = rows.binary().unwrap();
    let (mut tsv, mut row) = (Vec::new(), Vec::new());
    rows.write_row_tsv(1, 77, &mut tsv);
    rows.write_row_binary(form, 1, 77, &mut row);
    let (mut rest, mut values) = (&row[2..], Vec::new());
    assert_eq!(row[..2], [0, 4]);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (value, others) = after.split_at(u32::from_be_bytes(*length) as usize);
        values.push(match <[u8; 4]>::try_from(value) {
            Ok(number) => i32::from_be_bytes(number).to_string(),
            Err(_) => String::from_utf8(value.to_vec()).unwrap(),
        });
        rest = others;
    }
    assert_eq!(format!("{}\n", values.join("\t")).into_bytes(), tsv);
    assert!(of(r#", "kind": "hot""#).binary().is_none());
    assert!(layout("").rows(42).unwrap().binary().is_none());
}

/// A later version must be able to resume a load with the same seed.
#[test]
fn a_seed_means_the_same_row_for_ever() {
    let mut row = Vec::new();
    layout("").rows(42).unwrap().write_row_tsv(1, 1, &mut row);
    assert_eq!(String::from_utf8(row).unwrap(), FIRST_ROW);
}

const FIRST_ROW: &str = "1\t537\t\
    53329808272-56333169620-14874532431-51170408921-88922682506-\
    26594899725-52198616973-11772035335-17348442570-66707403893\t\
    43540378505-57981102590-98728174562-39792510416-25316137816\n";

#[test]
fn rows_do_not_depend_on_their_neighbours() {
    let rows = layout("").rows(42).unwrap();
    let (mut all, mut apart) = (Vec::new(), Vec::new());
    (1..=50).for_each(|id| rows.write_row_tsv(2, id, &mut all));
    (26..=50).for_each(|id| rows.write_row_tsv(2, id, &mut apart));
    assert!(all.ends_with(&apart));
    let (mut other_table, mut other_seed) = (Vec::new(), Vec::new());
    rows.write_row_tsv(1, 1, &mut other_table);
    layout("").rows(43).unwrap().write_row_tsv(2, 1, &mut other_seed);
    assert!(!all.starts_with(&other_table) && !all.starts_with(&other_seed));
}

#[test]
fn tpcc_tables_are_nine_and_follow_the_warehouses() {
    let plan = r#"{"tables": 9, "table_size": 1, "kind": "tpcc", "warehouses": 3}"#;
    let layout: LoadLayout = serde_json::from_str(plan).unwrap();
    layout.check().unwrap();
    let names: Vec<String> = (1..=9).map(|table| layout.table_name(table)).collect();
    assert_eq!((names[0].as_str(), names[8].as_str()), ("tpcc_warehouse", "tpcc_order_line"));
    let rows = layout.rows(42).unwrap();
    let counts: Vec<u64> = (1..=9).map(|table| rows.rows(table, 1, layout.ids(table))).collect();
    // Clause 1.2.1; about ten order lines per order.
    assert_eq!(counts[..8], [3, 30, 100_000, 300_000, 90_000, 90_000, 90_000, 27_000]);
    assert!((890_000..910_000).contains(&counts[8]), "{}", counts[8]);
    assert!(layout.create_table_sql(9, None).starts_with("CREATE TABLE tpcc_order_line (ol_o_id "));
}
