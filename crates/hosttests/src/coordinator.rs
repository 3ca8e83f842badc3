//! The coordinator of a host test: runs its threads, and writes a record of each interval.

use crate::claims::Claims;
use crate::error::HostError;
use crate::meter::{Clock, Meter, Slot};
use crate::plan::HostPlan;
use crate::record::{Begun, Done, End, EndReason, Phase, Record, Sample, whole};
use crate::work::Test;
use crate::worker;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use loadstone_measure::{Latency, Nanos, NumberedShare, Share, hlog};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Each holds a histogram of 270 KB: many threads share slots.
const MOST_SLOTS: usize = 64;
/// Bytes. Threads need no more, and there may be thousands.
const STACK: usize = 256 * 1024;

/// Whether a thread ended as planned.
type Outcome = Result<(), HostError>;

/// A message from a thread.
enum Message {
    /// The thread is ready to start.
    Ready,
    /// The thread has ended.
    Ended(Outcome),
}

pub(crate) struct Coordinator<'a> {
    plan: &'a HostPlan,
    claims: &'a Claims,
    records: &'a Sender<Record>,
    slots: Vec<Arc<Slot>>,
    /// When the interval started.
    from: Nanos,
    /// Running threads.
    running: u32,
    done: Done,
    latency: Latency,
    /// What each thread did in the window.
    shares: Vec<Share>,
    error: Option<HostError>,
}

impl<'a> Coordinator<'a> {
    pub(crate) fn new(plan: &'a HostPlan, claims: &'a Claims, records: &'a Sender<Record>) -> Self {
        let threads = plan.threads as usize;
        let slots = threads.min(MOST_SLOTS);
        let sharing = |slot| (slot..threads).step_by(slots).count();
        Self {
            plan,
            claims,
            records,
            slots: (0..slots).map(|slot| Arc::new(Slot::new(sharing(slot)))).collect(),
            from: Nanos::ZERO,
            running: plan.threads,
            done: Done::default(),
            latency: Latency::new(),
            shares: vec![Share::default(); threads],
            error: None,
        }
    }

    /// Runs the test to its end.
    pub(crate) fn run(mut self, test: &dyn Test) -> Result<End, HostError> {
        let clock = self.run_threads(test)?;
        let now = clock.now();
        self.cut(now, true);
        Ok(self.end(now))
    }

    /// The threads get ready first; the clock starts when all are.
    fn run_threads(&mut self, test: &dyn Test) -> Result<Clock, HostError> {
        std::thread::scope(|scope| {
            let (start, started) = unbounded();
            let (tell, messages) = unbounded();
            for number in 0..self.plan.threads {
                let (slot, place) = self.slot(number)?;
                let thread = Thread {
                    number,
                    test,
                    claims: self.claims,
                    slot,
                    place,
                    started: started.clone(),
                    tell: tell.clone(),
                };
                std::thread::Builder::new()
                    .name(format!("event-{number}"))
                    .stack_size(STACK)
                    .spawn_scoped(scope, move || thread.run())
                    .map_err(HostError::system("start a thread"))?;
            }
            drop(tell);
            wait_until_ready(&messages, self.plan.threads)?;
            self.say(Record::Begun(Begun { threads: self.plan.threads }));
            let clock = Clock::start();
            for _ in 0..self.plan.threads {
                // A thread that has ended has reported why.
                let _ = start.send(clock);
            }
            self.follow(clock, &messages);
            Ok(clock)
        })
    }

    /// Cuts intervals until no thread is running.
    fn follow(&mut self, clock: Clock, messages: &Receiver<Message>) {
        while self.running > 0 {
            let left = self.next_cut() - clock.now();
            match messages.recv_timeout(Duration::from_nanos(left.0)) {
                Ok(Message::Ended(outcome)) => self.ended(outcome),
                Ok(Message::Ready) => {}
                Err(RecvTimeoutError::Timeout) => self.cut(clock.now(), false),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn ended(&mut self, outcome: Outcome) {
        self.running -= 1;
        if let Err(error) = outcome {
            // A thread that fails ends the test: the other threads' figures would mislead.
            self.claims.stop();
            self.error.get_or_insert(error);
        }
    }

    /// When the interval ends: whole intervals of the warm-up, then of the window.
    fn next_cut(&self) -> Nanos {
        let interval = Nanos::from_seconds(self.plan.interval_s);
        let begins = self.plan.stop.window_begins();
        let after = |base: Nanos| {
            let passed = (self.from - base).0 / interval.0 + 1;
            base + Nanos(passed.saturating_mul(interval.0))
        };
        match self.from < begins {
            true => after(Nanos::ZERO).min(begins),
            false => after(begins),
        }
    }

    /// Ends the interval; the last one is not reported if nothing was done in it.
    fn cut(&mut self, now: Nanos, last: bool) {
        let phase =
            if self.from < self.plan.stop.window_begins() { Phase::Warmup } else { Phase::Window };
        let (mut done, mut latency) = (Done::default(), Latency::new());
        let shares = self.drain(&mut done, &mut latency);
        let from = std::mem::replace(&mut self.from, now);
        if last && done == Done::default() {
            return;
        }
        if phase == Phase::Window {
            self.done.add(&done);
            self.latency.merge(&latency);
            for NumberedShare(thread, share) in &shares {
                if let Some(sum) = self.shares.get_mut(*thread as usize) {
                    sum.add(share);
                }
            }
        }
        let mut lines = Vec::new();
        let written = hlog::write(
            &format!("{}/response", self.plan.tag),
            from.seconds(),
            (now - from).seconds(),
            &latency,
            &mut lines,
        );
        debug_assert!(written.is_ok(), "the plan's tag was checked");
        self.say(Record::Sample(Box::new(Sample {
            phase,
            from_s: from.seconds(),
            to_s: now.seconds(),
            threads: self.running,
            done,
            latency_ns: latency.summary(),
            quantile_ns: whole(latency.quantile(self.plan.quantile)),
            waiting: self.claims.waiting(now),
            in_flight: self.claims.busy(),
            per_thread: if self.plan.per_thread { shares } else { Vec::new() },
            hlog: lines,
        })));
    }

    fn end(self, now: Nanos) -> End {
        let latency = self.latency;
        let reason = match (&self.error, self.claims.is_stopped()) {
            (Some(_), _) => EndReason::Failed,
            (None, true) => EndReason::Stopped,
            (None, false) => EndReason::Finished,
        };
        End {
            reason,
            damage: self.error.as_ref().and_then(HostError::damage),
            error: self.error.map(|error| error.to_string()),
            seconds: (now - self.plan.stop.window_begins()).seconds(),
            done: self.done,
            quantile_ns: whole(latency.quantile(self.plan.quantile)),
            latency_sum_ns: (latency.mean_ns().unwrap_or(0.0) * latency.count() as f64).round()
                as u64,
            latency_ns: latency.summary(),
            threads: (0..).zip(self.shares).map(|(n, share)| NumberedShare(n, share)).collect(),
        }
    }

    /// Adds what was recorded since the last call to the sums; returns the shares of threads that
    /// had events.
    fn drain(&self, done: &mut Done, latency: &mut Latency) -> Vec<NumberedShare> {
        let mut shares = Vec::new();
        for (first, slot) in self.slots.iter().enumerate() {
            let threads = (first as u64..).step_by(self.slots.len());
            let of_slot = threads.zip(slot.drain_into(done, latency));
            let busy = of_slot.filter(|(_, share)| share.events > 0);
            shares.extend(busy.map(|(thread, share)| NumberedShare(thread, share)));
        }
        shares.sort_unstable_by_key(|NumberedShare(thread, _)| *thread);
        shares
    }

    /// The slot where this thread records its events, and its place there.
    fn slot(&self, thread: u32) -> Result<(Arc<Slot>, usize), HostError> {
        let (thread, slots) = (thread as usize, self.slots.len().max(1));
        let slot = self.slots.get(thread % slots).cloned().ok_or(HostError::Bug)?;
        Ok((slot, thread / slots))
    }

    fn say(&self, record: Record) {
        // If the receiver is gone, nobody needs the record.
        drop(self.records.send(record));
    }
}

fn wait_until_ready(messages: &Receiver<Message>, threads: u32) -> Result<(), HostError> {
    for _ in 0..threads {
        match messages.recv() {
            Ok(Message::Ready) => {}
            Ok(Message::Ended(Err(error))) => return Err(error),
            Ok(Message::Ended(Ok(()))) | Err(_) => return Err(HostError::Bug),
        }
    }
    Ok(())
}

/// What a thread starts with.
struct Thread<'a> {
    number: u32,
    test: &'a dyn Test,
    claims: &'a Claims,
    slot: Arc<Slot>,
    place: usize,
    started: Receiver<Clock>,
    tell: Sender<Message>,
}

impl Thread<'_> {
    fn run(self) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.try_run()));
        // The coordinator outlives the threads, unless another thread failed to start.
        drop(self.tell.send(Message::Ended(outcome.unwrap_or(Err(HostError::Bug)))));
    }

    fn try_run(&self) -> Outcome {
        let mut work = self.test.work(self.number)?;
        drop(self.tell.send(Message::Ready));
        let Ok(clock) = self.started.recv() else { return Ok(()) };
        let meter = Meter::new(clock, self.slot.clone(), self.place);
        worker::run(work.as_mut(), self.claims, meter)
    }
}
