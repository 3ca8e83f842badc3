//! Replies: what the server answers to a command.

mod column_type;
mod eof;
mod err;
mod local_infile;
mod ok;
mod prepare_ok;
mod progress;
mod reader;
mod result_head;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use err::parse_error;
pub(crate) use ok::OkPacket;
pub use reader::ReplyReader;

/// The first byte of an OK packet.
pub(crate) const OK: u8 = 0x00;
/// The first byte of an EOF packet, or of the OK at the end of a result set.
pub(crate) const EOF: u8 = 0xfe;
/// The first byte of an error packet.
pub(crate) const ERR: u8 = 0xff;
