//! TLS 1.2 and 1.3 with the ciphers of today, by rustls.

use super::alpn::Alpn;
use super::ciphers;
use super::identity::{Fingerprint, another_fingerprint, fingerprint, host};
use super::modern_session::ModernSession;
use super::refusals::{file_failure, plan_failure};
use crate::error::Failure;
use crate::plan::{TargetPlan, TlsMode, TlsPlan, TlsVersion};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    SupportedProtocolVersion,
};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;

/// Makes rustls' side of each new connection to one target.
#[derive(Clone, Debug)]
pub(super) struct Modern {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    alpn: Option<Alpn>,
}

impl Modern {
    /// `None` when only versions or ciphers are asked for that rustls does not have.
    pub(super) fn of(target: &TargetPlan, alpn: Option<Alpn>) -> Result<Option<Self>, Failure> {
        let Some(mut config) = client_config(&target.tls)? else { return Ok(None) };
        config.alpn_protocols = alpn.iter().map(|alpn| alpn.name.to_vec()).collect();
        Ok(Some(Self { config: Arc::new(config), name: server_name(target)?, alpn }))
    }

    pub(super) fn session(&self) -> Result<ModernSession, String> {
        let session = UnbufferedClientConnection::new(self.config.clone(), self.name.clone());
        let session = session.map_err(|error| error.to_string())?;
        Ok(ModernSession::new(session, self.alpn))
    }
}

/// The name that the certificate must be issued for; only `verify-identity` checks it.
fn server_name(target: &TargetPlan) -> Result<ServerName<'static>, Failure> {
    let host = host(target);
    ServerName::try_from(host.to_owned()).or_else(|_| {
        if target.tls.mode == TlsMode::VerifyIdentity {
            return Err(plan_failure(format!("'{host}' is no name that a certificate can have")));
        }
        ServerName::try_from("localhost").map_err(|error| plan_failure(error.to_string()))
    })
}

fn client_config(plan: &TlsPlan) -> Result<Option<ClientConfig>, Failure> {
    let versions = versions(plan);
    let Some(provider) = ciphers::provider(&plan.ciphers).filter(|_| !versions.is_empty()) else {
        return Ok(None);
    };
    let provider = Arc::new(provider);
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
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
    Ok(Some(config))
}

/// Those of the plan that rustls has; both where it names none.
fn versions(plan: &TlsPlan) -> Vec<&'static SupportedProtocolVersion> {
    let may = |version| plan.versions.is_empty() || plan.versions.contains(&version);
    [(TlsVersion::Tls13, &TLS13), (TlsVersion::Tls12, &TLS12)]
        .into_iter()
        .filter_map(|(version, known)| may(version).then_some(known))
        .collect()
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
    // A system's bundle may have certificates that webpki cannot read: they then vouch for nobody.
    if let (0, _) = roots.add_parsable_certificates(read_certificates(ca)?) {
        return Err(file_failure("tls.ca", ca, &"none of its certificates can be an authority's"));
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| file_failure("tls.ca", ca, &error))
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let fail = |error: &dyn std::fmt::Display| file_failure("certificate file", path, error);
    let chain = CertificateDer::pem_file_iter(path)
        .map_err(|error| fail(&error))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| fail(&error))?;
    if chain.is_empty() { Err(fail(&"it holds no certificate")) } else { Ok(chain) }
}

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
        Err(Error::General(another_fingerprint(&shown)))
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
