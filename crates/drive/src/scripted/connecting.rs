//! How a scripted user gets the connections that its script asks for, and loses them.

use super::channels::Channel;
use super::turns::Given;
use super::{Activity, MOST_ROW_BYTES, Owed, Scripted, Wanted};
use crate::core::{Core, Stage};
use crate::error::{Failure, FailureKind};
use crate::loss::Loss;
use crate::opening::{Advance, Opened, Opening};
use crate::poller::Interest;
use crate::record::FirstError;
use crate::timers::Alarm;
use loadstone_measure::Nanos;

/// A unix socket whose queue of connects is full: see `connecting.rs` of the native users.
const QUEUE_FULL_PAUSE: Nanos = Nanos::from_millis(2);

impl Scripted {
    /// The script wants a connection: at once if this user has the ramp's turn, else when it comes.
    pub(super) fn connect(&mut self, core: &mut Core, wanted: Wanted) {
        if self.has_turn {
            self.begin_opening(core, wanted);
        } else {
            self.owed = Owed::Turn(wanted);
            core.ramp.enqueue(self.index);
        }
    }

    pub(super) fn begin_opening(&mut self, core: &mut Core, wanted: Wanted) {
        let now = core.now();
        let deadline = now + Nanos::from_seconds(core.settings.connect.timeout_s);
        let place = self.channels.free_place();
        let opening = match Opening::begin(wanted.endpoint.clone(), self.address, deadline) {
            Ok(opening) => opening,
            Err(failure) if failure.kind == FailureKind::QueueFull => {
                self.owed = Owed::Turn(wanted);
                self.give_turn_back(core);
                return core.timers.set(now + QUEUE_FULL_PAUSE, self.index, Alarm::Retry);
            }
            Err(failure) => return self.connect_failed(core, wanted, failure),
        };
        let token = self.token(place);
        if let Err(error) = core.poller.add(opening.fd(), token, Interest::ReadAndWrite) {
            let failure = Failure::from_connect(&error, wanted.endpoint.unix);
            return self.connect_failed(core, wanted, failure);
        }
        core.timers.set(deadline, self.index, Alarm::ConnectTimeout);
        self.owed = Owed::Opening { wanted, place, opening: Box::new(opening) };
    }

    pub(super) fn go_on_opening(&mut self, core: &mut Core, buffer: &mut [u8]) {
        let owed = std::mem::replace(&mut self.owed, Owed::Nothing);
        let Owed::Opening { wanted, place, opening } = owed else { return };
        match opening.advance(buffer) {
            Ok(Advance::Pending(opening)) => {
                self.owed = Owed::Opening { wanted, place, opening };
            }
            Ok(Advance::Open(opened)) => self.opened(core, wanted, place, *opened),
            Err(failure) => self.connect_failed(core, wanted, failure),
        }
    }

    pub(super) fn connect_timed_out(&mut self, core: &mut Core) {
        let owed = std::mem::replace(&mut self.owed, Owed::Nothing);
        let Owed::Opening { wanted, .. } = owed else { return };
        let text = format!("no connection within {} s", core.settings.connect.timeout_s);
        let failure = Failure::new(FailureKind::TimedOut, Some(110), text);
        self.connect_failed(core, wanted, failure);
    }

    fn opened(&mut self, core: &mut Core, wanted: Wanted, place: usize, opened: Opened) {
        self.give_turn_back(core);
        self.attempt = 0;
        core.meter.counts.bytes_in += opened.bytes_in;
        core.meter.counts.bytes_out += opened.bytes_out;
        if core.stage == Stage::Connecting {
            core.connected.encrypted_users += u64::from(opened.cipher.is_some());
            core.connected.tls = core.connected.tls.take().or(opened.cipher);
            let version = Some(opened.session.server_version);
            core.connected.server_version = core.connected.server_version.take().or(version);
        }
        let mut connection = opened.connection;
        connection.reader.keep_results(MOST_ROW_BYTES);
        let Wanted { number, endpoint, loss } = wanted;
        self.channels.put(place, Channel { number, endpoint: endpoint.clone(), connection });
        let given = match loss {
            None => Given::Done,
            Some(loss) => {
                let now = core.now();
                core.meter.user_back(core.since_begin(now), &endpoint);
                Given::loss(&loss)
            }
        };
        self.answer(core, given);
        self.watch(core, place);
    }

    /// An attempt has come to nothing. Before the load it is tried as often as the plan says; under
    /// load, a connection that was lost is wanted back for as long as the load lasts.
    fn connect_failed(&mut self, core: &mut Core, wanted: Wanted, failure: Failure) {
        self.give_turn_back(core);
        self.address += 1;
        self.blamed = wanted.endpoint.index;
        core.meter.connect_failed(failure.errno.unwrap_or(0), wanted.endpoint.index);
        let is_new = wanted.loss.is_none();
        let again = failure.may_pass()
            && Self::may_connect(core)
            && (!is_new || self.attempt < core.settings.connect.retries);
        if !again {
            let errno = failure.errno.unwrap_or(2003);
            let message = failure.message.clone();
            Self::tell_first(core, FirstError { errno, message, statement: None });
            return self.answer(core, Given::failure(errno, failure.message));
        }
        self.owed = Owed::Turn(wanted);
        let pause = core.settings.connect.backoff(self.attempt);
        self.attempt = self.attempt.saturating_add(1);
        let at = core.now() + Nanos::from_seconds(pause.as_secs_f64());
        core.timers.set(at, self.index, Alarm::Retry);
    }

    /// A connection is gone. A script whose events begin anew after such an error gets it back first;
    /// any other is told.
    pub(super) fn lose(&mut self, core: &mut Core, place: usize, loss: Loss) {
        let Some(channel) = self.channels.take(place) else { return };
        let now = core.now();
        let waited = match &self.owed {
            Owed::Answer { place: at, .. } | Owed::Preparation { place: at, .. } => *at == place,
            _ => false,
        };
        if !waited {
            // The script hears of it when it uses the connection next.
            return;
        }
        self.owed = Owed::Nothing;
        let (errno, message) = (loss.errno, loss.message.clone());
        let lost = FirstError { errno, message, statement: None };
        self.count_error(core, channel.endpoint.index, lost);
        let ignored = core.settings.ignores(loss.errno);
        if ignored && core.is_loading() && matches!(self.activity, Activity::Busy { .. }) {
            let reason = format!("{} {}", loss.errno, loss.message);
            let Channel { number, endpoint, .. } = channel;
            core.meter.user_lost(core.since_begin(now), &endpoint, reason);
            core.meter.user_cut_off(self.index);
            self.connect(core, Wanted { number, endpoint, loss: Some(loss) });
        } else {
            self.answer(core, Given::loss(&loss));
        }
    }
}
