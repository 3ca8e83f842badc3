//! What a server's certificate must be.

use super::refusals::plan_failure;
use crate::error::Failure;
use crate::plan::TargetPlan;
use openssl::hash::{MessageDigest, hash};
use openssl::nid::Nid;
use openssl::x509::X509Ref;

/// The host that the certificate must be issued for.
pub(super) fn host(target: &TargetPlan) -> &str {
    if target.socket.is_some() { "localhost" } else { &target.host }
}

/// SHA-256 of a certificate.
pub(super) type Fingerprint = [u8; 32];

pub(super) fn fingerprint(text: &str) -> Result<Fingerprint, Failure> {
    let bad = || plan_failure("tls.fingerprint: 64 hexadecimal digits are needed".to_owned());
    let mut bytes = Fingerprint::default();
    if text.len() != 2 * bytes.len() || !text.is_ascii() {
        return Err(bad());
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        let digits = &text[2 * place..2 * place + 2];
        *byte = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
    }
    Ok(bytes)
}

/// What a login can be bound to: the hash of the server's certificate by the algorithm of its signature, and SHA-256
/// where that is MD5 or SHA-1. `None` where the signature has none of its own, as that of Ed25519.
///
/// `tls-server-end-point`: <https://www.rfc-editor.org/rfc/rfc5929#section-4.1>
pub(super) fn end_point(certificate: &X509Ref) -> Option<Vec<u8>> {
    let signature = certificate.signature_algorithm().object().nid().signature_algorithms()?;
    let by = match signature.digest {
        Nid::MD5 | Nid::SHA1 => MessageDigest::sha256(),
        other => MessageDigest::from_nid(other)?,
    };
    Some(hash(by, &certificate.to_der().ok()?).ok()?.to_vec())
}

/// What is said of a certificate with another fingerprint.
pub(super) fn another_fingerprint(shown: &[u8]) -> String {
    let shown: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("its certificate has another fingerprint than the one that was given: {shown}")
}
