//! A connection, opened and prepared with blocking calls before the load starts.

use crate::options::Options;
use crate::postgres;
use crate::reply::{Seen, look};
use crate::rounds::{Rounds, params};
use loadstone_wire::{
    Capabilities, Expect, Login, LoginOptions, LoginProgress, Reply, ReplyReader, TlsWish,
    write_execute, write_prepare,
};
use rustix::fd::OwnedFd;
use socket2::{Domain, SockAddr, Socket, Type};
use std::error::Error;
use std::io::{Read, Write};
use std::net::ToSocketAddrs;
use std::sync::Arc;

/// Whose replies come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Server {
    MySql(Capabilities),
    Postgres,
}

impl Server {
    /// Checks the bytes of one reply, from its start.
    #[inline]
    pub(crate) fn look(self, bytes: &[u8]) -> Seen {
        match self {
            Self::MySql(capabilities) => look(bytes, capabilities),
            Self::Postgres => postgres::look(bytes),
        }
    }
}

/// What the load needs of a connection.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) socket: OwnedFd,
    /// How the end of its replies is found.
    pub(crate) server: Server,
    /// The server's ids of the statements.
    pub(crate) ids: Box<[u32]>,
    /// The index of the current round trip.
    pub(crate) round: usize,
    /// The key that was drawn last.
    pub(crate) key: i64,
    /// The bytes of a reply that arrived in parts; usually without memory.
    pub(crate) part: Vec<u8>,
}

impl User {
    pub(crate) fn open(
        options: &Options,
        rounds: &Rounds,
        index: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let mut socket = connect(options)?;
        if let Some(prepares) = options.mode.on_postgres() {
            postgres::open(&mut socket, options, prepares)?;
            return Self::opened(socket, Server::Postgres, Vec::new());
        }
        let capabilities = log_in(&mut socket, options)?;
        let table = 1 + (index as u32) % options.tables;
        let mut reader = ReplyReader::new(capabilities);
        let mut ids = Vec::new();
        if rounds.rounds.iter().any(|round| !round.text) {
            for statement in 0..rounds.statements.len() {
                ids.push(prepare(&mut socket, &mut reader, &rounds.sql(statement, table))?);
            }
            for (sql, &id) in rounds.statements.iter().zip(&ids) {
                bind(&mut socket, &mut reader, sql, id)?;
            }
        }
        Self::opened(socket, Server::MySql(capabilities), ids)
    }

    fn opened(socket: Socket, server: Server, ids: Vec<u32>) -> Result<Self, Box<dyn Error>> {
        socket.set_nonblocking(true)?;
        let (round, key, part) = (0, 1, Vec::new());
        let ids = ids.into_boxed_slice();
        Ok(Self { socket: socket.into(), server, ids, round, key, part })
    }
}

fn connect(options: &Options) -> Result<Socket, Box<dyn Error>> {
    if let Some(path) = &options.socket {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.connect(&SockAddr::unix(path)?)?;
        return Ok(socket);
    }
    let mut addresses = (options.host.as_str(), options.port).to_socket_addrs()?;
    let address = addresses.next().ok_or("the host has no address")?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.connect(&address.into())?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}

fn log_in(socket: &mut Socket, options: &Options) -> Result<Capabilities, Box<dyn Error>> {
    let mut login = Login::new(Arc::new(LoginOptions {
        user: options.user.clone(),
        password: options.password.clone().into(),
        database: Some(options.database.clone()),
        tls: TlsWish::Never,
        transport_secure: options.socket.is_some(),
        allow_public_key_retrieval: true,
        ..LoginOptions::default()
    }));
    let (mut buffer, mut out) = ([0; 4096], Vec::new());
    loop {
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return Err("the server closed the connection during the login".into());
        }
        let (_, progress) = login.feed(&buffer[..count], &mut out)?;
        socket.write_all(&out)?;
        out.clear();
        match progress {
            LoginProgress::NeedBytes => {}
            LoginProgress::StartTls => return Err("the server wants TLS".into()),
            LoginProgress::Done(session) => return Ok(session.capabilities),
        }
    }
}

fn prepare(
    socket: &mut Socket,
    reader: &mut ReplyReader,
    sql: &str,
) -> Result<u32, Box<dyn Error>> {
    let mut out = Vec::new();
    write_prepare(&mut out, sql.as_bytes());
    match ask(socket, reader, &out, Expect::Prepare)? {
        Reply::Prepared(prepared) => Ok(prepared.statement_id),
        other => Err(format!("{sql}: {other:?}").into()),
    }
}

/// Executes once with the types of the parameters, so that later packets do not need them.
fn bind(
    socket: &mut Socket,
    reader: &mut ReplyReader,
    sql: &str,
    id: u32,
) -> Result<(), Box<dyn Error>> {
    let mut out = Vec::new();
    write_execute(&mut out, id, params(sql).iter().copied(), true);
    match ask(socket, reader, &out, Expect::Execute)? {
        Reply::Done(_) => Ok(()),
        other => Err(format!("{sql}: {other:?}").into()),
    }
}

fn ask(
    socket: &mut Socket,
    reader: &mut ReplyReader,
    command: &[u8],
    expected: Expect,
) -> Result<Reply, Box<dyn Error>> {
    socket.write_all(command)?;
    reader.expect(expected);
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return Err("the server closed the connection".into());
        }
        if let (_, Some(reply)) = reader.feed(&buffer[..count])? {
            return Ok(reply);
        }
    }
}
