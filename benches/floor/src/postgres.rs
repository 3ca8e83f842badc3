//! PostgreSQL's side: a connection that is logged in and has prepared, and the end of a reply.

use crate::options::Options;
use crate::reply::Seen;
use loadstone_wire_postgres::{
    Conversation, Expect, Login, LoginOptions, LoginProgress, Param, Reply, TlsWish,
};
use socket2::Socket;
use std::error::Error;
use std::io::{Read, Write};
use std::sync::Arc;

/// The point select, with its parameter as it is prepared.
const POINT: &str = "SELECT c FROM sbtest1 WHERE id=$1";
/// The number of the only statement that a connection prepares.
const FIRST: u32 = 1;

/// Logs in, and prepares where the load is prepared.
pub(crate) fn open(
    socket: &mut Socket,
    options: &Options,
    prepares: bool,
) -> Result<(), Box<dyn Error>> {
    let mut conversation = log_in(socket, options)?;
    if !prepares {
        return Ok(());
    }
    let mut out = Vec::new();
    conversation.write_prepare(&mut out, POINT.as_bytes());
    conversation.expect(Expect::Prepare);
    match ask(socket, &mut conversation, &out)? {
        Reply::Prepared(_) => Ok(()),
        other => Err(format!("{POINT}: {other:?}").into()),
    }
}

/// The execution of the point select with this text as its key.
pub(crate) fn execution(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let conversation = Conversation::new(&loadstone_wire_postgres::Session::default());
    conversation.write_execute(&mut out, FIRST, std::iter::once(Param::Text(key)));
    out
}

/// A statement as text.
pub(crate) fn query(sql: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loadstone_wire_postgres::write_query(&mut out, sql);
    out
}

/// Checks the bytes of one reply, from its start.
#[inline]
pub(crate) fn look(mut rest: &[u8]) -> Seen {
    while let Some(&[kind, a, b, c, d]) = rest.first_chunk() {
        let next = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
        if rest.len() < next {
            return Seen::Part;
        }
        match kind {
            b'Z' => return Seen::Whole,
            b'E' => return Seen::Error,
            _ => rest = &rest[next..],
        }
    }
    Seen::Part
}

fn log_in(socket: &mut Socket, options: &Options) -> Result<Conversation, Box<dyn Error>> {
    let (mut buffer, mut out) = ([0; 4096], Vec::new());
    let (mut login, _) = Login::begin(
        Arc::new(LoginOptions {
            user: options.user.clone(),
            password: options.password.clone().into(),
            database: Some(options.database.clone()),
            tls: TlsWish::Never,
            transport_secure: options.socket.is_some(),
            ..LoginOptions::default()
        }),
        &mut out,
    )?;
    loop {
        socket.write_all(&out)?;
        out.clear();
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return Err("the server closed the connection during the login".into());
        }
        if let (_, LoginProgress::Done(session)) = login.feed(&buffer[..count], &mut out)? {
            return Ok(Conversation::new(&session));
        }
    }
}

fn ask(
    socket: &mut Socket,
    conversation: &mut Conversation,
    command: &[u8],
) -> Result<Reply, Box<dyn Error>> {
    socket.write_all(command)?;
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = socket.read(&mut buffer)?;
        if count == 0 {
            return Err("the server closed the connection".into());
        }
        if let (_, Some(reply)) = conversation.feed(&buffer[..count])? {
            return Ok(reply);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_whole_with_its_last_byte_only() {
        let reply = b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x01xC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
        for length in 0..reply.len() {
            assert_eq!(look(&reply[..length]), Seen::Part, "{length}");
        }
        assert_eq!(look(reply), Seen::Whole);
        assert_eq!(look(b"E\0\0\0\x05\0Z\0\0\0\x05I"), Seen::Error);
    }
}
