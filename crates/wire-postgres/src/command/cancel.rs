//! CancelRequest: stops what another connection is doing.

use std::fmt;

use crate::frame::write_first_message;

/// 1234 and 5678, in place of a version.
const CODE: u32 = 80_877_102;

/// What allows to cancel a connection's statement.
#[derive(Clone, PartialEq, Eq)]
pub struct CancelKey {
    /// The server's process that serves the connection.
    pub process_id: u32,
    pub(crate) secret: Vec<u8>,
}

/// Does not show the secret.
impl fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelKey").field("process_id", &self.process_id).finish_non_exhaustive()
    }
}

/// Appends the request to cancel what the connection with this key is doing. It is all that is sent
/// on a connection of its own, within TLS if the other one is. The server closes that connection
/// without an answer; the statement fails with 57014, unless it ends before.
///
/// <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS>
pub fn write_cancel(out: &mut Vec<u8>, key: &CancelKey) {
    write_first_message(out, |out| {
        out.extend_from_slice(&CODE.to_be_bytes()); // Int32
        out.extend_from_slice(&key.process_id.to_be_bytes()); // Int32
        out.extend_from_slice(&key.secret); // Byte4; up to 256 bytes since protocol 3.2
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_request_has_the_key_and_no_first_byte() {
        let key = CancelKey { process_id: 0x0102, secret: vec![9, 8, 7, 6] };
        let mut out = Vec::new();
        write_cancel(&mut out, &key);
        assert_eq!(out, [0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 1, 2, 9, 8, 7, 6]);
        assert!(!format!("{key:?}").contains('9'));
    }
}
