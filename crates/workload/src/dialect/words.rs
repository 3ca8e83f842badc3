//! Words of SQL that families write in ways of their own, as signs in the text of built-in statements and tables.

use super::Dialect;

/// A word that families write in ways of their own.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The type of a column of small numbers.
    TinyInt,
    /// The type of a date with the time of day.
    DateTime,
    /// Behind a column whose values the server counts up; with the space before it.
    Identity,
    /// The time of the statement.
    Now,
    /// A parameter in hundredths, as an exact number.
    Hundredths,
}

/// How built-in texts write them.
const SIGNS: [(&str, Word); 5] = [
    ("{tinyint}", Word::TinyInt),
    ("{datetime}", Word::DateTime),
    ("{identity}", Word::Identity),
    ("{now}", Word::Now),
    ("{hundredths}", Word::Hundredths),
];

/// A built-in text in a dialect. Signs that are no words stay.
pub(crate) fn spelled(text: &str, dialect: &dyn Dialect) -> String {
    SIGNS.iter().fold(text.to_owned(), |text, (sign, word)| text.replace(sign, dialect.word(*word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::usual_dialect;

    #[test]
    fn each_sign_becomes_the_dialects_word_and_others_stay() {
        for (sign, word) in SIGNS {
            let text = format!("a {sign}, b{{table}} {sign}");
            let written = usual_dialect().word(word);
            assert_eq!(
                spelled(&text, usual_dialect()),
                format!("a {written}, b{{table}} {written}")
            );
        }
    }
}
