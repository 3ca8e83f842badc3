//! The listening sockets of a null server.

use crate::error::NullServerError;
use crate::settings::Settings;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use socket2::{Domain, SockAddr, Socket, Type};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// The kernel's queue of pending connections; it limits this to net.core.somaxconn.
const BACKLOG: i32 = 65_535;

/// The congestion control that each kernel has and allows everybody to use (tcp(7)); it does not
/// pace.
const PROMPT: &[u8] = b"reno";

#[derive(Debug)]
pub(crate) struct Listeners {
    sockets: Vec<OwnedFd>,
    pub(crate) port: u16,
    path: Option<PathBuf>,
}

impl Listeners {
    pub(crate) fn open(settings: &Settings) -> Result<Self, NullServerError> {
        let place = format!("listen on {}:{}", settings.host, settings.port);
        let tcp = tcp(settings).map_err(NullServerError::system(place))?;
        let port = tcp.local_addr().ok().and_then(|address| address.as_socket());
        let port = port.map_or(0, |address| address.port());
        let mut sockets = vec![OwnedFd::from(tcp)];
        if let Some(path) = &settings.socket {
            let place = format!("listen on {}", path.display());
            sockets.push(unix(path).map_err(NullServerError::system(place))?.into());
        }
        Ok(Self { sockets, port, path: settings.socket.clone() })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(AsFd::as_fd)
    }

    /// A listener's next pending connection; `None`: there is none.
    pub(crate) fn accept(&self, listener: usize) -> Result<Option<OwnedFd>, Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        match accept_with(&self.sockets[listener], flags) {
            Ok(socket) => Ok(Some(socket)),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // It may be gone already; there is nobody to tell.
            drop(std::fs::remove_file(path));
        }
    }
}

fn tcp(settings: &Settings) -> std::io::Result<Socket> {
    let mut addresses = (settings.host.as_str(), settings.port).to_socket_addrs()?;
    let address: SocketAddr = addresses.next().ok_or(std::io::ErrorKind::AddrNotAvailable)?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    // Connections inherit both. Written bytes leave at once: BBR, where it is the system's default,
    // sends by timers, which are delayed when others use the cores, and a timestamp would be
    // milliseconds before its bytes.
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_congestion(PROMPT)?;
    listen(socket, &address.into())
}

fn unix(path: &Path) -> std::io::Result<Socket> {
    listen(Socket::new(Domain::UNIX, Type::STREAM, None)?, &SockAddr::unix(path)?)
}

fn listen(socket: Socket, address: &SockAddr) -> std::io::Result<Socket> {
    socket.bind(address)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
