//! The options of a login, taken from the plan.

use super::session::client_encoding;
use crate::plan::{SessionPlan, TargetPlan, TlsMode, TlsPlan};
use loadstone_wire_postgres::{ChannelBinding, KeyCache, LoginOptions, ProtocolVersion, TlsWish};

/// Who logs in at a target, and how.
pub(crate) fn login_options(target: &TargetPlan, session: &SessionPlan) -> LoginOptions {
    let unix = target.socket.is_some();
    LoginOptions {
        user: target.user.clone(),
        password: target.password.clone().into(),
        database: target.database.clone(),
        tls: tls_wish(&target.tls, unix),
        version: ProtocolVersion::V3_0,
        transport_secure: unix,
        server_proven: target.tls.proves_server(),
        channel_binding: ChannelBinding::Prefer,
        allow_clear_password: target.allow_clear_password,
        parameters: parameters(target, session),
        key_cache: KeyCache::default(),
    }
}

/// Its servers have no TLS on a unix socket.
fn tls_wish(plan: &TlsPlan, unix: bool) -> TlsWish {
    match plan.mode {
        TlsMode::Disabled => TlsWish::Never,
        TlsMode::Preferred if unix => TlsWish::Never,
        TlsMode::Preferred => TlsWish::IfOffered,
        // Asked for TLS there, the server refuses it by name; a handshake would be no message to it.
        _ if plan.direct && !unix => TlsWish::Direct,
        TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyIdentity => TlsWish::Must,
    }
}

/// Settings of the session: those that poolers know too. A DBA sees where the load comes from, and
/// literals are read as the dialect writes them, unless the user's own options say otherwise.
fn parameters(target: &TargetPlan, session: &SessionPlan) -> Vec<(String, String)> {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut said = vec![
        pair("application_name", "loadstone"),
        pair("client_encoding", client_encoding(session)),
        pair("standard_conforming_strings", "on"),
    ];
    said.extend(target.startup_options.iter().map(|text| pair("options", text)));
    said
}
