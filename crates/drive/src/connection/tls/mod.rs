//! TLS for the connections of a target, by the field's five modes from `disabled` to `verify-identity`.
//!
//! rustls speaks TLS 1.2 and 1.3 with the ciphers of today. Older servers have others: for them there is OpenSSL
//! (docs/decisions/0032). An attempt that shows that both sides have nothing in common is repeated at once, the next
//! way; with `preferred` the last way is without TLS, as with the field's clients where a server offers none. Clients
//! of PostgreSQL also take it where the server refuses the login over TLS.

mod alpn;
mod ciphers;
mod identity;
mod modern;
mod modern_session;
mod old;
mod refusals;
mod socket;

pub(crate) use refusals::Refused;

use super::received::Received;
use crate::error::Failure;
use crate::plan::{BindingWish, TargetPlan, TlsMode};
use crate::record::WhyInClear;
use alpn::Alpn;
use modern::Modern;
use modern_session::ModernSession;
use old::{Old, OldSession};
use refusals::plan_failure;
use rustix::fd::BorrowedFd;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Makes the TLS side of each new connection to one target.
#[derive(Debug)]
pub(crate) struct TlsMaker {
    ways: Vec<Way>,
    /// The place in `ways` that new attempts take. It grows, and falls back only where the last way was taken after a
    /// refused login and has led nowhere either.
    current: AtomicUsize,
    /// Why the latest way before the current one was given up.
    given_up: Mutex<GivenUp>,
}

/// Why a way was given up.
#[derive(Debug)]
enum GivenUp {
    /// Both sides had nothing in common.
    Handshake(String),
    /// The server refused the login over TLS, which was this way.
    Login(Failure, usize),
}

#[derive(Debug)]
enum Way {
    Modern(Modern),
    Old(Box<Old>),
    InClear,
}

impl TlsMaker {
    /// `None` when the target's connections are never encrypted. `alpn`: the protocol that handshakes name, if any.
    pub(crate) fn for_target(
        target: &TargetPlan,
        alpn: Option<&'static [u8]>,
    ) -> Result<Option<Self>, Failure> {
        let plan = &target.tls;
        let family = target.family;
        if plan.direct && alpn.is_none() {
            return Err(plan_failure(format!("tls.direct: {family} has no direct TLS")));
        }
        if plan.channel_binding == BindingWish::Require && alpn.is_none() {
            return Err(plan_failure(format!("tls.channel_binding: {family} has none")));
        }
        if plan.direct && !plan.must() {
            return Err(plan_failure("tls.direct: needs a mode that requires TLS".to_owned()));
        }
        if plan.mode == TlsMode::Disabled {
            return Ok(None);
        }
        let alpn = alpn.map(|name| Alpn { name, must: plan.direct });
        let mut ways = Vec::new();
        ways.extend(Modern::of(target, alpn)?.map(Way::Modern));
        if let Some(old) = Old::of(target, alpn)? {
            if ways.is_empty() {
                old.check()?;
            }
            ways.push(Way::Old(Box::new(old)));
        }
        if plan.mode == TlsMode::Preferred {
            ways.push(Way::InClear);
        }
        let given_up = Mutex::new(GivenUp::Handshake(String::new()));
        Ok(Some(Self { ways, current: AtomicUsize::new(0), given_up }))
    }

    /// The way that an attempt takes which begins now.
    pub(crate) fn way(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Whether that way is without TLS, although the server may offer it.
    pub(crate) fn is_in_clear(&self, way: usize) -> bool {
        matches!(self.ways.get(way), Some(Way::InClear))
    }

    /// The TLS side of a connection.
    pub(crate) fn session(&self, way: usize) -> Result<TlsSession, String> {
        match self.ways.get(way) {
            Some(Way::Modern(modern)) => {
                modern.session().map(|one| TlsSession::Modern(Box::new(one)))
            }
            Some(Way::Old(old)) => old.session().map(|one| TlsSession::Old(Box::new(one))),
            Some(Way::InClear) | None => Err("this connection goes without TLS".to_owned()),
        }
    }

    /// Both sides had nothing in common: whether there is another way, which new attempts then take.
    pub(crate) fn goes_on(&self, after: usize, why: &str) -> bool {
        let next = after + 1;
        if next >= self.ways.len() {
            return false;
        }
        self.take_way(next, GivenUp::Handshake(why.to_owned()));
        true
    }

    /// The server refused a login over TLS: whether the same is tried without, which new attempts then are.
    pub(crate) fn goes_on_in_clear(&self, after: usize, refused: &Failure) -> bool {
        let last = self.ways.len().saturating_sub(1);
        if after >= last || !self.is_in_clear(last) {
            return false;
        }
        self.take_way(last, GivenUp::Login(refused.clone(), after));
        true
    }

    fn take_way(&self, next: usize, why: GivenUp) {
        if self.current.fetch_max(next, Ordering::Relaxed) < next {
            *self.given_up.lock().unwrap_or_else(PoisonError::into_inner) = why;
        }
    }

    /// A login without TLS has failed. If TLS was given up for it, the refusal over TLS is the failure, with both
    /// reasons, and new attempts are made over TLS again.
    pub(crate) fn refused_either_way(&self, in_clear: Failure) -> Failure {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        let GivenUp::Login(over_tls, way) = &*given_up else { return in_clear };
        self.current.store(*way, Ordering::Relaxed);
        Failure { in_clear: Some(in_clear.message.into_boxed_str()), ..over_tls.clone() }
    }

    /// Why connections of that way go without TLS; `None`: they do not.
    pub(crate) fn why_in_clear(&self, way: usize) -> Option<WhyInClear> {
        let given_up = || self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_in_clear(way).then(|| match &*given_up() {
            GivenUp::Handshake(why) => WhyInClear::NothingInCommon(why.clone()),
            GivenUp::Login(refused, _) => WhyInClear::LoginRefused(refused.message.clone()),
        })
    }
}

/// The TLS of one connection, above a socket that never blocks.
pub(crate) enum TlsSession {
    Modern(Box<ModernSession>),
    Old(Box<OldSession>),
}

impl TlsSession {
    /// Goes on with the handshake. `true` when it is finished.
    ///
    /// # Errors
    /// With a [`Refused`] inside where TLS failed, else the connection's.
    pub(crate) fn handshake(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        match self {
            Self::Modern(own) => own.handshake(socket),
            Self::Old(own) => own.handshake(socket),
        }
    }

    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        buffer: &mut [u8],
    ) -> io::Result<Received> {
        match self {
            Self::Modern(own) => own.receive(socket, buffer),
            Self::Old(own) => own.receive(socket, buffer),
        }
    }

    /// Sends what the socket accepts now. Returns how many of `bytes` need not be kept; some of them may still be held
    /// as records, as `wants_write` shows.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Modern(own) => own.send(socket, bytes),
            Self::Old(own) => own.send(socket, bytes),
        }
    }

    /// Sends records that are still kept.
    pub(crate) fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        match self {
            Self::Modern(own) => own.flush(socket),
            Self::Old(own) => own.flush(socket),
        }
    }

    pub(crate) fn wants_write(&self) -> bool {
        match self {
            Self::Modern(own) => own.wants_write(),
            Self::Old(own) => own.wants_write(),
        }
    }

    /// What a login can be bound to, once the handshake is finished: see [`identity::end_point`].
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        match self {
            Self::Modern(own) => own.end_point(),
            Self::Old(own) => own.end_point(),
        }
    }

    /// Protocol version and cipher, once the handshake is finished.
    pub(crate) fn cipher(&self) -> Option<String> {
        match self {
            Self::Modern(own) => own.cipher(),
            Self::Old(own) => own.cipher(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FailureKind;

    #[test]
    fn direct_tls_is_refused_where_it_is_unknown_or_not_required() {
        let refused = |mode: &str, alpn| {
            let target = format!(
                r#"{{"host": "h", "port": 1, "user": "u", "password": "p", "database": null,
                     "tls": {{"mode": "{mode}", "direct": true}}}}"#
            );
            let target: TargetPlan = serde_json::from_str(&target).expect("a target");
            TlsMaker::for_target(&target, alpn).err().map(|failure| failure.message)
        };
        let name = Some(&b"postgresql"[..]);
        assert_eq!(refused("required", name), None);
        for mode in ["disabled", "preferred"] {
            let why = refused(mode, name).expect("a refusal");
            assert!(why.contains("needs a mode that requires TLS"), "{why}");
        }
        let why = refused("required", None).expect("a refusal");
        assert_eq!(why, "tls.direct: mysql has no direct TLS");
    }

    fn maker(tls: &str, alpn: Option<&'static [u8]>) -> Result<TlsMaker, Failure> {
        let target = format!(
            r#"{{"host": "h", "port": 1, "user": "u", "password": "p", "database": null, "tls": {tls}}}"#
        );
        let target: TargetPlan = serde_json::from_str(&target).expect("a target");
        TlsMaker::for_target(&target, alpn).map(|maker| maker.expect("TLS"))
    }

    #[test]
    fn a_login_refused_over_tls_is_tried_without_and_over_tls_again_where_both_are_refused() {
        let alpn = Some(&b"postgresql"[..]);
        let refused = |text: &str| Failure::new(FailureKind::LoginRefused, None, text);
        let preferred = maker(r#"{"mode": "preferred"}"#, alpn).expect("a maker");
        let way = preferred.way();
        assert!(!preferred.is_in_clear(way));
        assert!(preferred.goes_on_in_clear(way, &refused("over TLS")));
        let last = preferred.way();
        assert!(preferred.is_in_clear(last));
        let why = preferred.why_in_clear(last);
        assert!(matches!(why, Some(WhyInClear::LoginRefused(text)) if text == "over TLS"));
        // One that began over TLS before that is refused now: it goes on as well.
        assert!(preferred.goes_on_in_clear(way, &refused("over TLS, too")));
        let either = preferred.refused_either_way(refused("in clear"));
        assert_eq!(
            (either.message.as_str(), either.in_clear.as_deref()),
            ("over TLS", Some("in clear"))
        );
        assert_eq!(preferred.way(), way);
        let required = maker(r#"{"mode": "required"}"#, alpn).expect("a maker");
        assert!(!required.goes_on_in_clear(required.way(), &refused("over TLS")));
    }

    #[test]
    fn a_login_in_clear_after_a_handshake_that_failed_is_refused_for_itself_alone() {
        let preferred = maker(r#"{"mode": "preferred"}"#, None).expect("a maker");
        while !preferred.is_in_clear(preferred.way()) {
            assert!(preferred.goes_on(preferred.way(), "nothing in common"));
        }
        let failure = Failure::new(FailureKind::LoginRefused, None, "no");
        assert_eq!(preferred.refused_either_way(failure.clone()), failure);
    }

    #[test]
    fn a_login_is_not_bound_where_the_family_knows_no_binding() {
        let tls = r#"{"mode": "required", "channel_binding": "require"}"#;
        let why = maker(tls, None).err().map(|failure| failure.message);
        assert_eq!(why.as_deref(), Some("tls.channel_binding: mysql has none"));
    }
}
