//! The server's end of TLS, as a transformer of bytes: the socket belongs to the connection.
//!
//! An answer is encrypted completely before its timestamp is taken, so that the timestamps and the
//! pieces of a script are those of the bytes on the wire.

use crate::error::NullServerError;
use crate::settings::TlsFiles;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{Error, ServerConfig, ServerConnection};
use std::fmt::Display;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Makes the TLS side of each connection that asks for it.
#[derive(Clone, Debug)]
pub(crate) struct TlsMaker(Arc<ServerConfig>);

impl TlsMaker {
    pub(crate) fn from_files(files: &TlsFiles) -> Result<Self, NullServerError> {
        let chain = certificates(&files.cert)?;
        let key = PrivateKeyDer::from_pem_file(&files.key)
            .map_err(|error| wrong("tls.key", &files.key, &error))?;
        let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(|error| NullServerError::Plan(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| NullServerError::Plan(format!("tls.cert and tls.key: {error}")))?;
        // No resumption in either version. A ticket is a write of its own after the handshake,
        // which clients would read in the middle of their first answer, and with resumed sessions
        // the cost of connecting would depend on a client's cache.
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Self(Arc::new(config)))
    }

    pub(crate) fn connection(&self) -> Result<Tls, Error> {
        let mut inner = ServerConnection::new(self.0.clone())?;
        // An answer is sealed as a whole, however long it is.
        inner.set_buffer_limit(None);
        Ok(Tls { inner, partial_since: None })
    }
}

/// A protocol version and a cipher.
pub(crate) type Names = (&'static str, &'static str);

/// One connection's TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    inner: ServerConnection,
    /// When the first byte of an incomplete record was read.
    partial_since: Option<u64>,
}

impl Tls {
    pub(crate) fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    /// Protocol version and cipher, once the handshake is finished.
    pub(crate) fn names(&self) -> Option<Names> {
        let version = self.inner.protocol_version()?.as_str()?;
        let suite = self.inner.negotiated_cipher_suite()?.suite();
        Some((version, suite.as_str()?))
    }

    /// Takes bytes that were read at `now`, and appends their plaintext to `clear`. Returns when
    /// the first of the bytes that `clear` is made of was read.
    pub(crate) fn open(
        &mut self,
        mut records: &[u8],
        clear: &mut Vec<u8>,
        now: u64,
    ) -> Result<u64, Error> {
        let agreed = !self.inner.is_handshaking();
        while !records.is_empty() {
            // From memory it fails only if `clear` was not emptied, and takes nothing only after
            // the other end's last record.
            if self.inner.read_tls(&mut records).unwrap_or(0) == 0 {
                break;
            }
            let (from, more) =
                (clear.len(), self.inner.process_new_packets()?.plaintext_bytes_to_read());
            clear.resize(from + more, 0);
            // It has just said that this many are available.
            drop(self.inner.reader().read_exact(&mut clear[from..]));
        }
        let since = *self.partial_since.get_or_insert(now);
        // The end of a handshake is not the start of a record.
        if !clear.is_empty() || !agreed {
            self.partial_since = None;
        }
        Ok(since)
    }

    /// The records of an answer, which must be the next one sent.
    pub(crate) fn seal(&mut self, clear: &[u8]) -> Vec<u8> {
        // Without a limit it takes everything, and has no socket to fail on.
        drop(self.inner.writer().write_all(clear));
        self.outgoing()
    }

    /// Records that TLS itself needs to send: the handshake, or an alert.
    pub(crate) fn outgoing(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        while self.inner.wants_write() {
            if self.inner.write_tls(&mut records).unwrap_or(0) == 0 {
                break;
            }
        }
        records
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, NullServerError> {
    let chain = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let chain: Vec<_> = chain.map_err(|error| wrong("tls.cert", path, &error))?;
    match chain.is_empty() {
        true => Err(wrong("tls.cert", path, &"it holds no certificate")),
        false => Ok(chain),
    }
}

fn wrong(what: &str, path: &Path, error: &dyn Display) -> NullServerError {
    NullServerError::Plan(format!("{what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    fn files() -> TlsFiles {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificate");
        TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem") }
    }

    /// Both ends, after their handshake.
    fn pair() -> (ClientConnection, Tls) {
        let mut roots = RootCertStore::empty();
        roots.add(certificates(&files().cert).unwrap().remove(0)).unwrap();
        let config = ClientConfig::builder_with_provider(aws_lc_rs::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut server = TlsMaker::from_files(&files()).unwrap().connection().unwrap();
        while server.is_handshaking() {
            let mut clear = Vec::new();
            server.open(&said(&mut client), &mut clear, 1).unwrap();
            let records = server.outgoing();
            client.read_tls(&mut &records[..]).unwrap();
            client.process_new_packets().unwrap();
        }
        (client, server)
    }

    fn said(client: &mut ClientConnection) -> Vec<u8> {
        let mut records = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut records).unwrap();
        }
        records
    }

    #[test]
    fn no_ticket_follows_the_handshake() {
        let (_, mut server) = pair();
        assert!(server.outgoing().is_empty());
        assert_eq!(server.names().unwrap().0, "TLSv1_3");
    }

    #[test]
    fn a_record_in_parts_came_when_its_first_byte_came() {
        let (mut client, mut server) = pair();
        client.writer().write_all(b"first").unwrap();
        let records = said(&mut client);
        let mut clear = Vec::new();
        assert_eq!(server.open(&records[..7], &mut clear, 5).unwrap(), 5);
        assert!(clear.is_empty());
        assert_eq!(server.open(&records[7..], &mut clear, 9).unwrap(), 5);
        assert_eq!(clear, b"first");
        client.writer().write_all(b"second").unwrap();
        clear.clear();
        assert_eq!(server.open(&said(&mut client), &mut clear, 11).unwrap(), 11);
    }

    #[test]
    fn what_is_longer_than_any_record_is_opened_and_sealed_whole() {
        let (mut client, mut server) = pair();
        let long: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
        client.set_buffer_limit(None);
        client.writer().write_all(&long).unwrap();
        let mut clear = Vec::new();
        server.open(&said(&mut client), &mut clear, 1).unwrap();
        assert!(clear == long);
        let records = server.seal(&long);
        assert!(records.len() > long.len() && server.outgoing().is_empty());
    }

    #[test]
    fn files_that_will_not_do_are_named() {
        let TlsFiles { cert, key } = files();
        let line = |cert: &Path, key: &Path| {
            let files = TlsFiles { cert: cert.into(), key: key.into() };
            TlsMaker::from_files(&files).unwrap_err().to_string()
        };
        assert!(line(Path::new("no.pem"), &key).starts_with("tls.cert no.pem: "));
        assert!(line(&key, &key).ends_with("key.pem: it holds no certificate"));
        assert!(line(&cert, &cert).starts_with("tls.key "));
    }
}
