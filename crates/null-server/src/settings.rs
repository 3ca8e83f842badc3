//! The settings of a null server: sockets, login, TLS, tables and script.

use crate::error::NullServerError;
use crate::script::Script;
use serde::Deserialize;
use std::path::PathBuf;

/// How clients log in. Any password is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// As MariaDB does.
    #[default]
    MysqlNativePassword,
    /// As MySQL 8 does for an account in its cache.
    CachingSha2Password,
}

impl Auth {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MysqlNativePassword => "mysql_native_password",
            Self::CachingSha2Password => "caching_sha2_password",
        }
    }
}

/// Whose clients it speaks to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// MySQL's and MariaDB's.
    #[default]
    MySql,
    /// PostgreSQL's.
    PostgreSql,
}

/// The certificate and key for clients that use TLS. Both are PEM files, read at the start.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificate, and the intermediate ones up to its authority.
    pub cert: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
}

/// The settings of a null server; also read from JSON, where unknown keys are refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The address to listen on.
    pub host: String,
    /// The TCP port; 0 takes a free one.
    pub port: u16,
    /// A unix socket to listen on as well.
    pub socket: Option<PathBuf>,
    /// Whose clients it speaks to.
    pub protocol: Protocol,
    /// The version that it says it has; if it contains `MariaDB`, clients take the server for one.
    /// `None`: one that is usual for the protocol.
    pub version: Option<String>,
    /// How clients log in.
    pub auth: Auth,
    /// If set, TLS is offered; clients that do not use it are accepted all the same.
    pub tls: Option<TlsFiles>,
    /// The schema that it claims to have.
    pub schema: String,
    /// How many tables sbtestN it claims to have.
    pub tables: u32,
    /// How many rows it claims that each of them has.
    pub table_size: u32,
    /// How many rows the answer to a SELECT with BETWEEN has.
    pub range_rows: u32,
    /// Where the log is written when the server is stopped; as CSV if the name ends with `.csv`.
    pub log: Option<PathBuf>,
    /// How many answers the log holds; further ones are only counted. The default is four million
    /// if the log is written to a file, otherwise none.
    pub log_records_max: Option<usize>,
    /// What it does apart from answering at once.
    pub script: Script,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            socket: None,
            protocol: Protocol::default(),
            version: None,
            auth: Auth::default(),
            tls: None,
            schema: "sbtest".to_owned(),
            tables: 10,
            table_size: 10_000,
            range_rows: 1,
            log: None,
            log_records_max: None,
            script: Script::default(),
        }
    }
}

/// The records of a log that is written to a file: 128 MB of memory.
const LOG_RECORDS_MAX: usize = 4_000_000;

impl Settings {
    /// The most records that the log keeps.
    pub(crate) fn log_records(&self) -> usize {
        self.log_records_max.unwrap_or(if self.log.is_some() { LOG_RECORDS_MAX } else { 0 })
    }

    /// The version in the greeting.
    pub(crate) fn version(&self) -> &str {
        match (&self.version, self.protocol) {
            (Some(version), _) => version,
            (None, Protocol::MySql) => "5.5.5-10.11.14-MariaDB-null",
            (None, Protocol::PostgreSql) => "17.0 (null)",
        }
    }

    /// The version as in `SELECT VERSION()`: what MariaDB puts in front of it in its greeting is
    /// for old replicas only.
    pub(crate) fn plain_version(&self) -> &str {
        self.version().strip_prefix("5.5.5-").unwrap_or(self.version())
    }

    /// Parses settings, or returns in one line what is wrong with them.
    pub fn from_json(text: &str) -> Result<Self, NullServerError> {
        let settings: Self = serde_json::from_str(text)
            .map_err(|error| NullServerError::Plan(format!("settings: {error}")))?;
        settings.script.check()?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_goes_to_a_file_has_room_and_one_that_nobody_asked_for_has_none() {
        let records = |text| Settings::from_json(text).unwrap().log_records();
        assert_eq!(records("{}"), 0);
        assert_eq!(records(r#"{"log": "a.csv"}"#), LOG_RECORDS_MAX);
        assert_eq!(records(r#"{"log": "a.csv", "log_records_max": 3}"#), 3);
        assert_eq!(records(r#"{"log_records_max": 3}"#), 3);
    }

    #[test]
    fn half_of_what_tls_needs_is_an_error() {
        let half = Settings::from_json(r#"{"tls": {"cert": "c.pem"}}"#).unwrap_err().to_string();
        assert!(half.contains("missing field `key`"), "{half}");
    }
}
