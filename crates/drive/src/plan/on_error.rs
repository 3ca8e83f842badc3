//! The parts `on_error` and `restart_on` of a plan: how a step handles an event that the server refuses.

use loadstone_protocol::Code;
use serde::Deserialize;

/// The errors after which an event is restarted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RestartOn {
    /// Any error.
    All,
    /// The errors with these codes.
    #[serde(untagged)]
    These(Vec<Code>),
}

impl RestartOn {
    /// Whether this error is one of them.
    pub fn has(&self, code: Code) -> bool {
        match self {
            Self::All => true,
            Self::These(codes) => codes.contains(&code),
        }
    }
}

/// What an error packet means for the event it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The event is restarted after the errors of the plan's `restart_on`; others end the step.
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
        let listed = read(r#"["1062", "40P01"]"#).unwrap();
        assert!(listed.has(Code::of_number(1062)) && !listed.has(Code::of_number(1213)));
        assert!(read("\"all\"").unwrap().has(Code::of_number(1146)));
        for bad in ["\"some\"", "[1062]", "[\"\"]", "[\"deadlock\"]"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
