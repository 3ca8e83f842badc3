//! A target as the connections see it: address, login, TLS and session, worked out once a step.

use super::family::{LoginOptions, ServerFamily};
use super::numbers::Place;
use super::sources::Sources;
use super::tls::TlsMaker;
use crate::error::{Failure, FailureKind};
use crate::plan::{Plan, SessionPlan, TargetPlan};
use loadstone_protocol::Fault;
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};
use std::io;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::Duration;

/// Shared by all connections to one target.
#[derive(Debug)]
pub struct Endpoint {
    /// The target's index in the plan.
    pub(crate) index: usize,
    pub(crate) place: Place,
    /// The server's family, which decides its protocol.
    pub(crate) family: ServerFamily,
    pub(crate) login: LoginOptions,
    pub(crate) tls: Option<TlsMaker>,
    /// Statements to send one after the other before the first event.
    pub(crate) session: Vec<String>,
    pub(crate) unix: bool,
    /// How long what was sent may go unread before the connection counts as lost.
    unread: Option<Duration>,
    /// All addresses of the host; a name may have several.
    addresses: Vec<SockAddr>,
    /// Why the host has no address: a script may go on without that server.
    unknown: Option<String>,
    sources: Sources,
}

impl Endpoint {
    /// Looks up the host's name. This may block for long, so do not call it from an event loop.
    /// # Errors
    /// The host has no address, or a file that the plan names cannot be read.
    pub fn resolve(
        index: usize,
        target: &TargetPlan,
        session: &SessionPlan,
    ) -> Result<Self, Failure> {
        let addresses = addresses(family(target)?, target)?;
        Self::with_addresses(index, target, session, addresses)
    }

    fn with_addresses(
        index: usize,
        target: &TargetPlan,
        session: &SessionPlan,
        addresses: Vec<SockAddr>,
    ) -> Result<Self, Failure> {
        let family = family(target)?;
        Ok(Self {
            index,
            place: place(target),
            family,
            login: LoginOptions::of_plan(family, target, session)?,
            tls: tls_maker(family, target)?,
            session: family.session_statements(session),
            unix: target.socket.is_some(),
            unread: Some(LONGEST_UNREAD),
            addresses,
            unknown: None,
            sources: Sources::default(),
        })
    }

    /// `reads_rows`: whether users keep the rows that their statements return.
    pub(crate) fn of_plan(plan: &Plan, reads_rows: bool) -> Result<Vec<Arc<Self>>, Failure> {
        let resolve = |(index, target)| {
            let mut endpoint = match Self::resolve(index, target, &plan.session) {
                Err(failure)
                    if plan.script.is_some() && failure.kind == FailureKind::UnknownHost =>
                {
                    let mut endpoint =
                        Self::with_addresses(index, target, &plan.session, Vec::new())?;
                    endpoint.unknown = Some(failure.message);
                    endpoint
                }
                other => other.map_err(|failure| failure.at(index))?,
            };
            endpoint.sources = Sources::new(&plan.connect.source_addresses);
            if !reads_rows {
                endpoint.login.cache_metadata();
            }
            let may_send_several = plan.script.as_ref().is_some_and(|one| one.several_statements);
            Ok(Arc::new(if may_send_several { endpoint.for_a_script() } else { endpoint }))
        };
        plan.targets.iter().enumerate().map(resolve).collect()
    }

    /// Why nothing can connect to it, if its host has no address.
    pub(crate) fn unknown_host(&self) -> Option<Failure> {
        let text = self.unknown.as_ref()?;
        let failure =
            self.family.failure(FailureKind::UnknownHost, Fault::UnknownHost, text.clone());
        Some(failure.at(self.index))
    }

    /// The server's family, which decides its protocol.
    #[must_use]
    pub fn family(&self) -> ServerFamily {
        self.family
    }

    /// The failure when the operating system cannot connect to the endpoint.
    pub(crate) fn connect_failure(&self, error: &io::Error) -> Failure {
        Failure::from_connect(self.family, error, self.unix).at(self.index)
    }

    /// The failure when no connection was made within the plan's timeout.
    pub(crate) fn too_late(&self, timeout_s: f64) -> Failure {
        let text = format!("no connection within {timeout_s} s");
        self.family.failure(FailureKind::TimedOut, Fault::TimedOut, text).at(self.index)
    }

    pub(crate) fn address_count(&self) -> usize {
        self.addresses.len()
    }

    /// A socket whose connect(2) is under way or done. Addresses are taken in turn.
    pub(crate) fn connect(&self, address: usize) -> io::Result<Socket> {
        let address = &self.addresses[address % self.addresses.len()];
        let socket = self.socket(address)?;
        socket.set_nonblocking(true)?;
        match socket.connect(address) {
            Ok(()) => {}
            Err(error) if is_under_way(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(socket)
    }

    /// The same endpoint for a script, which may send several statements in one text.
    #[must_use]
    pub(crate) fn for_a_script(mut self) -> Self {
        self.login.allow_multi_statements();
        self
    }

    /// The same endpoint for loading: the server may ask for the loader's rows, which no other connection allows.
    /// It may also leave them unread. The load has its own timeout, and a server that waits for its disk in the
    /// middle of LOAD DATA is alive, though the kernel's limit would end the connection (tcp(7)).
    #[must_use]
    pub fn for_loading(mut self) -> Self {
        self.unread = None;
        self.login.allow_file();
        self
    }

    fn socket(&self, address: &SockAddr) -> io::Result<Socket> {
        if self.unix {
            return Socket::new(Domain::UNIX, Type::STREAM, None);
        }
        let socket = Socket::new(address.domain(), Type::STREAM, Some(Protocol::TCP))?;
        // A statement must leave at once: latency is what is measured.
        socket.set_tcp_nodelay(true)?;
        notice_silence(&socket)?;
        socket.set_tcp_user_timeout(self.unread)?;
        self.sources.bind(&socket, address)?;
        Ok(socket)
    }
}

/// A statement fits in any server's receive buffer: a live server accepts it at once, however slowly it answers.
const LONGEST_UNREAD: Duration = Duration::from_secs(30);

/// Detects within half a minute a server that disappeared without closing the connection. A client that
/// waits for an answer sends nothing, so the kernel must send keepalive probes (tcp(7)). A server that
/// is only slow answers them.
fn notice_silence(socket: &Socket) -> io::Result<()> {
    let questions = TcpKeepalive::new()
        .with_time(Duration::from_secs(15))
        .with_interval(Duration::from_secs(5))
        .with_retries(3);
    socket.set_tcp_keepalive(&questions)
}

fn is_under_way(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error())
}

fn family(target: &TargetPlan) -> Result<ServerFamily, Failure> {
    let unknown =
        || format!("targets: this program speaks to no server of the family '{}'", target.family);
    ServerFamily::of(target.family).ok_or_else(|| Failure::new(FailureKind::Plan, None, unknown()))
}

fn tls_maker(family: ServerFamily, target: &TargetPlan) -> Result<Option<TlsMaker>, Failure> {
    if target.socket.is_some() && !family.encrypts_sockets() {
        return Ok(None);
    }
    TlsMaker::for_target(target, family.alpn())
}

fn place(target: &TargetPlan) -> Place {
    let socket = target.socket.as_ref().map(|path| path.display().to_string());
    socket.unwrap_or_else(|| format!("{}:{}", target.host, target.port)).into()
}

fn addresses(family: ServerFamily, target: &TargetPlan) -> Result<Vec<SockAddr>, Failure> {
    if let Some(path) = &target.socket {
        let address = SockAddr::unix(path)
            .map_err(|error| Failure::new(FailureKind::Plan, None, format!("socket: {error}")))?;
        return Ok(vec![address]);
    }
    let unknown = |text: String| family.failure(FailureKind::UnknownHost, Fault::UnknownHost, text);
    let found: Vec<SockAddr> = (target.host.as_str(), target.port)
        .to_socket_addrs()
        .map_err(|error| unknown(format!("'{}': {error}", target.host)))?
        .map(SockAddr::from)
        .collect();
    if found.is_empty() {
        return Err(unknown(format!("'{}' has no address", target.host)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(endpoint: &Endpoint) -> Option<Duration> {
        let socket = endpoint.socket(&endpoint.addresses[0]).expect("a socket");
        // The kernel reports zero when there is no limit.
        socket.tcp_user_timeout().expect("an answer").filter(|span| !span.is_zero())
    }

    #[test]
    fn only_a_loaders_bytes_may_lie_unread_for_as_long_as_the_server_likes() {
        let target = r#"{"host": "127.0.0.1", "port": 3306, "user": "u", "password": "p",
            "database": null, "tls": {"mode": "disabled"}}"#;
        let session = r#"{"init_sql": [], "isolation": null, "charset": "utf8mb4"}"#;
        let target = serde_json::from_str(target).expect("a target");
        let session = serde_json::from_str(session).expect("a session");
        let endpoint = Endpoint::resolve(0, &target, &session).expect("an endpoint");
        assert_eq!(unread(&endpoint), Some(LONGEST_UNREAD));
        assert_eq!(unread(&endpoint.for_loading()), None);
    }

    #[test]
    fn a_family_that_nobody_speaks_is_refused() {
        let target = r#"{"host": "127.0.0.1", "port": 5432, "user": "u", "password": "p",
            "database": null, "tls": {"mode": "disabled"}, "family": "other"}"#;
        let session = r#"{"init_sql": [], "isolation": null, "charset": "utf8mb4"}"#;
        let target = serde_json::from_str(target).expect("a target");
        let session = serde_json::from_str(session).expect("a session");
        let refused = Endpoint::resolve(0, &target, &session).expect_err("no endpoint");
        assert_eq!((refused.kind, refused.code), (FailureKind::Plan, None));
        assert!(refused.message.contains("'other'"), "{}", refused.message);
    }
}
