//! Where to connect, and as whom: the words of the command line.

use loadstone_wire_postgres::{ChannelBinding, LoginOptions, TlsWish};
use std::path::PathBuf;

pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) options: LoginOptions,
}

impl Target {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let parameter = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut target = Self {
            host: "127.0.0.1".to_owned(),
            port: 5432,
            ca: None,
            options: LoginOptions {
                tls: TlsWish::Never,
                parameters: vec![
                    parameter("application_name", "loadstone"),
                    parameter("client_encoding", "UTF8"),
                ],
                ..LoginOptions::default()
            },
        };
        for word in words {
            let (name, value) = word.split_once('=').ok_or(format!("{word} has no ="))?;
            target.set(name, value)?;
        }
        Ok(target)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "host" => self.host = value.to_owned(),
            "port" => self.port = value.parse().map_err(|_| format!("{value} is no port"))?,
            "user" => self.options.user = value.to_owned(),
            "password" => self.options.password = value.as_bytes().to_vec(),
            "database" => self.options.database = Some(value.to_owned()),
            "ca" => {
                self.ca = Some(value.into());
                self.options.server_proven = true;
            }
            "tls" => {
                self.options.tls = match value {
                    "never" => TlsWish::Never,
                    "offered" => TlsWish::IfOffered,
                    "must" => TlsWish::Must,
                    "direct" => TlsWish::Direct,
                    _ => return Err(format!("tls={value} is no wish")),
                }
            }
            "bound" => {
                self.options.channel_binding = match value {
                    "disable" => ChannelBinding::Disable,
                    "prefer" => ChannelBinding::Prefer,
                    "require" => ChannelBinding::Require,
                    _ => return Err(format!("bound={value} is no wish")),
                }
            }
            _ => return Err(format!("{name} is no name")),
        }
        Ok(())
    }
}
