//! The type of a column, as far as reading its values needs it.

use crate::cursor::Cursor;
use crate::{ColumnType, WireError};

/// UNSIGNED_FLAG of a column's definition.
const UNSIGNED: u16 = 1 << 5;

/// Numbers of `enum_field_types`.
mod field_type {
    pub(super) const TINY: u8 = 0x01;
    pub(super) const SHORT: u8 = 0x02;
    pub(super) const LONG: u8 = 0x03;
    pub(super) const FLOAT: u8 = 0x04;
    pub(super) const DOUBLE: u8 = 0x05;
    pub(super) const NULL: u8 = 0x06;
    pub(super) const TIMESTAMP: u8 = 0x07;
    pub(super) const LONGLONG: u8 = 0x08;
    pub(super) const INT24: u8 = 0x09;
    pub(super) const DATE: u8 = 0x0a;
    pub(super) const TIME: u8 = 0x0b;
    pub(super) const DATETIME: u8 = 0x0c;
    pub(super) const YEAR: u8 = 0x0d;
}

/// Parses a column's definition.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_column_definition.html>
pub(super) fn parse(definition: &[u8]) -> Result<ColumnType, WireError> {
    let mut cursor = Cursor::new(definition, "a column's definition");
    for _ in 0..6 {
        cursor.lenenc_bytes()?; // catalog, schema, table and column, the latter two twice
    }
    cursor.lenenc()?; // length of what follows
    cursor.u16()?; // character set
    cursor.u32()?; // greatest length
    let number = cursor.u8()?;
    let flags = cursor.u16()?;
    Ok(of(number, flags & UNSIGNED != 0))
}

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>
fn of(number: u8, is_unsigned: bool) -> ColumnType {
    use field_type::*;
    let integer = |bits| ColumnType::Integer { bits, is_unsigned };
    match number {
        TINY => integer(8),
        SHORT | YEAR => integer(16),
        LONG | INT24 => integer(32),
        LONGLONG => integer(64),
        FLOAT => ColumnType::Float,
        DOUBLE => ColumnType::Double,
        NULL => ColumnType::Null,
        DATE | DATETIME | TIMESTAMP | TIME => ColumnType::Temporal,
        _ => ColumnType::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mariadbd 10.11.19, `SELECT id FROM t`, an `INT UNSIGNED`.
    fn definition(number: u8, flags: u16) -> Vec<u8> {
        let mut bytes = b"\x03def\x04test\x01t\x01t\x02id\x02id\x0c\x3f\0\x0a\0\0\0".to_vec();
        bytes.push(number);
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&[0, 0, 0]);
        bytes
    }

    #[test]
    fn each_number_has_its_width_and_integers_their_sign() {
        let integer = |bits, is_unsigned| ColumnType::Integer { bits, is_unsigned };
        let cases = [
            (0x01, 0, integer(8, false)),
            (0x01, UNSIGNED, integer(8, true)),
            (0x02, UNSIGNED, integer(16, true)),
            (0x0d, UNSIGNED, integer(16, true)),
            (0x03, 0x4203, integer(32, false)),
            (0x09, UNSIGNED, integer(32, true)),
            (0x08, UNSIGNED, integer(64, true)),
            (0x04, 0, ColumnType::Float),
            (0x05, 0, ColumnType::Double),
            (0x06, 0, ColumnType::Null),
            (0x07, 0, ColumnType::Temporal),
            (0x0a, 0, ColumnType::Temporal),
            (0x0b, 0, ColumnType::Temporal),
            (0x0c, 0, ColumnType::Temporal),
            (0xfd, 0, ColumnType::Bytes),
            (0xf6, 0, ColumnType::Bytes),
        ];
        for (number, flags, expected) in cases {
            assert_eq!(parse(&definition(number, flags)), Ok(expected), "{number:#04x}");
        }
        for length in 0..26 {
            assert!(parse(&definition(0x03, 0)[..length]).is_err(), "{length}");
        }
    }
}
