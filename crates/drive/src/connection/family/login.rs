//! From a connected socket to a server that takes commands.

use super::compression::CompressionLayer;
use super::conversation::Conversation;
use super::protocol_error::ProtocolError;
use super::server_family::ServerFamily;
use super::{mysql, postgres};
use crate::error::Failure;
use crate::plan::{SessionPlan, TargetPlan};
use std::sync::Arc;

/// Who logs in at a target, and how: worked out once a step, shared by all its connections.
#[derive(Debug)]
pub(crate) enum LoginOptions {
    MySql(Arc<mysql::LoginOptions>),
    Postgres(Arc<postgres::LoginOptions>),
}

impl LoginOptions {
    /// The login options of a plan's target.
    ///
    /// # Errors
    /// A file that the plan names cannot be read.
    pub(crate) fn of_plan(
        family: ServerFamily,
        target: &TargetPlan,
        session: &SessionPlan,
    ) -> Result<Self, Failure> {
        match family {
            ServerFamily::MySql => {
                Ok(Self::MySql(Arc::new(mysql::login_options(target, session)?)))
            }
            ServerFamily::Postgres => {
                Ok(Self::Postgres(Arc::new(postgres::login_options(target, session))))
            }
        }
    }

    /// Allows texts of several statements, which only scripts may send.
    pub(crate) fn allow_multi_statements(&mut self) {
        match self {
            Self::MySql(own) => Arc::make_mut(own).multi_statements = true,
            // Its servers take them from everybody.
            Self::Postgres(_) => {}
        }
    }

    /// The connections keep no rows: what a server said of their columns need not be repeated.
    pub(crate) fn cache_metadata(&mut self) {
        match self {
            Self::MySql(own) => Arc::make_mut(own).cache_metadata = true,
            // An execution gives no definitions unless it is asked for them.
            Self::Postgres(_) => {}
        }
    }

    /// Allows the server to ask for the rows of a load, as it asks for a file.
    pub(crate) fn allow_file(&mut self) {
        match self {
            Self::MySql(own) => Arc::make_mut(own).local_infile = true,
            // Only a COPY that the client itself has sent asks for rows.
            Self::Postgres(_) => {}
        }
    }
}

/// The login of one connection: bytes in, bytes out. It knows no socket.
pub(crate) enum Login {
    MySql(mysql::Login),
    Postgres(postgres::Login),
}

/// What a login needs next.
pub(crate) enum LoginProgress {
    /// More bytes from the server.
    NeedBytes,
    /// Send what was written, run the TLS handshake, then call [`Login::tls_established`].
    StartTls,
    /// Nothing: the server takes commands.
    Done(Box<LoggedIn>),
}

/// The result of a login.
pub(crate) struct LoggedIn {
    pub(crate) session: Session,
    pub(crate) conversation: Conversation,
    /// The compression of all further traffic, where both sides agreed on one.
    pub(crate) compression: Option<CompressionLayer>,
}

/// What the server said of itself, and what was agreed on.
pub(crate) struct Session {
    /// The server's own version string.
    pub(crate) server_version: String,
    pub(crate) is_mariadb: bool,
    /// The server's number for the connection.
    pub(crate) connection_id: u32,
    /// The name of the compression, where there is one.
    pub(crate) compression: Option<&'static str>,
}

impl Login {
    /// Starts a login on a connected socket, and says what it needs next. In protocols where the client speaks first, its first message is
    /// appended to `out`, as PostgreSQL's; MySQL's clients wait for the server's greeting.
    /// `in_clear`: without TLS, whatever the options prefer.
    pub(crate) fn begin(
        options: &LoginOptions,
        in_clear: bool,
        out: &mut Vec<u8>,
    ) -> Result<(Self, LoginProgress), ProtocolError> {
        let of_mysql = |own| (Self::MySql(mysql::Login::new(own)), LoginProgress::NeedBytes);
        match options {
            LoginOptions::MySql(own) if in_clear => {
                let without = mysql::LoginOptions { tls: mysql::TlsWish::Never, ..(**own).clone() };
                Ok(of_mysql(Arc::new(without)))
            }
            LoginOptions::MySql(own) => Ok(of_mysql(own.clone())),
            LoginOptions::Postgres(own) => {
                let own = if in_clear { Arc::new(in_clear_of(own)) } else { own.clone() };
                let (login, progress) =
                    postgres::Login::begin(own, out).map_err(ProtocolError::Postgres)?;
                Ok((Self::Postgres(login), of_postgres(progress)))
            }
        }
    }

    /// Takes what the socket gave; bytes to send are appended to `out`. Returns how many bytes were used, and what
    /// is needed next. After an error the connection is to be closed.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, LoginProgress), ProtocolError> {
        match self {
            Self::MySql(own) => {
                let (used, progress) = own.feed(bytes, out).map_err(ProtocolError::MySql)?;
                Ok((used, of_mysql(progress)))
            }
            Self::Postgres(own) => {
                let (used, progress) = own.feed(bytes, out).map_err(ProtocolError::Postgres)?;
                Ok((used, of_postgres(progress)))
            }
        }
    }

    /// The TLS handshake is done: appends what comes next. `end_point` gives what a login can be bound to: the hash of
    /// the server's certificate, if there is one (`tls-server-end-point`, RFC 5929).
    pub(crate) fn tls_established(
        &mut self,
        end_point: impl FnOnce() -> Option<Vec<u8>>,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        match self {
            Self::MySql(own) => own.tls_established(out).map_err(ProtocolError::MySql),
            Self::Postgres(own) => {
                own.tls_established(end_point().as_deref(), out).map_err(ProtocolError::Postgres)
            }
        }
    }
}

fn of_mysql(progress: mysql::LoginProgress) -> LoginProgress {
    let session = match progress {
        mysql::LoginProgress::NeedBytes => return LoginProgress::NeedBytes,
        mysql::LoginProgress::StartTls => return LoginProgress::StartTls,
        mysql::LoginProgress::Done(session) => session,
    };
    let layer = |by| CompressionLayer::MySql(mysql::CompressionLayer::new(by));
    LoginProgress::Done(Box::new(LoggedIn {
        conversation: Conversation::MySql(mysql::Conversation::new(&session)),
        compression: session.compression.map(layer),
        session: Session {
            server_version: session.server_version,
            is_mariadb: session.mariadb,
            connection_id: session.connection_id,
            compression: session.compression.map(|by| by.name()),
        },
    }))
}

fn in_clear_of(options: &postgres::LoginOptions) -> postgres::LoginOptions {
    postgres::LoginOptions { tls: postgres::TlsWish::Never, ..options.clone() }
}

fn of_postgres(progress: postgres::LoginProgress) -> LoginProgress {
    let session = match progress {
        postgres::LoginProgress::NeedBytes => return LoginProgress::NeedBytes,
        postgres::LoginProgress::StartTls => return LoginProgress::StartTls,
        postgres::LoginProgress::Done(session) => session,
    };
    LoginProgress::Done(Box::new(LoggedIn {
        conversation: Conversation::Postgres(postgres::Conversation::new(&session)),
        compression: None,
        session: Session {
            server_version: session.server_version().to_owned(),
            is_mariadb: false,
            connection_id: session.process_id(),
            compression: None,
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FailureKind;

    const MARIADB_10_11_19: &[u8] =
        b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0K#jmd0]h\0\
        \xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ow)c:5=o:pHW\0mysql_native_password\0";
    const OK: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
    const DENIED: &[u8] = b"\x15\0\0\x02\xff\x15\x04#28000Denied for u";

    fn options(tls: &str, compression: &str) -> LoginOptions {
        let target = format!(
            r#"{{"host": "h", "port": 3306, "user": "u", "password": "p", "database": null,
                 "tls": {{"mode": "{tls}"}}, "compression": [{compression}]}}"#
        );
        let target: TargetPlan = serde_json::from_str(&target).expect("a target");
        let session = SessionPlan::default();
        LoginOptions::of_plan(ServerFamily::MySql, &target, &session).expect("options")
    }

    /// The result of a login in which the server sends these messages; the last one must end it.
    fn logged_in(options: &LoginOptions, said: &[&[u8]]) -> Result<Box<LoggedIn>, Failure> {
        let mut out = Vec::new();
        let (mut login, _) = Login::begin(options, false, &mut out).expect("a login");
        assert!(out.is_empty(), "the server speaks first");
        for bytes in said {
            let (used, progress) = login.feed(bytes, &mut out).map_err(|error| error.failure())?;
            assert_eq!(used, bytes.len());
            if let LoginProgress::Done(logged_in) = progress {
                return Ok(logged_in);
            }
        }
        panic!("the login has not ended");
    }

    #[test]
    fn a_login_tells_what_the_server_is_and_leaves_one_that_takes_commands() {
        let logged_in = logged_in(&options("disabled", ""), &[MARIADB_10_11_19, OK]);
        let LoggedIn { session, conversation, compression } = *logged_in.expect("a login");
        assert_eq!(session.server_version, "10.11.19-MariaDB-0+deb12u1");
        assert_eq!((session.connection_id, session.is_mariadb), (5, true));
        assert!(session.compression.is_none() && compression.is_none());
        assert!(conversation.is_idle());
    }

    #[test]
    fn compression_that_was_agreed_on_is_named_and_left_to_whoever_sends() {
        let logged_in = logged_in(&options("disabled", r#""zlib""#), &[MARIADB_10_11_19, OK]);
        let logged_in = logged_in.expect("a login");
        assert_eq!(logged_in.session.compression, Some("zlib"));
        assert!(logged_in.compression.is_some());
    }

    #[test]
    fn a_login_that_fails_says_why_in_words_of_no_family() {
        let ended = |tls, said: &[&[u8]]| {
            let failure = logged_in(&options(tls, ""), said).err().expect("no login");
            (failure.kind, failure.code.and_then(|code| code.code.number()))
        };
        let denied = ended("disabled", &[MARIADB_10_11_19, DENIED]);
        assert_eq!(denied, (FailureKind::LoginRefused, Some(1045)));
        let without_tls = ended("required", &[MARIADB_10_11_19]);
        assert_eq!(without_tls, (FailureKind::TlsRefused, Some(2026)));
    }
}
