//! The part `session` of a plan: how each connection's session is set up before its first event.

use crate::error::PlanError;
use serde::Deserialize;

/// The settings that each connection sends after its login.
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

impl SessionPlan {
    /// Checks the settings, and rewrites the isolation level as SQL spells it.
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
