//! The options of a login, taken from the plan.

use super::session::collation;
use crate::error::{Failure, FailureKind};
use crate::plan::{CompressionChoice, SessionPlan, TargetPlan, TlsMode};
use loadstone_wire::{Compression, CompressionWish, LoginOptions, TlsWish};

/// Who logs in at a target, and how.
pub(crate) fn login_options(
    target: &TargetPlan,
    session: &SessionPlan,
) -> Result<LoginOptions, Failure> {
    let key = match &target.server_public_key {
        None => None,
        Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
            let text = format!("server_public_key {}: {error}", path.display());
            Failure::new(FailureKind::Plan, None, text)
        })?),
    };
    let unix = target.socket.is_some();
    Ok(LoginOptions {
        user: target.user.clone(),
        password: target.password.clone().into(),
        database: target.database.clone(),
        charset: collation(session),
        tls: tls_wish(target.tls.mode, unix),
        compression: compression_wish(&target.compression),
        transport_secure: unix,
        server_proven: target.tls.proves_server(),
        local_infile: false,
        multi_statements: false,
        cache_metadata: false,
        server_public_key: key,
        allow_public_key_retrieval: may_ask_for_key(target),
        allow_clear_password: target.allow_clear_password,
        attributes: attributes(),
    })
}

/// An impostor could answer with its own key and read the password with it. So the server is asked for
/// its key only where nobody can intercept the connection, or where the user declined encryption.
fn may_ask_for_key(target: &TargetPlan) -> bool {
    target.tls.mode == TlsMode::Disabled || target.server_is_here
}

/// `preferred` leaves a unix socket in clear, as the field's clients do: it never leaves the host.
fn tls_wish(mode: TlsMode, unix: bool) -> TlsWish {
    match mode {
        TlsMode::Disabled => TlsWish::Never,
        TlsMode::Preferred if unix => TlsWish::Never,
        TlsMode::Preferred => TlsWish::IfOffered,
        TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyIdentity => TlsWish::Must,
    }
}

/// Choices after `off` are ignored, since every server supports `off`.
fn compression_wish(choices: &[CompressionChoice]) -> CompressionWish {
    let kind = |choice: &CompressionChoice| match choice {
        CompressionChoice::Off => None,
        CompressionChoice::Zlib => Some(Compression::Zlib),
        CompressionChoice::Zstd => Some(Compression::Zstd),
    };
    let must = !choices.contains(&CompressionChoice::Off);
    CompressionWish { any_of: choices.iter().map_while(kind).collect(), must }
}

/// Connection attributes, so that a DBA who looks at the server sees where the load comes from.
fn attributes() -> Vec<(String, String)> {
    let pair = |name: &str, value: String| (name.to_owned(), value);
    vec![
        pair("program_name", "loadstone".to_owned()),
        pair("_client_version", env!("CARGO_PKG_VERSION").to_owned()),
        pair("_pid", std::process::id().to_string()),
    ]
}
