//! Opens the connection of a native user, and another one when it is lost.

use super::{Link, User};
use crate::connection::{Advance, Interest, Loss, Opened, Opening};
use crate::error::{Failure, FailureKind};
use crate::plan::OnError;
use crate::record::FirstError;
use crate::shard::{Alarm, ShardContext, Stage};
use loadstone_measure::Nanos;
use loadstone_protocol::Fault;

/// A unix socket whose connect queue is full says so at once: the server is busy accepting others,
/// and blocking clients would simply wait. Asking again is not a failed attempt.
const QUEUE_FULL_PAUSE: Nanos = Nanos::from_millis(2);

/// The limit for the rows of one answer, in bytes, if the workload reads them.
const MOST_ROW_BYTES: usize = 16 << 20;

impl User {
    /// It is this user's turn to connect.
    pub(crate) fn open(&mut self, shard: &mut ShardContext) {
        let now = shard.now();
        let timeout = Nanos::from_seconds(shard.settings.connect.timeout_s);
        let deadline = now + timeout;
        let opening = match Opening::begin(self.endpoint.clone(), self.address, deadline) {
            Ok(opening) => opening,
            Err(failure) if failure.kind == FailureKind::QueueFull => {
                let since = *self.queued_since.get_or_insert(now);
                if now.since(since) >= timeout {
                    return self.connect_timed_out(shard, now);
                }
                shard.connect_queue.finished();
                shard.timers.set(now + QUEUE_FULL_PAUSE, self.index, Alarm::Retry);
                return;
            }
            Err(failure) => return self.connect_failed(shard, failure, now),
        };
        self.attempt_began = self.queued_since.take().unwrap_or(now);
        let token = u64::from(self.index);
        if let Err(error) = shard.poller.add(opening.fd(), token, Interest::ReadAndWrite) {
            let failure = self.endpoint.connect_failure(&error);
            return self.connect_failed(shard, failure, now);
        }
        shard.timers.set(deadline, self.index, Alarm::ConnectTimeout);
        self.link = Link::Opening(Box::new(opening));
    }

    pub(crate) fn go_on_opening(&mut self, shard: &mut ShardContext, buffer: &mut [u8]) {
        let Link::Opening(opening) = std::mem::replace(&mut self.link, Link::Down) else { return };
        match opening.advance(buffer) {
            Ok(Advance::Pending(opening)) => self.link = Link::Opening(opening),
            Ok(Advance::Open(opened)) => self.opened(shard, *opened),
            Err(failure) => {
                let now = shard.now();
                self.connect_failed(shard, failure, now);
            }
        }
    }

    pub(crate) fn connect_timed_out(&mut self, shard: &mut ShardContext, now: Nanos) {
        let failure = self.endpoint.too_late(shard.settings.connect.timeout_s);
        self.connect_failed(shard, failure, now);
    }

    /// An attempt has ended without a connection.
    pub(crate) fn connect_failed(
        &mut self,
        shard: &mut ShardContext,
        failure: Failure,
        now: Nanos,
    ) {
        self.link = Link::Down;
        self.queued_since = None;
        shard.connect_queue.finished();
        if failure.is_tried_another_way() {
            return shard.connect_queue.enqueue_first(self.index);
        }
        if failure.is_refused() && self.refused + 1 < self.endpoint.address_count() {
            // A name with several addresses is refused when all of them are.
            self.refused += 1;
            self.address += 1;
            return shard.connect_queue.enqueue_first(self.index);
        }
        self.refused = 0;
        self.address += 1;
        self.attempt_failed(shard, failure, now);
    }

    /// A connection is lost while others still log in: the attempt has failed.
    pub(crate) fn lose_before_load(&mut self, shard: &mut ShardContext, loss: &Loss, now: Nanos) {
        if let Link::Open(connection) = std::mem::replace(&mut self.link, Link::Down) {
            if self.is_idle {
                shard.connected.idle -= 1;
                shard.meter.idle_gone();
            } else {
                shard.connected.users -= 1;
                shard.connected.encrypted_users -= u64::from(connection.is_encrypted());
                shard.connected.compressed_users -= u64::from(connection.is_compressed());
                shard.meter.user_gone(self.endpoint.index);
            }
        }
        self.attempt_failed(shard, loss.failure().at(self.endpoint.index), now);
    }

    fn attempt_failed(&mut self, shard: &mut ShardContext, failure: Failure, now: Nanos) {
        shard.meter.connect_failed(failure.code_alone(), self.endpoint.index);
        let retries = shard.settings.connect.retries;
        if shard.stage == Stage::Connecting && (!failure.may_pass() || self.attempt >= retries) {
            return shard.fail(failure);
        }
        let ends_users = shard.settings.on_error == OnError::EndUser;
        if ends_users && !self.is_idle && shard.stage != Stage::Connecting {
            let code =
                failure.code.unwrap_or_else(|| self.endpoint.family.code_of(Fault::ConnectionGone));
            let ended = self.ended(code, failure.message);
            return self.end_without_connection(shard, ended);
        }
        if std::mem::take(&mut self.renews) {
            // It was about to reconnect: from here on it counts as a user that lost its connection.
            let reason = format!("{} {}", failure.code_alone(), failure.message);
            shard.meter.user_lost(shard.since_begin(now), self.endpoint.index, reason);
            if shard.settings.on_error == OnError::Stop {
                shard.fail(failure);
            }
        }
        self.retry_later(shard, now);
    }

    /// The connection is gone.
    pub(crate) fn lose(&mut self, shard: &mut ShardContext, loss: &Loss) {
        let now = shard.now();
        if let Link::Opening(_) = self.link {
            let failure = loss.failure().at(self.endpoint.index);
            return self.connect_failed(shard, failure, now);
        }
        if shard.stage == Stage::Connecting {
            return self.lose_before_load(shard, loss, now);
        }
        self.link = Link::Down;
        if self.is_idle {
            return self.idle_lost(shard, loss, now);
        }
        if shard.settings.on_error == OnError::EndUser {
            return self.end_after_loss(shard, loss, now);
        }
        let reason = format!("{} {}", loss.code, loss.message);
        shard.meter.user_lost(shard.since_begin(now), self.endpoint.index, reason);
        self.reopen(shard, now);
        if shard.settings.on_error == OnError::Stop {
            shard.fail(loss.failure().at(self.endpoint.index));
        }
        self.event_lost(shard, loss, now);
    }

    /// A server may close an idle connection after too long (`wait_timeout`): that is counted, and
    /// another one is opened in its place.
    fn idle_lost(&mut self, shard: &mut ShardContext, loss: &Loss, now: Nanos) {
        shard.meter.idle_lost();
        shard.meter.first_error(loss.code, || FirstError {
            code: loss.code,
            message: format!("an idle connection was lost: {}", loss.message),
            statement: None,
            preparing: false,
            prepared: false,
            position: None,
            target: None,
        });
        self.retry_later(shard, now);
    }

    /// One more event is over. The plan may limit the number of events per connection.
    pub(crate) fn renew_when_served(&mut self, shard: &mut ShardContext) {
        let Some(most) = shard.settings.reconnect_after else { return };
        self.served += 1;
        if self.served < most.get() {
            return;
        }
        if let Link::Open(connection) = std::mem::replace(&mut self.link, Link::Down) {
            shard.farewells.add(&shard.poller, connection);
            self.renews = true;
            self.attempt = 0;
        }
    }

    /// Whether it can run an event: at once, or after reconnecting as the plan asks.
    pub(crate) fn is_ready(&self) -> bool {
        self.renews || matches!(self.link, Link::Open(_))
    }

    /// Says goodbye.
    pub(crate) fn close(&mut self, shard: &mut ShardContext) {
        match std::mem::replace(&mut self.link, Link::Down) {
            Link::Down => {}
            // Other shards may be waiting for its turn.
            Link::Opening(_) => shard.connect_queue.finished(),
            Link::Open(connection) => connection.quit(),
        }
    }

    /// Updates what the poller watches the socket for, if that has changed.
    pub(crate) fn watch(&mut self, shard: &mut ShardContext) {
        let (fd, registered, wanted) = match &mut self.link {
            Link::Down => return,
            Link::Opening(opening) => {
                let wanted = opening.wanted_interest();
                let registered = std::mem::replace(&mut opening.interest, wanted);
                (opening.fd(), registered, wanted)
            }
            Link::Open(connection) => {
                let wanted = connection.wanted_interest();
                let registered = std::mem::replace(&mut connection.interest, wanted);
                (connection.fd(), registered, wanted)
            }
        };
        if registered != wanted
            && let Err(error) = shard.poller.modify(fd, u64::from(self.index), wanted)
        {
            self.lose(shard, &Loss::from_io(self.endpoint.family, &error));
        }
    }

    /// A connection was lost under load. If it completed no event, reconnecting waits: otherwise a
    /// server or proxy that accepts everybody and drops everybody would be stormed.
    pub(crate) fn reopen(&mut self, shard: &mut ShardContext, now: Nanos) {
        if self.proven {
            self.attempt = 0;
            shard.connect_queue.enqueue(self.index);
        } else {
            self.retry_later(shard, now);
        }
    }

    fn retry_later(&mut self, shard: &mut ShardContext, now: Nanos) {
        let pause = shard.settings.connect.own_backoff(self.attempt, self.index);
        self.attempt = self.attempt.saturating_add(1);
        let at = now + Nanos::from_seconds(pause.as_secs_f64());
        shard.timers.set(at, self.index, Alarm::Retry);
    }

    fn opened(&mut self, shard: &mut ShardContext, mut opened: Opened) {
        let now = shard.now();
        shard.connect_queue.finished();
        self.refused = 0;
        self.proven = false;
        shard.meter.counts.bytes_in += opened.bytes_in;
        shard.meter.counts.bytes_out += opened.bytes_out;
        self.served = 0;
        if shard.stage == Stage::Connecting {
            self.count_first(shard, &mut opened);
        } else {
            self.count_another(shard, now);
        }
        let mut connection = opened.connection;
        if self.machine.reads_rows() {
            connection.conversation.keep_values(MOST_ROW_BYTES);
        }
        self.link = Link::Open(connection);
        self.reconnected(shard, now);
    }

    /// Counts a connection opened before the load.
    fn count_first(&self, shard: &mut ShardContext, opened: &mut Opened) {
        if self.is_idle {
            shard.connected.idle += 1;
            return shard.meter.idle_opened();
        }
        let connected = &mut shard.connected;
        connected.users += 1;
        connected.encrypted_users += u64::from(opened.cipher.is_some());
        connected.tls = connected.tls.take().or_else(|| opened.cipher.clone());
        connected.note_in_clear(opened.why_in_clear.take());
        connected.compressed_users += u64::from(opened.session.compression.is_some());
        connected.compression = connected.compression.or(opened.session.compression);
        let version = || Some(opened.session.server_version.clone());
        connected.server_version = connected.server_version.take().or_else(version);
        shard.meter.user_up(self.endpoint.index);
    }

    /// Counts a connection opened under load: renewed as the plan asks, or after a loss.
    fn count_another(&mut self, shard: &mut ShardContext, now: Nanos) {
        if self.is_idle {
            return shard.meter.idle_opened();
        }
        shard.meter.connected_under_load(now - self.attempt_began);
        if std::mem::take(&mut self.renews) {
            shard.meter.counts.connects += 1;
        } else {
            shard.meter.user_back(shard.since_begin(now), self.endpoint.index);
        }
    }
}
