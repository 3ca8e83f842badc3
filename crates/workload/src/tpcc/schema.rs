//! The nine tables of TPC-C (clause 1.3), their keys, and how their rows are numbered for loading.

use crate::dialect::{Dialect, ForeignKey, LateKey, NewTable, spelled};

use super::{CUSTOMERS, DISTRICTS, ITEMS, NEW_ORDERS, ORDERS};

/// One of the tables. For loading, its rows have ids from one on, warehouse by warehouse; all lines
/// of an order have the order's id.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Which rows the population writes.
    pub(super) rows: Rows,
    pub(crate) name: &'static str,
    /// The prefix of its columns' names.
    prefix: &'static str,
    /// Without keys, in words of every dialect.
    definition: &'static str,
    /// An index that is created before the rows.
    key: Option<(&'static str, &'static str)>,
    primary_key: Option<&'static str>,
    indexes: &'static [(&'static str, &'static str)],
    foreign_keys: &'static [(&'static str, &'static str)],
    ids: Ids,
    /// The number of ids that one statement loads.
    ids_a_range: u64,
    /// In the order in which the population writes them.
    pub(crate) columns: &'static str,
}

/// The kind of a table's rows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    Warehouse,
    District,
    Item,
    Stock,
    Customer,
    History,
    Order,
    NewOrder,
    OrderLine,
}

/// How a table's ids relate to its columns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Ids {
    /// The same rows for any number of warehouses; the id is the column of that name.
    Fixed { count: u64, column: &'static str },
    /// This many in each of a warehouse's parts, numbered from one by a column.
    OfWarehouse { parts: u64, each: u64, column: &'static str },
}

/// All tables, each after those that its foreign keys refer to.
pub(crate) static TABLES: [Table; 9] = [
    Table {
        rows: Rows::Warehouse,
        name: "tpcc_warehouse",
        prefix: "w",
        definition: "w_id INTEGER NOT NULL, w_name VARCHAR(10) NOT NULL, \
            w_street_1 VARCHAR(20) NOT NULL, w_street_2 VARCHAR(20) NOT NULL, \
            w_city VARCHAR(20) NOT NULL, w_state CHAR(2) NOT NULL, w_zip CHAR(9) NOT NULL, \
            w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL",
        key: None,
        primary_key: Some("w_id"),
        indexes: &[],
        foreign_keys: &[],
        ids: Ids::OfWarehouse { parts: 1, each: 1, column: "w_id" },
        ids_a_range: 25_000,
        columns: "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd",
    },
    Table {
        rows: Rows::District,
        name: "tpcc_district",
        prefix: "d",
        definition: "d_id {tinyint} NOT NULL, d_w_id INTEGER NOT NULL, \
            d_name VARCHAR(10) NOT NULL, d_street_1 VARCHAR(20) NOT NULL, \
            d_street_2 VARCHAR(20) NOT NULL, d_city VARCHAR(20) NOT NULL, \
            d_state CHAR(2) NOT NULL, d_zip CHAR(9) NOT NULL, d_tax DECIMAL(4,4) NOT NULL, \
            d_ytd DECIMAL(12,2) NOT NULL, d_next_o_id INTEGER NOT NULL",
        key: None,
        primary_key: Some("d_w_id, d_id"),
        indexes: &[],
        foreign_keys: &[("d_w_id", "tpcc_warehouse (w_id)")],
        ids: Ids::OfWarehouse { parts: DISTRICTS, each: 1, column: "d_id" },
        ids_a_range: 2_500 * DISTRICTS,
        columns: "d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, \
            d_ytd, d_next_o_id",
    },
    Table {
        rows: Rows::Item,
        name: "tpcc_item",
        prefix: "i",
        definition: "i_id INTEGER NOT NULL, i_im_id INTEGER NOT NULL, \
            i_name VARCHAR(24) NOT NULL, i_price DECIMAL(5,2) NOT NULL, \
            i_data VARCHAR(50) NOT NULL",
        key: None,
        primary_key: Some("i_id"),
        indexes: &[],
        foreign_keys: &[],
        ids: Ids::Fixed { count: ITEMS, column: "i_id" },
        ids_a_range: ITEMS / 4,
        columns: "i_id, i_im_id, i_name, i_price, i_data",
    },
    Table {
        rows: Rows::Stock,
        name: "tpcc_stock",
        prefix: "s",
        definition: "s_i_id INTEGER NOT NULL, s_w_id INTEGER NOT NULL, \
            s_quantity SMALLINT NOT NULL, s_dist_01 CHAR(24) NOT NULL, \
            s_dist_02 CHAR(24) NOT NULL, s_dist_03 CHAR(24) NOT NULL, \
            s_dist_04 CHAR(24) NOT NULL, s_dist_05 CHAR(24) NOT NULL, \
            s_dist_06 CHAR(24) NOT NULL, s_dist_07 CHAR(24) NOT NULL, \
            s_dist_08 CHAR(24) NOT NULL, s_dist_09 CHAR(24) NOT NULL, \
            s_dist_10 CHAR(24) NOT NULL, s_ytd INTEGER NOT NULL, s_order_cnt INTEGER NOT NULL, \
            s_remote_cnt INTEGER NOT NULL, s_data VARCHAR(50) NOT NULL",
        key: None,
        primary_key: Some("s_w_id, s_i_id"),
        indexes: &[],
        foreign_keys: &[("s_w_id", "tpcc_warehouse (w_id)"), ("s_i_id", "tpcc_item (i_id)")],
        ids: Ids::OfWarehouse { parts: ITEMS, each: 1, column: "s_i_id" },
        ids_a_range: ITEMS / 4,
        columns: "s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
            s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, \
            s_remote_cnt, s_data",
    },
    Table {
        rows: Rows::Customer,
        name: "tpcc_customer",
        prefix: "c",
        definition: "c_id INTEGER NOT NULL, c_d_id {tinyint} NOT NULL, c_w_id INTEGER NOT NULL, \
            c_first VARCHAR(16) NOT NULL, c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, \
            c_street_1 VARCHAR(20) NOT NULL, c_street_2 VARCHAR(20) NOT NULL, \
            c_city VARCHAR(20) NOT NULL, c_state CHAR(2) NOT NULL, c_zip CHAR(9) NOT NULL, \
            c_phone CHAR(16) NOT NULL, c_since {datetime} NOT NULL, c_credit CHAR(2) NOT NULL, \
            c_credit_lim DECIMAL(12,2) NOT NULL, c_discount DECIMAL(4,4) NOT NULL, \
            c_balance DECIMAL(12,2) NOT NULL, c_ytd_payment DECIMAL(12,2) NOT NULL, \
            c_payment_cnt INTEGER NOT NULL, c_delivery_cnt INTEGER NOT NULL, \
            c_data VARCHAR(500) NOT NULL",
        key: None,
        primary_key: Some("c_w_id, c_d_id, c_id"),
        indexes: &[("tpcc_customer_name", "c_w_id, c_d_id, c_last, c_first")],
        foreign_keys: &[("c_w_id, c_d_id", "tpcc_district (d_w_id, d_id)")],
        ids: Ids::OfWarehouse { parts: DISTRICTS, each: CUSTOMERS, column: "c_d_id" },
        ids_a_range: 2 * CUSTOMERS,
        columns: "c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
            c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, \
            c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data",
    },
    Table {
        rows: Rows::History,
        name: "tpcc_history",
        prefix: "h",
        // A resumed load finds its rows by this index; there is no primary key.
        definition: "h_c_id INTEGER NOT NULL, h_c_d_id {tinyint} NOT NULL, \
            h_c_w_id INTEGER NOT NULL, h_d_id {tinyint} NOT NULL, h_w_id INTEGER NOT NULL, \
            h_date {datetime} NOT NULL, h_amount DECIMAL(6,2) NOT NULL, \
            h_data VARCHAR(24) NOT NULL",
        key: Some(("tpcc_history_district", "h_w_id, h_d_id")),
        primary_key: None,
        indexes: &[],
        foreign_keys: &[
            ("h_c_w_id, h_c_d_id, h_c_id", "tpcc_customer (c_w_id, c_d_id, c_id)"),
            ("h_w_id, h_d_id", "tpcc_district (d_w_id, d_id)"),
        ],
        ids: Ids::OfWarehouse { parts: DISTRICTS, each: CUSTOMERS, column: "h_d_id" },
        ids_a_range: DISTRICTS * CUSTOMERS,
        columns: "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data",
    },
    Table {
        rows: Rows::Order,
        name: "tpcc_orders",
        prefix: "o",
        definition: "o_id INTEGER NOT NULL, o_d_id {tinyint} NOT NULL, o_w_id INTEGER NOT NULL, \
            o_c_id INTEGER NOT NULL, o_entry_d {datetime} NOT NULL, o_carrier_id {tinyint} NULL, \
            o_ol_cnt {tinyint} NOT NULL, o_all_local {tinyint} NOT NULL",
        key: None,
        primary_key: Some("o_w_id, o_d_id, o_id"),
        indexes: &[("tpcc_orders_customer", "o_w_id, o_d_id, o_c_id, o_id")],
        foreign_keys: &[("o_w_id, o_d_id, o_c_id", "tpcc_customer (c_w_id, c_d_id, c_id)")],
        ids: Ids::OfWarehouse { parts: DISTRICTS, each: ORDERS, column: "o_d_id" },
        ids_a_range: DISTRICTS * ORDERS,
        columns: "o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local",
    },
    Table {
        rows: Rows::NewOrder,
        name: "tpcc_new_order",
        prefix: "no",
        definition: "no_o_id INTEGER NOT NULL, no_d_id {tinyint} NOT NULL, no_w_id INTEGER NOT NULL",
        key: None,
        primary_key: Some("no_w_id, no_d_id, no_o_id"),
        indexes: &[],
        foreign_keys: &[("no_w_id, no_d_id, no_o_id", "tpcc_orders (o_w_id, o_d_id, o_id)")],
        ids: Ids::OfWarehouse { parts: DISTRICTS, each: NEW_ORDERS, column: "no_d_id" },
        ids_a_range: 3 * DISTRICTS * NEW_ORDERS,
        columns: "no_o_id, no_d_id, no_w_id",
    },
    Table {
        rows: Rows::OrderLine,
        name: "tpcc_order_line",
        prefix: "ol",
        definition: "ol_o_id INTEGER NOT NULL, ol_d_id {tinyint} NOT NULL, ol_w_id INTEGER NOT NULL, \
            ol_number {tinyint} NOT NULL, ol_i_id INTEGER NOT NULL, \
            ol_supply_w_id INTEGER NOT NULL, ol_delivery_d {datetime} NULL, \
            ol_quantity {tinyint} NOT NULL, ol_amount DECIMAL(6,2) NOT NULL, \
            ol_dist_info CHAR(24) NOT NULL",
        key: None,
        primary_key: Some("ol_w_id, ol_d_id, ol_o_id, ol_number"),
        indexes: &[],
        foreign_keys: &[
            ("ol_w_id, ol_d_id, ol_o_id", "tpcc_orders (o_w_id, o_d_id, o_id)"),
            ("ol_supply_w_id, ol_i_id", "tpcc_stock (s_w_id, s_i_id)"),
        ],
        ids: Ids::OfWarehouse { parts: DISTRICTS, each: ORDERS, column: "ol_d_id" },
        ids_a_range: ORDERS,
        columns: "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, \
            ol_quantity, ol_amount, ol_dist_info",
    },
];

/// How the tables are to be created.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Making<'a> {
    pub(crate) storage_engine: &'a str,
    pub(crate) foreign_keys: bool,
    /// Partitions by warehouse; none if zero.
    pub(crate) partitions: u32,
    pub(crate) dialect: &'static dyn Dialect,
}

impl Table {
    /// The table of this number, from one on, as in plans.
    pub(crate) fn numbered(number: u32) -> &'static Self {
        &TABLES[number as usize - 1]
    }

    pub(crate) fn create_sql(&self, making: Making<'_>, comment: Option<&str>) -> String {
        let by_warehouse = self.warehouse_column();
        let is_cut = making.partitions > 0 && matches!(self.ids, Ids::OfWarehouse { .. });
        making.dialect.create_table(&NewTable {
            name: self.name,
            columns: &spelled(self.definition, making.dialect),
            key: self.key,
            primary_key: self.primary_key,
            foreign_keys: match making.foreign_keys && self.late_keys(making).is_empty() {
                true => self.foreign_keys,
                false => &[],
            },
            storage_engine: making.storage_engine,
            comment,
            partitions: is_cut.then_some((&by_warehouse, making.partitions)),
        })
    }

    /// The indexes that are created after the rows.
    pub(crate) fn create_indexes_sql(&self) -> Vec<String> {
        let create = |(name, columns): &(&str, &str)| {
            format!("CREATE INDEX {name} ON {} ({columns})", self.name)
        };
        self.indexes.iter().map(create).collect()
    }

    /// The foreign keys that are added after the rows of all tables, each with the number of the
    /// table that it refers to.
    pub(crate) fn late_keys(&self, making: Making<'_>) -> Vec<(LateKey, u32)> {
        if !making.foreign_keys {
            return Vec::new();
        }
        let late = |(place, (columns, referred)): (usize, &(&str, &str))| {
            let name = format!("{}_fk{}", self.name, place + 1);
            let key = ForeignKey { name: &name, table: self.name, columns, referred };
            let parent = referred.split(' ').next().unwrap_or_default();
            let parent = TABLES.iter().position(|table| table.name == parent)?;
            Some((making.dialect.late_key(&key)?, parent as u32 + 1))
        };
        self.foreign_keys.iter().enumerate().filter_map(late).collect()
    }

    /// The number of its ids.
    pub(crate) fn ids(&self, warehouses: u64) -> u64 {
        match self.ids {
            Ids::Fixed { count, .. } => count,
            Ids::OfWarehouse { parts, each, .. } => warehouses * parts * each,
        }
    }

    pub(crate) fn ids_a_range(&self) -> u64 {
        self.ids_a_range
    }

    /// The condition for exactly the rows with these ids, which start and end with a part of a
    /// warehouse, and belong to one warehouse or to whole ones.
    pub(crate) fn condition(&self, first: u64, last: u64) -> String {
        let (parts, each, column) = match self.ids {
            Ids::Fixed { column, .. } => return format!("{column} BETWEEN {first} AND {last}"),
            Ids::OfWarehouse { parts, each, column } => (parts, each, column),
        };
        let part = |id: u64| (id - 1) / each;
        let warehouse = |id: u64| part(id) / parts + 1;
        let by = self.warehouse_column();
        let (from, to) = (warehouse(first), warehouse(last));
        let within = |id: u64| part(id) % parts + 1;
        if within(first) == 1 && within(last) == parts {
            return format!("{by} BETWEEN {from} AND {to}");
        }
        format!("{by} = {from} AND {column} BETWEEN {} AND {}", within(first), within(last))
    }

    /// The column that reveals a table with more rows than requested, and its greatest value.
    pub(crate) fn greatest(&self, warehouses: u64) -> (String, u64) {
        match self.ids {
            Ids::Fixed { count, column } => (column.to_owned(), count),
            Ids::OfWarehouse { .. } => (self.warehouse_column(), warehouses),
        }
    }

    fn warehouse_column(&self) -> String {
        match self.rows {
            Rows::Warehouse => "w_id".to_owned(),
            _ => format!("{}_w_id", self.prefix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{dialect_of, usual_dialect};

    fn table(name: &str) -> &'static Table {
        TABLES.iter().find(|table| table.name == name).unwrap()
    }

    fn plain() -> Making<'static> {
        let dialect = usual_dialect();
        Making { storage_engine: "innodb", foreign_keys: false, partitions: 0, dialect }
    }

    #[test]
    fn columns_are_those_of_the_definition_in_its_order() {
        for table in &TABLES {
            let names: Vec<_> = table
                .definition
                .split(", ")
                .map(|column| column.split(' ').next().unwrap())
                .collect();
            let columns: Vec<_> = table.columns.split(", ").collect();
            assert_eq!(names, columns, "{}", table.name);
        }
    }

    #[test]
    fn foreign_keys_refer_to_tables_before_and_are_left_out_unless_wanted() {
        let with = Making { foreign_keys: true, ..plain() };
        let mut count = 0;
        for (place, one) in TABLES.iter().enumerate() {
            assert!(!one.create_sql(plain(), None).contains("FOREIGN"));
            for (_, referred) in one.foreign_keys {
                let (name, columns) = referred.split_once(" (").unwrap();
                let before = &TABLES[..place];
                let key = before.iter().find(|table| table.name == name).unwrap().primary_key;
                assert_eq!(key, columns.strip_suffix(')'));
            }
            count += one.create_sql(with, None).matches("FOREIGN KEY").count();
        }
        // The columns of clause 1.3.1.
        assert_eq!(count, 10);
    }

    #[test]
    fn keys_that_come_late_are_not_created_with_the_tables() {
        let dialect = dialect_of("postgresql").unwrap();
        let with = Making { foreign_keys: true, dialect, ..plain() };
        let late: Vec<_> = TABLES.iter().flat_map(|one| one.late_keys(with)).collect();
        assert_eq!(late.len(), 10);
        assert!(TABLES.iter().all(|one| !one.create_sql(with, None).contains("FOREIGN")));
        for (key, parent) in late {
            let referred = format!("REFERENCES {} (", Table::numbered(parent).name);
            assert!(key.add.contains(&referred), "{}", key.add);
        }
        let without = Making { foreign_keys: false, ..with };
        assert!(TABLES.iter().all(|one| one.late_keys(without).is_empty()));
    }

    #[test]
    fn partitions_are_by_warehouse() {
        let making = Making { partitions: 8, ..plain() };
        let sql = |name| table(name).create_sql(making, Some("ours"));
        assert!(sql("tpcc_stock").ends_with("PARTITION BY HASH (s_w_id) PARTITIONS 8"));
        assert!(sql("tpcc_warehouse").ends_with("PARTITION BY HASH (w_id) PARTITIONS 8"));
        assert!(sql("tpcc_stock").contains("ENGINE = innodb COMMENT = 'ours' PARTITION"));
        assert!(sql("tpcc_item").ends_with("ENGINE = innodb COMMENT = 'ours'"));
    }

    #[test]
    fn a_condition_holds_for_the_ids_of_a_range() {
        let condition = |name, first, last| table(name).condition(first, last);
        assert_eq!(condition("tpcc_item", 1, 25_000), "i_id BETWEEN 1 AND 25000");
        assert_eq!(condition("tpcc_warehouse", 1, 7), "w_id BETWEEN 1 AND 7");
        assert_eq!(
            condition("tpcc_stock", 125_001, 150_000),
            "s_w_id = 2 AND s_i_id BETWEEN 25001 AND 50000"
        );
        assert_eq!(
            condition("tpcc_customer", 30_001, 36_000),
            "c_w_id = 2 AND c_d_id BETWEEN 1 AND 2"
        );
        assert_eq!(condition("tpcc_orders", 30_001, 60_000), "o_w_id BETWEEN 2 AND 2");
        assert_eq!(condition("tpcc_new_order", 1, 27_000), "no_w_id BETWEEN 1 AND 3");
        assert_eq!(
            condition("tpcc_order_line", 27_001, 30_000),
            "ol_w_id = 1 AND ol_d_id BETWEEN 10 AND 10"
        );
    }

    #[test]
    fn ranges_are_parts_of_a_warehouse_or_whole_ones() {
        for table in &TABLES {
            let of_one = table.ids(1);
            let range = table.ids_a_range();
            assert!(of_one % range == 0 || range % of_one == 0, "{}", table.name);
        }
    }
}
