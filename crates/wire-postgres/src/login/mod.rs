//! The login: from a connected socket to an authenticated session.
//!
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

mod assembly;
mod attempt;
mod negotiation;
mod options;
mod session;
mod startup;
#[cfg(test)]
mod tests;

pub use options::{LoginOptions, ProtocolVersion, TlsWish};
pub use session::Session;

use std::sync::Arc;

use crate::WireError;
use assembly::Assembly;
use attempt::Attempt;
use startup::write_ssl_request;

/// The protocol that a direct TLS handshake must name, or servers refuse it.
pub const ALPN: &[u8] = b"postgresql";

/// What a login needs next.
#[derive(Debug, PartialEq, Eq)]
pub enum LoginProgress {
    /// More bytes from the server.
    NeedBytes,
    /// Send what is in `out`, do the TLS handshake, then call [`Login::tls_established`].
    StartTls,
    /// Nothing: the session is open, and `out` is empty if it was flushed.
    Done(Box<Session>),
}

enum Phase {
    /// TLS was asked for; one byte answers. Next: `AwaitingTls`, or `Authenticating` in clear.
    AskedForTls,
    /// The caller does the TLS handshake. Next: `Authenticating`, by `tls_established`.
    AwaitingTls,
    /// The startup message is sent. Next: `Over`.
    Authenticating(Box<Attempt>),
    /// Logged in, refused or broken.
    Over,
}

/// The login of one connection.
pub struct Login {
    options: Arc<LoginOptions>,
    phase: Phase,
    assembly: Assembly,
}

impl Login {
    /// Starts a login: the client speaks first, so its first message is appended to `out`. Returns
    /// what is needed next.
    ///
    /// # Errors
    /// An option has a text that cannot be sent.
    pub fn begin(
        options: Arc<LoginOptions>,
        out: &mut Vec<u8>,
    ) -> Result<(Self, LoginProgress), WireError> {
        options.check()?;
        let (phase, progress) = match options.tls {
            TlsWish::Direct => (Phase::AwaitingTls, LoginProgress::StartTls),
            TlsWish::Must | TlsWish::IfOffered => {
                write_ssl_request(out);
                (Phase::AskedForTls, LoginProgress::NeedBytes)
            }
            TlsWish::Never => {
                let attempt = Attempt::begin(&options, false, None, out);
                (Phase::Authenticating(Box::new(attempt)), LoginProgress::NeedBytes)
            }
        };
        Ok((Self { options, phase, assembly: Assembly::default() }, progress))
    }

    /// Feeds bytes from the socket; bytes to send are appended to `out`. Returns how many bytes
    /// were used, and what is needed next. After an error the connection must be closed.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, LoginProgress), WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let progress = self.feed_part(&mut rest, out).inspect_err(|_| {
                self.phase = Phase::Over;
            })?;
            if progress != LoginProgress::NeedBytes {
                return Ok((bytes.len() - rest.len(), progress));
            }
        }
        Ok((bytes.len(), LoginProgress::NeedBytes))
    }

    /// The TLS handshake is done: appends the startup message. `binding_data` is what the login can
    /// be bound to, `tls-server-end-point` of RFC 5929: the hash of the server's certificate.
    pub fn tls_established(
        &mut self,
        binding_data: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        if !matches!(self.phase, Phase::AwaitingTls) {
            return Err(WireError::OutOfTurn { call: "tls_established" });
        }
        self.begin_attempt(true, binding_data, out);
        Ok(())
    }

    fn feed_part(
        &mut self,
        rest: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<LoginProgress, WireError> {
        match &mut self.phase {
            Phase::AskedForTls => self.answered_about_tls(rest, out),
            Phase::AwaitingTls => Err(WireError::EarlyBytes),
            Phase::Over => Err(WireError::OutOfTurn { call: "feed" }),
            Phase::Authenticating(attempt) => {
                let is_first = attempt.is_unanswered();
                let Some(message) = self.assembly.next_message(rest, is_first)? else {
                    return Ok(LoginProgress::NeedBytes);
                };
                let session = attempt.message(&self.options, message, out)?;
                Ok(session.map_or(LoginProgress::NeedBytes, |session| self.done(session)))
            }
        }
    }

    /// The answer is one byte without a message around it.
    fn answered_about_tls(
        &mut self,
        rest: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<LoginProgress, WireError> {
        let Some((&answer, behind)) = rest.split_first() else {
            return Ok(LoginProgress::NeedBytes);
        };
        match answer {
            // Plaintext after it would be mistaken for the server's messages under TLS.
            b'S' if !behind.is_empty() => Err(WireError::EarlyBytes),
            b'S' => {
                *rest = behind;
                self.phase = Phase::AwaitingTls;
                Ok(LoginProgress::StartTls)
            }
            b'N' if self.options.tls == TlsWish::Must => Err(WireError::TlsNotOffered),
            b'N' => {
                *rest = behind;
                self.begin_attempt(false, None, out);
                Ok(LoginProgress::NeedBytes)
            }
            b'E' => Err(WireError::TlsRequestRefused),
            kind => Err(WireError::UnexpectedMessage { expected: "an answer about TLS", kind }),
        }
    }

    fn begin_attempt(&mut self, encrypted: bool, binding_data: Option<&[u8]>, out: &mut Vec<u8>) {
        let attempt = Attempt::begin(&self.options, encrypted, binding_data, out);
        self.phase = Phase::Authenticating(Box::new(attempt));
    }

    fn done(&mut self, session: Session) -> LoginProgress {
        self.phase = Phase::Over;
        LoginProgress::Done(Box::new(session))
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let phase = match self.phase {
            Phase::AskedForTls => "AskedForTls",
            Phase::AwaitingTls => "AwaitingTls",
            Phase::Authenticating(_) => "Authenticating",
            Phase::Over => "Over",
        };
        f.debug_struct("Login").field("phase", &phase).finish_non_exhaustive()
    }
}
