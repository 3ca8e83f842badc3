//! The options of a login, taken from the plan.

use super::session::client_encoding;
use crate::plan::{BindingWish, SessionPlan, TargetPlan, TlsMode, TlsPlan};
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
        channel_binding: channel_binding(target.tls.channel_binding),
        allow_clear_password: target.allow_clear_password,
        parameters: parameters(target, session),
        key_cache: KeyCache::default(),
    }
}

/// Its servers have no TLS on a unix socket, and its clients ask for none there, whatever the mode.
fn tls_wish(plan: &TlsPlan, unix: bool) -> TlsWish {
    match plan.mode {
        _ if unix => TlsWish::Never,
        TlsMode::Disabled => TlsWish::Never,
        TlsMode::Preferred => TlsWish::IfOffered,
        _ if plan.direct => TlsWish::Direct,
        TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyIdentity => TlsWish::Must,
    }
}

fn channel_binding(wish: BindingWish) -> ChannelBinding {
    match wish {
        BindingWish::Disable => ChannelBinding::Disable,
        BindingWish::Prefer => ChannelBinding::Prefer,
        BindingWish::Require => ChannelBinding::Require,
    }
}

/// Settings of the session: those that poolers know too. A DBA sees where the load comes from, and
/// literals are read as the dialect writes them, unless the user's own options say otherwise.
fn parameters(target: &TargetPlan, session: &SessionPlan) -> Vec<(String, String)> {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut said = vec![
        pair("application_name", target.application_name.as_deref().unwrap_or("loadstone")),
        pair("client_encoding", client_encoding(session)),
        pair("standard_conforming_strings", "on"),
    ];
    said.extend(target.startup_options.iter().map(|text| pair("options", text)));
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(more: &str, tls: &str) -> LoginOptions {
        let target = format!(
            r#"{{"family": "postgresql", "host": "h", "port": 1, "user": "u", "password": "p",
                 "database": null, "tls": {tls}{more}}}"#
        );
        let target = serde_json::from_str(&target).expect("a target");
        login_options(&target, &SessionPlan::default())
    }

    #[test]
    fn a_unix_socket_has_no_tls_whatever_asks_for_it() {
        for mode in ["disabled", "preferred", "required", "verify-ca", "verify-identity"] {
            let tls = format!(r#"{{"mode": "{mode}", "direct": true}}"#);
            let over = |more: &str| options(more, &tls).tls;
            assert_eq!(over(r#", "socket": "/run/x""#), TlsWish::Never);
            assert_eq!(over("") == TlsWish::Never, mode == "disabled");
        }
    }

    #[test]
    fn the_name_and_the_binding_are_those_of_the_plan() {
        let name = |more: &str| options(more, r#"{"mode": "required"}"#).parameters[0].1.clone();
        assert_eq!(name(""), "loadstone");
        assert_eq!(name(r#", "application_name": "shop""#), "shop");
        let binding =
            |more: &str| options("", &format!(r#"{{"mode": "required"{more}}}"#)).channel_binding;
        assert_eq!(binding(""), ChannelBinding::Prefer);
        assert_eq!(binding(r#", "channel_binding": "require""#), ChannelBinding::Require);
        assert_eq!(binding(r#", "channel_binding": "disable""#), ChannelBinding::Disable);
    }
}
