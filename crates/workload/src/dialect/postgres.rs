//! The dialect of PostgreSQL.

use super::contract::{BinaryRows, Dialect, ForeignKey, LateKey, NewTable, Notation, Punctuation};
use super::words::Word;
use loadstone_wire_postgres::copy::binary;

/// PostgreSQL.
#[derive(Copy, Clone, Debug)]
pub struct PostgreSql;

/// The text format of COPY.
///
/// <https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-TEXT-FORMAT>
static STREAM: Punctuation =
    Punctuation { open: "", separator: "\t", quote: "", close: "\n", between: "", null: "\\N" };

static VALUES: Punctuation =
    Punctuation { open: "(", separator: ",", quote: "'", close: ")", between: ",", null: "NULL" };

impl Dialect for PostgreSql {
    fn family(&self) -> &'static str {
        "postgresql"
    }

    fn has_extended_protocol(&self) -> bool {
        true
    }

    fn push_placeholder(&self, number: u16, out: &mut Vec<u8>) {
        out.push(b'$');
        crate::text::push_decimal(i64::from(number), out);
    }

    fn push_text(&self, text: &[u8], out: &mut Vec<u8>) {
        loadstone_wire_postgres::escape_text(out, text);
    }

    fn not_finite(&self, value: f64) -> &'static str {
        if value.is_nan() {
            "'NaN'"
        } else if value > 0.0 {
            "'Infinity'"
        } else {
            "'-Infinity'"
        }
    }

    /// The server sends them as texts.
    fn push_temporal(&self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
    }

    fn quoted(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn word(&self, word: Word) -> &'static str {
        match word {
            // It has no smaller integers.
            Word::TinyInt => "SMALLINT",
            Word::DateTime => "TIMESTAMP",
            Word::Counter => "SERIAL",
            Word::BigCounter => "BIGSERIAL",
            Word::Now => "LOCALTIMESTAMP",
            // A division of integers returns an integer here.
            Word::Hundredths => "CAST(? AS NUMERIC) / 100",
        }
    }

    /// The column is left out, and its default takes the next number of its sequence.
    fn generated_id(&self) -> Option<i64> {
        None
    }

    fn punctuation(&self, notation: Notation) -> &'static Punctuation {
        match notation {
            Notation::Stream => &STREAM,
            Notation::Values => &VALUES,
        }
    }

    fn binary_rows(&self) -> Option<&'static dyn BinaryRows> {
        Some(&PostgreSql)
    }

    /// A session has `standard_conforming_strings`: in a statement only the quote means something.
    fn escaped(&self, notation: Notation, text: &str) -> String {
        match notation {
            Notation::Values => text.replace('\'', "''"),
            Notation::Stream => {
                let mut out = String::new();
                for sign in text.chars() {
                    match sign {
                        '\\' => out.push_str("\\\\"),
                        '\n' => out.push_str("\\n"),
                        '\r' => out.push_str("\\r"),
                        '\t' => out.push_str("\\t"),
                        other => out.push(other),
                    }
                }
                out
            }
        }
    }

    /// One text of several statements, which the server executes as one transaction.
    fn create_table(&self, table: &NewTable<'_>) -> String {
        let name = table.name;
        let mut sql = format!("CREATE TABLE {name} ({}", table.columns);
        if let Some(columns) = table.primary_key {
            sql += &format!(", PRIMARY KEY ({columns})");
        }
        for (columns, referred) in table.foreign_keys {
            sql += &format!(", FOREIGN KEY ({columns}) REFERENCES {referred}");
        }
        sql.push(')');
        if let Some((column, count)) = table.partitions {
            sql += &format!(" PARTITION BY HASH ({column})");
            for part in 0..count {
                sql += &format!(
                    "; CREATE TABLE {name}_{part} PARTITION OF {name} \
                     FOR VALUES WITH (MODULUS {count}, REMAINDER {part})"
                );
            }
        }
        if let Some((index, columns)) = table.key {
            sql += &format!("; CREATE INDEX {index} ON {name} ({columns})");
        }
        match table.comment {
            Some(comment) => self.with_comment(&sql, name, comment),
            None => sql,
        }
    }

    /// Only superusers can turn the check of foreign keys off, and a check of all rows at once is
    /// cheaper than one of each row. Added as `NOT VALID`, a key locks the table that it refers to
    /// no longer than for a change of the catalog, so that all keys can be checked in parallel.
    fn late_key(&self, key: &ForeignKey<'_>) -> Option<LateKey> {
        let ForeignKey { name, table, columns, referred } = key;
        Some(LateKey {
            name: (*name).to_owned(),
            add: format!(
                "ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({columns}) \
                 REFERENCES {referred} NOT VALID"
            ),
            check: format!("ALTER TABLE {table} VALIDATE CONSTRAINT {name}"),
        })
    }

    fn with_comment(&self, create: &str, name: &str, comment: &str) -> String {
        let comment = self.escaped(Notation::Values, comment);
        format!("{create}; COMMENT ON TABLE {name} IS '{comment}'")
    }
}

/// The binary format of COPY.
impl BinaryRows for PostgreSql {
    fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(binary::HEADER);
    }

    fn row(&self, values: u16, out: &mut Vec<u8>) {
        binary::begin_row(out, values);
    }

    fn integer(&self, value: i32, out: &mut Vec<u8>) {
        binary::put_int4(out, value);
    }

    fn text(&self, write: &mut dyn FnMut(&mut Vec<u8>), out: &mut Vec<u8>) {
        binary::put_with(out, write);
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&binary::END);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_and_texts_are_quoted_whatever_is_in_them() {
        assert_eq!(PostgreSql.quoted("order"), "\"order\"");
        assert_eq!(PostgreSql.quoted("a\"b"), "\"a\"\"b\"");
        for (text, expected) in [("it's", "'it''s'"), ("", "''"), (r"a\b", r" E'a\\b'")] {
            assert_eq!(written(|out| PostgreSql.push_text(text.as_bytes(), out)), expected);
        }
        assert_eq!(PostgreSql.not_finite(f64::NEG_INFINITY), "'-Infinity'");
    }

    #[test]
    fn placeholders_are_numbered() {
        let two = written(|out| {
            PostgreSql.push_placeholder(1, out);
            PostgreSql.push_placeholder(12, out);
        });
        assert_eq!(two, "$1$12");
    }

    #[test]
    fn texts_of_rows_are_escaped_as_copy_and_as_a_statement_read_them() {
        let text = "a\tb\nc\rd'e\\f";
        assert_eq!(PostgreSql.escaped(Notation::Stream, text), r"a\tb\nc\rd'e\\f");
        assert_eq!(PostgreSql.escaped(Notation::Values, text), "a\tb\nc\rd''e\\f");
    }

    #[test]
    fn a_foreign_key_is_added_for_new_rows_and_then_checked() {
        let key = ForeignKey { name: "t_fk1", table: "t", columns: "a, b", referred: "u (c, d)" };
        let late = PostgreSql.late_key(&key).unwrap();
        assert_eq!(late.name, "t_fk1");
        assert_eq!(
            late.add,
            "ALTER TABLE t ADD CONSTRAINT t_fk1 FOREIGN KEY (a, b) REFERENCES u (c, d) NOT VALID"
        );
        assert_eq!(late.check, "ALTER TABLE t VALIDATE CONSTRAINT t_fk1");
    }

    #[test]
    fn a_table_is_one_text_with_its_partitions_its_index_and_its_comment() {
        let table = NewTable {
            name: "t",
            columns: "a SERIAL, b INTEGER NOT NULL",
            key: None,
            primary_key: Some("a"),
            foreign_keys: &[],
            storage_engine: "innodb",
            comment: None,
            partitions: None,
        };
        let columns = table.columns;
        let plain = format!("CREATE TABLE t ({columns}, PRIMARY KEY (a))");
        assert_eq!(PostgreSql.create_table(&table), plain);
        let all = NewTable {
            key: Some(("by_b", "b")),
            foreign_keys: &[("b", "u (a)")],
            comment: Some("it's"),
            partitions: Some(("a", 2)),
            ..table
        };
        assert_eq!(
            PostgreSql.create_table(&all),
            format!(
                "CREATE TABLE t ({columns}, PRIMARY KEY (a), FOREIGN KEY (b) REFERENCES u (a)) \
                 PARTITION BY HASH (a); \
                 CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
                 CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
                 CREATE INDEX by_b ON t (b); COMMENT ON TABLE t IS 'it''s'"
            )
        );
    }
}
