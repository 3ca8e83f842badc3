//! Protocol::HandshakeResponse41, the login packet.

use super::compression::agreed;
use super::greeting::Greeting;
use super::options::LoginOptions;
use crate::compression::ZSTD_LEVEL;
use crate::frame::{put_lenenc, put_lenenc_bytes};
use crate::{Capabilities, WireError};

/// The client's own limit for one message; servers have their own.
const MAX_MESSAGE: u32 = 1 << 30;

/// Requested whenever the server supports it.
const ALWAYS: u64 = Capabilities::LONG_PASSWORD.bits()
    | Capabilities::LONG_FLAG.bits()
    | Capabilities::PROTOCOL_41.bits()
    | Capabilities::TRANSACTIONS.bits()
    | Capabilities::SECURE_CONNECTION.bits()
    | Capabilities::MULTI_RESULTS.bits()
    | Capabilities::PS_MULTI_RESULTS.bits()
    | Capabilities::PLUGIN_AUTH.bits()
    | Capabilities::PLUGIN_AUTH_LENENC.bits()
    | Capabilities::DEPRECATE_EOF.bits();

/// The capabilities that this login requests and the server offers, apart from TLS.
pub(super) fn capabilities(options: &LoginOptions, greeting: &Greeting) -> Capabilities {
    let mut wanted = Capabilities::from_bits(ALWAYS);
    if options.database.is_some() {
        wanted |= Capabilities::CONNECT_WITH_DB;
    }
    if !options.attributes.is_empty() {
        wanted |= Capabilities::CONNECT_ATTRS;
    }
    if options.local_infile {
        wanted |= Capabilities::LOCAL_FILES;
    }
    if options.multi_statements {
        wanted |= Capabilities::MULTI_STATEMENTS;
    }
    if let Some(compression) = agreed(&options.compression, greeting) {
        wanted |= compression.capability();
    }
    if options.cache_metadata {
        wanted |= Capabilities::CACHE_METADATA;
    }
    // MariaDB clears this flag to announce capabilities of its own; setting it says that we want
    // none of them.
    match wanted & greeting.capabilities {
        agreed if agreed.halves().1 == 0 => agreed | Capabilities::LONG_PASSWORD,
        agreed => agreed,
    }
}

/// The part that is shared with an SSLRequest.
pub(super) fn put_head(out: &mut Vec<u8>, capabilities: Capabilities, charset: u8) {
    let (of_mysql, of_mariadb) = capabilities.halves();
    out.extend_from_slice(&of_mysql.to_le_bytes()); // int<4>
    out.extend_from_slice(&MAX_MESSAGE.to_le_bytes()); // int<4>
    out.push(charset); // int<1>
    out.extend_from_slice(&[0; 19]); // string[19] filler
    out.extend_from_slice(&of_mariadb.to_le_bytes()); // int<4>, filler for others
}

/// The content of the login packet.
pub(super) struct Response<'a> {
    pub(super) options: &'a LoginOptions,
    pub(super) capabilities: Capabilities,
    pub(super) plugin: &'static str,
    pub(super) answer: &'a [u8],
}

impl Response<'_> {
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html>
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_head(out, self.capabilities, self.options.charset);
        put_nul(out, &self.options.user); // string<NUL>
        self.put_answer(out);
        if let Some(database) = self.database() {
            put_nul(out, database); // string<NUL>
        }
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul(out, self.plugin); // string<NUL>
        }
        if self.capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put_attributes(out, &self.options.attributes);
        }
        if self.capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM) {
            out.push(ZSTD_LEVEL); // int<1>
        }
    }

    fn database(&self) -> Option<&str> {
        let wanted = self.options.database.as_deref();
        wanted.filter(|_| self.capabilities.contains(Capabilities::CONNECT_WITH_DB))
    }

    /// The answers of the plugins that can be named here are at most 32 bytes, for which both
    /// encodings are the same: string<lenenc> with PLUGIN_AUTH_LENENC, else int<1> and string.
    fn put_answer(&self, out: &mut Vec<u8>) {
        debug_assert!(self.answer.len() <= 250);
        put_lenenc_bytes(out, self.answer);
    }
}

/// A NUL inside would end the field early and turn the rest into another field.
pub(super) fn check_no_nul(options: &LoginOptions) -> Result<(), WireError> {
    let fields = [("user", Some(&options.user)), ("database", options.database.as_ref())];
    let bad = fields.iter().find(|(_, text)| text.is_some_and(|text| text.contains('\0')));
    match bad {
        Some(&(field, _)) => Err(WireError::NulByte { field }),
        None => Ok(()),
    }
}

fn put_nul(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn put_attributes(out: &mut Vec<u8>, attributes: &[(String, String)]) {
    let mut pairs = Vec::new();
    for (name, value) in attributes {
        put_lenenc_bytes(&mut pairs, name.as_bytes()); // string<lenenc>
        put_lenenc_bytes(&mut pairs, value.as_bytes()); // string<lenenc>
    }
    put_lenenc(out, pairs.len() as u64); // int<lenenc>
    out.extend_from_slice(&pairs);
}
