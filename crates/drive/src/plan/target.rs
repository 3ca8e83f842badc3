//! The part `targets` of a plan: servers, accounts, TLS and compression.

use crate::error::PlanError;
use loadstone_protocol::Family;
use loadstone_workload::dialect::{Dialect, dialect_of, families};
use serde::Deserialize;
use std::path::PathBuf;

/// A database under test.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetPlan {
    /// The server's family, which decides its protocol.
    #[serde(default = "mysql")]
    pub family: Family,
    /// Host name or address; not used when there is a socket.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path of a unix socket; wins over host and port.
    pub socket: Option<PathBuf>,
    /// The account that logs in.
    pub user: String,
    /// The account's password; never shown.
    pub password: String,
    /// The schema.
    pub database: Option<String>,
    /// Encryption.
    pub tls: TlsPlan,
    /// Kinds of compression in order of preference: the first that the server supports is used.
    #[serde(default)]
    pub compression: Vec<CompressionChoice>,
    /// PEM file of the server's RSA key, for caching_sha2_password without TLS.
    pub server_public_key: Option<PathBuf>,
    /// Whether the cleartext password may be sent over TLS to any server that asks for it.
    #[serde(default)]
    pub allow_clear_password: bool,
    /// Whether the listener on this loopback address is known to be the server itself and not a tunnel's end.
    #[serde(default)]
    pub server_is_here: bool,
    /// What a PostgreSQL server gets at the login as on its own command line: `-c work_mem=8MB`.
    #[serde(default)]
    pub startup_options: Option<String>,
    /// The name that the sessions have in a PostgreSQL server's lists; none: `loadstone`.
    #[serde(default)]
    pub application_name: Option<String>,
}

/// The default: the only family there was before plans could name one.
fn mysql() -> Family {
    Family::new("mysql")
}

impl std::fmt::Debug for TargetPlan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}@{}", self.user, self.endpoint())
    }
}

impl TargetPlan {
    /// The endpoint as people write it: `host:port` or the socket's path.
    pub fn endpoint(&self) -> String {
        match &self.socket {
            Some(path) => path.display().to_string(),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }

    /// The SQL dialect of its family.
    ///
    /// # Errors
    /// The family is not implemented.
    pub fn dialect(&self) -> Result<&'static dyn Dialect, PlanError> {
        let family = self.family.to_string();
        dialect_of(&family).ok_or_else(|| {
            let known = families().collect::<Vec<_>>().join(", ");
            PlanError::new(format!("target.family: there is no {family}, only {known}"))
        })
    }
}

/// Encryption of one target's connections.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsPlan {
    /// How strictly TLS is required and the server checked.
    pub mode: TlsMode,
    /// PEM file of the authorities that may have signed the server's certificate.
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    pub cert: Option<PathBuf>,
    /// PEM file of the client's key.
    pub key: Option<PathBuf>,
    /// SHA-256 of the server's certificate, as 64 hexadecimal digits: over TLS no other certificate is
    /// accepted.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// The ciphers that may be used, by OpenSSL's names; empty: the two sides' own preference.
    #[serde(default)]
    pub ciphers: Vec<String>,
    /// The versions that may be used; empty: 1.2 and 1.3.
    #[serde(default)]
    pub versions: Vec<TlsVersion>,
    /// The handshake comes first on the connection: the server is not asked for it.
    #[serde(default)]
    pub direct: bool,
    /// Whether a login is bound to its TLS session.
    #[serde(default)]
    pub channel_binding: BindingWish,
}

/// Whether a login is bound to its TLS session, by libpq's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BindingWish {
    /// Never.
    Disable,
    /// If the server offers it and there is a TLS session.
    #[default]
    Prefer,
    /// Always, or the login fails.
    Require,
}

/// A version of TLS, by the name that the servers have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum TlsVersion {
    /// 1.0, which RFC 8996 deprecates.
    #[serde(rename = "TLSv1")]
    Tls10,
    /// 1.1, which RFC 8996 deprecates.
    #[serde(rename = "TLSv1.1")]
    Tls11,
    /// 1.2.
    #[serde(rename = "TLSv1.2")]
    Tls12,
    /// 1.3.
    #[serde(rename = "TLSv1.3")]
    Tls13,
}

impl TlsPlan {
    /// Whether a connection without TLS is refused.
    pub fn must(&self) -> bool {
        !matches!(self.mode, TlsMode::Disabled | TlsMode::Preferred)
    }

    /// Whether a successful TLS handshake proves the server's identity.
    pub fn proves_server(&self) -> bool {
        self.fingerprint.is_some()
            || matches!(self.mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity)
    }
}

/// The field's five modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Never encrypted.
    Disabled,
    /// Encrypted over TCP where the server offers it.
    #[default]
    Preferred,
    /// Encrypted or nothing; the certificate is not checked.
    Required,
    /// As `Required`, and the certificate is signed by the given authority.
    VerifyCa,
    /// As `VerifyCa`, and the certificate was issued for this host.
    VerifyIdentity,
}

/// A kind of compression, or no compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompressionChoice {
    /// No compression, which every server supports.
    Off,
    /// Zlib.
    Zlib,
    /// Zstd; MySQL 8.0.18 and newer.
    Zstd,
}
