//! epoll with waits that are exact to microseconds.
//!
//! Most event loops round their waits to a millisecond and report the rounding as the server's
//! latency. Here the wait ends by a timer descriptor in the same epoll set: it works on every
//! kernel, has no timer slack, and costs a call only when the deadline changes, which in a closed
//! loop is once a second. See epoll_wait(2) and timerfd_create(2).

use crate::clock::Clock;
use loadstone_measure::Nanos;
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::mem::MaybeUninit;

/// What a descriptor is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Read,
    ReadAndWrite,
    /// Edge-triggered reading: one event each time that data arrives, so the reader must read all of it.
    /// The kernel need not look at every socket again to see that nothing is left.
    Arrival,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Read => epoll::EventFlags::IN,
            Self::ReadAndWrite => epoll::EventFlags::IN | epoll::EventFlags::OUT,
            Self::Arrival => {
                epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET
            }
        }
    }
}

/// A descriptor that is ready, by the token it was added with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) token: u64,
    pub(crate) writable: bool,
    /// The peer has closed its side: nothing follows the data that is already there, though a read that takes
    /// all of that data does not show it.
    pub(crate) ended: bool,
    /// Not an event of the poller: the rest of an earlier turn, which was over before all was read.
    pub(crate) is_rest: bool,
}

const ENDED: epoll::EventFlags =
    epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);

/// The poller's own token.
const TIMER_TOKEN: u64 = u64::MAX;
/// The most ready descriptors that one wake-up returns.
const BATCH: usize = 1024;
const NOTHING: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// What the timer is set to.
    armed: Option<Nanos>,
    /// The last wait returned as much as one can: some may have been left for the next.
    was_full: bool,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        // Edge-triggered, so that an expiry needs no read.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER_TOKEN), flags)?;
        Ok(Self { epoll, timer, armed: None, was_full: false })
    }

    pub(crate) fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, epoll::EventData::new_u64(token), interest.flags())?)
    }

    pub(crate) fn modify(&self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Waits until something is ready or `deadline` has come, and puts what is ready in `ready`.
    /// `now` may be slightly old: a timer set to a time in the past ends the wait at once.
    pub(crate) fn wait(
        &mut self,
        clock: Clock,
        now: Nanos,
        deadline: Nanos,
        ready: &mut Vec<Ready>,
    ) -> io::Result<()> {
        ready.clear();
        let timeout = if now >= deadline { Some(&NOTHING) } else { None };
        if timeout.is_none() {
            self.arm(clock, deadline)?;
        }
        let mut buffer = [MaybeUninit::<epoll::Event>::uninit(); BATCH];
        let events = match epoll::wait(&self.epoll, &mut buffer, timeout) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.was_full = events.len() == BATCH;
        for &mut epoll::Event { flags, data } in events {
            if data.u64() == TIMER_TOKEN {
                self.armed = None;
            } else {
                let writable = flags.contains(epoll::EventFlags::OUT);
                let ended = flags.intersects(ENDED);
                ready.push(Ready { token: data.u64(), writable, ended, is_rest: false });
            }
        }
        Ok(())
    }

    /// Whether the last wait may have left something for the next one.
    pub(crate) fn was_full(&self) -> bool {
        self.was_full
    }

    fn arm(&mut self, clock: Clock, deadline: Nanos) -> io::Result<()> {
        if self.armed != Some(deadline) {
            let expiry = Itimerspec { it_interval: NOTHING, it_value: clock.monotonic(deadline) };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &expiry)?;
            self.armed = Some(deadline);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn wait_once(poller: &mut Poller) -> Vec<Ready> {
        let mut ready = Vec::new();
        poller.wait(Clock::start(), Nanos(1), Nanos(0), &mut ready).expect("waiting works");
        ready
    }

    #[test]
    fn an_arrival_is_told_once_and_an_end_behind_it_too() {
        let (mut server, socket) = UnixStream::pair().expect("a pair of sockets");
        let mut poller = Poller::new().expect("epoll");
        poller.add(&socket, 7, Interest::Arrival).expect("added");
        server.write_all(b"an answer").expect("room");
        assert_eq!(wait_once(&mut poller).iter().map(|one| one.ended).collect::<Vec<_>>(), [false]);
        assert!(wait_once(&mut poller).is_empty(), "told twice");
        drop(server);
        let end = wait_once(&mut poller);
        assert_eq!(end.iter().map(|one| (one.token, one.ended)).collect::<Vec<_>>(), [(7, true)]);
    }

    #[test]
    fn what_came_with_the_end_is_told_as_ended() {
        let (mut server, socket) = UnixStream::pair().expect("a pair of sockets");
        let mut poller = Poller::new().expect("epoll");
        server.write_all(b"goodbye").expect("room");
        drop(server);
        poller.add(&socket, 7, Interest::Arrival).expect("added");
        assert_eq!(wait_once(&mut poller).iter().map(|one| one.ended).collect::<Vec<_>>(), [true]);
    }

    #[test]
    fn a_wait_of_300_microseconds_is_not_rounded_to_a_millisecond_or_to_nothing() {
        let clock = Clock::start();
        let mut poller = Poller::new().expect("epoll");
        let mut lateness = Vec::new();
        for _ in 0..50 {
            let deadline = Nanos(clock.now().0 + 300_000);
            poller.wait(clock, clock.now(), deadline, &mut Vec::new()).expect("waiting works");
            let woken = clock.now();
            assert!(woken >= deadline, "woke before the deadline");
            lateness.push(woken.0 - deadline.0);
        }
        lateness.sort_unstable();
        assert!(lateness[5] < 300_000, "late by {lateness:?} ns");
    }
}
