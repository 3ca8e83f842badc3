//! A server that speaks MySQL's protocol, compressed or not, and whose answers a test decides.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// LONG_PASSWORD, CONNECT_WITH_DB, COMPRESS, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION and PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x0008_a229;
const COMPRESS: u32 = 0x20;
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END_OF_ROWS: &[u8] = &[0xfe, 0, 0, 2, 0];
/// Bytes of one row.
const ROW: usize = 64 * 1024;

/// The first byte of a command that prepares a statement, and of one that executes it.
pub(crate) const PREPARE: u8 = 0x16;
pub(crate) const EXECUTE: u8 = 0x17;

/// What the server does with a statement.
pub(crate) enum Reply {
    Ok,
    /// It is prepared under this number, and has one parameter.
    Prepared(u32),
    /// An error packet with this number.
    Error(u16),
    /// These bytes, of [`compressed_rows`].
    Ready(Arc<Vec<u8>>),
    /// So many rows of 64 KiB each.
    Rows(usize),
    /// As many rows, and then the connection is closed in the middle of the answer.
    Torn(usize),
}

/// Serves each connection in a thread of its own: `decide` is called with the connection's number
/// for each statement. Returns the port.
pub(crate) fn serve(decide: impl Fn(usize) -> Reply + Clone + Send + 'static) -> u16 {
    serve_commands(move |number, _| decide(number))
}

/// As [`serve`], with the command that is to be answered.
pub(crate) fn serve_commands(
    decide: impl Fn(usize, &[u8]) -> Reply + Clone + Send + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for (number, socket) in listener.incoming().enumerate() {
            let decide = decide.clone();
            // A connection ends with an error when the step ends.
            thread::spawn(move || {
                socket.and_then(|socket| talk(socket, |command| decide(number, command)))
            });
        }
    });
    port
}

fn talk(mut socket: TcpStream, decide: impl Fn(&[u8]) -> Reply) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.write_all(&packets(0, [greeting().as_slice()]))?;
    let is_compressed = u32::from(read_packet(&mut socket, 4)?[0]) & COMPRESS != 0;
    socket.write_all(&packets(2, [OK]))?;
    loop {
        // A command is short, so it is sent as it is, also within a compressed packet.
        let command = read_packet(&mut socket, if is_compressed { 7 } else { 4 })?;
        let reply = decide(&command);
        let answer = match &reply {
            Reply::Ready(bytes) => {
                socket.write_all(bytes)?;
                continue;
            }
            Reply::Ok => packets(1, [OK]),
            Reply::Prepared(id) => prepared(*id),
            Reply::Error(number) => packets(1, [error(*number).as_slice()]),
            Reply::Rows(count) => rows(*count, true),
            Reply::Torn(count) => rows(*count, false),
        };
        socket.write_all(&if is_compressed { compressed(&answer) } else { answer })?;
        if let Reply::Torn(_) = reply {
            return Ok(());
        }
    }
}

/// Reads a packet with a header of so many bytes, the first three of which are its length.
fn read_packet(socket: &mut TcpStream, header: usize) -> io::Result<Vec<u8>> {
    let mut head = [0; 7];
    socket.read_exact(&mut head[..header])?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    let mut content = vec![0; length];
    socket.read_exact(&mut content)?;
    Ok(content)
}

fn greeting() -> Vec<u8> {
    let [low, high] = [CAPABILITIES as u16, (CAPABILITIES >> 16) as u16];
    let mut out = b"\x0a8.0.0\0\x01\0\0\x0012345678\0".to_vec();
    out.extend(low.to_le_bytes());
    out.extend([45, 2, 0]);
    out.extend(high.to_le_bytes());
    out.extend([21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend(b"123456789012\0mysql_native_password\0");
    out
}

fn prepared(id: u32) -> Vec<u8> {
    let parameter = b"\x03def\0\0\0\x01?\0\x0c\x3f\0\0\0\0\0\x08\0\0\0\0\0";
    let [a, b, c, d] = id.to_le_bytes();
    packets(1, [&[0, a, b, c, d, 0, 0, 1, 0, 0, 0, 0][..], parameter, END_OF_ROWS])
}

fn error(number: u16) -> Vec<u8> {
    let mut out = vec![0xff];
    out.extend(number.to_le_bytes());
    out.extend(b"#HY000as the test has it");
    out
}

/// An answer of so many rows of 64 KiB each.
pub(crate) fn compressed_rows(count: usize) -> Vec<u8> {
    compressed(&rows(count, true))
}

fn rows(count: usize, ends: bool) -> Vec<u8> {
    let column = b"\x03def\0\0\0\x01c\0\x0c\x2d\0\0\0\0\x01\xfc\0\0\0\0\0";
    let mut row = vec![0xfd, ROW as u8, (ROW >> 8) as u8, (ROW >> 16) as u8];
    row.resize(row.len() + ROW, b'x');
    let head = [&[1][..], column, END_OF_ROWS];
    let all = head.into_iter().chain(std::iter::repeat_n(row.as_slice(), count));
    packets(1, all.chain(ends.then_some(END_OF_ROWS)))
}

fn packets<'a>(first: u8, contents: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for (place, content) in contents.into_iter().enumerate() {
        out.extend(&(content.len() as u32).to_le_bytes()[..3]);
        out.push(first.wrapping_add(place as u8));
        out.extend(content);
    }
    out
}

fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (place, part) in plain.chunks(1 << 20).enumerate() {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        let packed = encoder.write_all(part).and_then(|()| encoder.finish()).expect("memory");
        out.extend(&(packed.len() as u32).to_le_bytes()[..3]);
        out.push(1_u8.wrapping_add(place as u8));
        out.extend(&(part.len() as u32).to_le_bytes()[..3]);
        out.extend(packed);
    }
    out
}
