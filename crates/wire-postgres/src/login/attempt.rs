//! One attempt to log in: from the startup message to a server that takes commands.

use super::assembly::Message;
use super::negotiation::negotiated;
use super::options::LoginOptions;
use super::session::Session;
use super::startup::write_startup;
use crate::WireError;
use crate::auth::{
    ChannelBinding, ClientFirst, Line, Mechanism, Proof, Request, clear_text_answer, md5_answer,
};
use crate::frame::{put_string, write_message};
use crate::message::client::PASSWORD;
use crate::message::server;
use crate::reply::{Report, old_error, parse_ready};

/// A server's settings, notices and the steps of an authentication are twenty or thirty.
const MOST_MESSAGES: u16 = 500;

/// How far the authentication is.
#[derive(Debug)]
enum Stage {
    /// The startup message is sent. Next: `Answered`, `ScramFirst`, or `Settling` where the server
    /// asks for no proof.
    Asked,
    /// A password or its hash is sent. Next: `Settling`.
    Answered,
    /// SCRAM's first message is sent. Next: `ScramProof`.
    ScramFirst(ClientFirst),
    /// The client's proof is sent. Next: `ScramDone`.
    ScramProof(Proof),
    /// The server has proved that it knows the account's keys. Next: `Settling`.
    ScramDone,
    /// Logged in; the server reports its settings. Next: the session.
    Settling,
}

/// A startup message is sent; the server does not take commands yet.
#[derive(Debug)]
pub(super) struct Attempt {
    stage: Stage,
    line: Line,
    /// What the login is bound to within TLS.
    binding_data: Option<Vec<u8>>,
    session: Session,
    messages: u16,
}

impl Attempt {
    /// Appends the startup message. `binding_data` is that of the TLS session, if there is one and
    /// its certificate has some.
    pub(super) fn begin(
        options: &LoginOptions,
        encrypted: bool,
        binding_data: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Self {
        write_startup(out, options);
        Self {
            stage: Stage::Asked,
            line: line(options, encrypted),
            binding_data: binding_data.filter(|_| encrypted).map(<[u8]>::to_vec),
            session: Session {
                encrypted,
                minor_version: options.version.minor(),
                auth_method: "trust",
                ..Session::default()
            },
            messages: 0,
        }
    }

    /// Whether the server has not spoken yet.
    pub(super) fn is_unanswered(&self) -> bool {
        self.messages == 0
    }

    /// Processes a message of the server; returns the session if it is the last one.
    pub(super) fn message(
        &mut self,
        options: &LoginOptions,
        message: Message,
        out: &mut Vec<u8>,
    ) -> Result<Option<Session>, WireError> {
        let (kind, body) = match message {
            Message::Of3 { kind, body } => (kind, body),
            Message::OldError { text } => return Err(old_error(&text)),
        };
        self.messages += 1;
        if self.messages > MOST_MESSAGES {
            return Err(WireError::EndlessLogin { messages: MOST_MESSAGES });
        }
        match kind {
            // Whatever its severity: before the login is over the server closes the connection.
            server::ERROR_RESPONSE => return Err(WireError::Server(Report::parse(&body).error)),
            server::NOTICE_RESPONSE => {}
            server::AUTHENTICATION => self.authenticate(options, Request::parse(&body)?, out)?,
            server::NEGOTIATE_PROTOCOL_VERSION if matches!(self.stage, Stage::Asked) => {
                self.session.minor_version = negotiated(&body, options.version.minor())?;
            }
            _ if !matches!(self.stage, Stage::Settling) => return Err(unexpected(kind)),
            server::PARAMETER_STATUS => self.session.take_parameter(&body)?,
            server::BACKEND_KEY_DATA => self.session.take_key(&body)?,
            server::READY_FOR_QUERY => {
                self.session.status = parse_ready(&body)?;
                return Ok(Some(std::mem::take(&mut self.session)));
            }
            _ => return Err(unexpected(kind)),
        }
        Ok(None)
    }

    fn authenticate(
        &mut self,
        options: &LoginOptions,
        request: Request<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let stage = std::mem::replace(&mut self.stage, Stage::Settling);
        self.stage = match (stage, request) {
            (Stage::Asked | Stage::Answered, Request::Ok) => self.accepted(options)?,
            (Stage::ScramDone, Request::Ok) => Stage::Settling,
            (Stage::ScramFirst(_) | Stage::ScramProof(_), Request::Ok) => {
                let what = "the server ended the authentication without a proof";
                return Err(WireError::ServerNotProven { what });
            }
            (Stage::Asked, Request::ClearText) => {
                check_unbound(options)?;
                let password = check_password(options)?;
                let allowed = options.allow_clear_password;
                self.answer("password", &clear_text_answer(password, self.line, allowed)?, out)
            }
            (Stage::Asked, Request::Md5 { salt }) => {
                check_unbound(options)?;
                let password = check_password(options)?;
                self.answer("md5", &md5_answer(options.user.as_bytes(), password, salt), out)
            }
            (Stage::Asked, Request::Sasl { mechanisms }) => {
                self.begin_scram(options, mechanisms, out)?
            }
            (Stage::ScramFirst(first), Request::SaslContinue { data }) => {
                let proof = first.prove(data, &options.password, &options.key_cache)?;
                write_message(out, PASSWORD, |out| out.extend_from_slice(&proof.client_final));
                Stage::ScramProof(proof)
            }
            (Stage::ScramProof(proof), Request::SaslFinal { data }) => {
                proof.check(data)?;
                Stage::ScramDone
            }
            (_, request) => {
                let field = request.name();
                return Err(WireError::BadField { message: "the authentication", field });
            }
        };
        Ok(())
    }

    /// The server accepts the login without SCRAM: it has proved nothing.
    fn accepted(&self, options: &LoginOptions) -> Result<Stage, WireError> {
        check_unbound(options)?;
        Ok(Stage::Settling)
    }

    fn answer(&mut self, method: &'static str, answer: &[u8], out: &mut Vec<u8>) -> Stage {
        self.session.auth_method = method;
        write_message(out, PASSWORD, |out| put_string(out, answer)); // String
        Stage::Answered
    }

    /// SASLInitialResponse
    ///
    /// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-SASLINITIALRESPONSE>
    fn begin_scram(
        &mut self,
        options: &LoginOptions,
        mechanisms: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Stage, WireError> {
        let data = self.binding_data.as_deref();
        let mechanism = Mechanism::choose(mechanisms, options.channel_binding, data)?;
        check_password(options)?;
        self.session.auth_method = mechanism.shown();
        let first = ClientFirst::new(mechanism)?;
        let message = first.message();
        write_message(out, PASSWORD, |out| {
            put_string(out, first.mechanism().name()); // String
            out.extend_from_slice(&(message.len() as u32).to_be_bytes()); // Int32
            out.extend_from_slice(&message); // Byten
        });
        Ok(Stage::ScramFirst(first))
    }
}

fn check_password(options: &LoginOptions) -> Result<&[u8], WireError> {
    match options.password.as_slice() {
        [] => Err(WireError::NoPassword),
        password => Ok(password),
    }
}

/// Where binding is required, nothing but SCRAM will do.
fn check_unbound(options: &LoginOptions) -> Result<(), WireError> {
    match options.channel_binding {
        ChannelBinding::Require => {
            Err(WireError::NotBound { why: "the server does not ask for SCRAM" })
        }
        ChannelBinding::Disable | ChannelBinding::Prefer => Ok(()),
    }
}

/// Who can read what is sent on this connection.
fn line(options: &LoginOptions, encrypted: bool) -> Line {
    match (encrypted, options.transport_secure) {
        (_, true) => Line::Socket,
        (true, false) if options.server_proven => Line::Proven,
        (true, false) => Line::Unproven,
        (false, false) => Line::Open,
    }
}

fn unexpected(kind: u8) -> WireError {
    WireError::UnexpectedMessage { expected: "a message of the login", kind }
}
