//! Bind: a prepared statement with its parameters becomes a portal, which can be executed.

use super::statement_name::StatementName;
use crate::frame::write_message;
use crate::message::client::BIND;
use crate::{Format, Param};

/// How values travel.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// The statement.
    pub statement: StatementName,
    /// The parameters' format. With [`Format::Binary`] numbers go as `bigint` and `double
    /// precision`, so the statement must have been parsed with these types; texts go as texts, which
    /// the server reads by the parameter's own type.
    pub params: Format,
    /// The format of all columns of the result.
    pub results: Format,
}

const NULL: i32 = -1;

/// Appends a Bind of the unnamed portal. `params` are all of the statement's parameters, in order.
///
/// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND>
pub fn write_bind<'a>(
    out: &mut Vec<u8>,
    bind: Bind,
    params: impl Iterator<Item = Param<'a>> + Clone,
) {
    write_message(out, BIND, |out| {
        out.push(0); // String: the portal
        bind.statement.put(out); // String
        match bind.params {
            Format::Text => out.extend_from_slice(&[0, 0]), // Int16: all are texts
            Format::Binary => put_formats(out, params.clone()),
        }
        put_counted(out, params, |out, param| match bind.params {
            Format::Text => put_text(out, param),
            Format::Binary => put_binary(out, param),
        });
        let [high, low] = bind.results.code().to_be_bytes();
        out.extend_from_slice(&[0, 1, high, low]); // Int16: one format for all columns; Int16
    });
}

fn put_formats<'a>(out: &mut Vec<u8>, params: impl Iterator<Item = Param<'a>>) {
    put_counted(out, params, |out, param| {
        let format = match param {
            Param::Int(_) | Param::Double(_) => Format::Binary,
            Param::Text(_) | Param::Null => Format::Text,
        };
        out.extend_from_slice(&format.code().to_be_bytes()); // Int16
    });
}

/// Appends a number of things, and the things. No statement with more parameters than it can have
/// can be parsed.
fn put_counted<'a>(
    out: &mut Vec<u8>,
    params: impl Iterator<Item = Param<'a>>,
    mut put: impl FnMut(&mut Vec<u8>, Param<'a>),
) {
    let start = out.len();
    out.extend_from_slice(&[0, 0]); // Int16
    let mut count = 0_u16;
    for param in params {
        put(out, param);
        count = count.saturating_add(1);
    }
    if let Some(place) = out.get_mut(start..).and_then(|tail| tail.first_chunk_mut::<2>()) {
        *place = count.to_be_bytes();
    }
}

fn put_text(out: &mut Vec<u8>, param: Param<'_>) {
    match param {
        Param::Null => out.extend_from_slice(&NULL.to_be_bytes()),
        Param::Text(text) => put_value(out, |out| out.extend_from_slice(text)),
        Param::Int(value) => put_value(out, |out| {
            out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        }),
        // The shortest digits that mean this number; "inf" and "NaN" are known to the server too.
        Param::Double(value) => put_value(out, |out| put_double(out, value)),
    }
}

fn put_binary(out: &mut Vec<u8>, param: Param<'_>) {
    match param {
        Param::Null => out.extend_from_slice(&NULL.to_be_bytes()),
        Param::Text(text) => put_value(out, |out| out.extend_from_slice(text)),
        Param::Int(value) => put_value(out, |out| out.extend_from_slice(&value.to_be_bytes())),
        Param::Double(value) => put_value(out, |out| out.extend_from_slice(&value.to_be_bytes())),
    }
}

/// Appends the length of what `put` appends, and that.
#[inline]
fn put_value(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]); // Int32
    put(out);
    let length = i32::try_from(out.len() - start - 4).unwrap_or(i32::MAX);
    if let Some(place) = out.get_mut(start..).and_then(|tail| tail.first_chunk_mut::<4>()) {
        *place = length.to_be_bytes();
    }
}

fn put_double(out: &mut Vec<u8>, value: f64) {
    use std::io::Write as _;
    let written = write!(out, "{value:?}");
    debug_assert!(written.is_ok(), "a vector takes all bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(params: &[Param<'_>], format: Format) -> Vec<u8> {
        let mut out = Vec::new();
        let statement = StatementName::Numbered(3);
        let bind = Bind { statement, params: format, results: format };
        write_bind(&mut out, bind, params.iter().copied());
        out
    }

    #[test]
    fn a_statement_without_parameters_has_two_zeros() {
        assert_eq!(bound(&[], Format::Text), b"B\0\0\0\x10\0s3\0\0\0\0\0\0\x01\0\0");
    }

    #[test]
    fn values_go_as_texts_behind_their_lengths() {
        let params = [Param::Int(-42), Param::Null, Param::Text(b"abc"), Param::Double(1.5)];
        let expected = b"B\0\0\0\x29\0s3\0\0\0\0\x04\
            \0\0\0\x03-42\xff\xff\xff\xff\0\0\0\x03abc\0\0\0\x031.5\0\x01\0\0";
        assert_eq!(bound(&params, Format::Text), expected);
    }

    #[test]
    fn binary_numbers_have_eight_bytes_and_texts_stay_texts() {
        let params = [Param::Int(-2), Param::Null, Param::Text(b"abc"), Param::Double(1.5)];
        let expected = b"B\0\0\0\x3b\0s3\0\0\x04\0\x01\0\0\0\0\0\x01\0\x04\
            \0\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff\xff\0\0\0\x03abc\
            \0\0\0\x08\x3f\xf8\0\0\0\0\0\0\0\x01\0\x01";
        assert_eq!(bound(&params, Format::Binary), expected);
    }

    #[test]
    fn numbers_are_written_in_full() {
        let params = [Param::Int(i64::MIN), Param::Double(f64::NEG_INFINITY), Param::Double(1e300)];
        let out = bound(&params, Format::Text);
        for text in ["-9223372036854775808", "-inf", "1e300"] {
            assert!(out.windows(text.len()).any(|part| part == text.as_bytes()), "{text}");
        }
    }
}
