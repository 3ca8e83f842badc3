//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

/// The text of `--help`.
pub(crate) const HELP: &str = "\
loadstone-floor: the least that a query costs a client

  --host ADDRESS    an address or a name (127.0.0.1)
  --port N          (3306)
  --socket PATH     a unix socket; wins over host and port
  --user NAME       (root)
  --password TEXT   else LOADSTONE_PASSWORD, else none
  --database NAME   (sbtest)
  --users N         connections (1)
  --seconds S       of load (5)
  --tables N        sbtest1 to sbtestN; each user keeps to one (1)
  --table-size N    rows of each (10000)
  --mode MODE       prepared, text: point selects; read_write: 20 round trips an event;
                    postgres, postgres_text: point selects on PostgreSQL, of the first table
  --steady          report the middle half of the load too
";

/// What each user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Prepared point selects.
    Prepared,
    /// Point selects as text.
    Text,
    /// oltp_read_write, prepared.
    ReadWrite,
    /// Prepared point selects on PostgreSQL.
    Postgres,
    /// The same as text.
    PostgresText,
}

impl Mode {
    const ALL: [Self; 5] =
        [Self::Prepared, Self::Text, Self::ReadWrite, Self::Postgres, Self::PostgresText];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Text => "text",
            Self::ReadWrite => "read_write",
            Self::Postgres => "postgres",
            Self::PostgresText => "postgres_text",
        }
    }

    /// On PostgreSQL: whether its statements are prepared.
    pub(crate) fn on_postgres(self) -> Option<bool> {
        match self {
            Self::Postgres => Some(true),
            Self::PostgresText => Some(false),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
    pub(crate) users: usize,
    pub(crate) seconds: f64,
    pub(crate) tables: u32,
    pub(crate) table_size: u32,
    pub(crate) mode: Mode,
    pub(crate) steady: bool,
}

impl Options {
    /// Parses them; `None`: help is requested.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self::default();
        while let Some(name) = words.next() {
            match name.as_str() {
                "--help" | "-h" => return Ok(None),
                "--steady" => options.steady = true,
                _ => {
                    let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
                    options.set(&name, value)?;
                }
            }
        }
        let reads_one = options.mode == Mode::Text || options.mode.on_postgres().is_some();
        if reads_one && options.tables > 1 {
            let mode = options.mode.name();
            return Err(format!("--mode {mode} reads sbtest1 only: leave --tables away"));
        }
        Ok(Some(options))
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "--host" => self.host = value,
            "--port" => self.port = number(name, &value)?,
            "--socket" => self.socket = Some(value.into()),
            "--user" => self.user = value,
            "--password" => self.password = value,
            "--database" => self.database = value,
            "--users" => self.users = positive(name, &value)? as usize,
            "--seconds" => self.seconds = seconds(&value)?,
            "--tables" => self.tables = positive(name, &value)?,
            "--table-size" => self.table_size = positive(name, &value)?,
            "--mode" => {
                let known = Mode::ALL.into_iter().find(|mode| mode.name() == value);
                self.mode = known.ok_or_else(|| format!("--mode {value:?} is not known"))?;
            }
            _ => return Err(format!("unknown option {name}; see --help")),
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 3306,
            socket: None,
            user: "root".to_owned(),
            password: std::env::var("LOADSTONE_PASSWORD").unwrap_or_default(),
            database: "sbtest".to_owned(),
            users: 1,
            seconds: 5.0,
            tables: 1,
            table_size: 10_000,
            mode: Mode::Prepared,
            steady: false,
        }
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name} {value:?} is no number that fits"))
}

fn positive(name: &str, value: &str) -> Result<u32, String> {
    let number = number(name, value)?;
    if number == 0 { Err(format!("{name} must be at least 1")) } else { Ok(number) }
}

fn seconds(value: &str) -> Result<f64, String> {
    let seconds: f64 = number("--seconds", value)?;
    let fits = seconds > 0.0 && seconds <= 3600.0;
    if fits { Ok(seconds) } else { Err(format!("--seconds {value} must be from 0 to 3600")) }
}
