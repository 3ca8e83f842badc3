//! The program's command line.

use loadstone_null_server::{Auth, NullServerError, Protocol, Script, Settings, TlsFiles};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The text of `--help`.
pub(crate) const HELP: &str = "\
loadstone-null-server: a MySQL or PostgreSQL server without a database, which answers at once, or on script

  --host ADDRESS      to listen on (127.0.0.1)
  --port N            0 takes a free one (0)
  --socket PATH       a unix socket to listen on too
  --protocol NAME     mysql or postgresql (mysql)
  --script FILE       JSON: service times, stalls, pieces, drops, errors, refusals
  --log FILE          stamps of all answers, written at the end; CSV if its name ends so
  --log-records N     how many of them are kept at most (4000000)
  --duration TIME     ends after it: 60s, 5m, 1h (1h)
  --tables N          tables sbtestN that it says it has (10)
  --table-size N      rows that it says each has (10000)
  --range-rows N      rows of an answer to a SELECT with BETWEEN (1)
  --schema NAME       the schema that it says it has (sbtest)
  --version-text TEXT the version in its greeting
  --auth NAME         mysql_native_password or caching_sha2_password
  --tls-cert FILE     offer TLS with this certificate (PEM)
  --tls-key FILE      the certificate's key (PEM)

Any user and password is let in. Prints one line of JSON when it is ready.
";

const LONGEST: Duration = Duration::from_secs(86_400);

/// The parsed arguments.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) settings: Settings,
    pub(crate) duration: Duration,
}

impl Arguments {
    /// Parses them; `None`: help is requested.
    pub(crate) fn read(
        mut words: impl Iterator<Item = String>,
    ) -> Result<Option<Self>, NullServerError> {
        let (settings, duration) = (Settings::default(), Duration::from_secs(3600));
        let mut arguments = Self { settings, duration };
        let (mut cert, mut key) = (None, None);
        while let Some(word) = words.next() {
            if matches!(word.as_str(), "--help" | "-h") {
                return Ok(None);
            }
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, words.next()),
            };
            let value = value.ok_or_else(|| wrong(format!("{name} needs a value")))?;
            match name.as_str() {
                "--tls-cert" => cert = Some(PathBuf::from(value)),
                "--tls-key" => key = Some(PathBuf::from(value)),
                _ => arguments.set(&name, value)?,
            }
        }
        arguments.settings.tls = match (cert, key) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            (None, None) => None,
            _ => return Err(wrong("--tls-cert and --tls-key go together".to_owned())),
        };
        Ok(Some(arguments))
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), NullServerError> {
        let settings = &mut self.settings;
        match name {
            "--host" => settings.host = value,
            "--port" => settings.port = parsed(name, &value)?,
            "--socket" => settings.socket = Some(value.into()),
            "--script" => settings.script = script(&value)?,
            "--log" => settings.log = Some(value.into()),
            "--log-records" => settings.log_records_max = Some(parsed(name, &value)?),
            "--duration" => self.duration = duration(&value)?,
            "--tables" => settings.tables = parsed(name, &value)?,
            "--table-size" => settings.table_size = parsed(name, &value)?,
            "--range-rows" => settings.range_rows = parsed(name, &value)?,
            "--schema" => settings.schema = value,
            "--version-text" => settings.version = Some(value),
            "--protocol" => settings.protocol = protocol(&value)?,
            "--auth" => settings.auth = auth(&value)?,
            _ => return Err(wrong(format!("unknown option {name}; see --help"))),
        }
        Ok(())
    }
}

fn wrong(line: String) -> NullServerError {
    NullServerError::Plan(line)
}

fn parsed<T: FromStr>(name: &str, value: &str) -> Result<T, NullServerError> {
    value.parse().map_err(|_| wrong(format!("{name} {value:?} is no number that fits")))
}

fn script(path: &str) -> Result<Script, NullServerError> {
    let text =
        std::fs::read_to_string(path).map_err(|error| wrong(format!("script {path}: {error}")))?;
    Script::from_json(&text).map_err(|error| wrong(format!("{path}: {error}")))
}

fn auth(value: &str) -> Result<Auth, NullServerError> {
    match value {
        "mysql_native_password" => Ok(Auth::MysqlNativePassword),
        "caching_sha2_password" => Ok(Auth::CachingSha2Password),
        _ => Err(wrong(format!(
            "--auth {value:?} must be mysql_native_password or caching_sha2_password"
        ))),
    }
}

fn protocol(value: &str) -> Result<Protocol, NullServerError> {
    match value {
        "mysql" => Ok(Protocol::MySql),
        "postgresql" => Ok(Protocol::PostgreSql),
        _ => Err(wrong(format!("--protocol {value:?} must be mysql or postgresql"))),
    }
}

fn duration(value: &str) -> Result<Duration, NullServerError> {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &value[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = digits.parse().map_or(f64::NAN, |number: f64| number * unit);
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration <= LONGEST => Ok(duration),
        _ => Err(wrong(format!("--duration {value:?} must be a time up to 24h, as 60s or 5m"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Option<Arguments>, NullServerError> {
        Arguments::read(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn options_take_their_value_in_both_ways() {
        let arguments = read(&["--port=3307", "--duration", "5m", "--log-records", "9"]);
        let arguments = arguments.unwrap().unwrap();
        assert_eq!(arguments.settings.port, 3307);
        assert_eq!(arguments.duration, Duration::from_secs(300));
        assert_eq!(arguments.settings.log_records_max, Some(9));
        let files = read(&["--tls-cert", "c.pem", "--tls-key", "k.pem"]).unwrap().unwrap();
        let expected = TlsFiles { cert: "c.pem".into(), key: "k.pem".into() };
        assert_eq!(files.settings.tls, Some(expected));
        assert!(read(&["--help"]).unwrap().is_none());
    }

    #[test]
    fn mistakes_have_their_lines() {
        for (words, expected) in [
            (&["--prot", "1"][..], "unknown option --prot"),
            (&["--port"][..], "--port needs a value"),
            (&["--port", "70000"][..], "no number that fits"),
            (&["--duration", "5 days"][..], "must be a time"),
            (&["--duration", "48h"][..], "must be a time"),
            (&["--auth", "x"][..], "must be mysql_native_password"),
            (&["--protocol", "x"][..], "must be mysql or postgresql"),
            (&["--tls-key", "k.pem"][..], "--tls-cert and --tls-key go together"),
            (&["--script", "/nowhere.json"][..], "script /nowhere.json"),
        ] {
            let line = read(words).unwrap_err().to_string();
            assert!(line.contains(expected), "{line}");
        }
    }
}
