//! The stream of bytes to a server and back: socket, TLS, compression, and what is not sent yet.

use super::family::{CompressionLayer, ProtocolError};
use super::outbox::Outbox;
use super::received::Received;
use super::tls::TlsSession;
use super::transport::Transport;
use rustix::fd::BorrowedFd;
use std::io;

pub(crate) struct Stream {
    transport: Transport,
    outbox: Outbox,
    /// Set after the login where both sides agreed on compression.
    compression: Option<Box<CompressionLayer>>,
}

impl Stream {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport, outbox: Outbox::default(), compression: None }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.transport.fd()
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.transport.is_encrypted()
    }

    /// What a login can be bound to, once the TLS handshake is finished.
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        self.transport.end_point()
    }

    /// Protocol version and cipher, once the TLS handshake is finished.
    pub(crate) fn cipher(&self) -> Option<String> {
        self.transport.cipher()
    }

    /// Puts TLS on the socket; [`Self::handshake`] runs the handshake.
    pub(crate) fn encrypt(&mut self, tls: TlsSession) {
        self.transport.encrypt(tls);
    }

    /// Goes on with the TLS handshake. `true` when it is finished.
    pub(crate) fn handshake(&mut self) -> io::Result<bool> {
        self.transport.handshake()
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    /// From here on everything is compressed, in both directions.
    pub(crate) fn compress(&mut self, layer: CompressionLayer) {
        self.compression = Some(Box::new(layer));
    }

    /// Sends a whole command. Returns how many bytes that is on the wire.
    pub(crate) fn send_command(&mut self, command: &[u8]) -> io::Result<usize> {
        if let Some(layer) = &mut self.compression {
            layer.begin_command();
        }
        self.send(command)
    }

    /// Sends what belongs to the command before it, or to the login.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(layer) = &mut self.compression else {
            self.outbox.send(&mut self.transport, bytes)?;
            return Ok(bytes.len());
        };
        layer.pack(bytes, |packed| {
            self.outbox.send(&mut self.transport, packed)?;
            Ok(packed.len())
        })
    }

    /// Sends what the socket has not taken yet.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.outbox.flush(&mut self.transport)
    }

    /// Whether nothing is kept here; TLS may still keep records.
    pub(crate) fn is_sent(&self) -> bool {
        self.outbox.is_empty()
    }

    /// How many bytes are kept here.
    pub(crate) fn unsent(&self) -> usize {
        self.outbox.len()
    }

    /// Whether the socket must be watched for room.
    pub(crate) fn waits_for_room(&self) -> bool {
        self.outbox.waits_for_room(&self.transport)
    }

    /// Reads the conversation's next bytes. With compression there may be none although data arrived.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        let Some(layer) = &mut self.compression else { return self.transport.receive(buffer) };
        let mut wire = 0;
        let mut more = true;
        if !layer.has_more() {
            match self.transport.receive(buffer)? {
                Received::Bytes { count, more: others, .. } => (wire, more) = (count, others),
                nothing => return Ok(nothing),
            }
            layer.feed(buffer.get(..wire).unwrap_or_default());
        }
        let count = layer
            .read(buffer)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Received::Bytes { count, wire, more: more || layer.has_more() })
    }
}

/// The protocol error inside an I/O error of [`Stream::receive`], if it holds one.
pub(crate) fn protocol_error(error: &io::Error) -> Option<&ProtocolError> {
    error.get_ref()?.downcast_ref()
}
