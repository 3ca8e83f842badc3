//! From a new connection of PostgreSQL's to one that takes commands: any user is let in without a
//! password.
//!
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

use crate::answer::{Reply, Then};
use crate::connection::{Came, Connection, Phase};
use crate::core::Core;
use crate::log::{Kind, Outcome};
use crate::postgres_messages::{Message, put_error, put_key, put_let_in, put_parameter, put_ready};
use crate::postgres_session::Session;

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// too_many_connections
const TOO_MANY: (u16, &str) = (1040, "53300");
/// cannot_connect_now
const NOT_NOW: &str = "57P03";

impl Connection {
    /// One of the messages that have no kind.
    pub(crate) fn start_up(&mut self, core: &mut Core, message: Message<'_>, came: Came) {
        let code = message.body.first_chunk().map_or(0, |code| u32::from_be_bytes(*code));
        match code {
            SSL_REQUEST if core.tls.is_some() && self.tls.is_none() => {
                let reply = Reply::own(Kind::Greeting, Outcome::Done, b"S".to_vec());
                self.answer(core, Reply { then: Then::Encrypt, ..reply }, came);
            }
            SSL_REQUEST | GSS_REQUEST => {
                self.answer(core, Reply::own(Kind::Greeting, Outcome::Done, b"N".to_vec()), came);
            }
            CANCEL_REQUEST => self.close(core),
            code if code >> 16 == 3 => self.let_in(core, came),
            _ => self.garbled(core),
        }
    }

    fn let_in(&mut self, core: &mut Core, came: Came) {
        if let Some(errno) = core.faults.refusal(core.stamp()) {
            core.stats.refused += 1;
            let (state, text) = match errno {
                errno if errno == TOO_MANY.0 => (TOO_MANY.1, "sorry, too many clients already"),
                _ => (NOT_NOW, "refused by script"),
            };
            let mut out = Vec::new();
            put_error(&mut out, "FATAL", state, text);
            let reply = Reply::own(Kind::Login, Outcome::Error, out);
            return self.answer(core, Reply { errno, then: Then::Close, ..reply }, came);
        }
        self.phase = Phase::Commands;
        core.stats.logins += 1;
        let mut out = Vec::new();
        put_let_in(&mut out);
        for (name, value) in [
            ("server_version", core.settings.plain_version()),
            ("server_encoding", "UTF8"),
            ("client_encoding", "UTF8"),
            ("standard_conforming_strings", "on"),
            ("in_hot_standby", "off"),
            ("default_transaction_read_only", "off"),
        ] {
            put_parameter(&mut out, name, value);
        }
        put_key(&mut out, self.id);
        put_ready(&mut out, b'I');
        self.postgres = Some(Box::new(Session::new()));
        self.answer(core, Reply::own(Kind::Login, Outcome::Done, out), came);
    }
}
