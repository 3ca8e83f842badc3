//! How `--debug` shows a command with a backslash that is executed.

use super::script::{logical_line, number_at, words_of};

/// A command with a backslash as pgbench says that it executes it: its words, but no expression.
pub(super) fn executed(text: &str) -> String {
    let (line, _) = logical_line(text.trim_start_matches('\\'));
    let mut words: Vec<&str> = words_of(&line, 0).into_iter().map(|(_, word)| word).collect();
    match words.first().map(|name| name.to_ascii_lowercase()).as_deref() {
        Some("set") => words.truncate(2),
        Some("if" | "elif") => words.truncate(1),
        Some("sleep") => words.extend(joined_unit(&words)),
        _ => {}
    }
    format!("\\{}", words.join(" "))
}

/// The unit of a `\sleep` that is in one word with its number: pgbench also shows it as a word.
fn joined_unit<'a>(words: &[&'a str]) -> Option<&'a str> {
    let &[_, time] = words else { return None };
    let (_, unit) = number_at(time);
    Some(unit).filter(|unit| !unit.is_empty() && !time.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_by_its_words_when_it_is_executed() {
        for (text, shown) in [
            ("\\set  total \\\n 1 + 2", "\\set total"),
            ("\\if :a > 1", "\\if"),
            ("\\endif", "\\endif"),
            ("\\sleep  10   ms", "\\sleep 10 ms"),
            ("\\sleep 10ms", "\\sleep 10ms ms"),
            ("\\sleep :a", "\\sleep :a"),
            ("\\setshell a echo :b", "\\setshell a echo :b"),
        ] {
            assert_eq!(executed(text), shown);
        }
    }
}
