//! RowDescription: the columns of a result, as far as reading its values needs them.

use crate::cursor::Cursor;
use crate::{ColumnType, WireError, oid};

/// The columns of a result.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) count: u16,
    /// Their types if any of them is binary, otherwise empty. Columns of texts then are `Bytes`.
    pub(super) types: Vec<ColumnType>,
    /// Their names, each before a zero byte.
    pub(super) names: Vec<u8>,
}

impl Columns {
    /// <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ROWDESCRIPTION>
    pub(super) fn parse(body: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(body, "the columns of a result");
        let count = cursor.u16()?; // Int16
        let (mut types, mut names) = (Vec::new(), Vec::new());
        let mut is_typed = false;
        for _ in 0..count {
            names.extend_from_slice(cursor.string()?); // String: the name
            names.push(0);
            cursor.i32()?; // Int32: the table
            cursor.u16()?; // Int16: the number of its column
            let number = cursor.u32()?; // Int32: the type
            cursor.u16()?; // Int16: its size
            cursor.i32()?; // Int32: its modifier
            let is_binary = cursor.u16()? == 1; // Int16: the format
            is_typed |= is_binary;
            types.push(if is_binary { of(number) } else { ColumnType::Bytes });
        }
        if !is_typed {
            types.clear();
        }
        Ok(Self { count, types, names })
    }

    /// The number of columns alone.
    pub(super) fn parse_count(body: &[u8]) -> Result<u16, WireError> {
        Cursor::new(body, "the columns of a result").u16() // Int16
    }
}

/// How the binary values of a type are kept.
fn of(number: u32) -> ColumnType {
    let integer = |bits| ColumnType::Integer { bits, is_unsigned: false };
    match number {
        oid::BOOL => ColumnType::Integer { bits: 8, is_unsigned: true },
        oid::INT2 => integer(16),
        oid::INT4 => integer(32),
        oid::INT8 => integer(64),
        oid::OID => ColumnType::Integer { bits: 32, is_unsigned: true },
        oid::FLOAT4 => ColumnType::Float,
        oid::FLOAT8 => ColumnType::Double,
        oid::DATE | oid::TIME | oid::TIMESTAMP | oid::TIMESTAMPTZ => ColumnType::Temporal,
        _ => ColumnType::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(columns: &[(u32, u16)]) -> Vec<u8> {
        let mut body = (columns.len() as u16).to_be_bytes().to_vec();
        for (number, format) in columns {
            body.extend_from_slice(b"name\0\0\0\0\0\0\0");
            body.extend_from_slice(&number.to_be_bytes());
            body.extend_from_slice(b"\0\x04\xff\xff\xff\xff");
            body.extend_from_slice(&format.to_be_bytes());
        }
        body
    }

    #[test]
    fn columns_of_texts_have_no_types() {
        let columns = Columns::parse(&description(&[(oid::INT4, 0), (oid::TEXT, 0)]));
        let names = b"name\0name\0".to_vec();
        assert_eq!(columns, Ok(Columns { count: 2, types: Vec::new(), names }));
        assert_eq!(Columns::parse(b"\0\0"), Ok(Columns::default()));
    }

    #[test]
    fn each_binary_type_has_its_width_and_texts_among_them_stay_texts() {
        let integer = |bits, is_unsigned| ColumnType::Integer { bits, is_unsigned };
        let cases = [
            (oid::BOOL, integer(8, true)),
            (oid::INT2, integer(16, false)),
            (oid::INT4, integer(32, false)),
            (oid::INT8, integer(64, false)),
            (oid::OID, integer(32, true)),
            (oid::FLOAT4, ColumnType::Float),
            (oid::FLOAT8, ColumnType::Double),
            (oid::DATE, ColumnType::Temporal),
            (oid::TIMESTAMPTZ, ColumnType::Temporal),
            (oid::TEXT, ColumnType::Bytes),
            (oid::BYTEA, ColumnType::Bytes),
        ];
        for (number, expected) in cases {
            let columns = Columns::parse(&description(&[(number, 1), (oid::INT4, 0)])).unwrap();
            assert_eq!(columns.types, [expected, ColumnType::Bytes], "{number}");
        }
    }

    #[test]
    fn columns_that_are_cut_off_are_an_error() {
        let body = description(&[(oid::INT4, 0), (oid::INT4, 1)]);
        for length in 0..body.len() {
            assert!(Columns::parse(&body[..length]).is_err(), "{length}");
        }
        assert!(Columns::parse(&[0xff; 2]).is_err());
        assert_eq!(Columns::parse_count(&body), Ok(2));
    }
}
