//! The session that holds what a load waits for, as a server tells of it.

use crate::record::Holder;
use loadstone_protocol::Row;

/// The most characters shown of another session's statement.
const SHOWN: usize = 120;

/// The holder and the locked object, of a row with: the holder's connection, user, host, seconds, statement, and the
/// locked object.
pub(crate) fn read(row: &Row) -> Option<(Holder, String)> {
    let user = text(row, 1).map(|user| match text(row, 2) {
        // A port does not help to find a session.
        Some(host) => format!("{user}@{}", host.split(':').next().unwrap_or_default()),
        None => user,
    });
    let holder = Holder {
        connection: text(row, 0)?.parse().ok()?,
        user,
        seconds: text(row, 3).and_then(|seconds| seconds.parse().ok()),
        statement: text(row, 4).map(|statement| blanked(&statement)),
    };
    Some((holder, text(row, 5).unwrap_or_else(|| "a lock".to_owned())))
}

/// A value of an answer; `None` for NULL and for an empty string.
pub(crate) fn text(row: &Row, place: usize) -> Option<String> {
    let value = row.get(place)?.as_deref()?;
    Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
}

/// Another session's statement without its quoted parts, which may be a password.
fn blanked(statement: &str) -> String {
    let mut shown = String::new();
    let mut letters = statement.chars().peekable();
    while let Some(letter) = letters.next() {
        if !matches!(letter, '\'' | '"') {
            shown.push(if letter.is_control() { ' ' } else { letter });
            continue;
        }
        shown.push('?');
        while let Some(inner) = letters.next() {
            match inner {
                '\\' => drop(letters.next()),
                _ if inner == letter && letters.peek() == Some(&letter) => drop(letters.next()),
                _ if inner == letter => break,
                _ => {}
            }
        }
    }
    match shown.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_quotes_is_not_shown() {
        for (statement, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("SET PASSWORD = PASSWORD('it''s \\' secret')", "SET PASSWORD = PASSWORD(?)"),
            ("IDENTIFIED BY \"secret\" REQUIRE SSL", "IDENTIFIED BY ? REQUIRE SSL"),
            ("IDENTIFIED BY 'cut off in the mid", "IDENTIFIED BY ?"),
            ("a\nb", "a b"),
        ] {
            assert_eq!(blanked(statement), expected);
        }
        assert_eq!(blanked(&"x".repeat(1000)).chars().count(), SHOWN + 1);
    }

    #[test]
    fn a_holder_is_read_as_far_as_it_is_told() {
        let value = |text: &str| Some(text.as_bytes().to_vec());
        let row = vec![
            value("7"),
            value("app"),
            value("10.0.0.1:4711"),
            value("40"),
            None,
            value("a lock on t"),
        ];
        let (holder, what) = read(&row).expect("a holder");
        assert_eq!(holder.text(), "connection 7 (app@10.0.0.1) for 40 s");
        assert_eq!(what, "a lock on t");
        assert!(read(&vec![None; 6]).is_none());
    }
}
