//! The part `session` of a plan: the statements that each connection sends before its first event.

use crate::error::PlanError;
use serde::Deserialize;

/// What each connection is told after its login.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionPlan {
    /// Statements to send as they are, in this order.
    pub init_sql: Vec<String>,
    /// `READ COMMITTED` and the like.
    pub isolation: Option<String>,
    /// Character set of the connection, `utf8mb4` when none is given.
    pub charset: Option<String>,
}

const ISOLATION_LEVELS: [&str; 4] =
    ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Character sets that fit in the login packet's one byte, with a collation of each.
const CHARSETS: [(&str, u8); 8] = [
    ("utf8mb4", 45),
    ("utf8mb3", 33),
    ("utf8", 33),
    ("latin1", 8),
    ("binary", 63),
    ("ascii", 11),
    ("gbk", 28),
    ("big5", 1),
];

impl SessionPlan {
    /// The statements to send after the login.
    pub fn statements(&self) -> Vec<String> {
        let charset = self
            .charset
            .iter()
            .filter(|name| login_collation(name).is_none())
            .map(|name| format!("SET NAMES '{name}'"));
        let isolation = self
            .isolation
            .iter()
            .map(|level| format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        charset.chain(isolation).chain(self.init_sql.iter().cloned()).collect()
    }

    /// The collation that the login asks for.
    pub fn collation(&self) -> u8 {
        self.charset.as_deref().and_then(login_collation).unwrap_or(45)
    }

    /// Checks what is asked, and writes an isolation level as SQL does.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn check(&mut self) -> Result<(), PlanError> {
        if let Some(level) = &mut self.isolation {
            *level = level.replace('-', " ").to_uppercase();
            if !ISOLATION_LEVELS.contains(&level.as_str()) {
                return Err(PlanError::new(format!(
                    "session.isolation: '{level}' is not one of {}",
                    ISOLATION_LEVELS.join(", ")
                )));
            }
        }
        match &self.charset {
            Some(name) if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                Err(PlanError::new(format!("session.charset: '{name}' is not a character set")))
            }
            _ => Ok(()),
        }
    }
}

fn login_collation(charset: &str) -> Option<u8> {
    CHARSETS.iter().find(|(name, _)| name.eq_ignore_ascii_case(charset)).map(|(_, id)| *id)
}
