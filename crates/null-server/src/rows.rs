//! Writes result sets, in the text and in the binary form.

use crate::packet::{Shape, put_eof, put_length, put_packet, put_rows_end, put_text};

/// The form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The form of COM_QUERY.
    Text,
    /// The form of COM_STMT_EXECUTE.
    Binary,
}

/// A column's type, as far as answers need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Int,
    BigInt,
    Decimal,
    Text,
}

impl Type {
    /// Field type, character set (63 is binary, 45 utf8mb4) and display length.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html>
    fn wire(self) -> (u8, u16, u32) {
        match self {
            Self::Int => (0x03, 63, 11),
            Self::BigInt => (0x08, 63, 21),
            Self::Decimal => (0xf6, 63, 33),
            Self::Text => (0xfd, 45, 1024),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Type,
}

impl Column {
    pub(crate) fn new(name: impl Into<String>, kind: Type) -> Self {
        Self { name: name.into(), kind }
    }

    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_column_definition.html>
    fn put(&self, out: &mut Vec<u8>) {
        let (kind, charset, length) = self.kind.wire();
        put_text(out, b"def"); // string<lenenc> catalog
        for text in ["", "", "", &self.name, ""] {
            put_text(out, text.as_bytes()); // schema, table and its alias, name and its alias
        }
        put_length(out, 0x0c); // int<lenenc>
        out.extend_from_slice(&charset.to_le_bytes()); // int<2>
        out.extend_from_slice(&length.to_le_bytes()); // int<4>
        out.push(kind); // int<1>
        out.extend_from_slice(&[0; 5]); // int<2> flags, int<1> decimals, int<2> filler
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i64),
    Text(String),
    Null,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A result set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Rows {
    /// The whole answer to a statement.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html>
    pub(crate) fn bytes(&self, form: Form, shape: Shape) -> Vec<u8> {
        let (mut out, mut sequence) = (Vec::new(), 1);
        let count = self.columns.len() as u64;
        put_packet(&mut out, &mut sequence, |out| put_length(out, count));
        put_columns(&mut out, &mut sequence, &self.columns, shape);
        for row in &self.rows {
            put_packet(&mut out, &mut sequence, |out| match form {
                Form::Text => put_text_row(out, row),
                Form::Binary => self.put_binary_row(out, row),
            });
        }
        put_rows_end(&mut out, &mut sequence, shape);
        out
    }

    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>
    fn put_binary_row(&self, out: &mut Vec<u8>, row: &[Value]) {
        out.push(0x00); // int<1>
        let bitmap = out.len();
        out.resize(bitmap + (row.len() + 9) / 8, 0); // two bits are kept free
        for (index, (value, column)) in row.iter().zip(&self.columns).enumerate() {
            match (value, column.kind) {
                (Value::Null, _) => out[bitmap + (index + 2) / 8] |= 1 << ((index + 2) % 8),
                (Value::Int(value), Type::Int) => {
                    out.extend_from_slice(&(*value as i32).to_le_bytes()); // int<4>
                }
                (Value::Int(value), Type::BigInt) => {
                    out.extend_from_slice(&value.to_le_bytes()); // int<8>
                }
                (Value::Int(value), _) => put_text(out, value.to_string().as_bytes()),
                (Value::Text(text), _) => put_text(out, text.as_bytes()), // string<lenenc>
            }
        }
    }
}

/// The column definitions, and the EOF after them unless it is deprecated.
pub(crate) fn put_columns(out: &mut Vec<u8>, sequence: &mut u8, columns: &[Column], shape: Shape) {
    for column in columns {
        put_packet(out, sequence, |out| column.put(out));
    }
    if !columns.is_empty() && !shape.deprecate_eof {
        put_eof(out, sequence, shape);
    }
}

fn put_text_row(out: &mut Vec<u8>, row: &[Value]) {
    for value in row {
        match value {
            Value::Null => out.push(0xfb),
            Value::Int(value) => put_text(out, value.to_string().as_bytes()),
            Value::Text(text) => put_text(out, text.as_bytes()),
        }
    }
}
