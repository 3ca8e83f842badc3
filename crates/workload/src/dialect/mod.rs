//! Dialects: where the SQL of the families of servers differs.
//!
//! A workload, a layout and a row are the same on every server; a [`Dialect`] says how they are
//! written, when a plan is read and once for each kind of statement. During an event it is only
//! asked about texts that are not plain and about infinite or NaN numbers. SQL that all families
//! share is written where it is used: `BEGIN`, `COMMIT`, `ROLLBACK`, `LIMIT`, `FOR UPDATE`,
//! `INTEGER`, `CHAR(n)`, `DECIMAL(p, s)`.
//!
//! To add a family: write its [`Dialect`] next to the others, and list it in
//! [`DIALECTS`].

mod contract;
mod mysql;
mod postgres;
mod words;

pub(crate) use contract::spelled;
pub use contract::{BinaryRows, Dialect, ForeignKey, LateKey, NewTable, Notation, Punctuation};
pub use mysql::MySql;
pub use postgres::PostgreSql;
pub use words::Word;

/// All dialects. The first one is for plans that name no family.
static DIALECTS: [&dyn Dialect; 2] = [&MySql, &PostgreSql];

/// The dialect of a family; `None` if there is none.
#[must_use]
pub fn dialect_of(family: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.family() == family)
}

/// The families that have a dialect.
pub fn families() -> impl Iterator<Item = &'static str> {
    DIALECTS.into_iter().map(Dialect::family)
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
