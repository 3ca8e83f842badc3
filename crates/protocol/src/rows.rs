//! Rows that are kept for reading: by administration, tests, scripts, and workloads whose next
//! statement depends on an answer.
//!
//! They are kept in one of two encodings, which are those that MySQL sends, so that its rows only
//! need to be copied. Another family's reader uses the first one, since it has to copy its rows
//! anyway.

/// A row of a text result set: each value as the server sent it, `None` for NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// A result as received; its rows are only parsed on demand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// The number of values in a row.
    pub columns: u16,
    /// The number of rows.
    pub rows: u64,
    /// The rows, one after another. Without types each value is a text after its length, or 0xfb
    /// for NULL; a length is one byte up to 0xfa, or 0xfc, 0xfd, 0xfe and 2, 3, 8 bytes. With types
    /// each row is a byte, a bitmap of the NULL values (the first two bits are reserved), and the
    /// other values, all little-endian.
    pub bytes: Vec<u8>,
    /// The columns' types, if the values are typed; otherwise empty.
    pub types: Vec<ColumnType>,
    /// The columns' names, each before a zero byte, if the family's reader keeps them (PostgreSQL's does); otherwise
    /// empty.
    pub names: Vec<u8>,
    /// Whether statements without rows come after it in the answer, if the family's reader notices
    /// (PostgreSQL's does).
    pub is_followed: bool,
}

impl ResultSet {
    /// The columns' names in their order, where they are kept.
    pub fn column_names(&self) -> impl Iterator<Item = &[u8]> {
        self.names
            .split_inclusive(|byte| *byte == 0)
            .map(|name| name.strip_suffix(&[0]).unwrap_or(name))
    }

    /// The values of all rows, row by row. None if typed rows were only counted.
    pub fn values(&self) -> Values<'_> {
        Values { types: &self.types, rest: &self.bytes, column: 0, nulls: &[] }
    }
}

/// How a column's typed values are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// No bytes: all are NULL.
    Null,
    /// An integer of 8, 16, 32 or 64 bits.
    Integer {
        /// The number of bits.
        bits: u8,
        /// Whether it is unsigned.
        is_unsigned: bool,
    },
    /// A floating-point number of 32 bits.
    Float,
    /// A floating-point number of 64 bits.
    Double,
    /// A date or time in the family's own form, after its length.
    Temporal,
    /// Text or bytes, after their length.
    Bytes,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A typed integer.
    Int(i64),
    /// A typed unsigned integer that is too large for `Int`.
    Unsigned(u64),
    /// A typed floating-point number.
    Double(f64),
    /// A typed date or time, in the family's own form without its length.
    Temporal(&'a [u8]),
    /// Anything else, and all untyped values: as the server sent them.
    Bytes(&'a [u8]),
}

/// A kept row ends in the middle of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a row ends in the middle of a value")]
pub struct UnreadableRow;

/// Bytes of a typed row before the bitmap of its NULLs.
const ROW_HEADER: usize = 1;
/// The first bits of the bitmap are reserved.
const RESERVED_BITS: usize = 2;

impl ColumnType {
    fn read<'a>(self, rest: &mut &'a [u8]) -> Result<Value<'a>, UnreadableRow> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Integer { bits, is_unsigned } => {
                let signed = match bits {
                    8 => i64::from(i8::from_le_bytes(array(rest)?)),
                    16 => i64::from(i16::from_le_bytes(array(rest)?)),
                    32 => i64::from(i32::from_le_bytes(array(rest)?)),
                    _ => i64::from_le_bytes(array(rest)?),
                };
                integer(signed, bits, is_unsigned)
            }
            Self::Float => Value::Double(f64::from(f32::from_le_bytes(array(rest)?))),
            Self::Double => Value::Double(f64::from_le_bytes(array(rest)?)),
            Self::Temporal => Value::Temporal(text(rest)?),
            Self::Bytes => Value::Bytes(text(rest)?),
        })
    }
}

/// An integer of this many bits that was read as a signed one.
fn integer(signed: i64, bits: u8, is_unsigned: bool) -> Value<'static> {
    if !is_unsigned || signed >= 0 {
        return Value::Int(signed);
    }
    let unsigned = signed as u64 & (u64::MAX >> (64 - u32::from(bits.clamp(1, 64))));
    i64::try_from(unsigned).map_or(Value::Unsigned(unsigned), Value::Int)
}

/// The values of a result, row by row. Ends after the first unreadable one.
#[derive(Clone)]
pub struct Values<'a> {
    types: &'a [ColumnType],
    rest: &'a [u8],
    /// The column of the next value.
    column: usize,
    /// The NULL bitmap of the current typed row.
    nulls: &'a [u8],
}

impl<'a> Values<'a> {
    fn read(&mut self) -> Result<Value<'a>, UnreadableRow> {
        let Some(column) = self.types.get(self.column) else {
            return untyped(&mut self.rest);
        };
        if self.column == 0 {
            take(&mut self.rest, ROW_HEADER)?;
            self.nulls = take(&mut self.rest, (self.types.len() + RESERVED_BITS).div_ceil(8))?;
        }
        let bit = self.column + RESERVED_BITS;
        self.column = (self.column + 1) % self.types.len();
        let is_null = self.nulls.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        if is_null { Ok(Value::Null) } else { column.read(&mut self.rest) }
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = Result<Value<'a>, UnreadableRow>;

    fn next(&mut self) -> Option<Self::Item> {
        // A typed row may end with values without bytes: those that are NULL.
        if self.rest.is_empty() && self.column == 0 {
            return None;
        }
        let value = self.read();
        if value.is_err() {
            self.rest = &[];
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

fn untyped<'a>(rest: &mut &'a [u8]) -> Result<Value<'a>, UnreadableRow> {
    if let Some((0xfb, behind)) = rest.split_first() {
        *rest = behind;
        return Ok(Value::Null);
    }
    text(rest).map(Value::Bytes)
}

fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], UnreadableRow> {
    let [first] = array::<1>(rest)?;
    let length = match first {
        0..=0xfa => u64::from(first),
        0xfc => u64::from(u16::from_le_bytes(array(rest)?)),
        0xfd => {
            let [low, middle, high] = array(rest)?;
            u64::from(u32::from_le_bytes([low, middle, high, 0]))
        }
        0xfe => u64::from_le_bytes(array(rest)?),
        // 0xfb is NULL, and never a length.
        _ => return Err(UnreadableRow),
    };
    take(rest, usize::try_from(length).unwrap_or(usize::MAX))
}

#[inline]
fn array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], UnreadableRow> {
    let (chunk, behind) = rest.split_first_chunk::<N>().ok_or(UnreadableRow)?;
    *rest = behind;
    Ok(*chunk)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], UnreadableRow> {
    let (taken, behind) = rest.split_at_checked(length).ok_or(UnreadableRow)?;
    *rest = behind;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(bits: u8, is_unsigned: bool) -> ColumnType {
        ColumnType::Integer { bits, is_unsigned }
    }

    #[test]
    fn integers_have_the_sign_of_their_column() {
        let cases: [(ColumnType, &[u8], Value<'_>); 8] = [
            (of(8, false), &[0xff], Value::Int(-1)),
            (of(8, true), &[0xff], Value::Int(255)),
            (of(16, true), &[0xfe, 0xff], Value::Int(65_534)),
            (of(16, true), &[0xea, 0x07], Value::Int(2026)),
            (of(32, false), &[0, 0, 0, 0x80], Value::Int(-2_147_483_648)),
            (of(32, true), &[0, 0, 0, 0x80], Value::Int(2_147_483_648)),
            (of(64, false), &[0xff; 8], Value::Int(-1)),
            (of(64, true), &[0xff; 8], Value::Unsigned(u64::MAX)),
        ];
        for (column, bytes, expected) in cases {
            let mut rest = bytes;
            assert_eq!(column.read(&mut rest), Ok(expected));
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn floating_point_numbers_and_times_have_their_widths() {
        let cases: [(ColumnType, &[u8], Value<'_>); 4] = [
            (ColumnType::Float, &[0, 0, 0xc0, 0x3f], Value::Double(1.5)),
            (ColumnType::Double, &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f], Value::Double(1.5)),
            (ColumnType::Temporal, &[4, 0xea, 7, 11, 22], Value::Temporal(&[0xea, 7, 11, 22])),
            (ColumnType::Null, &[], Value::Null),
        ];
        for (column, mut bytes, expected) in cases {
            assert_eq!(column.read(&mut bytes), Ok(expected));
        }
    }

    #[test]
    fn texts_of_every_length_are_read_and_no_more_than_is_there() {
        let mut bytes = b"\x01a\xfb\xfc\x02\0bb\xfd\x03\0\0ccc\xfe\x04\0\0\0\0\0\0\0dddd".to_vec();
        let whole = ResultSet { columns: 5, rows: 1, bytes: bytes.clone(), ..ResultSet::default() };
        let texts: [&[u8]; 4] = [b"a", b"bb", b"ccc", b"dddd"];
        let mut expected = texts.map(Value::Bytes).to_vec();
        expected.insert(1, Value::Null);
        assert_eq!(whole.values().collect::<Result<Vec<_>, _>>(), Ok(expected));
        bytes.pop();
        let cut = ResultSet { bytes, ..whole };
        assert_eq!(cut.values().last(), Some(Err(UnreadableRow)));
        let endless = ResultSet { bytes: [[0xfe].as_slice(), &[0xff; 8]].concat(), ..cut };
        assert_eq!(endless.values().collect::<Vec<_>>(), [Err(UnreadableRow)]);
    }
}
