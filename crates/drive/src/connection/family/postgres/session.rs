//! A session as the plan wants it: by the login where that has room for it, else by statements after it.

use crate::plan::SessionPlan;

/// The statements to send after the login.
pub(crate) fn session_statements(session: &SessionPlan) -> Vec<String> {
    let isolation = session
        .isolation
        .iter()
        .map(|level| format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"));
    isolation.chain(session.init_sql.iter().cloned()).collect()
}

/// The character set that the login asks for. Plans call the usual one by MySQL's name.
pub(super) fn client_encoding(session: &SessionPlan) -> &str {
    match session.charset.as_deref() {
        None | Some("utf8mb4" | "utf8mb3" | "utf8") => "UTF8",
        Some(other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_own_statements_come_behind_the_isolation_and_the_character_set_needs_none() {
        let session = SessionPlan {
            init_sql: vec!["SET work_mem = '1MB'".to_owned()],
            isolation: Some("SERIALIZABLE".to_owned()),
            charset: Some("latin1".to_owned()),
        };
        let expected = [
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SET work_mem = '1MB'",
        ];
        assert_eq!(session_statements(&session), expected);
        assert_eq!(client_encoding(&session), "latin1");
        assert_eq!(client_encoding(&SessionPlan::default()), "UTF8");
    }
}
