//! The faults requested by the server's script: which statement waits, fails or is dropped, and
//! when.

use crate::packet::put_error;
use crate::random::Random;
use crate::script::{Drop, ErrorRule, Origin, Refuse, Script};

/// What happens to a load statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Answer,
    /// The error of the rule with this number.
    Error(usize),
    /// Its connection is closed.
    Drop,
}

/// A period in which work stalls.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: u64,
    to: u64,
    /// The stall it belongs to.
    stall: usize,
}

#[derive(Debug)]
pub(crate) struct ScriptedFaults {
    pub(crate) script: Script,
    /// When the script's time started, on the monotonic clock.
    origin: Option<u64>,
    /// Soonest first; known once the time has started.
    windows: Vec<Window>,
    /// The error packets of the rules.
    errors: Vec<Vec<u8>>,
    statements: u64,
    connects: u64,
    service: Random,
    drops: Random,
    faults: Random,
    /// Nothing is ever drawn, dropped or failed.
    plain: bool,
}

impl ScriptedFaults {
    pub(crate) fn new(script: Script, now: u64) -> Self {
        let seed = script.seed;
        let mut scripted = Self {
            origin: None,
            windows: Vec::new(),
            errors: script.errors.iter().map(packet).collect(),
            statements: 0,
            connects: 0,
            service: Random::new(seed, 1),
            drops: Random::new(seed, 2),
            faults: Random::new(seed, 3),
            plain: script == Script { seed, origin: script.origin, ..Script::default() },
            script,
        };
        if scripted.script.origin == Origin::Start {
            scripted.begin(now);
        }
        scripted
    }

    /// Whether all answers are sent at once.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// A load statement arrived. True if the script's time starts with it.
    pub(crate) fn begins_with(&mut self, now: u64) -> bool {
        let begins = self.origin.is_none();
        if begins {
            self.begin(now);
        }
        begins
    }

    fn begin(&mut self, now: u64) {
        self.origin = Some(now);
        let windows = self.script.stalls.iter().enumerate().map(|(stall, rule)| {
            let from = now + nanoseconds(rule.at_s);
            Window { from, to: from + nanoseconds(rule.for_s), stall }
        });
        self.windows = windows.collect();
        self.windows.sort_by_key(|window| window.from);
    }

    /// When each rule `at_s` drops its connections; known once the time has started.
    pub(crate) fn timed_drops(&self) -> impl Iterator<Item = (u64, usize)> {
        let timed = self.script.drops.iter().enumerate().filter_map(|(rule, drop)| match drop {
            Drop::At { at_s, .. } => Some((self.origin? + nanoseconds(*at_s), rule)),
            Drop::After { .. } | Drop::Chance { .. } => None,
        });
        timed.collect::<Vec<_>>().into_iter()
    }

    /// What happens to the next load statement; `answered` counts the connection's answers to load.
    pub(crate) fn verdict(&mut self) -> Verdict {
        self.statements += 1;
        for drop in &self.script.drops {
            if let Drop::Chance { probability } = drop
                && self.drops.unit() < *probability
            {
                return Verdict::Drop;
            }
        }
        for (index, rule) in self.script.errors.iter().enumerate() {
            let hit = match (rule.probability, rule.every) {
                (Some(probability), _) => self.faults.unit() < probability,
                (None, Some(every)) => self.statements.is_multiple_of(every),
                (None, None) => false,
            };
            if hit {
                return Verdict::Error(index);
            }
        }
        Verdict::Answer
    }

    /// Whether a connection is closed after this many answers to load.
    pub(crate) fn drops_after(&self, answers: u64) -> bool {
        self.script
            .drops
            .iter()
            .any(|drop| matches!(drop, Drop::After { answers: most } if answers >= *most))
    }

    /// The packet of an error, and its code.
    pub(crate) fn error(&self, rule: usize) -> (&[u8], u16) {
        (&self.errors[rule], self.script.errors[rule].errno)
    }

    /// When the answer to a load statement that is processed now is due.
    pub(crate) fn due_of_load(&mut self, connection: u32, now: u64) -> u64 {
        let service = self.script.service.draw(&mut self.service);
        self.due(connection, now, service)
    }

    /// When work of this duration is done: stalls are added to it.
    pub(crate) fn due(&self, connection: u32, begun: u64, mut work: u64) -> u64 {
        let mut at = begun;
        for window in &self.windows {
            if window.to <= at || !self.script.stalls[window.stall].connections.has(connection) {
                continue;
            }
            let until_stall = window.from.saturating_sub(at);
            if window.from > at && work <= until_stall {
                break;
            }
            work -= until_stall.min(work);
            at = window.to;
        }
        at + work
    }

    /// The error that a connection attempt gets, if it is refused.
    pub(crate) fn refusal(&mut self, now: u64) -> Option<u16> {
        self.connects += 1;
        self.script.refuse.iter().find_map(|refuse| match refuse {
            Refuse::First { connects, errno } => (self.connects <= *connects).then_some(*errno),
            Refuse::Within { at_s, for_s, errno } => {
                let from = self.origin? + nanoseconds(*at_s);
                (now >= from && now < from + nanoseconds(*for_s)).then_some(*errno)
            }
        })
    }

    /// How long to wait before accepting the next connection.
    pub(crate) fn accept_pause(&self) -> u64 {
        (self.script.accept.every_us * 1000.0) as u64
    }

    /// When the greeting of a connection accepted now is due.
    pub(crate) fn greeting_due(&self, connection: u32, now: u64) -> u64 {
        self.due(connection, now, (self.script.accept.greeting_us * 1000.0) as u64)
    }
}

fn packet(rule: &ErrorRule) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), 1);
    put_error(&mut out, &mut sequence, rule.errno, &rule.sql_state, &rule.message);
    out
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn scripted(script: &str) -> ScriptedFaults {
        let mut scripted = ScriptedFaults::new(Script::from_json(script).unwrap(), 0);
        scripted.begins_with(10 * SECOND);
        scripted
    }

    #[test]
    fn work_stands_still_in_a_stall_and_goes_on_behind_it() {
        let scripted = scripted(r#"{"stalls": [{"at_s": 2, "for_s": 1}]}"#);
        let due = |at_ms: u64, work_ms: u64| {
            scripted.due(1, 10 * SECOND + at_ms * 1_000_000, work_ms * 1_000_000) / 1_000_000
                - 10_000
        };
        assert_eq!(due(0, 0), 0);
        assert_eq!(due(0, 2000), 2000, "done when it begins");
        assert_eq!(due(1990, 20), 3010, "ten before it, ten behind it");
        assert_eq!(due(2000, 0), 3000, "came as it began");
        assert_eq!(due(2500, 5), 3005, "came within it");
        assert_eq!(due(3000, 5), 3005, "came at its end");
    }

    #[test]
    fn a_stall_of_some_connections_leaves_the_others_alone() {
        let scripted =
            scripted(r#"{"stalls": [{"at_s": 0, "for_s": 1, "connections": {"every": 2}}]}"#);
        assert_eq!(scripted.due(1, 10 * SECOND, 5), 10 * SECOND + 5);
        assert_eq!(scripted.due(2, 10 * SECOND, 5), 11 * SECOND + 5);
    }

    #[test]
    fn every_third_statement_fails_and_the_rate_of_chances_is_right() {
        let text = r#"{"errors": [{"errno": 1213, "message": "m", "every": 3},
                                  {"errno": 1205, "message": "m", "probability": 0.1}]}"#;
        let mut scripted = scripted(text);
        let verdicts: Vec<Verdict> = (0..30_000).map(|_| scripted.verdict()).collect();
        assert!(verdicts.iter().skip(2).step_by(3).all(|one| *one == Verdict::Error(0)));
        let chances = verdicts.iter().filter(|one| **one == Verdict::Error(1)).count();
        assert!((1800..2200).contains(&chances), "{chances} of 20,000");
    }

    #[test]
    fn connects_are_refused_by_number_and_by_time() {
        let text = r#"{"refuse": [{"kind": "first", "connects": 1},
                                  {"kind": "within", "at_s": 1, "for_s": 1, "errno": 1129}]}"#;
        let mut scripted = scripted(text);
        assert_eq!(scripted.refusal(10 * SECOND), Some(1040));
        assert_eq!(scripted.refusal(10 * SECOND), None);
        assert_eq!(scripted.refusal(11 * SECOND), Some(1129));
        assert_eq!(scripted.refusal(12 * SECOND), None);
    }
}
