//! One attempt to log in: from the login packet to the server's decision.

use loadstone_protocol::sanitize::{NAME, plain};

use super::auth_switch::AuthSwitch;
use super::compression::agreed;
use super::greeting::Greeting;
use super::options::LoginOptions;
use super::response::{self, Response};
use super::session::Session;
use crate::auth::{Conversation, Line, Plugin};
use crate::cursor::Cursor;
use crate::frame::write_message;
use crate::reply::{EOF, ERR, OK, OkPacket, parse_error};
use crate::{Capabilities, Compression, WireError};

/// The first byte of a packet that continues an authentication.
const MORE_DATA: u8 = 0x01;
/// The first byte of a packet that asks for a further factor.
const NEXT_FACTOR: u8 = 0x02;
/// A login of the longest kind (another method, full authentication, the server's key, the
/// decision) has four packets after the greeting.
const MOST_PACKETS: u8 = 10;

/// A login packet is sent; the server has not decided.
pub(super) struct Attempt {
    greeting: Greeting,
    capabilities: Capabilities,
    encrypted: bool,
    compression: Option<Compression>,
    plugin: Plugin,
    nonce: Vec<u8>,
    sequence: u8,
    packets: u8,
}

impl Attempt {
    /// Appends the login packet.
    pub(super) fn begin(
        options: &LoginOptions,
        greeting: Greeting,
        encrypted: bool,
        out: &mut Vec<u8>,
    ) -> Result<Self, WireError> {
        response::check_no_nul(options)?;
        let mut capabilities = response::capabilities(options, &greeting);
        if encrypted {
            capabilities |= Capabilities::SSL;
        }
        let plugin = Plugin::for_greeting(&greeting.plugin);
        let nonce = greeting.nonce.to_vec();
        let sequence = if encrypted { 2 } else { 1 };
        let compression = agreed(&options.compression, &greeting);
        let mut attempt = Self {
            greeting,
            capabilities,
            encrypted,
            compression,
            plugin,
            nonce,
            sequence,
            packets: 0,
        };
        let answer = plugin.answer(&attempt.conversation(options))?;
        let packet = Response { options, capabilities, plugin: plugin.name(), answer: &answer };
        attempt.sequence = write_message(out, sequence, |out| packet.put(out));
        Ok(attempt)
    }

    /// Processes a packet of the server; returns the session if it is the decision.
    pub(super) fn packet(
        &mut self,
        options: &LoginOptions,
        sequence: u8,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Session>, WireError> {
        let expected = "the server's answer to the login";
        let Some(&first_byte) = payload.first() else {
            return Err(WireError::EmptyPacket { expected });
        };
        if first_byte == ERR {
            return Err(WireError::Server(parse_error(payload)?));
        }
        if sequence != self.sequence {
            return Err(WireError::OutOfSequence { expected: self.sequence, got: sequence });
        }
        self.sequence = sequence.wrapping_add(1);
        self.packets += 1;
        if self.packets > MOST_PACKETS {
            return Err(WireError::EndlessLogin { packets: MOST_PACKETS });
        }
        match first_byte {
            OK => return OkPacket::parse(payload).map(|ok| Some(self.session(ok.status))),
            EOF => self.switch(options, payload, out)?,
            MORE_DATA => self.more_data(options, payload.get(1..).unwrap_or_default(), out)?,
            _ if self.plugin.sends_bare(first_byte) => self.more_data(options, payload, out)?,
            NEXT_FACTOR => return Err(next_factor(payload)),
            _ => return Err(WireError::UnexpectedPacket { expected, first_byte }),
        }
        Ok(None)
    }

    fn switch(
        &mut self,
        options: &LoginOptions,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let switch = AuthSwitch::parse(payload)?;
        self.plugin = Plugin::by_name(switch.plugin)?;
        self.nonce = switch.nonce.to_vec();
        let answer = self.plugin.answer(&self.conversation(options))?;
        self.send(&answer, out);
        Ok(())
    }

    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_more_data.html>
    fn more_data(
        &mut self,
        options: &LoginOptions,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        if let Some(answer) = self.plugin.more_data(&self.conversation(options), data)? {
            self.send(&answer, out);
        }
        Ok(())
    }

    /// Protocol::AuthSwitchResponse: the answer alone.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_auth_switch_response.html>
    fn send(&mut self, answer: &[u8], out: &mut Vec<u8>) {
        self.sequence = write_message(out, self.sequence, |out| out.extend_from_slice(answer));
    }

    fn conversation<'a>(&'a self, options: &'a LoginOptions) -> Conversation<'a> {
        Conversation {
            password: &options.password,
            nonce: &self.nonce,
            line: line(options, self.encrypted),
            server_public_key: options.server_public_key.as_deref(),
            allow_public_key_retrieval: options.allow_public_key_retrieval,
            allow_clear_password: options.allow_clear_password,
        }
    }

    fn session(&self, status: u16) -> Session {
        Session {
            server_version: self.greeting.server_version.clone(),
            connection_id: self.greeting.connection_id,
            capabilities: self.capabilities,
            status,
            mariadb: self.greeting.mariadb,
            encrypted: self.encrypted,
            compression: self.compression,
            auth_plugin: self.plugin.name(),
        }
    }
}

/// Protocol::AuthNextFactor: a second factor, which a load generator does not have.
fn next_factor(payload: &[u8]) -> WireError {
    let name = payload.get(1..).map(|rest| Cursor::new(rest, "a factor").until_nul_or_end());
    let name = plain(name.unwrap_or_default(), NAME);
    WireError::AuthNotSupported { plugin: format!("{name} as a further factor") }
}

/// Who can read what is sent on this connection.
fn line(options: &LoginOptions, encrypted: bool) -> Line {
    match (encrypted, options.transport_secure) {
        (true, true) => Line::Proven,
        (true, false) if options.server_proven => Line::Proven,
        (true, false) => Line::Unproven,
        (false, true) => Line::Socket,
        (false, false) => Line::Open,
    }
}
