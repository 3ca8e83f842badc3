//! Plausible answers to administrative statements: enough for Loadstone's own inspection of a
//! target, and for people.

use crate::rows::{Column, Rows, Type, Value};
use crate::settings::Settings;
use crate::sql::find;
use crate::tls::Names;

/// sysbench's columns and their types.
const COLUMNS: [(&str, &str); 4] =
    [("id", "int(11)"), ("k", "int(11)"), ("c", "char(120)"), ("pad", "char(60)")];

/// What the server says about itself.
#[derive(Debug)]
pub(crate) struct Administration {
    settings: Settings,
    variables: Vec<(&'static str, String)>,
}

/// The changing state that an answer may depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) connection: u32,
    /// What its connection uses, by rustls' names.
    pub(crate) tls: Option<Names>,
    pub(crate) connected: u64,
    pub(crate) questions: u64,
    pub(crate) uptime_s: u64,
}

impl Administration {
    pub(crate) fn new(settings: &Settings) -> Self {
        let variables = variables(settings);
        Self { settings: settings.clone(), variables }
    }

    pub(crate) fn answer(&self, question: &[u8], now: Now) -> Rows {
        let text = String::from_utf8_lossy(question);
        let lower = text.to_ascii_lowercase();
        let about = |word: &str| lower.contains(word);
        match () {
            () if about("information_schema.schemata") => self.schemata(&lower),
            () if about("information_schema.tables") => self.tables(&lower),
            () if about("information_schema.statistics") => self.tables(&lower),
            () if about("information_schema.columns") => self.columns(),
            () if lower.starts_with("show") && about("variables") => {
                pairs(self.variables.iter().map(|(name, value)| (*name, value.clone())), &text)
            }
            () if lower.starts_with("show") && about("status") => pairs(status(now), &text),
            () if about("from") && (about("count(*)") || about("max(")) => {
                one("COUNT(*)", Value::Int(i64::from(self.settings.table_size)))
            }
            () if lower.starts_with("select") && !about(" from ") => self.values(&text, now),
            () => Rows { columns: vec![Column::new("nothing", Type::Text)], rows: Vec::new() },
        }
    }

    fn schemata(&self, question: &str) -> Rows {
        let mut rows = one("schema_name", Value::Int(1));
        if !question.contains(&format!("'{}'", self.settings.schema.to_ascii_lowercase())) {
            rows.rows.clear();
        }
        rows
    }

    /// One row per table with the requested columns; columns we have no answer for are NULL.
    fn tables(&self, question: &str) -> Rows {
        let asked = columns_asked(question);
        let row = |table: String| asked.iter().map(|column| of_table(&table, column)).collect();
        let rows = self.names().map(row).collect();
        Rows { columns: texts(&asked), rows }
    }

    fn columns(&self) -> Rows {
        let rows = self.names().flat_map(|table| {
            COLUMNS.map(|(name, kind)| {
                vec![Value::Text(table.clone()), name.into(), kind.into(), "".into()]
            })
        });
        let columns = texts(&["table_name", "column_name", "column_type", "column_comment"]);
        Rows { columns, rows: rows.collect() }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        (1..=self.settings.tables).map(|number| format!("sbtest{number}"))
    }

    /// SELECT without a table: functions and variables.
    fn values(&self, question: &str, now: Now) -> Rows {
        let list = question.get("select".len()..).unwrap_or_default();
        let list = list.split_once(" LIMIT ").map_or(list, |(list, _)| list);
        let mut rows = Rows { columns: Vec::new(), rows: vec![Vec::new()] };
        for expression in list.trim_end_matches(';').split(',').map(str::trim) {
            let value = match expression.parse() {
                Ok(number) => Value::Int(number),
                Err(_) => self.value(&expression.to_ascii_lowercase(), now),
            };
            let kind = if matches!(value, Value::Int(_)) { Type::BigInt } else { Type::Text };
            rows.columns.push(Column::new(expression, kind));
            rows.rows[0].push(value);
        }
        rows
    }

    fn value(&self, expression: &str, now: Now) -> Value {
        let variable = expression
            .trim_start_matches("@@")
            .trim_start_matches("global.")
            .trim_start_matches("session.");
        match expression {
            "version()" => Value::from(self.settings.plain_version()),
            "connection_id()" => Value::Text(now.connection.to_string()),
            "database()" | "schema()" => Value::Text(self.settings.schema.clone()),
            _ if expression.starts_with("@@") => self
                .variables
                .iter()
                .find(|(name, _)| *name == variable)
                .map_or(Value::Null, |(_, value)| Value::Text(value.clone())),
            _ => Value::from(expression.trim_matches('\'')),
        }
    }
}

/// Names and values, filtered by LIKE.
pub(crate) fn pairs(all: impl IntoIterator<Item = (&'static str, String)>, question: &str) -> Rows {
    let pattern = find(question.as_bytes(), b" LIKE ")
        .and_then(|at| question.get(at + 6..))
        .map(|pattern| pattern.trim_matches([' ', '\'', '"', ';']).to_ascii_lowercase());
    let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| like(pattern, name));
    let rows = all
        .into_iter()
        .filter(|(name, _)| wanted(&name.to_ascii_lowercase()))
        .map(|(name, value)| vec![name.into(), Value::Text(value)])
        .collect();
    Rows { columns: texts(&["Variable_name", "Value"]), rows }
}

/// SQL's LIKE with `%` only; `_` matches itself, as it is part of most names.
fn like(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('%');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn one(name: &str, value: Value) -> Rows {
    Rows { columns: vec![Column::new(name, Type::BigInt)], rows: vec![vec![value]] }
}

fn texts(names: &[&str]) -> Vec<Column> {
    names.iter().map(|name| Column::new(*name, Type::Text)).collect()
}

fn variables(settings: &Settings) -> Vec<(&'static str, String)> {
    let text = |value: &str| value.to_owned();
    vec![
        ("autocommit", text("ON")),
        ("character_set_server", text("utf8mb4")),
        ("have_ssl", text(if settings.tls.is_some() { "YES" } else { "DISABLED" })),
        ("innodb_buffer_pool_size", text("134217728")),
        ("innodb_flush_log_at_trx_commit", text("1")),
        ("max_allowed_packet", text("67108864")),
        ("max_connections", text("100000")),
        ("max_prepared_stmt_count", text("4194304")),
        ("port", settings.port.to_string()),
        ("read_only", text("OFF")),
        ("sync_binlog", text("1")),
        ("thread_handling", text("one-thread-per-connection")),
        ("transaction_isolation", text("REPEATABLE-READ")),
        ("tx_isolation", text("REPEATABLE-READ")),
        ("version", text(settings.plain_version())),
        ("version_comment", text("Loadstone null server")),
    ]
}

fn status(now: Now) -> Vec<(&'static str, String)> {
    let (version, cipher) = now.tls.unwrap_or_default();
    vec![
        ("Questions", now.questions.to_string()),
        ("Ssl_cipher", cipher.replace("TLS13_", "TLS_")),
        ("Ssl_version", version.replace('_', ".")),
        ("Threads_connected", now.connected.to_string()),
        ("Threads_running", "1".to_owned()),
        ("Uptime", now.uptime_s.to_string()),
    ]
}

/// The expressions between SELECT and FROM.
fn columns_asked(question: &str) -> Vec<&str> {
    let list = question.split_once(" from ").map_or(question, |(list, _)| list);
    let list = list.trim_start_matches("select ").trim_start_matches("distinct ");
    list.split(',').map(str::trim).collect()
}

fn of_table(table: &str, column: &str) -> Value {
    match column {
        "table_name" => Value::Text(table.to_owned()),
        "engine" => "InnoDB".into(),
        "table_type" => "BASE TABLE".into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now { connection: 7, tls: None, connected: 3, questions: 9, uptime_s: 1 };

    fn asked(question: &str) -> Vec<Vec<Value>> {
        Administration::new(&Settings::default()).answer(question.as_bytes(), NOW).rows
    }

    #[test]
    fn the_look_at_a_target_finds_its_tables() {
        let schema = "SELECT 1 FROM information_schema.schemata WHERE schema_name = ";
        assert_eq!(asked(&format!("{schema}'sbtest'")).len(), 1);
        assert_eq!(asked(&format!("{schema}'other'")).len(), 0);
        let tables = Settings::default().tables as usize;
        assert_eq!(asked("SELECT a FROM information_schema.tables").len(), tables);
        assert_eq!(asked("SELECT a FROM information_schema.columns").len(), tables * 4);
    }

    #[test]
    fn variables_and_status_are_filtered_by_like() {
        assert_eq!(asked("SHOW GLOBAL VARIABLES LIKE 'max_%'").len(), 3);
        assert_eq!(
            asked("SHOW GLOBAL STATUS LIKE 'Threads_connected'"),
            [vec![Value::from("Threads_connected"), Value::from("3")]]
        );
        assert!(asked("SHOW GLOBAL VARIABLES").len() > 10);
    }

    #[test]
    fn functions_and_variables_have_values() {
        let row = &asked("SELECT CONNECTION_ID(), @@max_connections, @@nothing")[0];
        assert_eq!(row[..], [Value::from("7"), Value::from("100000"), Value::Null]);
    }

    #[test]
    fn like_knows_percent_signs() {
        for (pattern, name, is_like) in
            [("a", "a", true), ("a", "ab", false), ("%b%", "abc", true), ("a%c", "abd", false)]
        {
            assert_eq!(like(pattern, name), is_like, "{pattern} {name}");
        }
    }
}
