//! One round of rustls' work: records are decrypted, and answers to them and data of ours are encrypted.

use super::waiting::Waiting;
use rustls::Error;
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};

/// Bytes that a record needs beyond its plaintext: a header of 5, a nonce of 8 (TLS 1.2) or a type of 1, a tag of 16.
const AROUND: usize = 29;

/// rustls' work on received bytes.
pub(super) struct Pass<'a> {
    plain: &'a mut Waiting,
    unsent: &'a mut Waiting,
    has_closed: &'a mut bool,
    /// How much of the buffer rustls no longer needs.
    pub(super) used: usize,
    /// How much of the buffer's beginning is decrypted bytes.
    pub(super) written: usize,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        plain: &'a mut Waiting,
        unsent: &'a mut Waiting,
        has_closed: &'a mut bool,
    ) -> Self {
        Self { plain, unsent, has_closed, used: 0, written: 0 }
    }

    /// Decrypts the records of `buffer` from `start` on to its beginning, where it has room, and encrypts `clear`.
    pub(super) fn run(
        &mut self,
        session: &mut UnbufferedClientConnection,
        buffer: &mut [u8],
        start: usize,
        clear: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.used = start;
        let error = loop {
            let (room, records) = buffer.split_at_mut(self.used);
            // Without a gap before the records nothing is decrypted to the beginning.
            let room = if start > 0 { room } else { &mut [] };
            let UnbufferedStatus { discard, state } = session.process_tls_records(records);
            let mut discard = discard;
            let goes_on = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        self.keep(record.payload, room);
                    }
                    true
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    encode(self.unsent, |out| data.encode(out))?;
                    true
                }
                // It is kept until the socket takes it.
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    true
                }
                Ok(ConnectionState::PeerClosed) => {
                    *self.has_closed = true;
                    true
                }
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    if let Some(clear) = clear {
                        encrypt(self.unsent, clear, |out| traffic.encrypt(clear, out))?;
                    }
                    false
                }
                Ok(_) if clear.is_some() => {
                    return Err(Error::General("TLS takes no data now".to_owned()));
                }
                Ok(_) => false,
                Err(error) => {
                    self.used += discard;
                    break error;
                }
            };
            self.used += discard;
            if !goes_on {
                return Ok(());
            }
        };
        encode_alert(session, buffer.get_mut(self.used..).unwrap_or_default(), self.unsent);
        Err(error)
    }

    /// Keeps decrypted bytes at the buffer's beginning, or behind those that did not fit there.
    fn keep(&mut self, payload: &[u8], room: &mut [u8]) {
        let end = self.written + payload.len();
        match room.get_mut(self.written..end).filter(|_| self.plain.is_empty()) {
            Some(place) => {
                place.copy_from_slice(payload);
                self.written = end;
            }
            None => self.plain.append(payload),
        }
    }
}

/// Adds what `write` writes once it has the room that it asks for.
fn encode(
    unsent: &mut Waiting,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), Error> {
    match write(&mut []) {
        Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
            unsent.append_with(required_size, write).map_err(|error| general(&error))
        }
        Err(error) => Err(general(&error)),
        Ok(_) => Ok(()),
    }
}

/// Adds the record that `write` makes of `clear`. A change of keys may come before it, and asks for more room.
fn encrypt(
    unsent: &mut Waiting,
    clear: &[u8],
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncryptError>,
) -> Result<(), Error> {
    let required_size = match unsent.append_with(clear.len() + AROUND, &mut write) {
        Ok(()) => return Ok(()),
        Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => {
            required_size
        }
        Err(error) => return Err(general(&error)),
    };
    unsent.append_with(required_size, write).map_err(|error| general(&error))
}

/// Adds the alert that names an error of this side.
fn encode_alert(
    session: &mut UnbufferedClientConnection,
    records: &mut [u8],
    unsent: &mut Waiting,
) {
    let status = session.process_tls_records(records);
    if let Ok(ConnectionState::EncodeTlsData(mut data)) = status.state {
        // The error that it tells is returned in any case.
        drop(encode(unsent, |out| data.encode(out)));
    }
}

fn general(error: &dyn std::error::Error) -> Error {
    Error::General(error.to_string())
}
