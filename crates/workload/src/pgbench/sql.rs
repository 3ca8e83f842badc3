//! Finds the end of a statement as psql does: neither quotes nor comments nor parentheses end one.
//!
//! <https://www.postgresql.org/docs/current/sql-syntax-lexical.html>

/// What ends a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Semicolon,
    /// A backslash, behind which a command's name stands.
    Backslash,
    /// The end of the text.
    Text,
}

/// A statement, perhaps an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Without what ends it; comments before it are left out.
    pub(super) text: String,
    /// How many bytes were read, with what ends it.
    pub(super) used: usize,
    pub(super) end: End,
}

/// The next statement of a script.
pub(super) fn next_statement(text: &str) -> Found {
    let routine = Routine::default();
    let mut scan = Scan { text, at: 0, out: String::new(), depth: 0, routine };
    let end = scan.run();
    Found { text: scan.out, used: scan.at, end }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// Of parentheses.
    depth: usize,
    routine: Routine,
}

/// Whether the statement makes a routine, whose body `BEGIN ATOMIC … END` has semicolons of its own.
///
/// <https://www.postgresql.org/docs/current/sql-createfunction.html>
#[derive(Debug, Default)]
struct Routine {
    /// The number of words so far.
    words: usize,
    head: Head,
    /// Of BEGIN and CASE, each of which has its END.
    depth: usize,
}

/// What the first words of a statement are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Head {
    #[default]
    Nothing,
    /// CREATE, perhaps with OR REPLACE.
    Create,
    Routine,
    Other,
}

impl Routine {
    /// Takes the next word. `is_outside`: it is in no parentheses.
    fn word(&mut self, word: &str, is_outside: bool) {
        self.words += 1;
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        self.head = match (self.head, self.words) {
            (Head::Nothing, _) if is("create") => Head::Create,
            (Head::Create, 2) if is("or") => Head::Create,
            (Head::Create, 3) if is("replace") => Head::Create,
            (Head::Create, _) if is("function") || is("procedure") => Head::Routine,
            (Head::Routine, _) => Head::Routine,
            _ => Head::Other,
        };
        if self.head != Head::Routine || !is_outside {
            return;
        }
        if is("begin") || is("case") && self.depth > 0 {
            self.depth += 1;
        } else if is("end") {
            self.depth = self.depth.saturating_sub(1);
        }
    }
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Takes this many bytes as they stand.
    fn take(&mut self, length: usize) {
        self.out.push_str(&self.text[self.at..self.at + length]);
        self.at += length;
    }

    fn run(&mut self) -> End {
        while let Some(sign) = self.rest().chars().next() {
            match sign {
                ';' if self.depth == 0 && self.routine.depth == 0 => {
                    self.at += 1;
                    return End::Semicolon;
                }
                '\\' => match self.rest().as_bytes().get(1) {
                    // A semicolon that separates statements of one text, and a colon that is no
                    // variable's.
                    Some(b';' | b':') => {
                        self.at += 1;
                        self.take(1);
                    }
                    _ => {
                        self.at += 1;
                        return End::Backslash;
                    }
                },
                '\'' => self.quoted('\'', self.has_escapes()),
                '"' => self.quoted('"', false),
                '$' => self.dollar(),
                '-' if self.rest().starts_with("--") => self.line_comment(),
                '/' if self.rest().starts_with("/*") => self.take(comment_length(self.rest())),
                '(' => {
                    self.depth += 1;
                    self.take(1);
                }
                ')' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.take(1);
                }
                letter if letter.is_alphabetic() || letter == '_' => self.word(),
                other => self.take(other.len_utf8()),
            }
        }
        End::Text
    }

    fn word(&mut self) {
        let rest = &self.text[self.at..];
        let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '$';
        let length = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
        self.routine.word(&rest[..length], self.depth == 0);
        self.take(length);
    }

    /// Whether the quote that comes next is that of an E'' string.
    fn has_escapes(&self) -> bool {
        let mut before = self.out.chars().rev();
        let is_letter = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '$';
        matches!(before.next(), Some('e' | 'E')) && !before.next().is_some_and(is_letter)
    }

    fn quoted(&mut self, quote: char, has_escapes: bool) {
        let mut length = quote.len_utf8();
        let mut signs = self.rest()[length..].chars();
        // A doubled quote ends one string and begins another, which comes to the same.
        while let Some(sign) = signs.next() {
            length += sign.len_utf8();
            if sign == '\\' && has_escapes {
                length += signs.next().map_or(0, char::len_utf8);
            } else if sign == quote {
                break;
            }
        }
        self.take(length);
    }

    /// `$tag$ … $tag$`; any other dollar sign is a part of a name or of a parameter.
    fn dollar(&mut self) {
        let rest = self.rest();
        let is_tag = |sign: char| sign.is_alphanumeric() || sign == '_';
        let tag = rest[1..].find(|sign: char| !is_tag(sign)).filter(|end| {
            rest[1 + end..].starts_with('$')
                && !rest[1..].starts_with(|first: char| first.is_ascii_digit())
        });
        let within_name = self.out.ends_with(is_tag);
        let length = match tag.filter(|_| !within_name) {
            None => 1,
            Some(end) => {
                let tag = &rest[..end + 2];
                rest[tag.len()..].find(tag).map_or(rest.len(), |inside| inside + 2 * tag.len())
            }
        };
        self.take(length);
    }

    /// A comment inside of a statement stays; before one it is left out.
    fn line_comment(&mut self) {
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        if self.out.trim().is_empty() {
            self.at += length;
        } else {
            self.take(length);
        }
    }
}

/// The length of a comment, in which others may stand.
fn comment_length(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (String, End, &str) {
        let Found { text: sql, used, end } = next_statement(text);
        (sql, end, &text[used..])
    }

    #[test]
    fn a_semicolon_ends_a_statement_unless_it_is_within_something() {
        for sql in [
            "SELECT ';'",
            "SELECT 'it''s;'",
            r"SELECT E'\';'",
            r"SELECT 'a\'",
            "SELECT \"a;b\"",
            "SELECT $$;$$, $t$;$$;$t$",
            "SELECT (1;2)",
            "SELECT 1 -- not here;\n + 1",
            "SELECT /* nor; /* here; */ ; */ 1",
            "SELECT $1, a$b$c",
            "SELECT 'ü;'",
        ] {
            let text = format!("{sql}; rest");
            assert_eq!(found(&text), (sql.to_owned(), End::Semicolon, " rest"), "{sql}");
        }
    }

    #[test]
    fn a_backslash_ends_one_unless_it_stands_before_a_semicolon_or_a_colon() {
        assert_eq!(found(r"SELECT 1 \gset"), ("SELECT 1 ".to_owned(), End::Backslash, "gset"));
        let both = found(r"SELECT 1 \; SELECT \:a; x");
        assert_eq!(both, ("SELECT 1 ; SELECT :a".to_owned(), End::Semicolon, " x"));
    }

    #[test]
    fn comments_before_a_statement_are_left_out() {
        assert_eq!(found("-- a; b\n SELECT 1;"), ("\n SELECT 1".to_owned(), End::Semicolon, ""));
        assert_eq!(found("-- only this"), (String::new(), End::Text, ""));
    }

    #[test]
    fn what_is_never_closed_goes_to_the_end() {
        for text in ["SELECT 'a;", "SELECT $$a;", "/* a;", "SELECT \"a;"] {
            assert_eq!(found(text).1, End::Text, "{text}");
        }
    }

    #[test]
    fn the_body_of_a_routine_is_a_part_of_its_statement() {
        let body = "BEGIN ATOMIC SELECT CASE WHEN true THEN 1 ELSE 2 END; SELECT 3; END";
        for head in ["CREATE FUNCTION f() RETURNS int", "create or replace procedure p()"] {
            let made = format!("{head} {body}");
            let found = next_statement(&format!("{made}; SELECT 4;"));
            assert_eq!((found.text.as_str(), found.end), (made.as_str(), End::Semicolon));
        }
        for other in ["BEGIN", "CREATE TABLE begin (a int)", "SELECT 1 AS begin", "x$begin$y"] {
            assert_eq!(next_statement(&format!("{other}; END;")).text, other);
        }
    }
}
