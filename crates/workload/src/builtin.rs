//! The built-in workloads.
//!
//! Findings from the general log of a MariaDB 10.11 while Debian's sysbench 1.0.20 ran against it,
//! with `--db-ps-mode=auto` and `disable`:
//!
//! - Statements, their order and their counts are the same in both modes. With `auto` BEGIN and
//!   COMMIT are prepared like the rest; only `oltp_insert` and `bulk_insert` are always sent as
//!   text.
//! - A group of statements (the point selects, each kind of range, each kind of update, all pairs
//!   of delete and insert) goes to one table, drawn uniformly whatever the distribution of the
//!   keys; the next group draws again. `select_random_points` and `select_random_ranges` only ever
//!   read `sbtest1`.
//! - A range starts at a drawn id and extends `range_size - 1` further, even beyond the table's
//!   end.
//! - The insert of a pair puts back the id that its delete removed, with a `k` drawn like an id and
//!   new texts.
//! - `oltp_insert` sends id 0 with `auto_inc=on`, so that the server chooses; with `off` it sends
//!   any 32-bit number, including negative ones, without repetition.
//! - `skip_trx` omits BEGIN and COMMIT, nothing else; `range_selects=off` omits all four kinds of
//!   ranges.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::dialect::Dialect;
use crate::options::{self, Known, Options, count, count_within, switch};
use crate::sequence::{Fill, Group, NewId, Statement, Table};
use crate::{LayoutKind, Template};

/// A built-in workload, as described to people and to the plans they make.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// Its name in plans.
    pub name: &'static str,
    /// What an event does, in one line.
    pub summary: &'static str,
    /// Its options with their defaults.
    options: BTreeMap<&'static str, options::Default>,
    /// Whether it modifies rows.
    pub writes: bool,
    /// The tables that it runs on.
    pub layout: LayoutKind,
}

/// All built-in workloads.
#[must_use]
pub fn builtin() -> Vec<Description> {
    let describe = |one: &Builtin| Description {
        name: one.name,
        summary: one.summary,
        options: one.options.iter().copied().collect(),
        writes: one.writes,
        layout: one.layout,
    };
    BUILTIN.iter().map(describe).collect()
}

pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    summary: &'static str,
    pub(crate) options: &'static [Known],
    writes: bool,
    pub(crate) layout: LayoutKind,
    /// Describes an event; only its statements for bulk insert, ledger and tpcc, whose events are
    /// no fixed sequences.
    pub(crate) recipe: fn(&Options, &mut Recipe),
}

const SKIP_TRX: Known = switch("skip_trx", false);
const POINT_SELECTS: Known = count("point_selects", 10);
const RANGE_SELECTS: Known = switch("range_selects", true);
const RANGE_SIZE: Known = count_within("range_size", 100, 1, 1_000_000_000);
const SIMPLE_RANGES: Known = count("simple_ranges", 1);
const SUM_RANGES: Known = count("sum_ranges", 1);
const ORDER_RANGES: Known = count("order_ranges", 1);
const DISTINCT_RANGES: Known = count("distinct_ranges", 1);
const INDEX_UPDATES: Known = count("index_updates", 1);
const NON_INDEX_UPDATES: Known = count("non_index_updates", 1);
const DELETE_INSERTS: Known = count("delete_inserts", 1);

pub(crate) const BUILTIN: &[Builtin] = &[
    Builtin {
        name: "oltp_read_write",
        summary: "10 point selects, 4 ranges, 2 updates, a delete and an insert in a transaction",
        options: &[
            SKIP_TRX,
            POINT_SELECTS,
            RANGE_SELECTS,
            RANGE_SIZE,
            SIMPLE_RANGES,
            SUM_RANGES,
            ORDER_RANGES,
            DISTINCT_RANGES,
            INDEX_UPDATES,
            NON_INDEX_UPDATES,
            DELETE_INSERTS,
        ],
        writes: true,
        layout: LayoutKind::Sbtest,
        recipe: |options, recipe| {
            recipe.begin(options);
            recipe.reads(options);
            recipe.writes(options);
            recipe.commit(options);
        },
    },
    Builtin {
        name: "oltp_read_only",
        summary: "10 point selects and 4 ranges in a transaction",
        options: &[
            SKIP_TRX,
            POINT_SELECTS,
            RANGE_SELECTS,
            RANGE_SIZE,
            SIMPLE_RANGES,
            SUM_RANGES,
            ORDER_RANGES,
            DISTINCT_RANGES,
        ],
        writes: false,
        layout: LayoutKind::Sbtest,
        recipe: |options, recipe| {
            recipe.begin(options);
            recipe.reads(options);
            recipe.commit(options);
        },
    },
    Builtin {
        name: "oltp_write_only",
        summary: "2 updates, a delete and an insert in a transaction",
        options: &[SKIP_TRX, INDEX_UPDATES, NON_INDEX_UPDATES, DELETE_INSERTS],
        writes: true,
        layout: LayoutKind::Sbtest,
        recipe: |options, recipe| {
            recipe.begin(options);
            recipe.writes(options);
            recipe.commit(options);
        },
    },
    Builtin {
        name: "oltp_point_select",
        summary: "one row by its primary key",
        options: &[],
        writes: false,
        layout: LayoutKind::Sbtest,
        recipe: |_, recipe| recipe.one(POINT_SELECT, Fill::Id),
    },
    Builtin {
        name: "oltp_insert",
        summary: "one new row",
        options: &[switch("auto_inc", true)],
        writes: true,
        layout: LayoutKind::Sbtest,
        recipe: |options, recipe| {
            let (sql, id) = match recipe.dialect.generated_id() {
                _ if !options.bool("auto_inc") => (INSERT, NewId::Drawn),
                Some(id) => (INSERT, NewId::Sent(id)),
                None => (INSERT_WITHOUT_ID, NewId::Omitted),
            };
            recipe.one_template(Template::parse(sql).text_only(), Table::Any, Fill::NewRow { id });
        },
    },
    Builtin {
        name: "oltp_delete",
        summary: "delete one row by its primary key",
        options: &[],
        writes: true,
        layout: LayoutKind::Sbtest,
        recipe: |_, recipe| recipe.one(DELETE, Fill::Id),
    },
    Builtin {
        name: "oltp_update_index",
        summary: "update an indexed column of one row",
        options: &[],
        writes: true,
        layout: LayoutKind::Sbtest,
        recipe: |_, recipe| recipe.one(UPDATE_INDEX, Fill::Id),
    },
    Builtin {
        name: "oltp_update_non_index",
        summary: "update a column without index of one row",
        options: &[],
        writes: true,
        layout: LayoutKind::Sbtest,
        recipe: |_, recipe| recipe.one(UPDATE_NON_INDEX, Fill::CAndId),
    },
    Builtin {
        name: "select_random_points",
        summary: "rows of the first table by 10 values of the secondary index",
        options: &[count_within("random_points", 10, 1, 65_535)],
        writes: false,
        layout: LayoutKind::Sbtest,
        recipe: |options, recipe| {
            let count = options.count("random_points");
            let values = vec!["?"; count as usize].join(", ");
            let sql = format!("{RANDOM_POINTS} WHERE k IN ({values})");
            recipe.one_template(Template::parse(&sql), Table::First, Fill::Points { count });
        },
    },
    Builtin {
        name: "select_random_ranges",
        summary: "rows of the first table counted over 10 ranges of the secondary index",
        options: &[
            count_within("number_of_ranges", 10, 1, 32_767),
            count_within("delta", 5, 0, 1_000_000_000),
        ],
        writes: false,
        layout: LayoutKind::Sbtest,
        recipe: |options, recipe| {
            let count = options.count("number_of_ranges");
            let ranges = vec!["k BETWEEN ? AND ?"; count as usize].join(" OR ");
            let sql = format!("{RANDOM_RANGES} WHERE {ranges}");
            let fill = Fill::Ranges { count, delta: i64::from(options.count("delta")) };
            recipe.one_template(Template::parse(&sql), Table::First, fill);
        },
    },
    Builtin {
        name: "bulk_insert",
        summary: "one insert of as many rows as fit into 512 KiB, each user into its own table",
        options: &[count_within("first_id", 1, 1, i32::MAX as u32)],
        writes: true,
        layout: LayoutKind::Bulk,
        recipe: |_, recipe| {
            recipe.template(Template::parse(BULK_INSERT));
        },
    },
    Builtin {
        name: "hot_row",
        summary: "sell a hot product: its page, its stock, and in a transaction stock and order",
        options: &[count_within("hot_rows", 1, 1, i32::MAX as u32), switch("sale", true), SKIP_TRX],
        writes: true,
        layout: LayoutKind::Hot,
        recipe: |options, recipe| {
            if options.bool("sale") {
                recipe.sale(options);
            } else {
                recipe.begin(options);
                recipe.one(HOT_UPDATE, Fill::Id);
                recipe.commit(options);
            }
        },
    },
    Builtin {
        name: "ledger",
        summary: "one entry in a transaction, and what became of it is remembered: for failover drills",
        options: &[],
        writes: true,
        layout: LayoutKind::Ledger,
        recipe: |_, recipe| {
            recipe.templates = crate::ledger::STATEMENTS.map(Template::parse).to_vec();
        },
    },
    Builtin {
        name: "tpcc",
        summary: "TPC-C-like, not audited: one of the five transactions of an order-entry system",
        options: &[switch("keying_and_think_time", false)],
        writes: true,
        layout: LayoutKind::Tpcc,
        recipe: |_, recipe| recipe.templates = crate::tpcc::templates(recipe.dialect),
    },
];

const POINT_SELECT: &str = "SELECT c FROM sbtest{table} WHERE id=?";
const SIMPLE_RANGE: &str = "SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ?";
const SUM_RANGE: &str = "SELECT SUM(k) FROM sbtest{table} WHERE id BETWEEN ? AND ?";
const ORDER_RANGE: &str = "SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ? ORDER BY c";
const DISTINCT_RANGE: &str =
    "SELECT DISTINCT c FROM sbtest{table} WHERE id BETWEEN ? AND ? ORDER BY c";
const UPDATE_INDEX: &str = "UPDATE sbtest{table} SET k=k+1 WHERE id=?";
const UPDATE_NON_INDEX: &str = "UPDATE sbtest{table} SET c=? WHERE id=?";
const DELETE: &str = "DELETE FROM sbtest{table} WHERE id=?";
const INSERT: &str = "INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?, ?, ?, ?)";
const INSERT_WITHOUT_ID: &str = "INSERT INTO sbtest{table} (k, c, pad) VALUES (?, ?, ?)";
const RANDOM_POINTS: &str = "SELECT id, k, c, pad FROM sbtest{table}";
const RANDOM_RANGES: &str = "SELECT count(k) FROM sbtest{table}";
pub(crate) const BULK_INSERT: &str = "INSERT INTO sbtest{table} VALUES{verbatim}";
const HOT_PRODUCT: &str = "SELECT name, price FROM hot_product{table} WHERE product=?";
const HOT_STOCK: &str = "SELECT stock FROM hot_row{table} WHERE product=?";
const HOT_ORDER: &str = "INSERT INTO hot_order{table} (product, buyer, pieces) VALUES (?, ?, 1)";
const HOT_UPDATE: &str = "UPDATE hot_row{table} SET stock=stock-1, sold=sold+1 \
                          WHERE product=? AND stock>0";

/// The description of an event while it is built.
pub(crate) struct Recipe {
    dialect: &'static dyn Dialect,
    pub(crate) templates: Vec<Template>,
    pub(crate) groups: Vec<Group>,
}

impl Recipe {
    pub(crate) fn new(dialect: &'static dyn Dialect) -> Self {
        Self { dialect, templates: Vec::new(), groups: Vec::new() }
    }

    fn begin(&mut self, options: &Options) {
        if !options.bool("skip_trx") {
            self.one_template(Template::parse("BEGIN"), Table::None, Fill::Begin);
        }
    }

    fn commit(&mut self, options: &Options) {
        if !options.bool("skip_trx") {
            self.one_template(Template::parse("COMMIT"), Table::None, Fill::Commit);
        }
    }

    /// As a shop does: reads before its transaction starts, so that no snapshot is older than the
    /// lock.
    fn sale(&mut self, options: &Options) {
        self.group(1, &[(HOT_PRODUCT, Fill::KeptId), (HOT_STOCK, Fill::SameId)]);
        self.begin(options);
        self.group_on(Table::Same, 1, &[(HOT_UPDATE, Fill::SameId), (HOT_ORDER, Fill::Order)]);
        self.commit(options);
    }

    fn reads(&mut self, options: &Options) {
        self.group(options.count("point_selects"), &[(POINT_SELECT, Fill::Id)]);
        if options.bool("range_selects") {
            let range = Fill::IdRange { size: i64::from(options.count("range_size")) };
            self.group(options.count("simple_ranges"), &[(SIMPLE_RANGE, range)]);
            self.group(options.count("sum_ranges"), &[(SUM_RANGE, range)]);
            self.group(options.count("order_ranges"), &[(ORDER_RANGE, range)]);
            self.group(options.count("distinct_ranges"), &[(DISTINCT_RANGE, range)]);
        }
    }

    fn writes(&mut self, options: &Options) {
        self.group(options.count("index_updates"), &[(UPDATE_INDEX, Fill::Id)]);
        self.group(options.count("non_index_updates"), &[(UPDATE_NON_INDEX, Fill::CAndId)]);
        let pair = [(DELETE, Fill::KeptId), (INSERT, Fill::Insert)];
        self.group(options.count("delete_inserts"), &pair);
    }

    fn one(&mut self, sql: &str, fill: Fill) {
        self.group(1, &[(sql, fill)]);
    }

    fn one_template(&mut self, template: Template, table: Table, fill: Fill) {
        let kind = self.template(template);
        let statements = vec![Statement { kind, fill }];
        self.groups.push(Group { repeat: 1, table, statements });
    }

    fn group(&mut self, repeat: u32, statements: &[(&str, Fill)]) {
        self.group_on(Table::Any, repeat, statements);
    }

    fn group_on(&mut self, table: Table, repeat: u32, statements: &[(&str, Fill)]) {
        if repeat == 0 {
            return;
        }
        let statements = statements
            .iter()
            .map(|&(sql, fill)| Statement { kind: self.template(Template::parse(sql)), fill })
            .collect();
        self.groups.push(Group { repeat, table, statements });
    }

    /// Adds this template; returns its kind.
    fn template(&mut self, template: Template) -> u16 {
        self.templates.push(template);
        u16::try_from(self.templates.len() - 1).expect("a recipe has a dozen statements")
    }
}
