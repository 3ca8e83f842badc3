//! The login: from the server's greeting to an authenticated session.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

mod assembly;
mod attempt;
mod auth_switch;
mod compression;
mod greeting;
mod options;
mod response;
mod session;
mod ssl_request;
#[cfg(test)]
mod tests;

pub use options::{CompressionWish, LoginOptions, TlsWish};
pub use session::Session;

use std::sync::Arc;

use crate::{Capabilities, WireError};
use assembly::Assembly;
use attempt::Attempt;
use greeting::Greeting;

/// What a login needs next.
#[derive(Debug, PartialEq, Eq)]
pub enum LoginProgress {
    /// More bytes from the server.
    NeedBytes,
    /// Send what is in `out`, do the TLS handshake, then call [`Login::tls_established`].
    StartTls,
    /// Nothing: the session is open, and `out` is empty if it was flushed.
    Done(Session),
}

enum Phase {
    /// Waiting for the server's greeting. Next: `AwaitingTls`, `Authenticating`, or `Over` on an
    /// error.
    Greeting,
    /// The caller does the TLS handshake. Next: `Authenticating`, by `tls_established`.
    AwaitingTls(Greeting),
    /// The server checks the password. Next: `Over`.
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
    /// Starts a login. The server speaks first.
    pub fn new(options: Arc<LoginOptions>) -> Self {
        Self { options, phase: Phase::Greeting, assembly: Assembly::default() }
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
            let progress = self.feed_packet(&mut rest, out).inspect_err(|_| {
                self.phase = Phase::Over;
            })?;
            if progress != LoginProgress::NeedBytes {
                return Ok((bytes.len() - rest.len(), progress));
            }
        }
        Ok((bytes.len(), LoginProgress::NeedBytes))
    }

    /// The TLS handshake is done: appends the login packet.
    pub fn tls_established(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let Phase::AwaitingTls(greeting) = std::mem::replace(&mut self.phase, Phase::Over) else {
            return Err(WireError::OutOfTurn { call: "tls_established" });
        };
        self.begin_attempt(greeting, true, out)
    }

    fn feed_packet(
        &mut self,
        rest: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<LoginProgress, WireError> {
        match self.phase {
            Phase::AwaitingTls(_) => return Err(WireError::EarlyBytes),
            Phase::Over => return Err(WireError::OutOfTurn { call: "feed" }),
            Phase::Greeting | Phase::Authenticating(_) => {}
        }
        let Some((sequence, payload)) = self.assembly.next_packet(rest)? else {
            return Ok(LoginProgress::NeedBytes);
        };
        match &mut self.phase {
            Phase::Authenticating(attempt) => {
                let session = attempt.packet(&self.options, sequence, &payload, out)?;
                Ok(session.map_or(LoginProgress::NeedBytes, |session| self.done(session)))
            }
            _ => self.greeted(sequence, &payload, rest, out),
        }
    }

    fn greeted(
        &mut self,
        sequence: u8,
        payload: &[u8],
        rest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<LoginProgress, WireError> {
        let greeting = Greeting::parse(payload)?;
        if sequence != 0 {
            return Err(WireError::OutOfSequence { expected: 0, got: sequence });
        }
        compression::check(&self.options.compression, &greeting)?;
        let offered = greeting.capabilities.contains(Capabilities::SSL);
        match self.options.tls {
            TlsWish::Must if !offered => Err(WireError::TlsNotOffered),
            TlsWish::Must | TlsWish::IfOffered if offered => {
                // Plaintext after the greeting would be mistaken for the server's message under
                // TLS.
                if !rest.is_empty() {
                    return Err(WireError::EarlyBytes);
                }
                ssl_request::write(out, &self.options, &greeting);
                self.phase = Phase::AwaitingTls(greeting);
                Ok(LoginProgress::StartTls)
            }
            _ => {
                self.begin_attempt(greeting, false, out)?;
                Ok(LoginProgress::NeedBytes)
            }
        }
    }

    fn begin_attempt(
        &mut self,
        greeting: Greeting,
        encrypted: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let attempt = Attempt::begin(&self.options, greeting, encrypted, out)?;
        self.phase = Phase::Authenticating(Box::new(attempt));
        Ok(())
    }

    fn done(&mut self, session: Session) -> LoginProgress {
        self.phase = Phase::Over;
        LoginProgress::Done(session)
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let phase = match self.phase {
            Phase::Greeting => "Greeting",
            Phase::AwaitingTls(_) => "AwaitingTls",
            Phase::Authenticating(_) => "Authenticating",
            Phase::Over => "Over",
        };
        f.debug_struct("Login").field("phase", &phase).finish_non_exhaustive()
    }
}
