//! The parts `on_error` and `restart_on` of a plan: what becomes of an event that the server refuses.

use serde::Deserialize;

/// The errors after which an event begins anew.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RestartOn {
    /// Any.
    All,
    /// Those of these numbers.
    #[serde(untagged)]
    These(Vec<u16>),
}

impl Default for RestartOn {
    /// Deadlock, lock wait timeout, record has changed since it was last read.
    fn default() -> Self {
        Self::These(vec![1213, 1205, 1020])
    }
}

impl RestartOn {
    /// Whether this error is one of them.
    pub fn has(&self, errno: u16) -> bool {
        match self {
            Self::All => true,
            Self::These(numbers) => numbers.contains(&errno),
        }
    }
}

/// What an error packet means for the event it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The errors of the plan's `restart_on` begin the event anew; others end the step.
    Restart,
    /// Every error is counted, and the next event begins.
    Continue,
    /// Every error ends the step.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_restart_are_a_list_or_all() {
        let read = |text| serde_json::from_str::<RestartOn>(text);
        assert_eq!(read("[1062]").unwrap(), RestartOn::These(vec![1062]));
        assert!(read("\"all\"").unwrap().has(1146));
        assert!(read("\"some\"").is_err() && read("[70000]").is_err());
        assert!(RestartOn::default().has(1213) && !RestartOn::default().has(1062));
    }
}
