//! What the threads of one step share: few words, no locks.

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
    /// One a shard.
    wakes: Vec<OwnedFd>,
}

impl Control {
    pub(crate) fn new(shards: u32, events: Option<u64>, at_once: u32) -> io::Result<Self> {
        let wake = |_| Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        Ok(Self {
            begin_at: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            events_left: events.map(|n| AtomicI64::new(i64::try_from(n).unwrap_or(i64::MAX))),
            free_connects: AtomicU32::new(at_once),
            connects_wanted: AtomicBool::new(false),
            initialised: AtomicBool::new(false),
            departed: AtomicU64::new(0),
            over: AtomicBool::new(false),
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
