//! Variables of a script: their names, shared by all users, and each user's values.

use super::value::{EvalError, Value};
use std::collections::HashMap;

/// The names of variables, each with a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    places: HashMap<String, u16>,
    names: Vec<String>,
}

impl Names {
    /// The place of this name; a new one, if it has none yet. `None`: there are too many.
    pub fn place(&mut self, name: &str) -> Option<u16> {
        if let Some(&place) = self.places.get(name) {
            return Some(place);
        }
        let place = u16::try_from(self.names.len()).ok()?;
        self.places.insert(name.to_owned(), place);
        self.names.push(name.to_owned());
        Some(place)
    }

    /// The place of this name, if it has one.
    #[must_use]
    pub fn known(&self, name: &str) -> Option<u16> {
        self.places.get(name).copied()
    }

    /// The name at this place.
    #[must_use]
    pub fn name(&self, place: u16) -> &str {
        self.names.get(usize::from(place)).map_or("", String::as_str)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// What a variable holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The value of an expression.
    Value(Value),
    /// A text, of the command line or of a row: as a value it is what it looks like.
    Text(Vec<u8>),
}

impl Content {
    /// Its text.
    pub(super) fn text(&self) -> String {
        let mut out = Vec::new();
        match self {
            Self::Value(value) => value.push_text(&mut out),
            Self::Text(text) => out.extend_from_slice(text),
        }
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// One user's variables, by the places of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables(Vec<Option<Content>>);

impl Variables {
    /// What the variable at this place holds; `None`: nothing.
    #[must_use]
    pub fn get(&self, place: u16) -> Option<&Content> {
        self.0.get(usize::from(place))?.as_ref()
    }

    /// Gives a variable another content.
    pub fn set(&mut self, place: u16, content: Content) {
        let place = usize::from(place);
        if self.0.len() <= place {
            self.0.resize(place + 1, None);
        }
        self.0[place] = Some(content);
    }

    /// A variable's value.
    pub(super) fn value(&self, place: u16, names: &Names) -> Result<Value, EvalError> {
        match self.get(place) {
            Some(Content::Value(value)) => Ok(*value),
            Some(Content::Text(text)) => {
                let text = String::from_utf8_lossy(text);
                Value::of_text(&text).ok_or_else(|| match Value::is_integer(&text) {
                    true => EvalError::TooLarge(text.clone().into_owned()),
                    false => EvalError::Malformed(
                        names.name(place).to_owned(),
                        text.clone().into_owned(),
                    ),
                })
            }
            None => Err(EvalError::Undefined(names.name(place).to_owned())),
        }
    }
}
