//! PostgreSQL's messages, as a server reads and writes them: protocol 3.0, with text results. Written
//! independently of `loadstone-wire-postgres`, so that a mistake there is not repeated here.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>

use crate::rows::{Column, Type, Value};

/// A complete message at the start of `bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// Its first byte; 0 for the messages before the login, which have none.
    pub(crate) kind: u8,
    pub(crate) body: &'a [u8],
    /// Its size in bytes with what stands before the body.
    pub(crate) length: usize,
}

/// What stands at the start of bytes from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    Whole(Message<'a>),
    /// More bytes are needed.
    Part,
    /// No message starts so.
    Garbled,
}

/// The message at the start of `bytes`. `is_first`: the login is not over, and messages have no kind.
pub(crate) fn message(bytes: &[u8], is_first: bool) -> Found<'_> {
    let before = usize::from(!is_first);
    let Some(length) = bytes.get(before..).and_then(|rest| rest.first_chunk::<4>()) else {
        return Found::Part;
    };
    let length = u32::from_be_bytes(*length) as usize;
    if length < 4 {
        return Found::Garbled;
    }
    let end = before + length;
    let Some(whole) = bytes.get(..end) else { return Found::Part };
    let kind = if is_first { 0 } else { whole[0] };
    Found::Whole(Message { kind, body: &whole[before + 4..], length: end })
}

/// Appends a message of this kind whose body `write` appends.
pub(crate) fn put(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind); // Byte1
    let start = out.len();
    out.extend_from_slice(&[0; 4]); // Int32
    write(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// AuthenticationOk
pub(crate) fn put_let_in(out: &mut Vec<u8>) {
    put(out, b'R', |out| out.extend_from_slice(&0_u32.to_be_bytes()));
}

/// ParameterStatus
pub(crate) fn put_parameter(out: &mut Vec<u8>, name: &str, value: &str) {
    put(out, b'S', |out| {
        put_string(out, name);
        put_string(out, value);
    });
}

/// BackendKeyData
pub(crate) fn put_key(out: &mut Vec<u8>, process: u32) {
    put(out, b'K', |out| {
        out.extend_from_slice(&process.to_be_bytes());
        out.extend_from_slice(&0_u32.to_be_bytes());
    });
}

/// ReadyForQuery
pub(crate) fn put_ready(out: &mut Vec<u8>, status: u8) {
    put(out, b'Z', |out| out.push(status));
}

/// RowDescription, or NoData where there are no columns.
pub(crate) fn put_description(out: &mut Vec<u8>, columns: &[Column]) {
    if columns.is_empty() {
        return put(out, b'n', |_| {});
    }
    put_fields(out, columns.iter().map(|column| (column.name.as_str(), described(column.kind))));
}

/// RowDescription: the names and types of at least one column.
pub(crate) fn put_fields<'a>(
    out: &mut Vec<u8>,
    fields: impl ExactSizeIterator<Item = (&'a str, Described)>,
) {
    put(out, b'T', |out| {
        out.extend_from_slice(&(fields.len() as u16).to_be_bytes()); // Int16
        for (name, (oid, size)) in fields {
            put_string(out, name);
            out.extend_from_slice(&[0; 6]); // Int32 table, Int16 its column
            out.extend_from_slice(&oid.to_be_bytes()); // Int32
            out.extend_from_slice(&size.to_be_bytes()); // Int16
            out.extend_from_slice(&(-1_i32).to_be_bytes()); // Int32 modifier
            out.extend_from_slice(&[0, 0]); // Int16: text
        }
    });
}

/// The number of a type in `pg_type`, and its size in bytes.
pub(crate) type Described = (u32, i16);

pub(crate) const BOOL: Described = (16, 1);
pub(crate) const BIGINT: Described = (20, 8);
pub(crate) const TEXT: Described = (25, -1);
pub(crate) const DOUBLE: Described = (701, 8);

fn described(kind: Type) -> Described {
    match kind {
        Type::Int => (23, 4),
        Type::BigInt => BIGINT,
        Type::Decimal => (1700, -1),
        Type::Text => TEXT,
    }
}

/// ParameterDescription: of texts.
pub(crate) fn put_parameters(out: &mut Vec<u8>, count: u16) {
    put(out, b't', |out| {
        out.extend_from_slice(&count.to_be_bytes()); // Int16
        for _ in 0..count {
            out.extend_from_slice(&25_u32.to_be_bytes()); // Int32
        }
    });
}

/// DataRow
pub(crate) fn put_data_row(out: &mut Vec<u8>, row: &[Value]) {
    put(out, b'D', |out| {
        out.extend_from_slice(&(row.len() as u16).to_be_bytes()); // Int16
        for value in row {
            match value {
                Value::Null => out.extend_from_slice(&(-1_i32).to_be_bytes()),
                Value::Int(value) => put_value(out, value.to_string().as_bytes()),
                Value::Text(text) => put_value(out, text.as_bytes()),
            }
        }
    });
}

fn put_value(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u32).to_be_bytes()); // Int32
    out.extend_from_slice(text);
}

/// CommandComplete
pub(crate) fn put_complete(out: &mut Vec<u8>, tag: &str) {
    put(out, b'C', |out| put_string(out, tag));
}

/// CopyInResponse: texts, of no known number of columns.
pub(crate) fn put_copy_in(out: &mut Vec<u8>) {
    put(out, b'G', |out| out.extend_from_slice(&[0, 0, 0]));
}

/// ErrorResponse
pub(crate) fn put_error(out: &mut Vec<u8>, severity: &str, state: &str, text: &str) {
    put(out, b'E', |out| {
        for (field, value) in [(b'S', severity), (b'V', severity), (b'C', state), (b'M', text)] {
            out.push(field);
            put_string(out, value);
        }
        out.push(0);
    });
}

/// The text up to the first zero byte, and what is behind it.
pub(crate) fn string(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = body.iter().position(|&byte| byte == 0)?;
    Some((&body[..end], &body[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_only_with_its_last_byte() {
        let bytes = b"Q\0\0\0\x07ab\0rest";
        for length in 0..8 {
            assert_eq!(message(&bytes[..length], false), Found::Part);
        }
        let whole = Message { kind: b'Q', body: b"ab\0", length: 8 };
        assert_eq!(message(bytes, false), Found::Whole(whole));
        assert_eq!(message(b"Q\0\0\0\x03", false), Found::Garbled);
        let first = Message { kind: 0, body: b"\x04\xd2\x16\x2f", length: 8 };
        assert_eq!(message(b"\0\0\0\x08\x04\xd2\x16\x2fmore", true), Found::Whole(first));
    }

    #[test]
    fn rows_are_described_and_sent_as_texts() {
        let columns = [Column::new("k", Type::Int)];
        let mut out = Vec::new();
        put_description(&mut out, &columns);
        assert_eq!(out, b"T\0\0\0\x1a\0\x01k\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0");
        out.clear();
        put_data_row(&mut out, &[Value::Int(7), Value::Null]);
        assert_eq!(out, b"D\0\0\0\x0f\0\x02\0\0\0\x017\xff\xff\xff\xff");
        out.clear();
        put_description(&mut out, &[]);
        put_complete(&mut out, "UPDATE 1");
        assert_eq!(out, b"n\0\0\0\x04C\0\0\0\x0dUPDATE 1\0");
    }
}
