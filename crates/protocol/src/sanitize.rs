//! Sanitizes the server's texts before they are shown or kept: limits their length, and removes
//! control characters for terminals.

/// The most characters that are kept of an error's text. MySQL truncates its own at 512 bytes,
/// PostgreSQL does not.
pub const MESSAGE: usize = 4096;
/// The most characters that are kept of a name: of a version, a plugin, a file.
pub const NAME: usize = 256;

/// The text of `bytes`, at most `most` characters, without control characters for terminals.
#[must_use]
pub fn plain(bytes: &[u8], most: usize) -> String {
    // No character has more than four bytes, so anything beyond can be ignored.
    let near = bytes.get(..most.saturating_mul(4)).unwrap_or(bytes);
    String::from_utf8_lossy(near).chars().take(most).map(harmless).collect()
}

fn harmless(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_words_stay_as_they_are() {
        let said = "near 'a\n\tb' at line 2: Ünïcödé 数据";
        assert_eq!(plain(said.as_bytes(), MESSAGE), said);
    }

    #[test]
    fn what_would_drive_a_terminal_is_replaced() {
        let said = plain(b"a\x1b[2Jb\x07\x08\r\x9b\xc2\x9b", NAME);
        assert_eq!(said, format!("a\u{fffd}[2Jb{}", "\u{fffd}".repeat(5)));
    }

    #[test]
    fn what_is_too_long_is_cut_off() {
        assert_eq!(plain(&[b'x'; 10_000], NAME), "x".repeat(NAME));
        let said = "数".repeat(10_000);
        assert_eq!(plain(said.as_bytes(), NAME), "数".repeat(NAME));
    }
}
