//! SQL literals for statements sent as text.

/// Appends `text` as a quoted SQL literal, which means the same whatever
/// `standard_conforming_strings` is.
///
/// In the connection's character set the bytes of quote and backslash must not be part of other
/// characters: UTF8 and each character set that a server can have are safe, sjis and gbk, which
/// only clients can have, are not. A text has no NUL in PostgreSQL: the server refuses a statement
/// with one.
///
/// <https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-STRINGS-ESCAPE>
pub fn escape_text(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    // Only in E'' does a backslash mean the same everywhere. The space keeps the E apart from a
    // word before it.
    let has_backslash = text.contains(&b'\\');
    out.extend_from_slice(if has_backslash { b" E'" } else { b"'" });
    for part in text.split_inclusive(|&byte| byte == b'\'' || byte == b'\\') {
        out.extend_from_slice(part);
        if let Some(special @ (b'\'' | b'\\')) = part.last() {
            out.push(*special);
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_and_what_would_end_it_is_doubled() {
        let cases: [(&[u8], &[u8]); 6] = [
            (b"", b"''"),
            (b"plain", b"'plain'"),
            (b"it's", b"'it''s'"),
            (b"'", b"''''"),
            (br"a\b'c", br" E'a\\b''c'"),
            (br"\", br" E'\\'"),
        ];
        for (text, expected) in cases {
            let mut out = Vec::new();
            escape_text(&mut out, text);
            assert_eq!(out, expected);
        }
    }
}
