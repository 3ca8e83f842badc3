//! Reads a script: SQL up to its semicolon, and commands behind a backslash up to the end of the
//! line.
//!
//! <https://www.postgresql.org/docs/current/pgbench.html#id-1.9.4.11.9.3>

use super::expression::Expression;
use super::parser::ParseError;
use super::sql::{End, Found, next_statement};
use super::value::Value;
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
    /// `\set` of what can be no variable: that is refused when it is run.
    SetNothing {
        /// What should have been a variable.
        name: String,
        /// Its value, which is computed first.
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
    /// The end of a branch, at `\elif`, `\else` or `\endif`: goes on behind `\endif`.
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

/// Why a text is no script: the place, and what is wrong there in pgbench's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct ScriptError {
    /// Where.
    pub place: ErrorPlace,
    /// What is wrong; the text of a command and a mark below it may follow in lines of their own.
    pub why: String,
}

/// Where a script is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPlace {
    /// In this line, from 1.
    Line(usize),
    /// Where this command is or should be, from 1: a branch begins or ends that should not.
    Command(usize),
}

impl std::fmt::Display for ErrorPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Command(number) => write!(f, "command {number}"),
        }
    }
}

/// The most words of a command, with its name.
const MOST_WORDS: usize = 256;

/// A branch that is not ended yet.
struct Open {
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
    /// The first branch that is wrong, which is an error where nothing else is.
    wrong_branch: Option<ScriptError>,
}

/// A command behind its backslash.
struct Meta<'a> {
    /// Its name, in small letters.
    name: String,
    /// Where that ends.
    name_end: usize,
    /// As it stands, from its backslash on.
    text: &'a str,
    /// What comes behind the text, or its last byte where nothing does.
    end: usize,
    /// The same with spaces for what continues a line.
    spaced: &'a str,
    /// Its other words, and where they begin in `text`.
    words: Vec<(usize, &'a str)>,
}

impl Meta<'_> {
    /// An error of the whole command, without its text.
    fn wrong(&self, what: &str) -> String {
        format!("{what} in command \"{}\"", self.name)
    }

    /// The same with its text.
    fn wrong_text(&self, what: &str) -> String {
        format!("{}\n{}", self.wrong(what), self.text)
    }

    /// The same, and a mark below a place in the text; `which`: what stands there.
    fn wrong_at(&self, what: &str, which: Option<&str>, at: usize) -> String {
        let which = which.map(|which| format!(" ({which})")).unwrap_or_default();
        let said = self.wrong_text(&format!("{what}{which}"));
        format!("{said}\n{:>width$} error found here", '^', width = at + 1)
    }

    /// What stands behind the word with this number, and where.
    fn behind(&self, word: usize) -> (usize, &str) {
        let at = match self.words.get(word) {
            Some((at, word)) => at + word.len(),
            None => self.spaced.len(),
        };
        (at, self.spaced.get(at..).unwrap_or_default())
    }
}

impl Script {
    /// Reads a script; variables get their places in `names`.
    pub fn parse(text: &str, names: &mut Names) -> Result<Self, ScriptError> {
        let (commands, listing, open) = (Vec::new(), Vec::new(), Vec::new());
        let wrong_branch = None;
        let mut reader =
            Reader { rest: text, line: 1, names, commands, listing, open, wrong_branch };
        while !reader.rest.is_empty() {
            reader.next()?;
        }
        if !reader.open.is_empty() {
            reader.wrong_branch("\\if without matching \\endif", 1);
        }
        match reader.wrong_branch {
            None => Ok(Self { commands: reader.commands, listing: reader.listing }),
            Some(error) => Err(error),
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
        ScriptError { place: ErrorPlace::Line(self.line), why: why.into() }
    }

    /// A branch begins or ends that should not, at the last command or `behind` it.
    fn wrong_branch(&mut self, why: &str, behind: usize) {
        let place = ErrorPlace::Command(self.listing.len() + behind);
        let error = ScriptError { place, why: why.to_owned() };
        self.wrong_branch.get_or_insert(error);
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
            End::Backslash => self.command(),
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

    /// The expression behind the word with this number; without a number, behind the name.
    fn expression(
        &mut self,
        meta: &Meta<'_>,
        word: Option<usize>,
    ) -> Result<Expression, ScriptError> {
        let (at, text) = match word {
            Some(word) => meta.behind(word),
            None => (meta.name_end, meta.spaced.get(meta.name_end..).unwrap_or_default()),
        };
        Expression::parse(text, self.names).map_err(|error: ParseError| {
            let place = error.at.map_or(meta.end, |inside| at + inside);
            self.wrong(meta.wrong_at(error.what, error.which.as_deref(), place))
        })
    }

    /// The command whose backslash was just read; nothing, if there is only a backslash.
    fn command(&mut self) -> Result<(), ScriptError> {
        let (whole, used) = logical_line(self.rest);
        let raw = &self.rest[..used];
        let spaced = format!("\\{whole}");
        let text = format!("\\{}", raw.trim_end_matches(['\n', '\r']));
        let end = if raw.ends_with('\n') { text.len() } else { text.len() - 1 };
        let mut words = words_of(&spaced[1..], 1);
        if !words.is_empty() {
            let (at, name) = words.remove(0);
            let (name_end, name) = (at + name.len(), name.to_ascii_lowercase());
            let meta = Meta { name, name_end, text: &text, end, spaced: &spaced, words };
            self.named_command(&meta)?;
        }
        self.line += lines(raw);
        self.rest = &self.rest[used..];
        Ok(())
    }

    fn named_command(&mut self, meta: &Meta<'_>) -> Result<(), ScriptError> {
        if matches!(meta.name.as_str(), "gset" | "aset") {
            return self.keep(meta);
        }
        self.list(self.line, meta.text.trim_end().to_owned())?;
        if meta.words.len() >= MOST_WORDS {
            return Err(self.wrong(meta.wrong("too many arguments")));
        }
        self.run_command(meta)
    }

    fn run_command(&mut self, meta: &Meta<'_>) -> Result<(), ScriptError> {
        let line = self.line;
        let is_alone =
            matches!(meta.name.as_str(), "else" | "endif") || meta.name.ends_with("pipeline");
        if is_alone && !meta.words.is_empty() {
            return Err(self.wrong(meta.wrong_text("unexpected argument")));
        }
        match meta.name.as_str() {
            "set" => self.set(meta, line)?,
            "sleep" => self.sleep(meta, line)?,
            "if" => {
                let condition = self.expression(meta, None)?;
                self.open.push(Open { unless: Some(self.commands.len()), ends: Vec::new() });
                self.add(What::JumpUnless(condition, 0), line);
            }
            "elif" => {
                let condition = self.expression(meta, None)?;
                self.end_branch("elif", line);
                let at = self.commands.len();
                self.add(What::JumpUnless(condition, 0), line);
                if let Some(open) = self.open.last_mut() {
                    open.unless = Some(at);
                }
            }
            "else" => self.end_branch("else", line),
            "endif" => self.end_if(line),
            "shell" => self.shell(None, meta, line)?,
            "setshell" => match meta.words.first() {
                Some((_, variable)) if meta.words.len() > 1 => {
                    self.shell(Some(variable), meta, line)?;
                }
                _ => return Err(self.wrong(meta.wrong_text("missing argument"))),
            },
            "startpipeline" => self.add(What::StartPipeline, line),
            "syncpipeline" => self.add(What::SyncPipeline, line),
            "endpipeline" => self.add(What::EndPipeline, line),
            _ => return Err(self.wrong(meta.wrong_text("invalid command"))),
        }
        Ok(())
    }

    fn set(&mut self, meta: &Meta<'_>, line: usize) -> Result<(), ScriptError> {
        let Some((_, name)) = meta.words.first() else {
            return Err(self.wrong(meta.wrong("missing argument")));
        };
        let value = self.expression(meta, Some(0))?;
        let what = if is_name(name) {
            What::Set { variable: self.place(name)?, value }
        } else {
            What::SetNothing { name: (*name).to_owned(), value }
        };
        self.add(what, line);
        Ok(())
    }

    fn sleep(&mut self, meta: &Meta<'_>, line: usize) -> Result<(), ScriptError> {
        let Some(&(at, first)) = meta.words.first() else {
            return Err(self.wrong(meta.wrong_text("missing argument")));
        };
        if let Some(&(at, _)) = meta.words.get(2) {
            return Err(self.wrong(meta.wrong_at("too many arguments", None, at)));
        }
        let unit = meta.words.get(1).copied();
        let (amount, joined) = match first.strip_prefix(':') {
            Some(name) => (Amount::Variable(self.place(name)?), ""),
            None => {
                let (number, joined) = number_at(first);
                let amount = number.filter(|_| joined.is_empty() || unit.is_none());
                let Some(amount) = amount else {
                    let what = "invalid sleep time, must be an integer";
                    return Err(self.wrong(meta.wrong_at(what, Some(first), at)));
                };
                // None is waited for where the time is below zero.
                (Amount::Fixed(u64::try_from(amount).unwrap_or_default()), joined)
            }
        };
        let (at, unit) = unit.unwrap_or((at + first.len() - joined.len(), joined));
        let unit_us = match unit.to_ascii_lowercase().as_str() {
            "us" => 1,
            "ms" => 1_000,
            "s" | "" => 1_000_000,
            _ => {
                let what = "unrecognized time unit, must be us, ms or s";
                return Err(self.wrong(meta.wrong_at(what, Some(unit), at)));
            }
        };
        self.add(What::Sleep { amount, unit_us }, line);
        Ok(())
    }

    /// The branch before `\elif` or `\else` ends: what comes next is where its condition jumps to.
    fn end_branch(&mut self, name: &str, line: usize) {
        let Some(mut open) = self.open.pop() else {
            return self.wrong_branch(&format!("\\{name} without matching \\if"), 0);
        };
        match open.unless.take() {
            None => self.wrong_branch(&format!("\\{name} after \\else"), 0),
            Some(unless) => {
                open.ends.push(self.commands.len());
                self.add(What::Jump(0), line);
                self.jump_here(unless);
            }
        }
        self.open.push(open);
    }

    fn end_if(&mut self, line: usize) {
        let Some(open) = self.open.pop() else {
            return self.wrong_branch("\\endif without matching \\if", 0);
        };
        self.add(What::Jump(self.commands.len() + 1), line);
        for jump in open.ends.into_iter().chain(open.unless) {
            self.jump_here(jump);
        }
    }

    fn jump_here(&mut self, jump: usize) {
        let here = self.commands.len();
        if let Some(Command { what: What::Jump(to) | What::JumpUnless(_, to), .. }) =
            self.commands.get_mut(jump)
        {
            *to = here;
        }
    }

    /// The rows of the statement that was read last become variables.
    fn keep(&mut self, meta: &Meta<'_>) -> Result<(), ScriptError> {
        if meta.words.len() > 1 {
            return Err(self.wrong(meta.wrong_text("too many arguments")));
        }
        let prefix = meta.words.first().map_or("", |(_, prefix)| *prefix).to_owned();
        let is_all = meta.name == "aset";
        let none = "\\gset must follow an SQL command";
        let Some(last) = self.listing.last() else { return Err(self.wrong(none)) };
        let (last, text) = (last.number, last.text.clone());
        let keeps = match self.commands.last_mut() {
            Some(Command { what: What::Sql { keeps, .. }, number, .. }) if *number == last => keeps,
            _ => return Err(self.wrong(format!("{none} ({text})"))),
        };
        match keeps.replace(Keeps { prefix, is_all }) {
            None => Ok(()),
            Some(_) => Err(self.wrong(none)),
        }
    }

    /// `variable`: the first word is one, which takes what the program prints.
    fn shell(
        &mut self,
        variable: Option<&str>,
        meta: &Meta<'_>,
        line: usize,
    ) -> Result<(), ScriptError> {
        let words = &meta.words[usize::from(variable.is_some())..];
        if words.is_empty() {
            return Err(self.wrong(meta.wrong_text("missing command")));
        }
        let variable = match variable {
            None => None,
            Some(name) if is_name(name) => Some(self.place(name)?),
            Some(name) => {
                let value = Expression::Constant(Value::Null);
                self.add(What::SetNothing { name: name.to_owned(), value }, line);
                return Ok(());
            }
        };
        let mut found = Vec::new();
        for (_, word) in words {
            // Two colons in front are one that is meant.
            found.push(match (word.strip_prefix("::"), word.strip_prefix(':')) {
                (Some(rest), _) => SqlPiece::Text(format!(":{rest}")),
                (None, Some(name)) => SqlPiece::Variable(self.place(name)?),
                (None, None) => SqlPiece::Text((*word).to_owned()),
            });
        }
        self.add(What::Shell { variable, words: found }, line);
        Ok(())
    }
}

/// The number at the start of a text, and what stands behind it.
pub(super) fn number_at(text: &str) -> (Option<i64>, &str) {
    let signs = usize::from(text.starts_with(['-', '+']));
    let digits = text.bytes().skip(signs).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(signs + digits);
    (number.parse().ok(), rest)
}

/// Whether a variable can have this name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_at(text) == text
}

/// The words of a command, and where they begin; `from`: where the text does.
pub(super) fn words_of(text: &str, from: usize) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return found;
        }
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        found.push((from + text.len() - rest.len(), &rest[..length]));
        rest = &rest[length..];
    }
}

/// The name of a variable at the start of a text, or nothing: no name begins with a digit, or the
/// times in statements would have some.
fn name_at(text: &str) -> &str {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return "";
    }
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

/// The rest of the line, which goes on where it ends with a backslash, and how many bytes it has;
/// spaces stand for what continues it, so that all places are as in the text.
pub(super) fn logical_line(text: &str) -> (String, usize) {
    let (mut whole, mut used) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        used += line.len();
        let bare = line.trim_end_matches(['\n', '\r']);
        match bare.strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                whole.extend(std::iter::repeat_n(' ', line.len() - part.len()));
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
        // \\elif ends a branch and begins one.
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12]);
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
        // if, 1, jump, elif, 2, jump, 3, endif, 4
        assert_eq!(jumps, [Some(3), None, Some(8), Some(6), None, Some(8), None, Some(8), None]);
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
        let (commands, _) =
            parsed("\\sleep 10 ms\n\\sleep :a us\n\\sleep 2\n\\sleep 3ms\n\\sleep 4US");
        let expected = [
            What::Sleep { amount: Amount::Fixed(10), unit_us: 1_000 },
            What::Sleep { amount: Amount::Variable(0), unit_us: 1 },
            What::Sleep { amount: Amount::Fixed(2), unit_us: 1_000_000 },
            What::Sleep { amount: Amount::Fixed(3), unit_us: 1_000 },
            What::Sleep { amount: Amount::Fixed(4), unit_us: 1 },
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
    fn mistakes_have_their_places() {
        for (text, expected) in [
            ("SELECT 1;\n\\nope", "line 2: invalid command in command \"nope\"\n\\nope"),
            ("\\set", "line 1: missing argument in command \"set\""),
            ("\\shell", "line 1: missing command in command \"shell\"\n\\shell"),
            (
                "\n\\set a 1 +\n",
                "line 2: syntax error in command \"set\"\n\\set a 1 +\n          ^ error found here",
            ),
            (
                "\\set a  nope(2)",
                "line 1: unexpected function name (nope) in command \"set\"\n\\set a  nope(2)\n\
                 \u{20}          ^ error found here",
            ),
            ("\\else x", "line 1: unexpected argument in command \"else\"\n\\else x"),
            ("\\if true\nSELECT 1;", "command 3: \\if without matching \\endif"),
            ("\\else", "command 1: \\else without matching \\if"),
            ("\\if 1\n\\else\n\\elif 2\n\\endif", "command 3: \\elif after \\else"),
            ("\\endif", "command 1: \\endif without matching \\if"),
            (
                "\\sleep 1 min",
                "line 1: unrecognized time unit, must be us, ms or s (min) in command \"sleep\"\n\
                 \\sleep 1 min\n         ^ error found here",
            ),
            ("\\set a 1\n\\gset", "line 2: \\gset must follow an SQL command (\\set a 1)"),
            ("SELECT 1 AS a \\gset\n\\aset", "line 2: \\gset must follow an SQL command"),
        ] {
            assert_eq!(wrong(text), expected);
        }
    }

    #[test]
    fn a_wrong_command_is_reported_before_a_wrong_branch() {
        assert!(wrong("\\else\n\\nope").starts_with("line 2: invalid command"));
    }

    #[test]
    fn what_cannot_be_a_variable_is_refused_when_it_is_run() {
        let (commands, _) = parsed("\\set . 1");
        let value = Expression::Constant(Value::Int(1));
        assert_eq!(commands[0].what, What::SetNothing { name: ".".to_owned(), value });
    }

    #[test]
    fn a_condition_is_any_value() {
        let (commands, _) = parsed("\\if null\n\\endif");
        let constant = Expression::Constant(Value::Null);
        assert_eq!(commands[0].what, What::JumpUnless(constant, 2));
    }
}
