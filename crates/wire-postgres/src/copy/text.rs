//! COPY's own text format: values with tabs between them, a row a line.
//!
//! <https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2>

/// Between two values.
pub const BETWEEN: u8 = b'\t';
/// After the last value of a row.
pub const END_OF_ROW: u8 = b'\n';
/// NULL, in place of a value.
pub const NULL: &[u8] = b"\\N";

/// Appends a value as a text, with backslashes before what would end it.
pub fn put_value(out: &mut Vec<u8>, text: &[u8]) {
    let is_special = |byte: &u8| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r');
    for part in text.split_inclusive(is_special) {
        match part.split_last() {
            Some((special, plain)) if is_special(special) => {
                out.extend_from_slice(plain);
                out.extend_from_slice(&[b'\\', letter(*special)]);
            }
            _ => out.extend_from_slice(part),
        }
    }
}

fn letter(special: u8) -> u8 {
    match special {
        b'\t' => b't',
        b'\n' => b'n',
        b'\r' => b'r',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_value_has_a_backslash() {
        for (text, expected) in [
            (b"".as_slice(), b"".as_slice()),
            (b"plain", b"plain"),
            (b"a\tb\nc\rd\\e", br"a\tb\nc\rd\\e"),
            (b"\\N", br"\\N"),
            (b"\\.", br"\\."),
            (b"\t", br"\t"),
        ] {
            let mut out = Vec::new();
            put_value(&mut out, text);
            assert_eq!(out, expected);
        }
    }
}
