//! The dialect of MySQL and MariaDB.

mod temporal;

use super::contract::{Dialect, ForeignKey, LateKey, NewTable, Notation, Punctuation};
use super::words::Word;

/// MySQL and MariaDB.
#[derive(Copy, Clone, Debug)]
pub struct MySql;

/// Tab-separated values, as LOAD DATA reads them by default.
static STREAM: Punctuation =
    Punctuation { open: "", separator: "\t", quote: "", close: "\n", between: "", null: "\\N" };

static VALUES: Punctuation =
    Punctuation { open: "(", separator: ",", quote: "'", close: ")", between: ",", null: "NULL" };

impl Dialect for MySql {
    fn family(&self) -> &'static str {
        "mysql"
    }

    fn has_extended_protocol(&self) -> bool {
        false
    }

    fn push_placeholder(&self, _number: u16, out: &mut Vec<u8>) {
        out.push(b'?');
    }

    fn push_text(&self, text: &[u8], out: &mut Vec<u8>) {
        loadstone_wire::escape_text(out, text, false);
    }

    /// It has neither infinity nor NaN.
    fn not_finite(&self, _value: f64) -> &'static str {
        "NULL"
    }

    fn push_temporal(&self, bytes: &[u8], out: &mut Vec<u8>) {
        temporal::push_temporal(bytes, out);
    }

    fn quoted(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn word(&self, word: Word) -> &'static str {
        match word {
            Word::TinyInt => "TINYINT",
            Word::DateTime => "DATETIME",
            Word::Counter => "INTEGER NOT NULL AUTO_INCREMENT",
            Word::BigCounter => "BIGINT NOT NULL AUTO_INCREMENT",
            Word::Now => "NOW()",
            // A division of integers returns decimals here.
            Word::Hundredths => "? / 100",
        }
    }

    /// Works unless `sql_mode` has `NO_AUTO_VALUE_ON_ZERO`.
    fn generated_id(&self) -> Option<i64> {
        Some(0)
    }

    fn punctuation(&self, notation: Notation) -> &'static Punctuation {
        match notation {
            Notation::Stream => &STREAM,
            Notation::Values => &VALUES,
        }
    }

    /// A backslash escapes the next character, in LOAD DATA and in a statement alike.
    fn escaped(&self, _notation: Notation, text: &str) -> String {
        let mut out = String::new();
        for sign in text.chars() {
            match sign {
                '\\' | '\'' => out.extend(['\\', sign]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\0' => out.push_str("\\0"),
                other => out.push(other),
            }
        }
        out
    }

    fn create_table(&self, table: &NewTable<'_>) -> String {
        let mut sql = format!("CREATE TABLE {} ({}", table.name, table.columns);
        if let Some((name, columns)) = table.key {
            sql += &format!(", KEY {name} ({columns})");
        }
        if let Some(columns) = table.primary_key {
            sql += &format!(", PRIMARY KEY ({columns})");
        }
        for (columns, referred) in table.foreign_keys {
            sql += &format!(", FOREIGN KEY ({columns}) REFERENCES {referred}");
        }
        sql += &format!(") ENGINE = {}", table.storage_engine);
        if let Some(comment) = table.comment {
            sql = self.with_comment(&sql, table.name, comment);
        }
        if let Some((column, count)) = table.partitions {
            sql += &format!(" PARTITION BY HASH ({column}) PARTITIONS {count}");
        }
        sql
    }

    /// A load sets `foreign_key_checks = 0`.
    fn late_key(&self, _key: &ForeignKey<'_>) -> Option<LateKey> {
        None
    }

    fn with_comment(&self, create: &str, _name: &str, comment: &str) -> String {
        format!("{create} COMMENT = '{}'", self.escaped(Notation::Values, comment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_quoted_whatever_is_in_them() {
        assert_eq!(MySql.quoted("order"), "`order`");
        assert_eq!(MySql.quoted("a`b"), "`a``b`");
        for (text, expected) in [("it's", r"'it\'s'"), ("", "''"), (r"a\b", r"'a\\b'")] {
            let mut out = Vec::new();
            MySql.push_text(text.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn placeholders_have_no_number() {
        let mut out = Vec::new();
        MySql.push_placeholder(1, &mut out);
        MySql.push_placeholder(2, &mut out);
        assert_eq!(out, b"??");
    }

    #[test]
    fn texts_of_rows_are_escaped_for_a_stream_as_for_a_statement() {
        for notation in [Notation::Stream, Notation::Values] {
            assert_eq!(MySql.escaped(notation, "a\tb\nc\0d'e\\f"), r"a\tb\nc\0d\'e\\f");
        }
    }

    #[test]
    fn a_table_has_its_keys_its_engine_its_comment_and_its_partitions_in_this_order() {
        let table = NewTable {
            name: "t",
            columns: "a INTEGER NOT NULL, b INTEGER NOT NULL",
            key: None,
            primary_key: None,
            foreign_keys: &[],
            storage_engine: "innodb",
            comment: None,
            partitions: None,
        };
        let columns = table.columns;
        let plain = format!("CREATE TABLE t ({columns}) ENGINE = innodb");
        assert_eq!(MySql.create_table(&table), plain);
        let all = NewTable {
            key: Some(("by_b", "b")),
            primary_key: Some("a"),
            foreign_keys: &[("b", "u (a)")],
            comment: Some("it's"),
            partitions: Some(("a", 8)),
            ..table
        };
        assert_eq!(
            MySql.create_table(&all),
            format!(
                "CREATE TABLE t ({columns}, KEY by_b (b), PRIMARY KEY (a), FOREIGN KEY (b) REFERENCES u (a)) \
                 ENGINE = innodb COMMENT = 'it\\'s' PARTITION BY HASH (a) PARTITIONS 8"
            )
        );
    }
}
