//! A session as the plan wants it: by the login where that has room for it, else by statements after it.

use crate::plan::SessionPlan;
use loadstone_wire::LoginOptions;

/// Character sets that fit in the login packet's one byte, with a collation of each.
const CHARSETS: [(&str, u8); 8] = [
    ("utf8mb4", LoginOptions::UTF8MB4_GENERAL_CI),
    ("utf8mb3", 33),
    ("utf8", 33),
    ("latin1", 8),
    ("binary", 63),
    ("ascii", 11),
    ("gbk", 28),
    ("big5", 1),
];

/// The statements to send after the login.
pub(crate) fn session_statements(session: &SessionPlan) -> Vec<String> {
    let charset = session
        .charset
        .iter()
        .filter(|name| login_collation(name).is_none())
        .map(|name| format!("SET NAMES '{name}'"));
    let isolation = session
        .isolation
        .iter()
        .map(|level| format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
    charset.chain(isolation).chain(session.init_sql.iter().cloned()).collect()
}

/// The collation that the login asks for.
pub(super) fn collation(session: &SessionPlan) -> u8 {
    let asked = session.charset.as_deref().and_then(login_collation);
    asked.unwrap_or(LoginOptions::UTF8MB4_GENERAL_CI)
}

fn login_collation(charset: &str) -> Option<u8> {
    CHARSETS.iter().find(|(name, _)| name.eq_ignore_ascii_case(charset)).map(|(_, id)| *id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_charset(charset: Option<&str>) -> (u8, Vec<String>) {
        let charset = charset.map(str::to_owned);
        let session = SessionPlan { charset, ..SessionPlan::default() };
        (collation(&session), session_statements(&session))
    }

    #[test]
    fn a_character_set_that_the_login_can_ask_for_takes_no_statement() {
        assert_eq!(of_charset(None), (45, vec![]));
        assert_eq!(of_charset(Some("utf8mb4")), (45, vec![]));
        assert_eq!(of_charset(Some("Latin1")), (8, vec![]));
    }

    #[test]
    fn any_other_is_set_after_the_login() {
        assert_eq!(of_charset(Some("gb18030")), (45, vec!["SET NAMES 'gb18030'".to_owned()]));
    }

    #[test]
    fn a_users_own_statements_come_last() {
        let session = SessionPlan {
            init_sql: vec!["SET @a = 1".to_owned(), "SET @b = 2".to_owned()],
            isolation: Some("READ COMMITTED".to_owned()),
            charset: Some("sjis".to_owned()),
        };
        let expected = [
            "SET NAMES 'sjis'",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET @a = 1",
            "SET @b = 2",
        ];
        assert_eq!(session_statements(&session), expected);
    }
}
