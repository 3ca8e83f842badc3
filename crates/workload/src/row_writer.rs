//! Writes the values of a row in the dialect's notation.

use crate::dialect::{Dialect, Notation, Punctuation};
use crate::text::push_decimal;

/// Writes rows, value by value. No value is escaped: all consist of letters, digits, and the
/// separators of dates.
pub(crate) struct RowWriter<'a> {
    notation: Notation,
    style: &'static Punctuation,
    out: &'a mut Vec<u8>,
    rows: usize,
    values: usize,
}

impl<'a> RowWriter<'a> {
    pub(crate) fn new(dialect: &dyn Dialect, notation: Notation, out: &'a mut Vec<u8>) -> Self {
        Self { notation, style: dialect.punctuation(notation), out, rows: 0, values: 0 }
    }

    pub(crate) fn notation(&self) -> Notation {
        self.notation
    }

    pub(crate) fn begin(&mut self) -> &mut Self {
        if self.rows > 0 {
            self.push(self.style.between);
        }
        self.push(self.style.open);
        (self.rows, self.values) = (self.rows + 1, 0);
        self
    }

    pub(crate) fn end(&mut self) {
        self.push(self.style.close);
    }

    pub(crate) fn int(&mut self, value: u64) -> &mut Self {
        self.separate();
        push_decimal(value as i64, self.out);
        self
    }

    /// Appends a number that `write` appends.
    pub(crate) fn number(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.separate();
        write(self.out);
        self
    }

    /// Appends a text that `write` appends.
    pub(crate) fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.separate();
        self.push(self.style.quote);
        write(self.out);
        self.push(self.style.quote);
        self
    }

    pub(crate) fn null(&mut self) -> &mut Self {
        self.separate();
        self.push(self.style.null);
        self
    }

    fn separate(&mut self) {
        if self.values > 0 {
            self.push(self.style.separator);
        }
        self.values += 1;
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}
