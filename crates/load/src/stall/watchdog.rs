//! The watchdog thread of a load: notices silent statements, and reports or ends them.

use super::judge::{Deed, Limits, Watch};
use super::look::Looker;
use super::{Board, stalled};
use crate::finding::Finding;
use crate::record::{Record, StallDeed, Stalled};
use crossbeam_channel::Sender;
use loadstone_drive::client::{Beat, Pulse};
use loadstone_drive::{Failure, FailureKind};
use loadstone_measure::Nanos;
use loadstone_protocol::Fault;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How soon a silence is noticed.
const TICK: Duration = Duration::from_millis(50);

/// A longer tick means that this process itself was suspended.
const LONGEST_TICK: Nanos = Nanos(2_000_000_000);

struct Watchdog<'a> {
    board: &'a Board,
    records: &'a Sender<Record>,
    limits: Limits,
    looker: Looker<'a>,
    /// Indexed by the pulse's address, which differs for each thread.
    watches: HashMap<usize, Watch>,
    /// When each stall was last reported, by its holder or by its own key.
    told: HashMap<String, Nanos>,
}

/// A thread with a running statement.
type Waiting = (Arc<Pulse>, Beat);

/// Watches until the load is over.
pub(crate) fn watch(board: &Board, records: &Sender<Record>) {
    let limits = Limits::new(&board.plan);
    let mut dog = Watchdog {
        board,
        records,
        limits,
        looker: Looker::new(board, limits.look()),
        watches: HashMap::new(),
        told: HashMap::new(),
    };
    while !board.is_over() {
        let began = board.clock.now();
        std::thread::sleep(TICK);
        let now = board.clock.now();
        if now.0 - began.0 > LONGEST_TICK.0 {
            dog.watches.values_mut().for_each(|watch| watch.forgive(now));
        }
        dog.tick();
    }
    dog.looker.rest();
}

fn key(pulse: &Arc<Pulse>) -> usize {
    Arc::as_ptr(pulse).addr()
}

impl Watchdog<'_> {
    fn tick(&mut self) {
        let now = self.board.clock.now();
        let mut waiting: Vec<Waiting> = self
            .board
            .pulses()
            .into_iter()
            .filter_map(|pulse| pulse.beat().map(|beat| (pulse, beat)))
            .collect();
        waiting.sort_by_key(|(_, beat)| beat.moved_at);
        self.watches.retain(|id, watch| {
            waiting.iter().any(|(pulse, beat)| key(pulse) == *id && watch.is_of(beat))
        });
        for (pulse, beat) in &waiting {
            self.watches.entry(key(pulse)).or_insert_with(|| Watch::new(beat));
        }
        let silent: Vec<&Waiting> =
            waiting.iter().filter(|each| self.wants_look(now, each)).collect();
        let mut unanswered: Option<Finding> = None;
        for each in silent {
            if self.board.is_over() {
                return;
            }
            let finding = match &unanswered {
                Some(finding) if each.1.connection.is_some() => finding.clone(),
                _ => self.look(each, &waiting),
            };
            if finding.signs.own.is_none() && each.1.connection.is_some() {
                unanswered = Some(finding.clone());
            }
            self.judge(each, &finding, &waiting);
        }
        if waiting.iter().all(|each| self.silence(now, each) < self.limits.look()) {
            self.looker.rest();
        }
    }

    fn wants_look(&self, now: Nanos, (pulse, beat): &Waiting) -> bool {
        let watch = self.watches.get(&key(pulse));
        watch.is_some_and(|watch| watch.wants_look(now, beat, self.limits))
    }

    fn silence(&self, now: Nanos, (pulse, beat): &Waiting) -> Nanos {
        self.watches.get(&key(pulse)).map_or(Nanos(0), |watch| watch.silent(now, beat))
    }

    fn look(&mut self, (_, beat): &Waiting, waiting: &[Waiting]) -> Finding {
        let own: Vec<u32> = waiting.iter().filter_map(|(_, beat)| beat.connection).collect();
        let mut finding = self.looker.look(beat, &own);
        let holder = finding.holder.as_ref().map(|holder| holder.connection);
        let now = self.board.clock.now();
        finding.signs.holder_works = waiting.iter().any(|each| {
            let is_it = each.1.connection.map(u64::from) == holder && holder.is_some();
            is_it && self.silence(now, each).0 < self.limits.look().0
        });
        finding
    }

    fn judge(&mut self, each: &Waiting, finding: &Finding, waiting: &[Waiting]) {
        let (pulse, beat) = each;
        let now = self.board.clock.now();
        let Some(watch) = self.watches.get_mut(&key(pulse)) else { return };
        let deed = watch.judge(now, beat, finding.signs.clone(), self.limits);
        // It may have ended during the look.
        if deed == Deed::Nothing || !pulse.is_at(beat.number) {
            return;
        }
        let stall = self.stall(now, each, finding);
        match deed {
            Deed::Nothing => {}
            Deed::Tell => self.tell_now_and_then(each, finding, waiting),
            Deed::End => {
                pulse.note_stall(stall);
                self.tell(each, finding, StallDeed::Ended, waiting);
                if let Some(id) = beat.connection {
                    self.looker.end_statement(id, finding);
                }
            }
            Deed::GiveUp => {
                pulse.note_stall(stall);
                self.tell(each, finding, StallDeed::GivenUp, waiting);
                let text = "the statement did not end, and its connection was given up";
                let code = self.board.endpoint.family().code_of(Fault::ConnectionLost);
                let lost = Failure::new(FailureKind::Unreachable, Some(code), text);
                self.give_up(each, finding, lost);
            }
            Deed::Fail => {
                self.give_up(each, finding, stall.clone());
                for other in waiting.iter().filter(|other| other.1.connection.is_some()) {
                    if other.1 != *beat && self.silence(now, other).0 >= self.limits.look().0 {
                        self.give_up(other, &Finding::default(), stall.clone());
                    }
                }
            }
        }
    }

    fn give_up(&mut self, (pulse, beat): &Waiting, finding: &Finding, why: Failure) {
        pulse.give_up(beat.number, why);
        if let Some(id) = beat.connection {
            self.looker.end_connection(id, finding);
        }
    }

    fn stall(&self, now: Nanos, each: &Waiting, finding: &Finding) -> Failure {
        let held = finding.holder.as_ref().map(|holder| format!(", held by {}", holder.text()));
        let text = format!(
            "no progress for {:.0} s: a statement waits for {}{}",
            self.silence(now, each).seconds(),
            finding.waits_for,
            held.unwrap_or_default()
        );
        stalled(text, &each.1.statement)
    }

    /// Workers that wait for the same thing are reported as one.
    fn tell_now_and_then(&mut self, each: &Waiting, finding: &Finding, waiting: &[Waiting]) {
        let now = self.board.clock.now();
        let key = match &finding.holder {
            Some(holder) => format!("held by {}", holder.connection),
            None if finding.signs.own.is_none() => "not answered".to_owned(),
            None if finding.signs.waits => "a lock".to_owned(),
            None => finding.waits_for.clone(),
        };
        let again = self.limits.say_again();
        if self.told.get(&key).is_none_or(|at| now.0 - at.0 >= again.0) {
            self.told.insert(key, now);
            self.tell(each, finding, StallDeed::Watched, waiting);
        }
    }

    fn tell(&self, each: &Waiting, finding: &Finding, deed: StallDeed, waiting: &[Waiting]) {
        let now = self.board.clock.now();
        let least = self.limits.look();
        let silent = waiting.iter().filter(|other| self.silence(now, other) >= least).count();
        let stalled = Stalled {
            seconds: now.seconds(),
            connection: each.1.connection,
            statement: each.1.statement.clone(),
            silent_s: self.silence(now, each).seconds(),
            waits_for: finding.waits_for.clone(),
            holder: finding.holder.clone(),
            others: silent.saturating_sub(1),
            deed,
        };
        // If the receiver is gone, nobody needs the record.
        drop(self.records.send(Record::Stalled(stalled)));
    }
}
