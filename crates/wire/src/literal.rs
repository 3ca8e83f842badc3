//! SQL literals for the text protocol.

/// Appends `text` as a quoted SQL literal.
///
/// `no_backslash_escapes` is the server's mode of that name, seen in
/// [`status::NO_BACKSLASH_ESCAPES`](crate::status::NO_BACKSLASH_ESCAPES) of the last reply. In the
/// connection's character set the bytes of quote and backslash must not be part of other
/// characters: utf8mb4, latin1 and binary are safe, gbk and sjis are not.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/string-literals.html>
pub fn escape_text(out: &mut Vec<u8>, text: &[u8], no_backslash_escapes: bool) {
    out.reserve(text.len() + 2);
    out.push(b'\'');
    if no_backslash_escapes {
        append(out, text, |byte| byte == b'\'', quote_doubled);
    } else {
        append(out, text, has_backslash_form, backslashed);
    }
    out.push(b'\'');
}

/// How many bytes are checked together.
const PIECE: usize = 128;

/// Ordinary text has nothing to escape: pieces of it are copied whole.
fn append(
    out: &mut Vec<u8>,
    text: &[u8],
    is_special: impl Fn(u8) -> bool,
    escape: impl Fn(u8) -> Option<[u8; 2]>,
) {
    for piece in text.chunks(PIECE) {
        // Checks every byte without a branch and collects the result in a byte: then the compiler
        // compares sixteen at once (with a bool it does not; measured).
        if piece.iter().fold(0, |found, &byte| found | u8::from(is_special(byte))) == 0 {
            out.extend_from_slice(piece);
            continue;
        }
        for &byte in piece {
            match escape(byte) {
                Some(pair) => out.extend_from_slice(&pair),
                None => out.push(byte),
            }
        }
    }
}

/// Whether `backslashed` has an entry for the byte.
fn has_backslash_form(byte: u8) -> bool {
    (byte == b'\'')
        | (byte == b'"')
        | (byte == b'\\')
        | (byte == b'\n')
        | (byte == b'\r')
        | (byte == 0)
        | (byte == 0x1a)
}

fn quote_doubled(byte: u8) -> Option<[u8; 2]> {
    (byte == b'\'').then_some(*b"''")
}

fn backslashed(byte: u8) -> Option<[u8; 2]> {
    match byte {
        b'\'' => Some(*b"\\'"),
        b'"' => Some(*b"\\\""),
        b'\\' => Some(*b"\\\\"),
        b'\n' => Some(*b"\\n"),
        b'\r' => Some(*b"\\r"),
        0 => Some(*b"\\0"),
        // Control-Z ends the file in Windows clients.
        0x1a => Some(*b"\\Z"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &[u8], no_backslash_escapes: bool) -> Vec<u8> {
        let mut out = Vec::new();
        escape_text(&mut out, text, no_backslash_escapes);
        out
    }

    #[test]
    fn text_is_quoted_and_what_would_end_it_is_escaped() {
        assert_eq!(escaped(b"", false), b"''");
        assert_eq!(escaped(b"plain", false), b"'plain'");
        assert_eq!(escaped(b"it's", false), br"'it\'s'");
        assert_eq!(escaped(b"\0\n\r\x1a\\\"", false), br#"'\0\n\r\Z\\\"'"#);
        assert_eq!(escaped(b"'", false), br"'\''");
    }

    #[test]
    fn what_is_looked_for_is_what_has_an_escape() {
        for byte in 0..=u8::MAX {
            assert_eq!(has_backslash_form(byte), backslashed(byte).is_some(), "{byte:#04x}");
        }
    }

    #[test]
    fn a_special_byte_is_found_wherever_it_stands_in_a_long_text() {
        for place in 0..300 {
            let mut text = [b'x'; 300];
            text[place] = b'\\';
            let mut expected = vec![b'\''];
            expected.extend_from_slice(&text[..place]);
            expected.extend_from_slice(br"\\");
            expected.extend_from_slice(&text[place + 1..]);
            expected.push(b'\'');
            assert_eq!(escaped(&text, false), expected);
        }
    }

    #[test]
    fn without_backslash_escapes_only_the_quote_is_doubled() {
        assert_eq!(escaped(br"it's \n", true), br"'it''s \n'");
    }
}
