//! A virtual user of either kind, native or scripted, as the event loop calls it.

use super::prefetch::prefetch;
use crate::connection::Ready;
use crate::programs::Ended;
use crate::scripted::Scripted;
use crate::shard::{Alarm, ShardContext};
use crate::user::User;
use loadstone_measure::Nanos;

#[expect(
    clippy::large_enum_variant,
    reason = "native users lie side by side, in one piece of memory"
)]
pub(crate) enum AnyUser {
    /// Driven by a built-in workload or a template.
    Native(User),
    /// Driven by a script.
    Scripted(Box<Scripted>),
}

impl AnyUser {
    /// Its turn is near: has what belongs to it brought into the caches, but for what it points to.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self);
    }

    /// Its turn is next, and it was prefetched before: so is now what it points to.
    #[inline]
    pub(crate) fn prefetch_rest(&self) {
        match self {
            Self::Native(user) => prefetch(&*user.machine),
            Self::Scripted(user) => prefetch(&**user),
        }
    }

    pub(crate) fn on_ready(&mut self, shard: &mut ShardContext, buffer: &mut [u8], ready: Ready) {
        match self {
            Self::Native(user) => user.on_ready(shard, buffer, ready),
            Self::Scripted(user) => user.on_ready(shard, buffer, ready),
        }
    }

    pub(crate) fn on_alarm(&mut self, shard: &mut ShardContext, alarm: Alarm, now: Nanos) {
        match self {
            Self::Native(user) => user.on_alarm(shard, alarm, now),
            Self::Scripted(user) => user.on_alarm(shard, alarm, now),
        }
    }

    /// A program of this user has ended.
    pub(crate) fn on_program_end(&mut self, shard: &mut ShardContext, ended: Ended) {
        match self {
            Self::Native(user) => user.on_program_end(shard, ended),
            // Its script runs programs itself.
            Self::Scripted(_) => {}
        }
    }

    /// It is this user's turn to connect.
    pub(crate) fn open(&mut self, shard: &mut ShardContext) {
        match self {
            Self::Native(user) => user.open(shard),
            Self::Scripted(user) => user.open(shard),
        }
    }

    /// The load starts.
    pub(crate) fn begin(&mut self, shard: &mut ShardContext, at: Nanos) {
        match self {
            Self::Native(user) => user.begin(shard, at),
            Self::Scripted(user) => user.begin(shard, at),
        }
    }

    /// An event of the open loop is due, and this user is free.
    pub(crate) fn dispatch(&mut self, shard: &mut ShardContext) {
        match self {
            Self::Native(user) => user.dispatch(shard),
            Self::Scripted(user) => user.dispatch(shard),
        }
    }

    /// It may start events again.
    pub(crate) fn go_on_after_rest(&mut self, shard: &mut ShardContext) {
        match self {
            Self::Native(user) => user.go_on_after_rest(shard),
            Self::Scripted(user) => user.go_on_after_rest(shard),
        }
    }

    /// No more events start.
    pub(crate) fn finish(&mut self, shard: &mut ShardContext) {
        match self {
            Self::Native(_) => {}
            Self::Scripted(user) => user.finish(shard),
        }
    }

    /// The step ends: an event that is due and has no connection no longer starts, and one in
    /// flight gets no answer.
    pub(crate) fn give_up_waiting(&mut self, shard: &mut ShardContext) {
        match self {
            Self::Native(user) => user.give_up_waiting(shard),
            Self::Scripted(user) => user.cut_off(shard),
        }
    }

    /// Whether an event of this user is due or in flight.
    pub(crate) fn has_event(&self) -> bool {
        match self {
            Self::Native(user) => user.has_event(),
            Self::Scripted(user) => user.has_event(),
        }
    }

    /// Whether others wait until this user has initialised.
    pub(crate) fn goes_first(&self) -> bool {
        match self {
            Self::Native(_) => false,
            Self::Scripted(user) => user.goes_first(),
        }
    }

    /// Continues with what waits for all others to finish, once they have.
    pub(crate) fn look_for_others(&mut self, shard: &mut ShardContext) {
        match self {
            Self::Native(_) => {}
            Self::Scripted(user) => user.look_for_others(shard),
        }
    }

    /// Whether it opens connections after the window, too: a script needs them for an event in
    /// flight, and for its final part. A native user needs one only for further events.
    pub(crate) fn connects_late(&self) -> bool {
        matches!(self, Self::Scripted(_))
    }

    /// Whether it has ended by itself.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Native(user) => user.is_over(),
            Self::Scripted(user) => user.is_over(),
        }
    }

    /// Says goodbye to the server.
    pub(crate) fn close(&mut self, shard: &mut ShardContext) {
        match self {
            Self::Native(user) => user.close(shard),
            Self::Scripted(user) => user.close(shard),
        }
    }
}
