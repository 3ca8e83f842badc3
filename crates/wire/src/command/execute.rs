//! COM_STMT_EXECUTE: a prepared statement with its parameters.

use crate::Param;
use crate::frame::{put_lenenc_bytes, write_message};

const COM_STMT_EXECUTE: u8 = 0x17;
const NO_CURSOR: u8 = 0;
const ITERATIONS: u32 = 1;

/// The field type, and its flags (0x80 would be unsigned).
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html>
fn wire_type(param: Param<'_>) -> [u8; 2] {
    match param {
        Param::Null => [0x06, 0],
        Param::Int(_) => [0x08, 0],    // LONGLONG
        Param::Double(_) => [0x05, 0], // DOUBLE
        Param::Text(_) => [0xfd, 0],   // VAR_STRING
    }
}

fn put(param: Param<'_>, out: &mut Vec<u8>) {
    match param {
        Param::Null => {}
        Param::Int(value) => out.extend_from_slice(&value.to_le_bytes()), // int<8>
        Param::Double(value) => out.extend_from_slice(&value.to_le_bytes()), // IEEE 754
        Param::Text(value) => put_lenenc_bytes(out, value),               // string<lenenc>
    }
}

/// Appends an execution. The reply is read with [`Expect::Execute`](crate::Expect::Execute).
///
/// `params` are all of the statement's parameters, in order. `bind_types` also sends their types:
/// needed the first time a statement is executed, and whenever a parameter changes its variant (a
/// first `Null` has the type NULL).
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html>
pub fn write_execute<'a>(
    out: &mut Vec<u8>,
    statement_id: u32,
    params: impl Iterator<Item = Param<'a>> + Clone,
    bind_types: bool,
) {
    write_message(out, 0, |out| {
        out.push(COM_STMT_EXECUTE); // int<1>
        out.extend_from_slice(&statement_id.to_le_bytes()); // int<4>
        out.push(NO_CURSOR); // int<1>
        out.extend_from_slice(&ITERATIONS.to_le_bytes()); // int<4>
        if params.clone().next().is_some() {
            put_params(out, params, bind_types);
        }
    });
}

fn put_params<'a>(
    out: &mut Vec<u8>,
    params: impl Iterator<Item = Param<'a>> + Clone,
    bind_types: bool,
) {
    put_null_bitmap(out, params.clone());
    out.push(u8::from(bind_types)); // int<1>
    if bind_types {
        for param in params.clone() {
            out.extend_from_slice(&wire_type(param)); // int<2>
        }
    }
    for param in params {
        put(param, out);
    }
}

/// string<(parameters + 7) / 8>
fn put_null_bitmap<'a>(out: &mut Vec<u8>, params: impl Iterator<Item = Param<'a>>) {
    let mut bits = 0_u8;
    let mut count = 0_usize;
    for param in params {
        bits |= u8::from(param == Param::Null) << (count % 8);
        count += 1;
        if count.is_multiple_of(8) {
            out.push(bits);
            bits = 0;
        }
    }
    if !count.is_multiple_of(8) {
        out.push(bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executed(params: &[Param<'_>], bind_types: bool) -> Vec<u8> {
        let mut out = Vec::new();
        write_execute(&mut out, 7, params.iter().copied(), bind_types);
        out
    }

    #[test]
    fn a_statement_without_parameters_has_no_bitmap() {
        assert_eq!(executed(&[], true), b"\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0");
    }

    #[test]
    fn types_go_along_only_when_bound() {
        let head = b"\x17\x07\0\0\0\0\x01\0\0\0";
        let value = 5i64.to_le_bytes();
        let bound = executed(&[Param::Int(5)], true);
        assert_eq!(bound[4..], [&head[..], b"\0\x01\x08\0", &value].concat());
        let unbound = executed(&[Param::Int(5)], false);
        assert_eq!(unbound[4..], [&head[..], b"\0\0", &value].concat());
    }

    #[test]
    fn every_parameter_kind_has_its_encoding_and_nulls_their_bits() {
        let mut params = vec![Param::Null, Param::Double(1.5), Param::Text(b"abc")];
        params.extend([Param::Int(-1); 5]);
        params.push(Param::Null);
        let packet = executed(&params, true);
        let mut expected = b"\x17\x07\0\0\0\0\x01\0\0\0\x01\x01\x01".to_vec();
        expected.extend_from_slice(b"\x06\0\x05\0\xfd\0");
        expected.extend_from_slice(&b"\x08\0".repeat(5));
        expected.extend_from_slice(b"\x06\0");
        expected.extend_from_slice(&1.5f64.to_le_bytes());
        expected.extend_from_slice(b"\x03abc");
        expected.extend_from_slice(&[0xff; 40]);
        assert_eq!(packet[4..], expected);
    }
}
