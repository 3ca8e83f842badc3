//! Talks to a real server over a socket of its own: `tests/postgres` runs it and judges what it says.
//!
//! usage: talk login|statements|copies|cancels|costs NAME=VALUE...
//!
//! The names are host, port, user, password, database, tls (never, offered, must or direct), ca (a
//! file) and bound (disable, prefer or require). It prints what it has found as `name=value`, a line
//! each, or why it failed on stderr.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's result")]

mod cancels;
mod copies;
mod costs;
mod line;
mod statements;
mod target;

use line::Line;
use std::process::ExitCode;
use target::Target;

/// Names and values, in the order in which they were found.
type Found = Vec<(&'static str, String)>;

fn main() -> ExitCode {
    match run() {
        Ok(found) => {
            for (name, value) in found {
                println!("{name}={value}");
            }
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("error: {text}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<Found, String> {
    let mut words = std::env::args().skip(1);
    let what = words.next().ok_or("say what to do")?;
    let target = Target::parse(words)?;
    match what.as_str() {
        "login" => login(&target),
        "statements" => statements::run(&target),
        "copies" => copies::run(&target),
        "cancels" => cancels::run(&target),
        "costs" => costs::run(&target),
        other => Err(format!("{other} is nothing to do")),
    }
}

fn login(target: &Target) -> Result<Found, String> {
    let line = Line::open(target)?;
    let session = &line.session;
    let found = vec![
        ("auth_method", session.auth_method.to_owned()),
        ("encrypted", session.encrypted.to_string()),
        ("server_version", session.server_version().to_owned()),
        ("has_process", (session.process_id() > 0).to_string()),
        ("encoding", session.parameter("client_encoding").unwrap_or_default().to_owned()),
    ];
    line.close()?;
    Ok(found)
}
