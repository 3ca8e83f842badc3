//! Dialects: what the families of servers do not write alike in SQL.
//!
//! A workload, a layout and a row are the same on every server; how they are written is asked of a [`Dialect`], when a
//! plan is read and once for each kind of statement. Of what is written for each event only a text that is not plain
//! and a number that is none ask it. What all families share stands where it is used: `BEGIN`, `COMMIT`, `ROLLBACK`,
//! `LIMIT`, `FOR UPDATE`, `INTEGER`, `CHAR(n)`, `DECIMAL(p, s)`.
//!
//! To add a family: write its [`Dialect`] in a folder of its own beside `mysql`, and name it in [`DIALECTS`].

mod contract;
mod mysql;
mod words;

pub(crate) use contract::spelled;
pub use contract::{Dialect, NewTable, Notation, Punctuation};
pub use mysql::MySql;
pub use words::Word;

/// All that there are. The first one is that of plans which name no family.
static DIALECTS: [&dyn Dialect; 1] = [&MySql];

/// The dialect of a family; `None` where nobody has written it.
#[must_use]
pub fn dialect_of(family: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.family() == family)
}

/// The dialect of plans that name no family.
#[must_use]
pub fn usual_dialect() -> &'static dyn Dialect {
    DIALECTS[0]
}

#[cfg(test)]
mod tests {
    use super::words::SIGNS;
    use super::*;

    #[test]
    fn a_dialect_is_found_by_its_family_and_by_no_other_name() {
        for dialect in DIALECTS {
            assert_eq!(dialect_of(dialect.family()), Some(dialect));
        }
        assert_eq!(dialect_of("mysql"), Some(usual_dialect()));
        assert!(dialect_of("").is_none() && dialect_of("MySQL").is_none());
    }

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
