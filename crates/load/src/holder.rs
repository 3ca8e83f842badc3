//! The session that holds what a load waits for, as a server tells of it.

use crate::record::Holder;
use loadstone_protocol::Row;
use std::net::SocketAddr;

/// The most characters shown of another session's statement.
const SHOWN: usize = 120;

/// The holder and the locked object, of a row with: the holder's connection, user, host, seconds, statement, and the
/// locked object. `blanked` takes from a statement what may be a password.
pub(crate) fn read(row: &Row, blanked: fn(&str) -> String) -> Option<(Holder, String)> {
    let user = text(row, 1).map(|user| match text(row, 2) {
        Some(host) => format!("{user}@{}", without_port(&host)),
        None => user,
    });
    let holder = Holder {
        connection: text(row, 0)?.parse().ok()?,
        user,
        seconds: text(row, 3).and_then(|seconds| seconds.parse().ok()),
        statement: text(row, 4).map(|statement| shortened(&blanked(&statement))),
    };
    Some((holder, text(row, 5).unwrap_or_else(|| "a lock".to_owned())))
}

/// A value of an answer; `None` for NULL and for an empty string.
pub(crate) fn text(row: &Row, place: usize) -> Option<String> {
    let value = row.get(place)?.as_deref()?;
    Some(String::from_utf8_lossy(value).into_owned()).filter(|value| !value.is_empty())
}

/// A port does not help to find a session; an IPv6 address without one has colons of its own.
fn without_port(host: &str) -> String {
    match (host.parse::<SocketAddr>(), host.split_once(':')) {
        (Ok(address), _) => address.ip().to_string(),
        (Err(_), Some((name, port))) if !port.contains(':') => name.to_owned(),
        _ => host.to_owned(),
    }
}

/// A statement's beginning, in one line.
fn shortened(statement: &str) -> String {
    let in_one_line = |letter: char| if letter.is_control() { ' ' } else { letter };
    match statement.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &statement[..end]),
        None => statement.to_owned(),
    }
    .chars()
    .map(in_one_line)
    .collect()
}

/// A statement of PostgreSQL up to its first string. Where that ends depends on the session's
/// settings and on the kind of the string, so nothing behind it is shown.
pub(crate) fn before_strings(statement: &str) -> String {
    let opens = |&(place, letter): &(usize, char)| {
        let next = statement[place + letter.len_utf8()..].chars().next();
        letter == '\''
            // `$1` is a parameter, `$$` and `$word$` open a string.
            || (letter == '$' && !next.is_some_and(|next| next.is_ascii_digit()))
    };
    match statement.char_indices().find(opens) {
        Some((place, _)) => format!("{}?…", &statement[..place]),
        None => statement.to_owned(),
    }
}

/// A statement of MySQL without its quoted parts.
pub(crate) fn without_quoted(statement: &str) -> String {
    let mut shown = String::new();
    let mut letters = statement.chars().peekable();
    while let Some(letter) = letters.next() {
        if !matches!(letter, '\'' | '"') {
            shown.push(letter);
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
    shown
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
        ] {
            assert_eq!(without_quoted(statement), expected);
        }
        for (statement, expected) in [
            ("UPDATE \"t\" SET k = $1", "UPDATE \"t\" SET k = $1"),
            ("SELECT 'a\\', 'secret'", "SELECT ?…"),
            ("ALTER USER u PASSWORD $$secret$$", "ALTER USER u PASSWORD ?…"),
            ("DO $do$ secret $do$", "DO ?…"),
        ] {
            assert_eq!(before_strings(statement), expected);
        }
    }

    #[test]
    fn a_statement_is_shown_in_a_short_line() {
        assert_eq!(shortened("a\nb"), "a b");
        assert_eq!(shortened(&"x".repeat(1000)).chars().count(), SHOWN + 1);
    }

    #[test]
    fn an_address_is_shown_without_its_port() {
        for (host, expected) in [
            ("db1:4711", "db1"),
            ("10.0.0.1:4711", "10.0.0.1"),
            ("10.0.0.1", "10.0.0.1"),
            ("fd00::1", "fd00::1"),
            ("[fd00::1]:4711", "fd00::1"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(without_port(host), expected);
        }
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
        let (holder, what) = read(&row, without_quoted).expect("a holder");
        assert_eq!(holder.text(), "connection 7 (app@10.0.0.1) for 40 s");
        assert_eq!(what, "a lock on t");
        assert!(read(&vec![None; 6], without_quoted).is_none());
    }
}
