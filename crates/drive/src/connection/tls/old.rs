//! TLS as old servers have it, by OpenSSL: key exchange by DHE and RSA, and where they are named TLS 1.0 and 1.1.

use super::alpn::Alpn;
use super::identity::{Fingerprint, another_fingerprint, end_point, fingerprint, host};
use super::refusals::{Refused, file_failure, plan_failure};
use super::socket::Socket;
use crate::connection::received::Received;
use crate::error::Failure;
use crate::plan::{TargetPlan, TlsMode, TlsPlan, TlsVersion};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::ssl::{
    Error, ErrorCode, Ssl, SslContext, SslFiletype, SslMethod, SslOptions, SslStream,
    SslVerifyMode, SslVersion,
};
use rustix::fd::BorrowedFd;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::OnceLock;

/// What `preferred` and `required` allow where no version is named: old ciphers, but no version that
/// RFC 8996 deprecates.
const WITHOUT_A_NAME: [TlsVersion; 1] = [TlsVersion::Tls12];

/// `SSL_OP_LEGACY_SERVER_CONNECT` of `SSL_CTX_set_options`(3): servers without RFC 5746, as yaSSL in MySQL 5.7, are spoken
/// to. Nothing is ever renegotiated here.
const LEGACY_SERVER_CONNECT: SslOptions = SslOptions::from_bits_retain(0x4);

/// What OpenSSL says of a version that it was not to speak.
const UNSUPPORTED: &str = "unsupported protocol";

/// Bytes that one read takes from the socket, and one write gives to OpenSSL: a record's most.
const PIECE: usize = 16 * 1024;

/// Makes OpenSSL's side of each new connection to one target.
#[derive(Debug)]
pub(super) struct Old {
    plan: TlsPlan,
    span: (TlsVersion, TlsVersion),
    /// Made when a connection first needs it: most targets never do.
    context: OnceLock<Result<SslContext, Failure>>,
    /// Set for `verify-identity`; in other modes the certificate may be for any name.
    issued_for: Option<String>,
    fingerprint: Option<Fingerprint>,
    alpn: Option<Alpn>,
}

impl Old {
    /// `None` when only TLS 1.3 is asked for, which rustls has as a whole.
    pub(super) fn of(target: &TargetPlan, alpn: Option<Alpn>) -> Result<Option<Self>, Failure> {
        let plan = &target.tls;
        let Some(span) = span(plan) else { return Ok(None) };
        let checks_name = plan.mode == TlsMode::VerifyIdentity;
        Ok(Some(Self {
            plan: plan.clone(),
            span,
            context: OnceLock::new(),
            issued_for: checks_name.then(|| host(target).to_owned()),
            fingerprint: plan.fingerprint.as_deref().map(fingerprint).transpose()?,
            alpn,
        }))
    }

    /// Whether the plan's files and ciphers can be used.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.context().map(|_| ()).map_err(Clone::clone)
    }

    pub(super) fn session(&self) -> Result<OldSession, String> {
        let context = self.context().map_err(|failure| failure.message.clone())?;
        let stream = self.stream(context).map_err(|error| error.to_string())?;
        Ok(OldSession { stream, fingerprint: self.fingerprint, alpn: self.alpn })
    }

    fn context(&self) -> Result<&SslContext, &Failure> {
        self.context.get_or_init(|| context(&self.plan, self.span)).as_ref()
    }

    fn stream(&self, context: &SslContext) -> Result<SslStream<Records>, ErrorStack> {
        let mut ssl = Ssl::new(context)?;
        if let Some(alpn) = &self.alpn {
            ssl.set_alpn_protos(&alpn.as_list())?;
        }
        if let Some(host) = &self.issued_for {
            match host.parse() {
                Ok(address) => ssl.param_mut().set_ip(address)?,
                Err(_) => ssl.param_mut().set_host(host)?,
            }
        }
        SslStream::new(ssl, Records::default())
    }
}

/// The lowest and the highest version; `None`: none that OpenSSL is needed for.
fn span(plan: &TlsPlan) -> Option<(TlsVersion, TlsVersion)> {
    let named = if plan.versions.is_empty() { &WITHOUT_A_NAME[..] } else { &plan.versions };
    let old = || named.iter().filter(|version| **version != TlsVersion::Tls13);
    Some((*old().min()?, *old().max()?))
}

fn context(plan: &TlsPlan, span: (TlsVersion, TlsVersion)) -> Result<SslContext, Failure> {
    let wrong = |error: ErrorStack| plan_failure(format!("TLS by OpenSSL: {error}"));
    let mut builder = SslContext::builder(SslMethod::tls_client()).map_err(wrong)?;
    builder.set_min_proto_version(Some(known(span.0))).map_err(wrong)?;
    builder.set_max_proto_version(Some(known(span.1))).map_err(wrong)?;
    builder.set_options(LEGACY_SERVER_CONNECT);
    let ciphers = cipher_list(plan, span.0);
    builder.set_cipher_list(&ciphers).map_err(|_| {
        plan_failure(format!("tls.ciphers: none of {} is known", plan.ciphers.join(", ")))
    })?;
    let verifies = matches!(plan.mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity);
    builder.set_verify(if verifies { SslVerifyMode::PEER } else { SslVerifyMode::NONE });
    if let Some(ca) = plan.ca.as_ref().filter(|_| verifies) {
        builder.set_ca_file(ca).map_err(|error| file_failure("tls.ca", ca, &error))?;
    }
    if let (Some(cert), Some(key)) = (&plan.cert, &plan.key) {
        builder
            .set_certificate_chain_file(cert)
            .map_err(|error| file_failure("tls.cert", cert, &error))?;
        builder
            .set_private_key_file(key, SslFiletype::PEM)
            .map_err(|error| file_failure("tls.key", key, &error))?;
    }
    Ok(builder.build())
}

/// OpenSSL's level 0 is what TLS 1.0 and 1.1 need (SHA-1 in their signatures); level 1 keeps out keys of less than 80
/// bits (`SSL_CTX_set_security_level`(3)). Ciphers that somebody names are allowed at any level, if they encrypt and
/// have the server sign.
fn cipher_list(plan: &TlsPlan, lowest: TlsVersion) -> String {
    if !plan.ciphers.is_empty() {
        return format!("{}:!eNULL:!aNULL:@SECLEVEL=0", plan.ciphers.join(":"));
    }
    let level = u8::from(lowest >= TlsVersion::Tls12);
    format!("DEFAULT:@SECLEVEL={level}")
}

fn known(version: TlsVersion) -> SslVersion {
    match version {
        TlsVersion::Tls10 => SslVersion::TLS1,
        TlsVersion::Tls11 => SslVersion::TLS1_1,
        TlsVersion::Tls12 => SslVersion::TLS1_2,
        TlsVersion::Tls13 => SslVersion::TLS1_3,
    }
}

/// The TLS of one connection. OpenSSL sees memory alone: reading and writing the socket is up to us.
pub(crate) struct OldSession {
    stream: SslStream<Records>,
    fingerprint: Option<Fingerprint>,
    alpn: Option<Alpn>,
}

/// Encrypted bytes, between the socket and OpenSSL.
#[derive(Default)]
struct Records {
    incoming: VecDeque<u8>,
    outgoing: VecDeque<u8>,
    /// The last read did not fill the buffer: the socket is empty, and new data raises a new event.
    emptied: bool,
    /// The server has closed its side.
    ended: bool,
}

impl Read for Records {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.incoming.is_empty() && !self.ended {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.incoming.read(buffer)
    }
}

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OldSession {
    pub(super) fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        loop {
            let done = self.stream.connect();
            // Also an alert, which tells the server why.
            let sent = self.flush(socket);
            match done {
                Ok(()) => {
                    sent?;
                    let chosen = self.stream.ssl().selected_alpn_protocol();
                    self.alpn.map_or(Ok(()), |alpn| alpn.check(chosen))?;
                    return self.check_fingerprint().map(|()| true);
                }
                Err(error) if error.code() == ErrorCode::WANT_READ => {
                    sent?;
                    if !self.take_bytes(socket)? {
                        return Ok(false);
                    }
                }
                Err(_) if self.stream.get_ref().ended => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Err(error) => return Err(self.judged(error)),
            }
        }
    }

    pub(super) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        buffer: &mut [u8],
    ) -> io::Result<Received> {
        loop {
            match self.stream.ssl_read(buffer) {
                Ok(0) => return Ok(Received::End),
                Ok(count) => {
                    let records = self.stream.get_ref();
                    let more = !records.incoming.is_empty()
                        || !records.emptied
                        || self.stream.ssl().pending() > 0;
                    return Ok(Received::Bytes { count, wire: count, more });
                }
                Err(error) if error.code() == ErrorCode::WANT_READ => {
                    if !self.take_bytes(socket)? {
                        return Ok(Received::Nothing);
                    }
                }
                // Servers close the socket without a closing alert.
                Err(_) if self.stream.get_ref().ended => return Ok(Received::End),
                Err(error) if error.code() == ErrorCode::ZERO_RETURN => return Ok(Received::End),
                Err(error) => return Err(into_io(error)),
            }
        }
    }

    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        for piece in bytes.chunks(PIECE) {
            // A record that the socket has not taken is kept, and so is what comes after it.
            if self.wants_write() {
                break;
            }
            sent += self.stream.ssl_write(piece).map_err(into_io)?;
            self.flush(socket)?;
        }
        Ok(sent)
    }

    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let outgoing = &mut self.stream.get_mut().outgoing;
        while !outgoing.is_empty() {
            match Socket::new(socket).write(outgoing.as_slices().0) {
                Ok(count) => drop(outgoing.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn wants_write(&self) -> bool {
        !self.stream.get_ref().outgoing.is_empty()
    }

    pub(super) fn end_point(&self) -> Option<Vec<u8>> {
        end_point(self.stream.ssl().peer_certificate()?.as_ref())
    }

    pub(super) fn cipher(&self) -> Option<String> {
        let ssl = self.stream.ssl();
        let suite = ssl.current_cipher()?;
        Some(format!("{} {}", ssl.version_str(), suite.standard_name().unwrap_or(suite.name())))
    }

    /// Reads from the socket. `false` when it had nothing.
    fn take_bytes(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        let records = self.stream.get_mut();
        if records.ended {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut piece = [0; PIECE];
        let mut below = Socket::new(socket);
        match below.read(&mut piece) {
            Ok(0) => records.ended = true,
            Ok(count) => records.incoming.extend(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                records.emptied = true;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        records.emptied = below.emptied;
        Ok(true)
    }

    fn check_fingerprint(&self) -> io::Result<()> {
        let Some(known) = self.fingerprint else { return Ok(()) };
        let certificate = self.stream.ssl().peer_certificate();
        let digest = certificate.map(|one| one.digest(MessageDigest::sha256())).transpose()?;
        let shown = digest.as_deref().unwrap_or_default();
        if shown == known {
            return Ok(());
        }
        let text = another_fingerprint(shown);
        Err(Refused { text, nothing_in_common: false }.into_io())
    }

    /// What a failed handshake means; an error of the connection stays what it is.
    fn judged(&self, error: Error) -> io::Error {
        let verified = self.stream.ssl().verify_result();
        if verified != openssl::x509::X509VerifyResult::OK {
            let text = format!("its certificate cannot be verified: {}", verified.error_string());
            return Refused { text, nothing_in_common: false }.into_io();
        }
        let Some(stack) = error.ssl_error() else { return into_io(error) };
        let reasons: Vec<&str> = stack.errors().iter().filter_map(|one| one.reason()).collect();
        let text = if reasons.contains(&UNSUPPORTED) {
            "the server speaks only versions of TLS that were not allowed".to_owned()
        } else {
            format!("TLS failed: {}", reasons.join(", "))
        };
        Refused { text, nothing_in_common: true }.into_io()
    }
}

fn into_io(error: Error) -> io::Error {
    error.into_io_error().unwrap_or_else(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(versions: &[TlsVersion], ciphers: &[&str]) -> TlsPlan {
        let ciphers = ciphers.iter().map(|name| (*name).to_owned()).collect();
        TlsPlan { versions: versions.to_vec(), ciphers, ..TlsPlan::default() }
    }

    #[test]
    fn deprecated_versions_are_spoken_only_where_they_are_named() {
        use TlsVersion::{Tls10, Tls11, Tls12, Tls13};
        assert_eq!(span(&plan(&[], &[])), Some((Tls12, Tls12)));
        assert_eq!(span(&plan(&[Tls13, Tls12, Tls11], &[])), Some((Tls11, Tls12)));
        assert_eq!(span(&plan(&[Tls10], &[])), Some((Tls10, Tls10)));
        assert_eq!(span(&plan(&[Tls13], &[])), None);
    }

    #[test]
    fn ciphers_that_are_named_are_allowed_at_any_level() {
        assert_eq!(cipher_list(&plan(&[], &[]), TlsVersion::Tls12), "DEFAULT:@SECLEVEL=1");
        assert_eq!(cipher_list(&plan(&[], &[]), TlsVersion::Tls11), "DEFAULT:@SECLEVEL=0");
        let named = plan(&[], &["AES256-SHA", "DHE-RSA-AES128-SHA"]);
        let expected = "AES256-SHA:DHE-RSA-AES128-SHA:!eNULL:!aNULL:@SECLEVEL=0";
        assert_eq!(cipher_list(&named, TlsVersion::Tls12), expected);
    }

    #[test]
    fn a_cipher_that_nobody_knows_is_named() {
        for name in ["NO-SUCH-CIPHER", "NULL-MD5", "ADH-AES128-SHA"] {
            let told = context(&plan(&[], &[name]), (TlsVersion::Tls12, TlsVersion::Tls12));
            let told = told.err().map(|failure| failure.message);
            assert_eq!(told, Some(format!("tls.ciphers: none of {name} is known")));
        }
    }
}
