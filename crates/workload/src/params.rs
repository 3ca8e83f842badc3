//! The parameters of the statement that is about to be sent.

use loadstone_protocol::Param;

/// Parameters of the statement about to be sent. One is kept and reused, so that an event allocates
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Params {
    values: Vec<Value>,
    /// All texts, concatenated.
    text: Vec<u8>,
}

#[derive(Copy, Clone, Debug)]
enum Value {
    Null,
    Int(i64),
    Double(f64),
    /// Its position in `text`.
    Text {
        start: usize,
        end: usize,
    },
}

impl Params {
    /// No parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all, keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.text.clear();
    }

    /// The number of parameters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Appends NULL.
    pub fn push_null(&mut self) {
        self.values.push(Value::Null);
    }

    /// Appends an integer.
    #[inline]
    pub fn push_int(&mut self, value: i64) {
        self.values.push(Value::Int(value));
    }

    /// Appends a floating-point number.
    pub fn push_double(&mut self, value: f64) {
        self.values.push(Value::Double(value));
    }

    /// Appends a text.
    pub fn push_text(&mut self, text: impl AsRef<[u8]>) {
        self.text_with(|out| out.extend_from_slice(text.as_ref()));
    }

    /// Appends the text that `write` appends to its buffer.
    #[inline]
    pub fn text_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        write(&mut self.text);
        self.values.push(Value::Text { start, end: self.text.len() });
    }

    /// In the order of the statement's placeholders.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Param<'_>> + Clone {
        self.values.iter().map(|value| match *value {
            Value::Null => Param::Null,
            Value::Int(value) => Param::Int(value),
            Value::Double(value) => Param::Double(value),
            Value::Text { start, end } => Param::Text(&self.text[start..end]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_order() {
        let mut params = Params::new();
        params.push_text("stale");
        params.clear();
        params.push_int(7);
        params.push_text("one");
        params.push_null();
        params.text_with(|out| out.extend_from_slice(b"two"));
        params.push_double(0.5);
        let seen: Vec<_> = params.iter().map(|param| format!("{param:?}")).collect();
        let expected = [
            Param::Int(7),
            Param::Text(b"one"),
            Param::Null,
            Param::Text(b"two"),
            Param::Double(0.5),
        ];
        assert_eq!(seen, expected.map(|param| format!("{param:?}")));
    }
}
