//! What a server's certificate must be.

use super::refusals::plan_failure;
use crate::error::Failure;
use crate::plan::TargetPlan;

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

/// What is said of a certificate with another fingerprint.
pub(super) fn another_fingerprint(shown: &[u8]) -> String {
    let shown: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("its certificate has another fingerprint than the one that was given: {shown}")
}
