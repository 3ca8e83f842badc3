//! TLS for the connections of a target, by the field's five modes from `disabled` to `verify-identity`.

use super::ciphers;
use crate::error::{Failure, FailureKind};
use crate::plan::{TargetPlan, TlsMode, TlsPlan};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// Makes the TLS side of each new connection to one target.
#[derive(Clone, Debug)]
pub(crate) struct TlsMaker {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsMaker {
    /// `None` when the target's connections are never encrypted.
    pub(crate) fn for_target(target: &TargetPlan) -> Result<Option<Self>, Failure> {
        if target.tls.mode == TlsMode::Disabled {
            return Ok(None);
        }
        let name = server_name(target)?;
        let config = Arc::new(client_config(&target.tls)?);
        Ok(Some(Self { config, name }))
    }

    pub(crate) fn connection(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(self.config.clone(), self.name.clone())
    }
}

/// The name that the certificate must be issued for; only `verify-identity` checks it.
fn server_name(target: &TargetPlan) -> Result<ServerName<'static>, Failure> {
    const THIS_HOST: &str = "localhost";
    let host = if target.socket.is_some() { THIS_HOST } else { target.host.as_str() };
    ServerName::try_from(host.to_owned()).or_else(|_| {
        if target.tls.mode == TlsMode::VerifyIdentity {
            return Err(plan_failure(format!("'{host}' is no name that a certificate can have")));
        }
        ServerName::try_from(THIS_HOST).map_err(|error| plan_failure(error.to_string()))
    })
}

fn client_config(plan: &TlsPlan) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(ciphers::provider(&plan.ciphers).map_err(plan_failure)?);
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| plan_failure(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier(plan, provider)?);
    let mut config = match (&plan.cert, &plan.key) {
        (Some(cert), Some(key)) => {
            let chain = read_certificates(cert)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| file_failure("tls.key", key, &error))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| plan_failure(format!("tls.cert and tls.key: {error}")))?
        }
        (None, None) => builder.with_no_client_auth(),
        _ => return Err(plan_failure("tls.cert and tls.key go together".to_owned())),
    };
    // Off by default, as in the servers' own clients: the full cost of a new connection is measured.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn verifier(
    plan: &TlsPlan,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Failure> {
    let fingerprint = plan.fingerprint.as_deref().map(fingerprint).transpose()?;
    let (authority, checks_name) = match plan.mode {
        TlsMode::VerifyCa => (Some(authority(plan, &provider)?), false),
        TlsMode::VerifyIdentity => (Some(authority(plan, &provider)?), true),
        TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => (None, false),
    };
    Ok(Arc::new(Verifier { provider, authority, checks_name, fingerprint }))
}

fn authority(
    plan: &TlsPlan,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Failure> {
    let Some(ca) = &plan.ca else {
        return Err(plan_failure(
            "tls.ca: verify-ca and verify-identity need the authority's PEM file".to_owned(),
        ));
    };
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(ca)? {
        roots.add(certificate).map_err(|error| file_failure("tls.ca", ca, &error))?;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| file_failure("tls.ca", ca, &error))
}

fn fingerprint(text: &str) -> Result<Fingerprint, Failure> {
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

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let fail = |error: &dyn std::fmt::Display| file_failure("certificate file", path, error);
    let chain = CertificateDer::pem_file_iter(path)
        .map_err(|error| fail(&error))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| fail(&error))?;
    if chain.is_empty() { Err(fail(&"it holds no certificate")) } else { Ok(chain) }
}

fn plan_failure(text: String) -> Failure {
    Failure::new(FailureKind::Plan, None, text)
}

fn file_failure(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Failure {
    plan_failure(format!("{what} {}: {error}", path.display()))
}

/// SHA-256 of a certificate.
type Fingerprint = [u8; 32];

/// Checks the server's certificate as the mode requires. The handshake's signature is always checked against
/// the certificate that the server presents.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None` for `preferred` and `required`: any certificate is accepted, as these modes usually mean.
    /// Such a server gets no password that it could read (`TlsPlan::proves_server`).
    authority: Option<Arc<WebPkiServerVerifier>>,
    /// Set for `verify-identity`; in other modes the certificate may be for any name.
    checks_name: bool,
    fingerprint: Option<Fingerprint>,
}

impl Verifier {
    fn check_fingerprint(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let shown: Fingerprint = Sha256::digest(certificate).into();
        if self.fingerprint.is_none_or(|known| known == shown) {
            return Ok(());
        }
        let shown: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
        let what = "its certificate has another fingerprint than the one that was given";
        Err(Error::General(format!("{what}: {shown}")))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        self.check_fingerprint(end_entity)?;
        let Some(webpki) = &self.authority else {
            return Ok(ServerCertVerified::assertion());
        };
        // The name is webpki's last check: an error about it means that all others passed.
        match webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        {
            Err(Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
                if !self.checks_name =>
            {
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
