//! Who can read what is sent.

/// Who can read what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Anyone on the network path.
    Open,
    /// TLS with whichever server answered: nothing proves its identity.
    Unproven,
    /// TLS with a server that proved its identity.
    Proven,
    /// A unix socket: the data does not leave the host.
    Socket,
}
