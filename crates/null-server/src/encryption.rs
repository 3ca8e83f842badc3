//! A connection's switch to TLS, and what arrives over it.

use crate::answer::Reply;
use crate::connection::{Came, Connection, Phase};
use crate::core::Core;
use crate::log::{Kind, Outcome};
use rustix::net::{SendFlags, send};

impl Connection {
    /// The client asks for TLS: records follow.
    pub(crate) fn begin_tls(&mut self, core: &mut Core) {
        match core.tls.as_ref().map(|maker| maker.connection()) {
            Some(Ok(tls)) => {
                self.tls = Some(Box::new(tls));
                self.phase = Phase::Handshake;
            }
            // rustls has no randomness, or TLS was not offered.
            _ => self.close(core),
        }
    }

    /// Records arrived: their plaintext is processed, and TLS's own answers are sent.
    pub(crate) fn unseal(&mut self, core: &mut Core, records: &[u8], now: u64) {
        let Some(tls) = &mut self.tls else { return };
        let mut clear = std::mem::take(&mut core.clear);
        clear.clear();
        match tls.open(records, &mut clear, now) {
            Err(_) => self.fail_tls(core),
            Ok(seen) => {
                let came = Came { seen, whole: now };
                if self.phase == Phase::Handshake && !tls.is_handshaking() {
                    core.stats.encrypted += 1;
                    self.phase = Phase::Login;
                }
                self.answer_handshake(core, came);
                if !clear.is_empty() {
                    self.take_in(core, &clear, came);
                }
            }
        }
        core.clear = clear;
    }

    /// TLS's own messages go out like any answer, one at a time and in order.
    pub(crate) fn answer_handshake(&mut self, core: &mut Core, came: Came) {
        let Some(tls) = &mut self.tls else { return };
        if self.answering.is_none() && self.phase != Phase::Closed {
            let records = tls.outgoing();
            if !records.is_empty() {
                self.answer(core, Reply::own(Kind::Handshake, Outcome::Done, records), came);
            }
        }
    }

    /// The handshake failed, or a record is invalid.
    fn fail_tls(&mut self, core: &mut Core) {
        if self.phase == Phase::Handshake {
            core.stats.tls_failed += 1;
        } else {
            core.stats.garbled += 1;
        }
        let alert = self.tls.as_mut().map(|tls| tls.outgoing()).unwrap_or_default();
        // The alert tells the client why; it is only worth sending if that works at once.
        let _ = send(self.fd(), &alert, SendFlags::NOSIGNAL);
        self.close(core);
    }
}
