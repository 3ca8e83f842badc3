//! Protocol::SSLRequest: the head of the login packet, sent in plaintext.

use super::greeting::Greeting;
use super::options::LoginOptions;
use super::response::{capabilities, put_head};
use crate::Capabilities;
use crate::frame::write_message;

/// The greeting is packet 0.
const SEQUENCE: u8 = 1;

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_ssl_request.html>
pub(super) fn write(out: &mut Vec<u8>, options: &LoginOptions, greeting: &Greeting) {
    let wanted = capabilities(options, greeting) | Capabilities::SSL;
    write_message(out, SEQUENCE, |out| put_head(out, wanted, options.charset));
}
