//! epoll with waits that end by a timer descriptor: exact to microseconds, without timer slack. See
//! epoll_wait(2) and timerfd_create(2).

use crate::clock;
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::mem::MaybeUninit;

const TIMER_TOKEN: u64 = u64::MAX;
/// How many ready descriptors one wake-up takes.
const BATCH: usize = 512;
const NOTHING: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// A ready descriptor, by the token it was added with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) token: u64,
    pub(crate) writable: bool,
    pub(crate) readable: bool,
}

#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    armed: Option<u64>,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edge-triggered, so that an expiry needs no read.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER_TOKEN), flags)?;
        Ok(Self { epoll, timer, armed: None })
    }

    pub(crate) fn add(&self, fd: impl AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN)?)
    }

    /// Changes what a descriptor is watched for; errors are always reported.
    pub(crate) fn watch(
        &self,
        fd: impl AsFd,
        token: u64,
        read: bool,
        write: bool,
    ) -> io::Result<()> {
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, read);
        flags.set(epoll::EventFlags::OUT, write);
        Ok(epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(token), flags)?)
    }

    /// Waits until something is ready or the deadline has passed; `None` is no deadline.
    pub(crate) fn wait(&mut self, deadline: Option<u64>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let timeout = match deadline {
            Some(at) if clock::now() >= at => Some(&NOTHING),
            Some(at) => {
                self.arm(at)?;
                None
            }
            None => None,
        };
        let mut buffer = [MaybeUninit::<epoll::Event>::uninit(); BATCH];
        let events = match epoll::wait(&self.epoll, &mut buffer, timeout) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for &mut epoll::Event { flags, data } in events {
            if data.u64() == TIMER_TOKEN {
                self.armed = None;
                continue;
            }
            let writable = flags.contains(epoll::EventFlags::OUT);
            let readable = flags.intersects(
                epoll::EventFlags::IN | epoll::EventFlags::ERR | epoll::EventFlags::HUP,
            );
            ready.push(Ready { token: data.u64(), writable, readable });
        }
        Ok(())
    }

    fn arm(&mut self, at: u64) -> io::Result<()> {
        if self.armed != Some(at) {
            let expiry = Itimerspec { it_interval: NOTHING, it_value: clock::timespec(at) };
            timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &expiry)?;
            self.armed = Some(at);
        }
        Ok(())
    }
}
