//! What Loadstone, pgbench and people ask a PostgreSQL server about itself, with plausible answers;
//! anything else about its catalogs is refused.

use crate::administration::Now;
use crate::postgres_messages::{
    BIGINT, BOOL, DOUBLE, Described, TEXT, put_complete, put_data_row, put_fields,
};
use crate::rows::Value;
use crate::settings::Settings;
use crate::sql::find;

/// sysbench's columns and their types.
const COLUMNS: [(&str, &str); 4] =
    [("id", "integer"), ("k", "integer"), ("c", "character(120)"), ("pad", "character(60)")];

/// An answer: columns with their types, and rows of as many values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    columns: Vec<(String, Described)>,
    rows: Vec<Vec<Value>>,
}

impl Shown {
    fn of(columns: &[(&str, Described)], rows: Vec<Vec<Value>>) -> Self {
        let columns = columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        Self { columns, rows }
    }

    fn one(name: &str, kind: Described, value: Value) -> Self {
        Self::of(&[(name, kind)], vec![vec![value]])
    }

    /// RowDescription
    pub(crate) fn put_description(&self, out: &mut Vec<u8>) {
        put_fields(out, self.columns.iter().map(|(name, kind)| (name.as_str(), *kind)));
    }

    /// The rows and their tag.
    pub(crate) fn put_rows(&self, out: &mut Vec<u8>) {
        for row in &self.rows {
            put_data_row(out, row);
        }
        put_complete(out, &format!("SELECT {}", self.rows.len()));
    }
}

/// Whether a statement is about the server, and no load.
pub(crate) fn is_about_the_server(statement: &[u8]) -> bool {
    let starts = |word: &[u8]| {
        statement
            .trim_ascii_start()
            .get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    let words: [&[u8]; 6] =
        [b"pg_", b"set_config(", b"current_schema(", b"inet_", b"version()", b"loadstone_tables"];
    starts(b"SHOW ")
        // A look at each byte of a statement of the load must cost next to nothing.
        || (starts(b"SELECT") || starts(b"WITH")) && statement.contains(&b'_')
            && words.iter().any(|word| find(statement, word).is_some())
        || starts(b"SELECT VERSION()")
}

/// The answer to a statement about the server; `None`: it is not known here.
pub(crate) fn answer(settings: &Settings, statement: &[u8], now: Now) -> Option<Shown> {
    let text = String::from_utf8_lossy(statement).to_ascii_lowercase();
    let text = text.trim().trim_end_matches(';');
    if let Some(name) = text.strip_prefix("show ") {
        return setting(settings, name.trim());
    }
    let list = text.strip_prefix("select ")?;
    of_server(settings, list, now)
        .or_else(|| of_session(list, now))
        .or_else(|| of_schema(settings, list))
}

/// What is behind SELECT, about the server.
fn of_server(settings: &Settings, list: &str, now: Now) -> Option<Shown> {
    let asks = |start: &str| list.starts_with(start);
    Some(match () {
        () if asks("name, ") && list.contains("from pg_settings") => all_settings(settings),
        () if asks("system_identifier") => {
            Shown::one("system_identifier", BIGINT, Value::Int(i64::from(std::process::id())))
        }
        () if asks("version(), ") => Shown::of(
            &[("version", TEXT), ("pg_is_in_recovery", BOOL), ("float8", DOUBLE)],
            vec![vec![version(settings), "f".into(), Value::Text(format!("{:.1}", now.uptime_s))]],
        ),
        () if asks("version()") => Shown::one("version", TEXT, version(settings)),
        () if asks("pg_postmaster_start_time()::text") => {
            let since = Value::Text(format!("{} s ago", now.uptime_s));
            Shown::one("pg_postmaster_start_time", TEXT, since)
        }
        () if asks("count(*) from pg_stat_activity") => {
            Shown::one("count", BIGINT, Value::Int(now.connected.try_into().unwrap_or(i64::MAX)))
        }
        // Its sessions have nothing to show: they wait for nothing, and own nothing.
        () if list.contains("from pg_stat_activity") => Shown::default(),
        () => return None,
    })
}

/// What is behind SELECT, about the connection that asks.
fn of_session(list: &str, now: Now) -> Option<Shown> {
    let asks = |start: &str| list.starts_with(start);
    Some(match () {
        () if asks("set_config(") => Shown::one("set_config", TEXT, "".into()),
        () if list.contains("from pg_stat_ssl") => {
            let (_, cipher) = now.tls.unwrap_or_default();
            Shown::one("cipher", TEXT, cipher.replace("TLS13_", "TLS_").as_str().into())
        }
        () if list == "pg_backend_pid()" => {
            Shown::one("pg_backend_pid", BIGINT, Value::Int(now.connection.into()))
        }
        // Nothing stands between, as far as it can say.
        () if asks("inet_client_port()") => Shown::one("inet_client_port", BIGINT, Value::Null),
        () => return None,
    })
}

/// What is behind SELECT, about databases and tables.
fn of_schema(settings: &Settings, list: &str) -> Option<Shown> {
    let asks = |start: &str| list.starts_with(start);
    Some(match () {
        () if asks("current_schema()") => Shown::one("current_schema", TEXT, "public".into()),
        // A database to which a client connects exists, whatever its name.
        () if asks("1 from pg_database") => Shown::one("?column?", BIGINT, Value::Int(1)),
        () if asks("c.relname, a.amname") => tables(settings),
        () if asks("c.relname, a.attname, format_type") => columns(settings),
        () if asks("distinct c.relname from pg_index") => {
            let rows = names(settings).map(|name| vec![Value::Text(name)]).collect();
            Shown::of(&[("relname", TEXT)], rows)
        }
        () => return None,
    })
}

/// The number of rows of a table, or its highest id; `None`: something else is asked for.
pub(crate) fn size(settings: &Settings, statement: &[u8]) -> Option<Shown> {
    let asked = [&b"SELECT count(*) FROM "[..], b"SELECT coalesce(max(id), 0) FROM "];
    let is_asked = asked.iter().any(|start| find(statement, start) == Some(0));
    // pgbench's scale is the number of its branches.
    let rows = if find(statement, b"pgbench_branches").is_some() { 1 } else { settings.table_size };
    is_asked.then(|| Shown::one("count", BIGINT, Value::Int(rows.into())))
}

fn version(settings: &Settings) -> Value {
    Value::Text(format!("PostgreSQL {}", settings.plain_version()))
}

fn settings_of(settings: &Settings) -> [(&'static str, String); 14] {
    let text = |value: &str| value.to_owned();
    [
        ("client_encoding", text("UTF8")),
        ("default_transaction_isolation", text("read committed")),
        ("default_transaction_read_only", text("off")),
        ("fsync", text("on")),
        ("full_page_writes", text("on")),
        ("in_hot_standby", text("off")),
        ("max_connections", text("100000")),
        ("port", settings.port.to_string()),
        ("server_encoding", text("UTF8")),
        ("server_version", text(settings.plain_version())),
        ("shared_buffers", text("128MB")),
        ("ssl", text(if settings.tls.is_some() { "on" } else { "off" })),
        ("standard_conforming_strings", text("on")),
        ("synchronous_commit", text("on")),
    ]
}

fn setting(settings: &Settings, name: &str) -> Option<Shown> {
    let all = settings_of(settings);
    let (_, value) = all.into_iter().find(|(known, _)| *known == name)?;
    Some(Shown::one(name, TEXT, Value::Text(value)))
}

fn all_settings(settings: &Settings) -> Shown {
    let row = |(name, value): (&str, String)| vec![name.into(), Value::Text(value)];
    let rows = settings_of(settings).into_iter().map(row).collect();
    Shown::of(&[("name", TEXT), ("setting", TEXT)], rows)
}

fn tables(settings: &Settings) -> Shown {
    let row = |name| vec![Value::Text(name), "heap".into(), "f".into(), Value::Null];
    Shown::of(
        &[("relname", TEXT), ("amname", TEXT), ("is_view", BOOL), ("comment", TEXT)],
        names(settings).map(row).collect(),
    )
}

fn columns(settings: &Settings) -> Shown {
    let rows = names(settings).flat_map(|table| {
        COLUMNS.map(|(name, kind)| vec![Value::Text(table.clone()), name.into(), kind.into()])
    });
    Shown::of(&[("relname", TEXT), ("attname", TEXT), ("format_type", TEXT)], rows.collect())
}

fn names(settings: &Settings) -> impl Iterator<Item = String> {
    (1..=settings.tables).map(|number| format!("sbtest{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now { connection: 7, tls: None, connected: 3, questions: 9, uptime_s: 1 };

    fn asked(statement: &str) -> Option<Vec<Vec<Value>>> {
        answer(&Settings::default(), statement.as_bytes(), NOW).map(|shown| shown.rows)
    }

    #[test]
    fn load_is_told_from_questions() {
        for load in [
            "SELECT c FROM sbtest1 WHERE id=$1",
            "SELECT abalance FROM pgbench_accounts WHERE aid = 7",
            "UPDATE pg_mine SET a = 1",
            "BEGIN",
        ] {
            assert!(!is_about_the_server(load.as_bytes()), "{load}");
        }
        for question in ["show server_version", "SELECT version()", " select 1 from pg_class"] {
            assert!(is_about_the_server(question.as_bytes()), "{question}");
        }
    }

    #[test]
    fn what_it_does_not_know_has_no_answer() {
        assert_eq!(asked("SELECT pg_try_advisory_lock(7)"), None);
        assert_eq!(asked("SHOW nothing"), None);
        assert_eq!(asked("SHOW max_connections;"), Some(vec![vec!["100000".into()]]));
        assert_eq!(asked("SELECT pg_backend_pid()"), Some(vec![vec![Value::Int(7)]]));
    }

    #[test]
    fn tables_have_sysbenchs_columns() {
        let tables = Settings::default().tables as usize;
        let (of_tables, of_columns) = (
            "SELECT c.relname, a.amname, c.relkind FROM pg_class AS c",
            "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class AS c",
        );
        assert_eq!(asked(of_tables).map(|rows| rows.len()), Some(tables));
        assert_eq!(asked(of_columns).map(|rows| rows.len()), Some(tables * COLUMNS.len()));
    }

    #[test]
    fn counts_are_those_of_the_settings() {
        let rows = |statement: &[u8]| size(&Settings::default(), statement).map(|shown| shown.rows);
        assert_eq!(rows(b"SELECT count(*) FROM \"sbtest1\""), Some(vec![vec![Value::Int(10_000)]]));
        assert_eq!(rows(b"SELECT count(*) FROM pgbench_branches"), Some(vec![vec![Value::Int(1)]]));
        assert_eq!(rows(b"SELECT c FROM sbtest1"), None);
    }
}
