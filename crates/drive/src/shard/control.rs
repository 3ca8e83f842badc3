//! The flags and counters by which the threads of a step control each other, all of them atomic.

use loadstone_measure::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// A value in cache lines of its own: those that many shards write must not share a line with the
/// flags that all shards read in each turn. Processors fetch lines of 64 bytes in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// Shards in a word of bits.
const WORD: usize = u64::BITS as usize;

/// What the coordinator sets and the shards read.
#[derive(Debug)]
pub(crate) struct Control {
    /// When the load starts, on the step's clock; 0 while users are still connecting.
    begin_at: AtomicU64,
    stop: AtomicBool,
    /// When no more events may start unless the process that started the step renews its lease, on
    /// the step's clock; 0: no lease.
    lease_ends: AtomicU64,
    /// Events that may still become due; `None` if there is no limit.
    events_left: Option<Apart<AtomicI64>>,
    /// How many more connection attempts may be under way, over all shards.
    free_connects: Apart<AtomicU32>,
    /// The shards that found none of them free and want to be woken: a bit each.
    connects_wanted: Apart<Vec<AtomicU64>>,
    /// A script's `init` is over: its users may start.
    initialised: AtomicBool,
    /// Users whose script has finished, over all shards.
    departed: Apart<AtomicU64>,
    /// All shards have ended.
    over: AtomicBool,
    /// How often the load has been changed since it started.
    changes: AtomicU64,
    /// Virtual users that may start events: those with a lower number.
    active: AtomicU32,
    /// No events start for now.
    held: AtomicBool,
    /// The open loop's events per second, as bits; 0 while the plan's rate applies.
    rate: AtomicU64,
    /// One per shard.
    wakes: Vec<OwnedFd>,
}

impl Control {
    pub(crate) fn new(shards: u32, events: Option<u64>, at_once: u32) -> io::Result<Self> {
        let wake = |_| Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        Ok(Self {
            begin_at: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            lease_ends: AtomicU64::new(0),
            events_left: events
                .map(|n| Apart(AtomicI64::new(i64::try_from(n).unwrap_or(i64::MAX)))),
            free_connects: Apart(AtomicU32::new(at_once)),
            connects_wanted: Apart(
                (0..shards as usize).step_by(WORD).map(|_| AtomicU64::new(0)).collect(),
            ),
            initialised: AtomicBool::new(false),
            departed: Apart(AtomicU64::new(0)),
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

    /// Extends the lease until then.
    pub(crate) fn renew(&self, until: Nanos) {
        self.lease_ends.store(until.0.max(1), Ordering::Release);
    }

    /// Whether the lease is over. A shard checks this itself: after the process was suspended it
    /// may run before the coordinator does.
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

    /// One more user's script has finished; all users are woken when the count reaches `all`.
    pub(crate) fn depart(&self, all: u64) {
        if self.departed.0.fetch_add(1, Ordering::SeqCst) + 1 >= all {
            self.wake();
        }
    }

    pub(crate) fn departed(&self) -> u64 {
        self.departed.0.load(Ordering::SeqCst)
    }

    /// From now on only this many virtual users start events.
    pub(crate) fn set_active(&self, users: u32) {
        self.active.store(users, Ordering::Release);
        self.changed();
    }

    /// From now on this many events per second are due; above 0.
    pub(crate) fn set_rate(&self, rate: f64) {
        self.rate.store(rate.to_bits(), Ordering::Release);
        self.changed();
    }

    /// From now on no events start (`true`), or they start again (`false`).
    pub(crate) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::Release);
        self.changed();
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    /// A number that differs after each change of the load.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// How many of a shard's users may start events: users are dealt out to shards in turn.
    pub(crate) fn active_in(&self, shard: usize) -> u32 {
        if self.is_held() {
            return 0;
        }
        let shards = u32::try_from(self.wakes.len()).unwrap_or(u32::MAX);
        let shard = u32::try_from(shard).unwrap_or(u32::MAX);
        self.active.load(Ordering::Acquire).saturating_sub(shard).div_ceil(shards)
    }

    /// The rate that replaces the plan's, if one was set.
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

    /// Takes one of the remaining events. `false` if there are none.
    pub(crate) fn claim_event(&self) -> bool {
        match &self.events_left {
            None => true,
            Some(Apart(left)) => left.fetch_sub(1, Ordering::Relaxed) > 0,
        }
    }

    /// Whether one more connection attempt may start. A shard that gets `false` is woken when one
    /// is free, and then either takes it or says that it [no longer wants](Self::forgo_connect) it.
    pub(crate) fn take_connect(&self, shard: usize) -> bool {
        if self.try_take_connect() {
            return true;
        }
        let (word, bit) = self.wanted_bit(shard);
        word.fetch_or(bit, Ordering::SeqCst);
        // One may have become free before the bit was seen.
        let is_taken = self.try_take_connect();
        if is_taken {
            self.forgo_connect(shard);
        }
        is_taken
    }

    /// A connection attempt of this shard is over: wakes one that waits for it.
    pub(crate) fn give_connect(&self, shard: usize) {
        self.free_connects.0.fetch_add(1, Ordering::SeqCst);
        self.offer_connect(shard);
    }

    /// This shard no longer waits for a connection attempt. If it was woken for one, another shard
    /// is woken in its place.
    pub(crate) fn forgo_connect(&self, shard: usize) {
        let (word, bit) = self.wanted_bit(shard);
        word.fetch_and(!bit, Ordering::SeqCst);
        if self.free_connects.0.load(Ordering::SeqCst) > 0 {
            self.offer_connect(shard);
        }
    }

    /// Wakes one shard that waits for a connection attempt: the next one after `from`.
    fn offer_connect(&self, from: usize) {
        let words = &self.connects_wanted.0;
        // The bits above `from` in its word first, those below last.
        let above = u64::MAX.checked_shl((from % WORD) as u32 + 1).unwrap_or(0);
        for place in 0..=words.len() {
            let number = (from / WORD + place) % words.len();
            let mask = match place {
                0 => above,
                _ if place == words.len() => !above,
                _ => u64::MAX,
            };
            if let Some(bit) = take_lowest(&words[number], mask) {
                return self.wake_one(number * WORD + bit);
            }
        }
    }

    fn wanted_bit(&self, shard: usize) -> (&AtomicU64, u64) {
        (&self.connects_wanted.0[shard / WORD], 1 << (shard % WORD))
    }

    fn try_take_connect(&self) -> bool {
        let one_less = |free: u32| free.checked_sub(1);
        self.free_connects.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
    }

    pub(crate) fn wake_fd(&self, shard: usize) -> BorrowedFd<'_> {
        self.wakes[shard].as_fd()
    }

    /// Clears the wake-up.
    pub(crate) fn clear_wake(&self, shard: usize) {
        // This fails only if there was nothing to clear.
        let _ = rustix::io::read(&self.wakes[shard], &mut [0_u8; 8]);
    }

    fn wake(&self) {
        (0..self.wakes.len()).for_each(|shard| self.wake_one(shard));
    }

    /// Wakes one shard.
    pub(crate) fn wake_one(&self, shard: usize) {
        // This fails only if the counter is full: then the shard is being woken already.
        let _ = rustix::io::write(&self.wakes[shard], &1_u64.to_ne_bytes());
    }
}

/// Clears the lowest bit that is set in `word` within `mask`; returns its number.
fn take_lowest(word: &AtomicU64, mask: u64) -> Option<usize> {
    loop {
        let found = word.load(Ordering::SeqCst) & mask;
        if found == 0 {
            return None;
        }
        let bit = found & found.wrapping_neg();
        // Another thread may have cleared it in the meantime, and woken that shard.
        if word.fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
            return Some(bit.trailing_zeros() as usize);
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
