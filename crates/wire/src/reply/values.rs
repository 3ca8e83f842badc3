//! The values in rows that were kept, whichever of the protocol's two notations they came in.

use crate::WireError;
use crate::cursor::Cursor;

/// The type of a column, as far as reading its values needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnType {
    /// `enum_field_types`: 0x03 for `INT`.
    pub code: u8,
    /// Whether integers are unsigned.
    pub is_unsigned: bool,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// An integer of a binary row.
    Int(i64),
    /// An unsigned integer of a binary row that is too large for the above.
    Unsigned(u64),
    /// A floating-point number of a binary row.
    Double(f64),
    /// A date or time of a binary row, in the protocol's own form without its length.
    Temporal(&'a [u8]),
    /// Anything else, and all values of text rows: as the server writes them.
    Bytes(&'a [u8]),
}

/// UNSIGNED_FLAG of a column's definition.
const UNSIGNED: u16 = 1 << 5;

/// Bytes of a binary row before its first value, without the bitmap of its NULLs.
const ROW_HEADER: usize = 1;
/// The first bits of that bitmap are reserved.
const RESERVED_BITS: usize = 2;

/// Numbers of `enum_field_types`.
mod code {
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

impl ColumnType {
    /// From a column's definition.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_column_definition.html>
    pub(super) fn parse(definition: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(definition, "a column's definition");
        for _ in 0..6 {
            cursor.lenenc_bytes()?; // catalog, schema, table and column, the latter two twice
        }
        cursor.lenenc()?; // length of what follows
        cursor.u16()?; // character set
        cursor.u32()?; // greatest length
        let code = cursor.u8()?;
        let flags = cursor.u16()?;
        Ok(Self { code, is_unsigned: flags & UNSIGNED != 0 })
    }

    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>
    fn read<'a>(self, cursor: &mut Cursor<'a>) -> Result<Value<'a>, WireError> {
        Ok(match self.code {
            code::TINY => self.integer(i64::from(cursor.u8()? as i8), 8),
            code::SHORT | code::YEAR => self.integer(i64::from(cursor.u16()? as i16), 16),
            code::LONG | code::INT24 => self.integer(i64::from(cursor.u32()? as i32), 32),
            code::LONGLONG => self.integer(i64::from_le_bytes(cursor.array()?), 64),
            code::FLOAT => Value::Double(f64::from(f32::from_le_bytes(cursor.array()?))),
            code::DOUBLE => Value::Double(f64::from_le_bytes(cursor.array()?)),
            code::NULL => Value::Null,
            code::DATE | code::DATETIME | code::TIMESTAMP | code::TIME => {
                Value::Temporal(cursor.lenenc_bytes()?)
            }
            _ => Value::Bytes(cursor.lenenc_bytes()?),
        })
    }

    /// A number of so many bits that was read as a signed one.
    fn integer(self, signed: i64, bits: u32) -> Value<'static> {
        if !self.is_unsigned || signed >= 0 {
            return Value::Int(signed);
        }
        let unsigned = signed as u64 & (u64::MAX >> (64 - bits));
        i64::try_from(unsigned).map_or(Value::Unsigned(unsigned), Value::Int)
    }
}

/// The values of a result, row by row. Ends behind the first that cannot be read.
#[derive(Clone)]
pub struct Values<'a> {
    types: &'a [ColumnType],
    cursor: Cursor<'a>,
    /// The column of the next value.
    column: usize,
    /// Of the current binary row, which of its values are NULL.
    nulls: &'a [u8],
}

impl<'a> Values<'a> {
    pub(super) fn new(types: &'a [ColumnType], rows: &'a [u8]) -> Self {
        let cursor = Cursor::new(rows, "a row");
        Self { types, cursor, column: 0, nulls: &[] }
    }

    fn read(&mut self) -> Result<Value<'a>, WireError> {
        let Some(column) = self.types.get(self.column) else {
            let value = self.cursor.nullable_bytes()?;
            return Ok(value.map_or(Value::Null, Value::Bytes));
        };
        if self.column == 0 {
            self.cursor.take(ROW_HEADER)?;
            self.nulls = self.cursor.take((self.types.len() + RESERVED_BITS).div_ceil(8))?;
        }
        let bit = self.column + RESERVED_BITS;
        self.column = (self.column + 1) % self.types.len();
        let is_null = self.nulls.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        if is_null { Ok(Value::Null) } else { column.read(&mut self.cursor) }
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = Result<Value<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        // At the end of a binary row there may be values without bytes: those that are NULL.
        if self.cursor.is_empty() && self.column == 0 {
            return None;
        }
        let value = self.read();
        if value.is_err() {
            self.cursor.rest();
            self.column = 0;
        }
        Some(value)
    }
}

impl std::fmt::Debug for Values<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.clone()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_sign_of_their_column() {
        let cases: [(u8, bool, &[u8], Value<'_>); 8] = [
            (code::TINY, false, &[0xff], Value::Int(-1)),
            (code::TINY, true, &[0xff], Value::Int(255)),
            (code::SHORT, true, &[0xfe, 0xff], Value::Int(65_534)),
            (code::YEAR, true, &[0xea, 0x07], Value::Int(2026)),
            (code::LONG, false, &[0, 0, 0, 0x80], Value::Int(-2_147_483_648)),
            (code::LONG, true, &[0, 0, 0, 0x80], Value::Int(2_147_483_648)),
            (code::LONGLONG, false, &[0xff; 8], Value::Int(-1)),
            (code::LONGLONG, true, &[0xff; 8], Value::Unsigned(u64::MAX)),
        ];
        for (code, is_unsigned, bytes, expected) in cases {
            let column = ColumnType { code, is_unsigned };
            let mut cursor = Cursor::new(bytes, "test");
            assert_eq!(column.read(&mut cursor), Ok(expected));
            assert!(cursor.is_empty());
        }
    }

    #[test]
    fn floating_point_numbers_and_times_have_their_widths() {
        let read = |code, bytes| {
            ColumnType { code, is_unsigned: false }.read(&mut Cursor::new(bytes, "test"))
        };
        assert_eq!(read(code::FLOAT, &[0, 0, 0xc0, 0x3f]), Ok(Value::Double(1.5)));
        assert_eq!(read(code::DOUBLE, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f]), Ok(Value::Double(1.5)));
        assert_eq!(
            read(code::DATE, &[4, 0xea, 7, 11, 22]),
            Ok(Value::Temporal(&[0xea, 7, 11, 22]))
        );
        assert_eq!(read(code::NULL, &[]), Ok(Value::Null));
    }
}
