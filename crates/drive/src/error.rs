//! Errors of the engine: refused plans, and the failure that ends a step or a load.

use loadstone_protocol::{Code, ErrorCode, Family};
use serde::{Serialize, Serializer};

/// A plan that cannot be run; one line that names the key.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct PlanError {
    text: String,
}

impl PlanError {
    /// An error with this text, one line.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The JSON is not a plan.
    pub fn from_json(error: serde_json::Error) -> Self {
        Self::new(format!("the plan is not as docs/engine.md says: {error}"))
    }
}

/// Why a step or a load ended early. Kinds are stable names; see `docs/engine.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The stable name.
    pub kind: FailureKind,
    /// The server's code, or the one that its family's clients use for a failure on the client's
    /// side.
    #[serde(flatten, serialize_with = "family_and_code")]
    pub code: Option<ErrorCode>,
    /// Five characters, if the server sent them.
    pub sql_state: Option<Box<str>>,
    /// What happened, in one line.
    pub message: String,
    /// The target's index in the plan.
    pub target: usize,
    /// The statement that was running, if any.
    pub statement: Option<Box<str>>,
    /// What came of the same login without TLS, tried because this one was refused over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_clear: Option<Box<str>>,
}

/// The stable names of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The host name has no address.
    UnknownHost,
    /// Nobody listens there, or the socket's path does not exist.
    Unreachable,
    /// Too many connections wait at a unix socket. Transient, so never in a record.
    QueueFull,
    /// No answer within the timeout.
    TimedOut,
    /// Wrong user, password or host.
    LoginRefused,
    /// `max_connections` is used up.
    TooManyConnections,
    /// The schema does not exist or may not be used.
    UnknownDatabase,
    /// TLS was required and the server does not offer it.
    TlsRefused,
    /// The TLS handshake failed.
    TlsFailed,
    /// The server has no version or cipher of TLS that was spoken, and others are tried. Transient, so
    /// never in a record.
    OtherTls,
    /// Compression was asked for and the server does not offer it.
    CompressionRefused,
    /// A script cannot be loaded, or raised an error.
    Script,
    /// A statement failed and the policy says that this ends the step.
    StatementFailed,
    /// The server's answer violates the protocol.
    Protocol,
    /// This process has reached its limit of open files.
    Descriptors,
    /// caching_sha2_password without TLS needs the server's public key.
    PublicKeyNeeded,
    /// The server asks for the password itself and has not proved its identity.
    PasswordWithheld,
    /// An authentication method or server version that is not supported.
    NotSupported,
    /// The process that started the step has given no sign of life.
    Abandoned,
    /// A statement has made no progress for too long.
    Stalled,
    /// The plan or a file that it names is wrong.
    Plan,
    /// A table of the same name exists that this load did not create.
    TableInTheWay,
    /// A bug in Loadstone.
    Internal,
}

impl Failure {
    /// A failure without an SQL state: not from the server, or not known to be.
    pub fn new(kind: FailureKind, code: Option<ErrorCode>, message: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            sql_state: None,
            message: message.into(),
            target: 0,
            statement: None,
            in_clear: None,
        }
    }

    /// A panic in Loadstone.
    pub fn bug(what: &str) -> Self {
        let text = format!("{what} of the engine panicked; this is a bug of Loadstone");
        Self::new(FailureKind::Internal, None, text)
    }

    pub(crate) fn at(mut self, target: usize) -> Self {
        self.target = target;
        self
    }

    /// Adds the statement that was running.
    #[must_use]
    pub fn during(mut self, statement: String) -> Self {
        self.statement = Some(statement.into_boxed_str());
        self
    }

    /// The failure's code, or the code that stands for none.
    pub(crate) fn code_alone(&self) -> Code {
        self.code.map_or(Code::OTHER, |code| code.code)
    }
}

/// Both are null where there is no code.
fn family_and_code<S: Serializer>(
    code: &Option<ErrorCode>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Both {
        family: Option<Family>,
        code: Option<Code>,
    }
    let (family, code) = code.map(|ErrorCode { family, code }| (family, code)).unzip();
    Both { family, code }.serialize(serializer)
}

/// The operating system's message without Rust's "(os error N)".
pub(crate) fn os_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_a_family_and_a_code_or_neither() {
        let family = Family::new("mysql");
        let code = ErrorCode { family, code: Code::of_number(1045) };
        let refused = Failure::new(FailureKind::LoginRefused, Some(code), "no").at(1);
        assert_eq!(
            serde_json::to_value(&refused).unwrap(),
            serde_json::json!({"kind": "login_refused", "family": "mysql", "code": "1045",
                "sql_state": null, "message": "no", "target": 1, "statement": null})
        );
        let bug = serde_json::to_value(Failure::bug("a shard")).unwrap();
        assert!(bug["family"].is_null() && bug["code"].is_null());
        assert!(bug.as_object().unwrap().contains_key("code"));
    }
}
