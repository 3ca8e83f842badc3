//! Decides what to do about a silent statement, from the time and what was seen of it; without I/O.

use super::StallPlan;
use crate::finding::Signs;
use loadstone_drive::client::Beat;
use loadstone_measure::Nanos;

/// The longest pause between two looks at a silent statement.
const LONGEST_PAUSE: Nanos = Nanos(1_000_000_000);

/// How long a statement may take to end after it was killed.
const LONGEST_GRACE: Nanos = Nanos(5_000_000_000);

/// A statement may show no sign of its own while the whole server works, which may be somebody
/// else's doing. It gets this many times the usual limit.
const HIDDEN_TIMES: u64 = 60;

/// Pages between two looks; the server does less than this on its own.
const LEAST_WORK: u64 = 20;

/// The plan's time limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    say: Nanos,
    end: Nanos,
    fail: Nanos,
}

/// What to do about a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Nothing,
    Tell,
    /// Kill it at the server; the connection stays.
    End,
    /// Give up the connection.
    GiveUp,
    /// End the load.
    Fail,
}

/// One statement, for as long as it runs.
#[derive(Debug)]
pub(super) struct Watch {
    number: u64,
    /// Its last sign of work other than bytes.
    alive_at: Nanos,
    looked_at: Option<Nanos>,
    last: Option<Signs>,
    /// Since when only the whole server's work suggests that it is alive.
    hidden_since: Option<Nanos>,
    ended_at: Option<Nanos>,
}

impl Limits {
    pub(super) fn new(plan: &StallPlan) -> Self {
        Self {
            say: Nanos::from_seconds(plan.say_s),
            end: Nanos::from_seconds(plan.end_s),
            fail: Nanos::from_seconds(plan.fail_s),
        }
    }

    /// How long an answer to a look may take.
    pub(super) fn look(self) -> Nanos {
        Nanos(self.say.0.clamp(500_000_000, 3_000_000_000))
    }

    /// How long until the same stall is reported again.
    pub(super) fn say_again(self) -> Nanos {
        Nanos(2 * self.say.0)
    }

    fn pause(self) -> Nanos {
        Nanos(self.say.0 / 5).min(LONGEST_PAUSE)
    }

    fn grace(self) -> Nanos {
        self.end.min(LONGEST_GRACE)
    }
}

impl Watch {
    pub(super) fn new(beat: &Beat) -> Self {
        Self {
            number: beat.number,
            alive_at: beat.moved_at,
            looked_at: None,
            last: None,
            hidden_since: None,
            ended_at: None,
        }
    }

    /// Whether this is the watched statement.
    pub(super) fn is_of(&self, beat: &Beat) -> bool {
        self.number == beat.number
    }

    /// How long it has shown no sign of work.
    pub(super) fn silent(&self, now: Nanos, beat: &Beat) -> Nanos {
        Nanos(now.0.saturating_sub(self.alive_at.max(beat.moved_at).0))
    }

    /// This process itself was suspended: time that it did not observe is not silence.
    pub(super) fn forgive(&mut self, now: Nanos) {
        self.alive_at = now;
        self.last = None;
    }

    /// Whether it is time for a look. The first one comes early, to have something to compare later
    /// ones with.
    pub(super) fn wants_look(&self, now: Nanos, beat: &Beat, limits: Limits) -> bool {
        let quiet_ns = now.0.saturating_sub(beat.moved_at.0);
        let pause = limits.pause();
        quiet_ns >= limits.say.0 / 2 && self.looked_at.is_none_or(|at| now.0 - at.0 >= pause.0)
    }

    /// Takes what was seen into account.
    pub(super) fn judge(&mut self, now: Nanos, beat: &Beat, signs: Signs, limits: Limits) -> Deed {
        self.looked_at = Some(now);
        if self.works(now, &signs, limits) {
            self.alive_at = now;
        }
        let (waits, endable) = (signs.waits, signs.endable);
        // An unanswered look says nothing about progress.
        if signs.own.is_some() {
            self.last = Some(signs);
        }
        let silent = self.silent(now, beat);
        if silent < limits.say {
            return Deed::Nothing;
        }
        if let Some(ended_at) = self.ended_at {
            let has_had_its_time = now.0 - ended_at.0 >= limits.grace().0;
            return if has_had_its_time { Deed::GiveUp } else { Deed::Nothing };
        }
        // Opening a connection has its own limits.
        if silent >= limits.fail && beat.connection.is_some() {
            return Deed::Fail;
        }
        if endable && !waits && silent.0 >= limits.say.0 + limits.end.0 {
            self.ended_at = Some(now);
            return Deed::End;
        }
        Deed::Tell
    }

    fn works(&mut self, now: Nanos, signs: &Signs, limits: Limits) -> bool {
        if signs.waits {
            return signs.holder_works;
        }
        let Some(last) = &self.last else { return false };
        if signs.own.is_some() && signs.own != last.own {
            self.hidden_since = None;
            return true;
        }
        let (Some(before), Some(after)) = (last.server, signs.server) else { return false };
        let since = *self.hidden_since.get_or_insert(now);
        now.0 - since.0 < HIDDEN_TIMES * limits.fail.0 && after.saturating_sub(before) >= LEAST_WORK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: StallPlan = StallPlan { say_s: 5.0, end_s: 10.0, fail_s: 60.0 };

    fn beat() -> Beat {
        Beat {
            number: 1,
            statement: "LOAD DATA".to_owned(),
            connection: Some(7),
            moved_at: Nanos::from_seconds(100.0),
        }
    }

    fn seen(own: u64) -> Signs {
        Signs { endable: true, own: Some(vec![own.to_string()]), ..Signs::default() }
    }

    /// The action at each second after the last byte, if any; `see` returns what is seen then.
    fn deeds(beat: &Beat, until: u64, see: impl Fn(u64) -> Signs) -> Vec<(u64, Deed)> {
        let limits = Limits::new(&PLAN);
        let mut watch = Watch::new(beat);
        let mut done = Vec::new();
        for second in 0..=until {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let now = Nanos::from_seconds(100.0 + second as f64);
            if watch.wants_look(now, beat, limits) {
                let deed = watch.judge(now, beat, see(second), limits);
                if deed != Deed::Nothing && done.last().is_none_or(|(_, last)| *last != deed) {
                    done.push((second, deed));
                }
            }
        }
        done
    }

    #[test]
    fn one_that_stands_still_is_told_then_ended_then_given_up() {
        let done = deeds(&beat(), 21, |_| seen(3));
        assert_eq!(done, [(5, Deed::Tell), (15, Deed::End), (20, Deed::GiveUp)]);
    }

    #[test]
    fn one_that_works_is_left_alone_for_as_long_as_it_takes() {
        assert_eq!(deeds(&beat(), 10_000, seen), []);
    }

    #[test]
    fn one_that_stops_working_is_told_when_it_has() {
        let done = deeds(&beat(), 50, |second| seen(second.min(40)));
        assert_eq!(done, [(45, Deed::Tell)]);
    }

    #[test]
    fn a_wait_for_somebodys_lock_is_told_and_ends_the_load_but_not_the_statement() {
        let waiting = |_| Signs { waits: true, ..seen(3) };
        assert_eq!(deeds(&beat(), 60, waiting), [(5, Deed::Tell), (60, Deed::Fail)]);
    }

    #[test]
    fn a_wait_for_one_of_our_own_that_comes_on_is_none() {
        let waiting = |_| Signs { waits: true, holder_works: true, ..seen(3) };
        assert_eq!(deeds(&beat(), 1000, waiting), []);
    }

    #[test]
    fn a_server_that_answers_nobody_ends_the_load() {
        let done = deeds(&beat(), 60, |_| Signs::default());
        assert_eq!(done, [(5, Deed::Tell), (60, Deed::Fail)]);
    }

    #[test]
    fn a_connection_that_cannot_be_opened_has_limits_of_its_own() {
        let opening = Beat { connection: None, ..beat() };
        assert_eq!(deeds(&opening, 1000, |_| Signs::default()), [(5, Deed::Tell)]);
    }

    #[test]
    fn a_commit_is_not_ended() {
        let commit = |_| Signs { endable: false, ..seen(3) };
        assert_eq!(deeds(&beat(), 60, commit), [(5, Deed::Tell), (60, Deed::Fail)]);
    }

    #[test]
    fn the_whole_servers_work_speaks_for_one_whose_own_is_not_seen_but_not_for_ever() {
        let index = |second| Signs { server: Some(second * 1000), ..seen(3) };
        assert_eq!(deeds(&beat(), 3600, index), []);
        let done = deeds(&beat(), 3700, index);
        assert_eq!(
            done.iter().map(|(_, deed)| *deed).collect::<Vec<_>>(),
            [Deed::Tell, Deed::End, Deed::GiveUp]
        );
    }

    #[test]
    fn what_a_server_does_by_itself_speaks_for_nobody() {
        let index = |second| Signs { server: Some(second), ..seen(3) };
        assert_eq!(deeds(&beat(), 6, index), [(5, Deed::Tell)]);
    }

    #[test]
    fn looks_without_an_answer_between_two_others_hide_no_work() {
        let see = |second| if second % 2 == 1 { seen(second) } else { Signs::default() };
        assert_eq!(deeds(&beat(), 1000, see), []);
    }

    #[test]
    fn a_byte_is_a_sign_of_life() {
        let limits = Limits::new(&PLAN);
        let mut watch = Watch::new(&beat());
        let moved = Beat { moved_at: Nanos::from_seconds(158.0), ..beat() };
        let now = Nanos::from_seconds(162.0);
        assert_eq!(watch.judge(now, &moved, seen(3), limits), Deed::Nothing);
    }

    #[test]
    fn time_in_which_this_process_stood_still_is_no_silence() {
        let limits = Limits::new(&PLAN);
        let mut watch = Watch::new(&beat());
        let now = Nanos::from_seconds(1000.0);
        watch.forgive(now);
        assert_eq!(watch.judge(now, &beat(), seen(3), limits), Deed::Nothing);
    }
}
