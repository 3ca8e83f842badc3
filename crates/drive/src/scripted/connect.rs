//! Opens the connections that a script asks for, and handles lost ones.

use super::connections::{LostConnection, MOST_ROW_BYTES, OpenConnection};
use super::resume::Resume;
use super::{Activity, Pending, Scripted, Wanted};
use crate::connection::{Advance, Interest, Loss, Opened, Opening};
use crate::error::{Failure, FailureKind};
use crate::record::FirstError;
use crate::shard::{Alarm, ShardContext, Stage};
use loadstone_measure::Nanos;
use loadstone_protocol::Fault;

/// How long to wait when a unix socket's connect queue is full: see `user/connect.rs`.
const QUEUE_FULL_PAUSE: Nanos = Nanos::from_millis(2);

impl Scripted {
    /// The script wants a connection: opened at once if it is this user's turn to connect,
    /// otherwise when its turn comes.
    pub(super) fn connect(&mut self, shard: &mut ShardContext, wanted: Wanted) {
        if self.has_turn {
            self.begin_opening(shard, wanted);
        } else {
            self.pending = Pending::Turn(wanted);
            shard.connect_queue.enqueue(self.index);
        }
    }

    pub(super) fn begin_opening(&mut self, shard: &mut ShardContext, wanted: Wanted) {
        if let Some(failure) = wanted.endpoint.unknown_host() {
            return self.connect_failed(shard, wanted, failure);
        }
        let now = shard.now();
        let deadline = now + Nanos::from_seconds(shard.settings.connect.timeout_s);
        let place = self.connections.free_place();
        let opening = match Opening::begin(wanted.endpoint.clone(), self.address, deadline) {
            Ok(opening) => opening,
            Err(failure) if failure.kind == FailureKind::QueueFull => {
                self.pending = Pending::Turn(wanted);
                self.give_turn_back(shard);
                return shard.timers.set(now + QUEUE_FULL_PAUSE, self.index, Alarm::Retry);
            }
            Err(failure) => return self.connect_failed(shard, wanted, failure),
        };
        let token = self.token(place);
        if let Err(error) = shard.poller.add(opening.fd(), token, Interest::ReadAndWrite) {
            let failure = wanted.endpoint.connect_failure(&error);
            return self.connect_failed(shard, wanted, failure);
        }
        shard.timers.set(deadline, self.index, Alarm::ConnectTimeout);
        self.pending = Pending::Opening { wanted, place, opening: Box::new(opening) };
    }

    pub(super) fn go_on_opening(&mut self, shard: &mut ShardContext, buffer: &mut [u8]) {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        let Pending::Opening { wanted, place, opening } = pending else { return };
        match opening.advance(buffer) {
            Ok(Advance::Pending(opening)) => {
                self.pending = Pending::Opening { wanted, place, opening };
            }
            Ok(Advance::Open(opened)) => self.opened(shard, wanted, place, *opened),
            Err(failure) => self.connect_failed(shard, wanted, failure),
        }
    }

    pub(super) fn connect_timed_out(&mut self, shard: &mut ShardContext) {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        let Pending::Opening { wanted, .. } = pending else { return };
        let failure = wanted.endpoint.too_late(shard.settings.connect.timeout_s);
        self.connect_failed(shard, wanted, failure);
    }

    fn opened(&mut self, shard: &mut ShardContext, wanted: Wanted, place: usize, opened: Opened) {
        self.give_turn_back(shard);
        self.attempt = 0;
        shard.meter.counts.bytes_in += opened.bytes_in;
        shard.meter.counts.bytes_out += opened.bytes_out;
        if shard.stage == Stage::Connecting {
            shard.connected.encrypted_users += u64::from(opened.cipher.is_some());
            shard.connected.tls = shard.connected.tls.take().or(opened.cipher);
            shard.connected.note_in_clear(opened.why_in_clear);
            let version = Some(opened.session.server_version);
            shard.connected.server_version = shard.connected.server_version.take().or(version);
        }
        let mut connection = opened.connection;
        connection.conversation.keep_results(MOST_ROW_BYTES);
        let Wanted { number, endpoint, loss } = wanted;
        self.connections
            .put(place, OpenConnection { number, endpoint: endpoint.clone(), connection });
        let resume = match loss {
            None => Resume::Done,
            Some(loss) => {
                self.statements.lose_session(number);
                let now = shard.now();
                shard.meter.user_back(shard.since_begin(now), endpoint.index);
                Resume::loss(&loss)
            }
        };
        self.answer(shard, resume);
        self.watch(shard, place);
    }

    /// An attempt has failed. Before the load it is repeated as often as the plan allows; under
    /// load, a lost connection is retried for as long as the load lasts.
    fn connect_failed(&mut self, shard: &mut ShardContext, wanted: Wanted, failure: Failure) {
        self.give_turn_back(shard);
        if failure.is_tried_another_way() {
            self.pending = Pending::Turn(wanted);
            return shard.connect_queue.enqueue_first(self.index);
        }
        self.address += 1;
        self.blamed = wanted.endpoint.index;
        shard.meter.connect_failed(failure.code_alone(), wanted.endpoint.index);
        let is_new = wanted.loss.is_none();
        let again = failure.may_pass()
            && Self::may_connect(shard)
            && (!is_new || self.attempt < shard.settings.connect.retries);
        if !again {
            let cannot = || self.family().code_of(Fault::CannotConnect { unix: false });
            let code = failure.code.unwrap_or_else(cannot);
            let (message, target) = (failure.message.clone(), Some(wanted.endpoint.index));
            Self::tell_first(shard, code, || FirstError {
                code,
                message,
                statement: None,
                preparing: false,
                prepared: false,
                position: None,
                target,
            });
            return self.answer(shard, Resume::failure(code, failure.message));
        }
        self.pending = Pending::Turn(wanted);
        let pause = shard.settings.connect.own_backoff(self.attempt, self.index);
        self.attempt = self.attempt.saturating_add(1);
        let at = shard.now() + Nanos::from_seconds(pause.as_secs_f64());
        shard.timers.set(at, self.index, Alarm::Retry);
    }

    /// A connection is gone. A script that does not wait for it learns that when it uses the
    /// connection next.
    pub(super) fn lose(&mut self, shard: &mut ShardContext, place: usize, loss: Loss) {
        let Some(open) = self.connections.take(place) else { return };
        let waited = match &self.pending {
            Pending::Answer { place: at, .. }
            | Pending::Preparation { place: at, .. }
            | Pending::Rollback { place: at, .. } => *at == place,
            _ => false,
        };
        let OpenConnection { number, endpoint, .. } = open;
        let lost = LostConnection { number, endpoint, loss };
        if !waited {
            return self.connections.keep_lost(lost);
        }
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        if let Some(resume) = self.meet_loss(shard, lost, pending) {
            self.answer(shard, resume);
        }
    }

    /// The script learns that a connection is gone, of which it wanted this. One whose events
    /// restart after such an error is reconnected first; any other gets the error.
    pub(super) fn meet_loss(
        &mut self,
        shard: &mut ShardContext,
        lost: LostConnection,
        wanted: Pending,
    ) -> Option<Resume> {
        let now = shard.now();
        let LostConnection { number, endpoint, loss } = lost;
        self.count_error(shard, endpoint.index, loss.code, |script| {
            let prepared = matches!(wanted, Pending::Answer { sql: None, .. });
            let (statement, preparing) = match wanted {
                Pending::Answer { sql, .. } => (sql.or_else(|| script.executing()), false),
                Pending::Preparation { sql, .. } => (Some(sql), true),
                _ => (None, false),
            };
            FirstError {
                code: loss.code,
                message: loss.message.clone(),
                statement,
                preparing,
                prepared,
                position: None,
                target: None,
            }
        });
        let ignored = shard.settings.ignores(loss.code);
        if !(ignored && shard.is_loading() && matches!(self.activity, Activity::Busy { .. })) {
            return Some(Resume::loss(&loss));
        }
        let reason = format!("{} {}", loss.code, loss.message);
        shard.meter.user_lost(shard.since_begin(now), endpoint.index, reason);
        shard.meter.user_cut_off(self.index);
        self.connect(shard, Wanted { number, endpoint, loss: Some(loss) });
        None
    }
}
