//! Reads a script: SQL up to its semicolon, and commands behind a backslash up to the end of the
//! line.
//!
//! <https://www.postgresql.org/docs/current/pgbench.html#id-1.9.4.11.9.3>

use super::expression::Expression;
use super::parser::ParseError;
use super::sql::{End, Found, next_statement};
use super::variables::Names;
use serde::Serialize;

/// A script, as the commands of its transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// One after the other, but for the jumps.
    pub commands: Vec<Command>,
    /// Its text, as pgbench lists it.
    pub listing: Vec<Listed>,
}

/// A statement or a command with a backslash, as pgbench lists it with `-r`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// From 0, in the order of the text.
    pub number: u16,
    /// Where it begins in the file, from 1.
    pub line: usize,
    /// The first line of a statement; the whole of a command, which a backslash at the end of a line
    /// continues.
    pub text: String,
}

/// A command and its line in the file, from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// What it does.
    pub what: What,
    /// Where it begins.
    pub line: usize,
    /// Its number in the script's listing; one there may be several here, or none.
    pub number: u16,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A statement for the server.
    Sql {
        /// Its text, and the variables in it.
        pieces: Vec<SqlPiece>,
        /// What its rows are kept for.
        keeps: Option<Keeps>,
    },
    /// `\set`
    Set {
        /// The variable's place.
        variable: u16,
        /// Its new value.
        value: Expression,
    },
    /// `\sleep`
    Sleep {
        /// How long, in units.
        amount: Amount,
        /// The unit, in microseconds.
        unit_us: u64,
    },
    /// `\if`, `\elif`: goes on there if the condition is not true.
    JumpUnless(Expression, usize),
    /// The end of a branch: goes on behind `\endif`.
    Jump(usize),
    /// `\shell` and `\setshell`: a program, with its words.
    Shell {
        /// The variable that takes the first line that it prints.
        variable: Option<u16>,
        /// The program and what it is given.
        words: Vec<SqlPiece>,
    },
    /// `\startpipeline`
    StartPipeline,
    /// `\syncpipeline`
    SyncPipeline,
    /// `\endpipeline`
    EndPipeline,
}

/// A part of a statement, or a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlPiece {
    /// As it stands.
    Text(String),
    /// The variable at this place.
    Variable(u16),
}

/// Rows that become variables, named like their columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeps {
    /// What stands before the columns' names.
    pub prefix: String,
    /// `\aset`: the last row of each statement counts, and none is no error.
    pub is_all: bool,
}

/// How long `\sleep` lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So long.
    Fixed(u64),
    /// As the variable at this place says.
    Variable(u16),
}

/// Why a text is no script: the line, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ScriptError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// A branch that is not ended yet.
struct Open {
    line: usize,
    /// The jump that its last condition takes; `None`: `\else` was there.
    unless: Option<usize>,
    /// The jumps from the ends of its branches.
    ends: Vec<usize>,
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    names: &'a mut Names,
    commands: Vec<Command>,
    listing: Vec<Listed>,
    open: Vec<Open>,
}

impl Script {
    /// Reads a script; variables get their places in `names`.
    pub fn parse(text: &str, names: &mut Names) -> Result<Self, ScriptError> {
        let (commands, listing, open) = (Vec::new(), Vec::new(), Vec::new());
        let mut reader = Reader { rest: text, line: 1, names, commands, listing, open };
        while !reader.rest.is_empty() {
            reader.next()?;
        }
        match reader.open.last() {
            None => Ok(Self { commands: reader.commands, listing: reader.listing }),
            Some(open) => {
                Err(ScriptError { line: open.line, why: "\\if without \\endif".to_owned() })
            }
        }
    }
}

/// What a script consists of, as pgbench lists it with `-r`.
///
/// # Errors
/// The text is no script.
pub fn listing(text: &str) -> Result<Vec<Listed>, ScriptError> {
    Script::parse(text, &mut Names::default()).map(|script| script.listing)
}

impl Reader<'_> {
    fn wrong(&self, why: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, why: why.into() }
    }

    fn add(&mut self, what: What, line: usize) {
        let number = self.listing.last().map_or(0, |listed| listed.number);
        self.commands.push(Command { what, line, number });
    }

    /// What was just read has the next number.
    fn list(&mut self, line: usize, text: String) -> Result<(), ScriptError> {
        let number =
            u16::try_from(self.listing.len()).map_err(|_| self.wrong("too many commands"))?;
        self.listing.push(Listed { number, line, text });
        Ok(())
    }

    /// Reads up to the end of a statement, and the command that ends it, if one does.
    fn next(&mut self) -> Result<(), ScriptError> {
        let found = next_statement(self.rest);
        let skipped = found.text.len() - found.text.trim_start().len();
        let line = self.line + lines(&found.text[..skipped]);
        self.line += lines(&self.rest[..found.used]);
        self.rest = &self.rest[found.used..];
        let text = found.text.trim();
        if !text.is_empty() {
            let pieces = self.pieces(text)?;
            self.list(line, first_line(&found))?;
            self.add(What::Sql { pieces, keeps: None }, line);
        }
        match found.end {
            End::Semicolon | End::Text => Ok(()),
            End::Backslash => self.command(!text.is_empty()),
        }
    }

    /// A name behind a colon is a variable, wherever it stands; two colons are none.
    fn pieces(&mut self, text: &str) -> Result<Vec<SqlPiece>, ScriptError> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(colon) = rest.find(':') {
            let behind = &rest[colon..];
            let colons = behind.bytes().take_while(|byte| *byte == b':').count();
            let name = name_at(&behind[1..]);
            if colons > 1 || name.is_empty() {
                plain.push_str(&rest[..colon + colons]);
                rest = &rest[colon + colons..];
                continue;
            }
            plain.push_str(&rest[..colon]);
            if !plain.is_empty() {
                pieces.push(SqlPiece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(SqlPiece::Variable(self.place(name)?));
            rest = &behind[1 + name.len()..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(SqlPiece::Text(plain));
        }
        Ok(pieces)
    }

    fn place(&mut self, name: &str) -> Result<u16, ScriptError> {
        self.names.place(name).ok_or_else(|| self.wrong("too many variables"))
    }

    fn expression(&mut self, text: &str) -> Result<Expression, ScriptError> {
        Expression::parse(text, self.names)
            .map_err(|error: ParseError| self.wrong(error.to_string()))
    }

    /// The command whose backslash was just read. `ends_sql`: a statement stands right before it.
    fn command(&mut self, ends_sql: bool) -> Result<(), ScriptError> {
        let (whole, used) = logical_line(self.rest);
        let line = self.line;
        if !matches!(whole.split_whitespace().next(), Some("gset" | "aset")) {
            self.list(line, format!("\\{}", self.rest[..used].trim_end()))?;
        }
        let (name, given) = whole.split_once(char::is_whitespace).unwrap_or((&whole, ""));
        let words: Vec<&str> = given.split_whitespace().collect();
        match name {
            "set" => self.set(given, line)?,
            "sleep" => self.sleep(&words, line)?,
            "if" => {
                let condition = self.expression(given)?;
                self.open.push(Open { line, unless: Some(self.commands.len()), ends: Vec::new() });
                self.add(What::JumpUnless(condition, 0), line);
            }
            "elif" => {
                let condition = self.expression(given)?;
                self.end_branch("elif", line)?;
                let at = self.commands.len();
                self.add(What::JumpUnless(condition, 0), line);
                if let Some(open) = self.open.last_mut() {
                    open.unless = Some(at);
                }
            }
            "else" => self.end_branch("else", line)?,
            "endif" => self.end_if()?,
            "gset" | "aset" => self.keep(name, &words, ends_sql)?,
            "shell" => self.shell(None, &words, line)?,
            "setshell" => match words.split_first() {
                Some((variable, program)) => {
                    let variable = self.variable(variable)?;
                    self.shell(Some(variable), program, line)?;
                }
                None => return Err(self.wrong("\\setshell needs a variable and a program")),
            },
            "startpipeline" => self.add(What::StartPipeline, line),
            "syncpipeline" => self.add(What::SyncPipeline, line),
            "endpipeline" => self.add(What::EndPipeline, line),
            _ => return Err(self.wrong(format!("there is no command \\{name}"))),
        }
        self.line += lines(&self.rest[..used]);
        self.rest = &self.rest[used..];
        Ok(())
    }

    fn set(&mut self, given: &str, line: usize) -> Result<(), ScriptError> {
        let given = given.trim_start();
        let Some((name, value)) = given.split_once(char::is_whitespace) else {
            return Err(self.wrong("\\set needs a variable and an expression"));
        };
        let (variable, value) = (self.variable(name)?, self.expression(value)?);
        self.add(What::Set { variable, value }, line);
        Ok(())
    }

    /// The place of a variable that is named to be set.
    fn variable(&mut self, name: &str) -> Result<u16, ScriptError> {
        match name_at(name) {
            whole if whole == name && !name.is_empty() => self.place(name),
            _ => Err(self.wrong(format!("\"{name}\" is no name of a variable"))),
        }
    }

    fn sleep(&mut self, words: &[&str], line: usize) -> Result<(), ScriptError> {
        let (amount, unit) = match words {
            [amount] => (*amount, "s"),
            [amount, unit] => (*amount, *unit),
            _ => return Err(self.wrong("\\sleep needs a number, and us, ms or s")),
        };
        let unit_us = match unit.to_ascii_lowercase().as_str() {
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            _ => return Err(self.wrong(format!("\"{unit}\" is not us, ms or s"))),
        };
        let amount = match amount.strip_prefix(':') {
            Some(name) => Amount::Variable(self.variable(name)?),
            None => match amount.parse() {
                Ok(number) => Amount::Fixed(number),
                Err(_) => return Err(self.wrong(format!("\"{amount}\" is no time to sleep"))),
            },
        };
        self.add(What::Sleep { amount, unit_us }, line);
        Ok(())
    }

    /// The branch before `\elif` or `\else` ends: what comes next is where its condition jumps to.
    fn end_branch(&mut self, name: &str, line: usize) -> Result<(), ScriptError> {
        let Some(mut open) = self.open.pop() else {
            return Err(self.wrong(format!("\\{name} without \\if")));
        };
        let Some(unless) = open.unless.take() else {
            return Err(self.wrong(format!("\\{name} behind \\else")));
        };
        open.ends.push(self.commands.len());
        self.add(What::Jump(0), line);
        self.jump_here(unless);
        self.open.push(open);
        Ok(())
    }

    fn end_if(&mut self) -> Result<(), ScriptError> {
        let Some(open) = self.open.pop() else { return Err(self.wrong("\\endif without \\if")) };
        for jump in open.ends.into_iter().chain(open.unless) {
            self.jump_here(jump);
        }
        Ok(())
    }

    fn jump_here(&mut self, jump: usize) {
        let here = self.commands.len();
        if let Some(Command { what: What::Jump(to) | What::JumpUnless(_, to), .. }) =
            self.commands.get_mut(jump)
        {
            *to = here;
        }
    }

    fn keep(&mut self, name: &str, words: &[&str], ends_sql: bool) -> Result<(), ScriptError> {
        let prefix = match words {
            [] => String::new(),
            [prefix] => (*prefix).to_owned(),
            _ => return Err(self.wrong(format!("\\{name} has one prefix at most"))),
        };
        let is_all = name == "aset";
        match self.commands.last_mut() {
            Some(Command { what: What::Sql { keeps, .. }, .. }) if ends_sql => {
                *keeps = Some(Keeps { prefix, is_all });
                Ok(())
            }
            _ => Err(self.wrong(format!("\\{name} ends a statement, and there is none before it"))),
        }
    }

    fn shell(
        &mut self,
        variable: Option<u16>,
        words: &[&str],
        line: usize,
    ) -> Result<(), ScriptError> {
        if words.is_empty() {
            return Err(self.wrong("\\shell and \\setshell need a program"));
        }
        let mut found = Vec::new();
        for word in words {
            // Two colons in front are one that is meant.
            found.push(match (word.strip_prefix("::"), word.strip_prefix(':')) {
                (Some(rest), _) => SqlPiece::Text(format!(":{rest}")),
                (None, Some(name)) => SqlPiece::Variable(self.variable(name)?),
                (None, None) => SqlPiece::Text((*word).to_owned()),
            });
        }
        self.add(What::Shell { variable, words: found }, line);
        Ok(())
    }
}

/// The name of a variable at the start of a text, or nothing.
fn name_at(text: &str) -> &str {
    let is_end = |sign: char| sign.is_ascii() && !sign.is_ascii_alphanumeric() && sign != '_';
    text.split(is_end).next().unwrap_or_default()
}

/// The first line of a statement, with its semicolon if that ends it.
fn first_line(found: &Found) -> String {
    let text = found.text.trim_start();
    match text.split_once('\n') {
        Some((first, _)) => first.to_owned(),
        None if found.end == End::Semicolon => format!("{text};"),
        None => text.to_owned(),
    }
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The rest of the line, which goes on where it ends with a backslash, and how many bytes it has.
fn logical_line(text: &str) -> (String, usize) {
    let (mut whole, mut used) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        used += line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        match bare.strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                whole.push(' ');
            }
            None => {
                whole.push_str(bare);
                break;
            }
        }
    }
    (whole, used)
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::*;

    fn parsed(text: &str) -> (Vec<Command>, Names) {
        let mut names = Names::default();
        let script = Script::parse(text, &mut names).expect(text);
        (script.commands, names)
    }

    fn wrong(text: &str) -> String {
        Script::parse(text, &mut Names::default()).unwrap_err().to_string()
    }

    fn sql(text: &str) -> What {
        What::Sql { pieces: vec![SqlPiece::Text(text.to_owned())], keeps: None }
    }

    #[test]
    fn statements_and_commands_take_turns() {
        let text = "-- as the manual has it\n\\set id random(1, 10 * :scale)\nBEGIN;\n\
                    SELECT a::int, ';' FROM t\n  WHERE id = :id;\nEND;\n";
        let (commands, names) = parsed(text);
        let lines: Vec<usize> = commands.iter().map(|command| command.line).collect();
        assert_eq!(lines, [2, 3, 4, 6]);
        assert_eq!(commands[1].what, sql("BEGIN"));
        let What::Sql { pieces, .. } = &commands[2].what else { panic!() };
        let [SqlPiece::Text(text), SqlPiece::Variable(id)] = &pieces[..] else {
            panic!("{pieces:?}")
        };
        assert_eq!(
            (text.as_str(), names.name(*id)),
            ("SELECT a::int, ';' FROM t\n  WHERE id = ", "id")
        );
    }

    #[test]
    fn the_listing_is_pgbenchs() {
        let text = "-- a comment\n\\set a random(1, 1000)\n\\set b :a + \\\n   2\n\
                    SELECT :a,\n   :b;\n\\if :a > 500\nSELECT 1 AS one \\gset p_\n\
                    \\elif :a > 200\nSELECT 2 \\; SELECT 3;\n\\else\n  \\sleep 1 ms\n\
                    SELECT 4;\n\\endif\nBEGIN;\nEND";
        let script = Script::parse(text, &mut Names::default()).expect("a script");
        let listed: Vec<&str> = script.listing.iter().map(|one| &one.text[..]).collect();
        // As pgbench 15 prints it with -r.
        let expected = [
            "\\set a random(1, 1000)",
            "\\set b :a + \\\n   2",
            "SELECT :a,",
            "\\if :a > 500",
            "SELECT 1 AS one ",
            "\\elif :a > 200",
            "SELECT 2 ; SELECT 3;",
            "\\else",
            "\\sleep 1 ms",
            "SELECT 4;",
            "\\endif",
            "BEGIN;",
            "END",
        ];
        assert_eq!(listed, expected);
        let places: Vec<(u16, usize)> =
            script.listing.iter().map(|one| (one.number, one.line)).collect();
        assert_eq!((places[1], places[3], places[12]), ((1, 3), (3, 7), (12, 16)));
        let numbers: Vec<u16> = script.commands.iter().map(|command| command.number).collect();
        // \\elif ends a branch and begins one, and \\endif does nothing.
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 11, 12]);
    }

    #[test]
    fn branches_are_jumps() {
        let text =
            "\\if :a\nSELECT 1;\n\\elif :b\nSELECT 2;\n\\else\nSELECT 3;\n\\endif\nSELECT 4;";
        let jumps: Vec<Option<usize>> = parsed(text)
            .0
            .iter()
            .map(|command| match command.what {
                What::Jump(to) | What::JumpUnless(_, to) => Some(to),
                _ => None,
            })
            .collect();
        // if, 1, jump, elif, 2, jump, 3, 4
        assert_eq!(jumps, [Some(3), None, Some(7), Some(6), None, Some(7), None, None]);
    }

    #[test]
    fn rows_are_kept_by_the_command_that_ends_their_statement() {
        let (commands, _) =
            parsed("SELECT 1 AS one \\gset p_\nSELECT 2 AS two \\; SELECT 3 \\aset");
        let keeps: Vec<_> = commands
            .iter()
            .map(|command| match &command.what {
                What::Sql { keeps: Some(keeps), .. } => (keeps.prefix.as_str(), keeps.is_all),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(keeps, [("p_", false), ("", true)]);
    }

    #[test]
    fn a_command_goes_on_behind_a_backslash_at_its_lines_end() {
        let (commands, _) = parsed("\\set a 1 + \\\n  2\nSELECT 1;");
        assert!(matches!(&commands[0].what, What::Set { value: Expression::Call(..), .. }));
        assert_eq!(commands[1].line, 3);
    }

    #[test]
    fn times_have_units_and_may_be_a_variables() {
        let (commands, _) = parsed("\\sleep 10 ms\n\\sleep :a us\n\\sleep 2");
        let expected = [
            What::Sleep { amount: Amount::Fixed(10), unit_us: 1_000 },
            What::Sleep { amount: Amount::Variable(0), unit_us: 1 },
            What::Sleep { amount: Amount::Fixed(2), unit_us: 1_000_000 },
        ];
        assert!(commands.iter().map(|command| &command.what).eq(&expected));
    }

    #[test]
    fn programs_are_words_of_which_some_are_variables() {
        let (commands, _) = parsed("\\setshell v echo :a ::b c");
        let text = |text: &str| SqlPiece::Text(text.to_owned());
        let words = vec![text("echo"), SqlPiece::Variable(1), text(":b"), text("c")];
        assert_eq!(commands[0].what, What::Shell { variable: Some(0), words });
    }

    #[test]
    fn mistakes_have_their_lines() {
        for (text, expected) in [
            ("SELECT 1;\n\\nope", "line 2: there is no command \\nope"),
            ("\\set a", "line 1: \\set needs a variable and an expression"),
            ("\\set a-b 1", "line 1: \"a-b\" is no name of a variable"),
            ("\n\\set a 1 +", "line 2: the end stands where a value is expected"),
            ("\\if true\nSELECT 1;", "line 1: \\if without \\endif"),
            ("\\else", "line 1: \\else without \\if"),
            ("\\if 1\n\\else\n\\elif 2\n\\endif", "line 3: \\elif behind \\else"),
            ("\\endif", "line 1: \\endif without \\if"),
            ("\\sleep 1 min", "line 1: \"min\" is not us, ms or s"),
            ("\\set a 1\n\\gset", "line 2: \\gset ends a statement, and there is none before it"),
        ] {
            assert_eq!(wrong(text), expected);
        }
    }

    #[test]
    fn a_condition_is_any_value() {
        let (commands, _) = parsed("\\if null\n\\endif");
        let constant = Expression::Constant(Value::Null);
        assert_eq!(commands[0].what, What::JumpUnless(constant, 1));
    }
}
