//! The settings of a null server: sockets, login, TLS, tables and script.

use crate::error::NullServerError;
use crate::script::Script;
use serde::Deserialize;
use std::path::PathBuf;

/// How clients log in. Any password is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// As MariaDB does.
    #[default]
    MysqlNativePassword,
    /// As MySQL 8 does with an account that it has in its cache.
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

/// What the server shows to clients that want TLS. Both are PEM files, read when it starts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// Its certificate, and those between it and its authority.
    pub cert: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
}

/// The plan of a null server; also read from JSON, where unknown keys are refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The address to listen on.
    pub host: String,
    /// The TCP port; 0 takes a free one.
    pub port: u16,
    /// A unix socket to listen on too.
    pub socket: Option<PathBuf>,
    /// The version in the greeting; with `MariaDB` in it, clients take the server for one.
    pub version: String,
    /// How clients log in.
    pub auth: Auth,
    /// With it TLS is offered; clients that do not ask for it are let in all the same.
    pub tls: Option<TlsFiles>,
    /// The schema that it says it has.
    pub schema: String,
    /// How many tables sbtestN it says it has.
    pub tables: u32,
    /// How many rows it says each of them has.
    pub table_size: u32,
    /// How many rows the answer to a SELECT with BETWEEN has.
    pub range_rows: u32,
    /// Where the log is written when the server is stopped; as CSV if its name ends so.
    pub log: Option<PathBuf>,
    /// How many answers the log holds; what comes after them is counted and not kept. If it is not
    /// said: four million where the log is written to a file, else none.
    pub log_records_max: Option<usize>,
    /// What it does besides answering at once.
    pub script: Script,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            socket: None,
            version: "5.5.5-10.11.14-MariaDB-null".to_owned(),
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

/// Records of a log that is written to a file: 128 MB of memory.
const LOG_RECORDS_MAX: usize = 4_000_000;

impl Settings {
    /// How many records the log keeps at most.
    pub(crate) fn log_records(&self) -> usize {
        self.log_records_max.unwrap_or(if self.log.is_some() { LOG_RECORDS_MAX } else { 0 })
    }

    /// The version as `SELECT VERSION()` has it: what MariaDB puts in front of it in its greeting
    /// is for old replicas only.
    pub(crate) fn plain_version(&self) -> &str {
        self.version.strip_prefix("5.5.5-").unwrap_or(&self.version)
    }

    /// Reads settings, and says in one line what is wrong with them.
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
