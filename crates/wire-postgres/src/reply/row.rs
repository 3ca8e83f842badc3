//! DataRow: its values, and how they are kept.
//!
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-DATAROW>

use super::columns::Columns;
use crate::cursor::Cursor;
use crate::{ColumnType, Row, WireError};

const NAME: &str = "a row";
/// The bytes of a kept typed row before its NULLs, and the bits reserved among these: see
/// [`ResultSet`](crate::ResultSet).
const ROW_HEADER: u8 = 0;
const RESERVED_BITS: usize = 2;

/// The number of values in a row.
pub(super) fn value_count(body: &[u8]) -> Result<u16, WireError> {
    Cursor::new(body, NAME).u16() // Int16
}

/// The values of a row, each with bytes of its own.
pub(super) fn owned(body: &[u8]) -> Result<Row, WireError> {
    let mut cursor = Cursor::new(body, NAME);
    let count = cursor.u16()?; // Int16
    // Grows with the values that are there, not by the number that is claimed.
    let mut row = Row::new();
    for _ in 0..count {
        row.push(cursor.value()?.map(<[u8]>::to_vec)); // Int32, Byten
    }
    Ok(row)
}

/// Appends the row as a [`ResultSet`](crate::ResultSet) keeps it.
pub(super) fn append(out: &mut Vec<u8>, columns: &Columns, body: &[u8]) -> Result<(), WireError> {
    let mut cursor = Cursor::new(body, NAME);
    if cursor.u16()? != columns.count {
        return Err(WireError::BadField { message: NAME, field: "a number of values" });
    }
    if columns.types.is_empty() {
        for _ in 0..columns.count {
            append_text(out, cursor.value()?);
        }
        return Ok(());
    }
    append_typed(out, &columns.types, cursor)
}

/// Appends a value as it is, behind its length.
pub(super) fn append_text(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        None => out.push(0xfb),
        Some(value) => append_bytes(out, value),
    }
}

fn append_typed(
    out: &mut Vec<u8>,
    types: &[ColumnType],
    mut cursor: Cursor<'_>,
) -> Result<(), WireError> {
    out.push(ROW_HEADER);
    let nulls = out.len();
    out.resize(nulls + (types.len() + RESERVED_BITS).div_ceil(8), 0);
    for (index, column) in types.iter().enumerate() {
        let Some(value) = cursor.value()? else {
            let bit = index + RESERVED_BITS;
            if let Some(byte) = out.get_mut(nulls + bit / 8) {
                *byte |= 1 << (bit % 8);
            }
            continue;
        };
        let width = match column {
            ColumnType::Null => 0,
            ColumnType::Integer { bits, .. } => usize::from(bits / 8),
            ColumnType::Float => 4,
            ColumnType::Double => 8,
            ColumnType::Temporal | ColumnType::Bytes => {
                append_bytes(out, value);
                continue;
            }
        };
        if value.len() != width {
            return Err(WireError::BadField { message: NAME, field: "a number of another size" });
        }
        // Kept numbers are little-endian.
        out.extend(value.iter().rev());
    }
    Ok(())
}

/// One byte up to 0xfa, or 0xfc, 0xfd, 0xfe and 2, 3, 8 bytes.
fn append_bytes(out: &mut Vec<u8>, value: &[u8]) {
    let length = value.len() as u64;
    let [a, b, c, ..] = length.to_le_bytes();
    match length {
        0..=0xfa => out.push(a),
        0xfb..=0xffff => out.extend_from_slice(&[0xfc, a, b]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, a, b, c]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ResultSet, Value};

    fn body(values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut body = (values.len() as u16).to_be_bytes().to_vec();
        for value in values {
            let length = value.map_or(-1, |value| value.len() as i32);
            body.extend_from_slice(&length.to_be_bytes());
            body.extend_from_slice(value.unwrap_or_default());
        }
        body
    }

    fn kept(types: &[ColumnType], values: &[Option<&[u8]>]) -> Result<ResultSet, WireError> {
        let columns =
            Columns { count: values.len() as u16, types: types.to_vec(), names: Vec::new() };
        let mut bytes = Vec::new();
        append(&mut bytes, &columns, &body(values))?;
        Ok(ResultSet {
            columns: columns.count,
            rows: 1,
            bytes,
            types: columns.types,
            names: columns.names,
            is_followed: false,
        })
    }

    #[test]
    fn texts_of_any_length_are_read_back() {
        for length in [0, 1, 0xfa, 0xfb, 0xffff, 0x1_0000, 0x100_0000] {
            let long = vec![b'x'; length];
            let result = kept(&[], &[Some(&long), None, Some(b"end")]).unwrap();
            let values: Vec<_> = result.values().collect::<Result<_, _>>().unwrap();
            assert_eq!(values, [Value::Bytes(&long), Value::Null, Value::Bytes(b"end")]);
        }
    }

    #[test]
    fn binary_values_are_read_back() {
        let integer = |bits, is_unsigned| ColumnType::Integer { bits, is_unsigned };
        let types = [
            integer(16, false),
            integer(32, false),
            integer(64, false),
            integer(32, true),
            integer(8, true),
            ColumnType::Float,
            ColumnType::Double,
            ColumnType::Temporal,
            ColumnType::Bytes,
            integer(32, false),
        ];
        let (float, double) = (1.5_f32.to_be_bytes(), (-2.5_f64).to_be_bytes());
        let result = kept(
            &types,
            &[
                Some(&(-2_i16).to_be_bytes()),
                Some(&7_i32.to_be_bytes()),
                Some(&i64::MIN.to_be_bytes()),
                Some(&u32::MAX.to_be_bytes()),
                Some(&[1]),
                Some(&float),
                Some(&double),
                Some(b"12345678"),
                Some(b"text"),
                None,
            ],
        );
        let result = result.unwrap();
        let values: Vec<_> = result.values().collect::<Result<_, _>>().unwrap();
        let expected = [
            Value::Int(-2),
            Value::Int(7),
            Value::Int(i64::MIN),
            Value::Int(i64::from(u32::MAX)),
            Value::Int(1),
            Value::Double(1.5),
            Value::Double(-2.5),
            Value::Temporal(b"12345678"),
            Value::Bytes(b"text"),
            Value::Null,
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_number_of_another_size_and_another_number_of_values_are_errors() {
        let integer = ColumnType::Integer { bits: 32, is_unsigned: false };
        assert!(matches!(kept(&[integer], &[Some(b"abc")]), Err(WireError::BadField { .. })));
        let columns = Columns { count: 2, types: Vec::new(), names: Vec::new() };
        let refused = append(&mut Vec::new(), &columns, &body(&[None]));
        assert!(matches!(refused, Err(WireError::BadField { .. })));
    }

    #[test]
    fn a_row_that_is_cut_off_is_an_error() {
        let whole = body(&[Some(b"ab"), None]);
        assert_eq!(owned(&whole), Ok(vec![Some(b"ab".to_vec()), None]));
        for length in 0..whole.len() {
            assert!(owned(&whole[..length]).is_err());
        }
    }
}
