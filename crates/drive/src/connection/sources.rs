//! The addresses of this machine that connections leave from.

#![expect(unsafe_code, reason = "setsockopt(2): no crate here knows IP_BIND_ADDRESS_NO_PORT")]

use socket2::{SockAddr, Socket};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Addresses that connections take in turn; without any the kernel chooses.
///
/// One address has some 28,000 ports for a target (`net.ipv4.ip_local_port_range`), so that more
/// connections need more addresses.
#[derive(Debug, Default)]
pub(super) struct Sources {
    addresses: Vec<IpAddr>,
    taken: AtomicUsize,
}

impl Sources {
    pub(super) fn new(addresses: &[IpAddr]) -> Self {
        Self { addresses: addresses.to_vec(), taken: AtomicUsize::new(0) }
    }

    /// Gives a socket that will connect to `target` the next address of the target's kind.
    pub(super) fn bind(&self, socket: &Socket, target: &SockAddr) -> io::Result<()> {
        let fits = |one: &&IpAddr| one.is_ipv4() == target.is_ipv4();
        let count = self.addresses.iter().filter(fits).count();
        if count == 0 {
            return Ok(());
        }
        let turn = self.taken.fetch_add(1, Ordering::Relaxed) % count;
        let Some(source) = self.addresses.iter().filter(fits).nth(turn) else { return Ok(()) };
        leave_the_port_to_connect(socket)?;
        socket.bind(&SocketAddr::new(*source, 0).into())
    }
}

/// A port that bind(2) chooses is taken for all targets; one that connect(2) chooses, for one (ip(7)).
fn leave_the_port_to_connect(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the socket is open, and the option's value is the integer whose size is given.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Type};
    use std::net::TcpListener;

    fn source_of(sources: &Sources, target: &SockAddr) -> IpAddr {
        let domain = if target.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::STREAM, None).expect("a socket");
        sources.bind(&socket, target).expect("an address of this machine");
        socket.connect(target).expect("a connection");
        socket.local_addr().expect("an address").as_socket().expect("an IP address").ip()
    }

    #[test]
    fn connections_leave_from_the_addresses_in_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let target = listener.local_addr().expect("an address").into();
        let two = ["127.0.0.2", "127.0.0.3"].map(|one| one.parse().expect("an address"));
        let sources = Sources::new(&[two[0], "::1".parse().expect("an address"), two[1]]);
        let seen = [(); 4].map(|()| source_of(&sources, &target));
        assert_eq!(seen, [two[0], two[1], two[0], two[1]], "the one of IPv6 fits no such target");
        let local: IpAddr = "127.0.0.1".parse().expect("an address");
        assert_eq!(source_of(&Sources::default(), &target), local);
    }

    #[test]
    fn a_port_may_serve_connections_to_several_targets() {
        let source = "127.0.0.9".parse().expect("an address");
        let sources = Sources::new(&[source]);
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let target: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        sources.bind(&socket, &target.into()).expect("an address of this machine");
        let bound = socket.local_addr().expect("an address").as_socket().expect("an IP address");
        assert_eq!((bound.ip(), bound.port()), (source, 0), "connect(2) chooses the port");
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        let sources = Sources::new(&["203.0.113.1".parse().expect("an address")]);
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let target: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        let error = sources.bind(&socket, &target.into()).expect_err("no such address here");
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
