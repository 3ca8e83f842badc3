//! Texts and names as they stand in SQL.

use loadstone_workload::dialect::{Dialect, PostgreSql};

/// A text as a literal.
pub(super) fn literal(text: &str) -> String {
    let mut out = Vec::new();
    PostgreSql.push_text(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A name, whatever it contains.
pub(super) fn quoted(name: &str) -> String {
    PostgreSql.quoted(name)
}
