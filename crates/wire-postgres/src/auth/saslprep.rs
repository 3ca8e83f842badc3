//! Passwords in the one form that both sides hash.

use std::borrow::Cow;

/// The password prepared as RFC 4013 says. As PostgreSQL does, one that cannot be prepared, or is
/// no UTF-8, is used as it is.
pub(super) fn prepared(password: &[u8]) -> Cow<'_, [u8]> {
    let text = std::str::from_utf8(password).ok();
    match text.and_then(|text| stringprep::saslprep(text).ok()) {
        Some(Cow::Owned(prepared)) => Cow::Owned(prepared.into_bytes()),
        Some(Cow::Borrowed(_)) | None => Cow::Borrowed(password),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of <https://www.rfc-editor.org/rfc/rfc4013#section-3>.
    #[test]
    fn passwords_are_prepared_as_the_rfc_shows() {
        let cases = [
            ("I\u{ad}X", "IX"),
            ("user", "user"),
            ("USER", "USER"),
            ("\u{aa}", "a"),
            ("\u{2168}", "IX"),
            // Prohibited, and a failed check of directions: used as they are.
            ("\u{7}", "\u{7}"),
            ("\u{627}1", "\u{627}1"),
        ];
        for (password, expected) in cases {
            assert_eq!(prepared(password.as_bytes()), expected.as_bytes());
        }
        assert_eq!(prepared(b"\xff\xfe"), b"\xff\xfe".as_slice());
    }
}
