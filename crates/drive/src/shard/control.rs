//! The flags and counters by which the threads of a step steer each other, all of them atomic.

use loadstone_measure::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// The coordinator's word to the shards.
#[derive(Debug)]
pub(crate) struct Control {
    /// When the load begins, on the step's clock; 0 while users are still connecting.
    begin_at: AtomicU64,
    stop: AtomicBool,
    /// From when on no event begins, on the step's clock, unless whoever started it says that it is still there; 0:
    /// nobody has to.
    lease_ends: AtomicU64,
    /// Events that may still become due; `None` without a limit.
    events_left: Option<AtomicI64>,
    /// How many more attempts to connect may be under way, over all shards.
    free_connects: AtomicU32,
    /// Whether a shard found none of them free and wants to be woken.
    connects_wanted: AtomicBool,
    /// A script's `init` is over: its users may begin.
    initialised: AtomicBool,
    /// Users whose script has said goodbye, of all shards.
    departed: AtomicU64,
    /// All shards have ended.
    over: AtomicBool,
    /// How often somebody has changed the load since it began.
    changes: AtomicU64,
    /// Virtual users that may begin events: those with a lower number.
    active: AtomicU32,
    /// No event begins for now.
    held: AtomicBool,
    /// Events a second of an open loop, as bits; 0 while it goes by the plan.
    rate: AtomicU64,
    /// One a shard.
    wakes: Vec<OwnedFd>,
}

impl Control {
    pub(crate) fn new(shards: u32, events: Option<u64>, at_once: u32) -> io::Result<Self> {
        let wake = |_| Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        Ok(Self {
            begin_at: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            lease_ends: AtomicU64::new(0),
            events_left: events.map(|n| AtomicI64::new(i64::try_from(n).unwrap_or(i64::MAX))),
            free_connects: AtomicU32::new(at_once),
            connects_wanted: AtomicBool::new(false),
            initialised: AtomicBool::new(false),
            departed: AtomicU64::new(0),
            over: AtomicBool::new(false),
            changes: AtomicU64::new(0),
            active: AtomicU32::new(u32::MAX),
            held: AtomicBool::new(false),
            rate: AtomicU64::new(0),
            wakes: (0..shards).map(wake).collect::<io::Result<_>>()?,
        })
    }

    pub(crate) fn begin(&self, at: Nanos) {
        self.begin_at.store(at.0.max(1), Ordering::Release);
        self.wake();
    }

    pub(crate) fn begin_at(&self) -> Option<Nanos> {
        match self.begin_at.load(Ordering::Acquire) {
            0 => None,
            at => Some(Nanos(at)),
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn stop_wanted(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The lease goes on up to then.
    pub(crate) fn renew(&self, until: Nanos) {
        self.lease_ends.store(until.0.max(1), Ordering::Release);
    }

    /// Whether the lease is over. A shard looks itself: after the process has stood still it may run before the
    /// coordinator does.
    pub(crate) fn is_abandoned(&self, now: Nanos) -> bool {
        let ends = self.lease_ends.load(Ordering::Acquire);
        ends != 0 && now.0 >= ends
    }

    /// The part of a script that comes before all users is over.
    pub(crate) fn initialise(&self) {
        self.initialised.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn is_initialised(&self) -> bool {
        self.initialised.load(Ordering::Acquire)
    }

    /// One more user's script has said goodbye; all hear of it when they are `all`.
    pub(crate) fn depart(&self, all: u64) {
        if self.departed.fetch_add(1, Ordering::SeqCst) + 1 >= all {
            self.wake();
        }
    }

    pub(crate) fn departed(&self) -> u64 {
        self.departed.load(Ordering::SeqCst)
    }

    /// From now on only so many virtual users begin events.
    pub(crate) fn set_active(&self, users: u32) {
        self.active.store(users, Ordering::Release);
        self.changed();
    }

    /// From now on so many events a second are due; above 0.
    pub(crate) fn set_rate(&self, rate: f64) {
        self.rate.store(rate.to_bits(), Ordering::Release);
        self.changed();
    }

    /// From now on no event begins, or events begin again.
    pub(crate) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::Release);
        self.changed();
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// A number that is another one after each change of the load.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// How many of a shard's users may begin events: users are dealt out to shards in turn.
    pub(crate) fn active_in(&self, shard: usize) -> u32 {
        if self.is_held() {
            return 0;
        }
        let shards = u32::try_from(self.wakes.len()).unwrap_or(u32::MAX);
        let shard = u32::try_from(shard).unwrap_or(u32::MAX);
        self.active.load(Ordering::Acquire).saturating_sub(shard).div_ceil(shards)
    }

    /// The rate that somebody has set in place of the plan's.
    pub(crate) fn rate(&self) -> Option<f64> {
        match self.rate.load(Ordering::Acquire) {
            0 => None,
            bits => Some(f64::from_bits(bits)),
        }
    }

    fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
        self.wake();
    }

    /// No shard runs any more.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Takes one event from what is left. `false` when nothing is.
    pub(crate) fn claim_event(&self) -> bool {
        match &self.events_left {
            None => true,
            Some(left) => left.fetch_sub(1, Ordering::Relaxed) > 0,
        }
    }

    /// Whether one more attempt to connect may begin. Who hears no is woken when one is free.
    pub(crate) fn take_connect(&self) -> bool {
        if self.try_take_connect() {
            return true;
        }
        self.connects_wanted.store(true, Ordering::SeqCst);
        // One may have become free before the wish was seen.
        self.try_take_connect()
    }

    /// An attempt to connect is over.
    pub(crate) fn give_connect(&self) {
        self.free_connects.fetch_add(1, Ordering::SeqCst);
        if self.connects_wanted.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    fn try_take_connect(&self) -> bool {
        let one_less = |free: u32| free.checked_sub(1);
        self.free_connects.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
    }

    pub(crate) fn wake_fd(&self, shard: usize) -> BorrowedFd<'_> {
        self.wakes[shard].as_fd()
    }

    /// Forgets that the shard was woken.
    pub(crate) fn clear_wake(&self, shard: usize) {
        // It fails only when there was nothing to forget.
        let _ = rustix::io::read(&self.wakes[shard], &mut [0_u8; 8]);
    }

    fn wake(&self) {
        for fd in &self.wakes {
            // It fails only when the counter is full: then the shard is being woken already.
            let _ = rustix::io::write(fd, &1_u64.to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_that_may_work_are_dealt_out_as_all_users_are() {
        let control = Control::new(3, None, 1).expect("descriptors");
        let shares = || [0, 1, 2].map(|shard| control.active_in(shard));
        assert!(shares().iter().all(|share| *share > 1_000_000), "{:?}", shares());
        for (active, expected) in [(7, [3, 2, 2]), (2, [1, 1, 0]), (0, [0, 0, 0])] {
            control.set_active(active);
            assert_eq!(shares(), expected);
        }
    }

    #[test]
    fn while_the_load_is_held_nobody_may_work_and_the_number_is_kept() {
        let control = Control::new(2, None, 1).expect("descriptors");
        control.set_active(4);
        control.hold(true);
        assert_eq!([0, 1].map(|shard| control.active_in(shard)), [0, 0]);
        control.set_active(6);
        control.hold(false);
        assert_eq!([0, 1].map(|shard| control.active_in(shard)), [3, 3]);
    }

    #[test]
    fn each_change_is_seen_once_and_the_rate_is_the_last_one() {
        let control = Control::new(1, None, 1).expect("descriptors");
        let before = control.changes();
        assert_eq!(control.rate(), None);
        control.set_rate(100.0);
        control.set_rate(0.5);
        assert_eq!((control.rate(), control.changes() - before), (Some(0.5), 2));
    }
}
