//! The script of a null server: the requested delays, drops, errors and refusals.
//!
//! A script applies to load: BEGIN, COMMIT, reads and writes of tables, as text or prepared.
//! Questions about the server, settings and preparations are answered at once, except during a
//! stall.

use crate::error::NullServerError;
use crate::service::{LONGEST_S, Service, wrong_us};
use serde::Deserialize;

/// When the script's time starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// With the first load statement.
    #[default]
    Statement,
    /// With the server's start.
    Start,
}

/// Which connections something happens to; they are numbered from 1 in order of arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// All of them.
    #[default]
    All,
    /// Those with these numbers.
    Ids(Vec<u32>),
    /// Those whose number is a multiple of this.
    Every(u32),
}

impl Who {
    pub(crate) fn has(&self, connection: u32) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => ids.contains(&connection),
            Self::Every(step) => connection.is_multiple_of(*step),
        }
    }
}

/// Work stalls from `at_s` for `for_s`: no answer is sent, and work in progress continues
/// afterwards.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// When it starts.
    pub at_s: f64,
    /// How long it lasts.
    pub for_s: f64,
    /// The affected connections.
    #[serde(default)]
    pub connections: Who,
}

/// Answers are sent in pieces: a slow line, or packets split at every position.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pieces {
    /// The size of one write in bytes.
    pub bytes: usize,
    /// The time between two writes; 0 writes on at once.
    #[serde(default)]
    pub every_us: f64,
    /// Whether greeting and login are split too.
    #[serde(default)]
    pub login: bool,
}

/// When the server closes connections.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Drop {
    /// After each connection's n-th answer to load.
    After {
        /// The number of answers.
        answers: u64,
    },
    /// At a fixed time, regardless of what is being answered.
    At {
        /// The time.
        at_s: f64,
        /// The affected connections.
        #[serde(default)]
        connections: Who,
    },
    /// Instead of an answer to load.
    Chance {
        /// The probability, from 0 to 1.
        probability: f64,
    },
}

/// An error instead of an answer to load. The first rule that applies counts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    /// Its code.
    pub errno: u16,
    /// Its SQL state.
    #[serde(default = "general_error")]
    pub sql_state: String,
    /// Its text.
    pub message: String,
    /// The probability for each statement, from 0 to 1.
    #[serde(default)]
    pub probability: Option<f64>,
    /// Every n-th statement fails.
    #[serde(default)]
    pub every: Option<u64>,
}

fn general_error() -> String {
    "HY000".to_owned()
}

/// Which connection attempts are answered with an error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Refuse {
    /// The first ones since the script was set.
    First {
        /// The number of attempts.
        connects: u64,
        /// The error code.
        #[serde(default = "too_many_connections")]
        errno: u16,
    },
    /// All attempts within a period.
    Within {
        /// When it starts.
        at_s: f64,
        /// How long it lasts.
        for_s: f64,
        /// The error code.
        #[serde(default = "too_many_connections")]
        errno: u16,
    },
}

fn too_many_connections() -> u16 {
    1040
}

/// How connections are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Accept {
    /// At most one connection is accepted in this time; the others wait in the kernel.
    pub every_us: f64,
    /// The greeting is sent this long after the connection was accepted.
    pub greeting_us: f64,
}

/// The whole script. The default one does nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// The seed of all random draws.
    pub seed: u64,
    /// When its time starts.
    pub origin: Origin,
    /// How long an answer takes.
    pub service: Service,
    /// When work stalls.
    pub stalls: Vec<Stall>,
    /// How answers are split.
    pub pieces: Option<Pieces>,
    /// When connections are closed.
    pub drops: Vec<Drop>,
    /// Errors instead of answers.
    pub errors: Vec<ErrorRule>,
    /// Errors instead of greetings.
    pub refuse: Vec<Refuse>,
    /// How connections are accepted.
    pub accept: Accept,
}

impl Script {
    /// Parses a script, or returns in one line what is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, NullServerError> {
        let script: Self = serde_json::from_str(text)
            .map_err(|error| NullServerError::Plan(format!("script: {error}")))?;
        script.check()?;
        Ok(script)
    }

    /// Checks what the types do not express.
    pub(crate) fn check(&self) -> Result<(), NullServerError> {
        self.wrong().map_or(Ok(()), |what| Err(NullServerError::Plan(format!("script: {what}"))))
    }

    fn wrong(&self) -> Option<String> {
        let accept = [
            ("accept.every_us", self.accept.every_us),
            ("accept.greeting_us", self.accept.greeting_us),
        ];
        let stalls = self
            .stalls
            .iter()
            .flat_map(|stall| [("stalls: at_s", stall.at_s), ("stalls: for_s", stall.for_s)]);
        let mut seconds = stalls.chain(self.refuse.iter().flat_map(Refuse::seconds));
        let whos = self.stalls.iter().map(|stall| &stall.connections);
        let mut whos = whos.chain(self.drops.iter().filter_map(Drop::who));
        self.service
            .wrong()
            .or_else(|| accept.into_iter().find_map(|(name, us)| wrong_us(name, us)))
            .or_else(|| seconds.find_map(|(name, seconds)| wrong_seconds(name, seconds)))
            .or_else(|| whos.find_map(Who::wrong))
            .or_else(|| self.pieces.and_then(Pieces::wrong))
            .or_else(|| self.drops.iter().find_map(Drop::wrong))
            .or_else(|| self.errors.iter().find_map(ErrorRule::wrong))
    }
}

impl Refuse {
    fn seconds(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::First { .. } => Vec::new(),
            Self::Within { at_s, for_s, .. } => {
                vec![("refuse: at_s", *at_s), ("refuse: for_s", *for_s)]
            }
        }
    }
}

impl Who {
    fn wrong(&self) -> Option<String> {
        (*self == Self::Every(0)).then(|| "connections: every must be at least 1".to_owned())
    }
}

impl Pieces {
    fn wrong(self) -> Option<String> {
        if self.bytes == 0 {
            return Some("pieces.bytes must be at least 1".to_owned());
        }
        wrong_us("pieces.every_us", self.every_us)
    }
}

impl Drop {
    fn who(&self) -> Option<&Who> {
        match self {
            Self::At { connections, .. } => Some(connections),
            Self::After { .. } | Self::Chance { .. } => None,
        }
    }

    fn wrong(&self) -> Option<String> {
        match self {
            Self::After { answers: 0 } => Some("drops: answers must be at least 1".to_owned()),
            Self::After { .. } => None,
            Self::At { at_s, .. } => wrong_seconds("drops: at_s", *at_s),
            Self::Chance { probability } => wrong_probability("drops: probability", *probability),
        }
    }
}

impl ErrorRule {
    fn wrong(&self) -> Option<String> {
        let state = self.sql_state.as_bytes();
        if self.errno == 0 {
            return Some("errors: errno must be at least 1".to_owned());
        }
        if state.len() != 5 || !state.iter().all(u8::is_ascii_alphanumeric) {
            return Some(format!(
                "errors: sql_state {:?} must be five letters or digits",
                self.sql_state
            ));
        }
        if self.message.len() > 512 {
            return Some("errors: message must be at most 512 bytes".to_owned());
        }
        match (self.probability, self.every) {
            (Some(probability), None) => wrong_probability("errors: probability", probability),
            (None, Some(0)) => Some("errors: every must be at least 1".to_owned()),
            (None, Some(_)) => None,
            _ => Some(format!("errors: {} needs either probability or every", self.errno)),
        }
    }
}

fn wrong_probability(name: &str, value: f64) -> Option<String> {
    (!(0.0..=1.0).contains(&value)).then(|| format!("{name} {value} must be from 0 to 1"))
}

fn wrong_seconds(name: &str, value: f64) -> Option<String> {
    (!(0.0..=LONGEST_S).contains(&value))
        .then(|| format!("{name} {value} must be from 0 to {LONGEST_S}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_script_is_read() {
        let script = Script::from_json(
            r#"{"seed": 7, "origin": "start",
                "service": {"kind": "quantiles", "points": [[0, 100], [0.5, 200], [1, 5000]]},
                "stalls": [{"at_s": 2, "for_s": 1}, {"at_s": 1, "for_s": 1, "connections": {"every": 2}}],
                "pieces": {"bytes": 1, "every_us": 5, "login": true},
                "drops": [{"kind": "after", "answers": 9}, {"kind": "at", "at_s": 3, "connections": {"ids": [1]}},
                          {"kind": "chance", "probability": 0.1}],
                "errors": [{"errno": 1213, "sql_state": "40001", "message": "Deadlock", "every": 100}],
                "refuse": [{"kind": "first", "connects": 3}, {"kind": "within", "at_s": 1, "for_s": 1, "errno": 1129}],
                "accept": {"every_us": 1000, "greeting_us": 5}}"#,
        );
        assert_eq!(script.unwrap().drops.len(), 3);
    }

    #[test]
    fn every_mistake_has_its_line() {
        let cases = [
            (r#"{"sed": 1}"#, "unknown field `sed`"),
            (r#"{"service": {"kind": "constant", "ms": 1}}"#, "unknown field `ms`"),
            (r#"{"service": {"kind": "constant", "us": -1}}"#, "service.us -1 must be from 0"),
            (r#"{"service": {"kind": "uniform", "from_us": 5, "to_us": 1}}"#, "to_us"),
            (r#"{"service": {"kind": "quantiles", "points": [[0, 1]]}}"#, "points"),
            (r#"{"service": {"kind": "quantiles", "points": [[0, 5], [1, 1]]}}"#, "points"),
            (r#"{"stalls": [{"at_s": -1, "for_s": 1}]}"#, "stalls: at_s -1"),
            (r#"{"stalls": [{"at_s": 1, "for_s": 1, "connections": {"every": 0}}]}"#, "every"),
            (r#"{"pieces": {"bytes": 0}}"#, "pieces.bytes"),
            (r#"{"drops": [{"kind": "after", "answers": 0}]}"#, "drops: answers"),
            (r#"{"drops": [{"kind": "chance", "probability": 2}]}"#, "probability 2"),
            (r#"{"errors": [{"errno": 1, "message": "m"}]}"#, "either probability or every"),
            (
                r#"{"errors": [{"errno": 1, "message": "m", "every": 1, "sql_state": "4"}]}"#,
                "sql_state \"4\"",
            ),
        ];
        for (text, expected) in cases {
            let line = Script::from_json(text).unwrap_err().to_string();
            assert!(line.contains(expected) && !line.contains('\n'), "{text}: {line}");
        }
    }
}
