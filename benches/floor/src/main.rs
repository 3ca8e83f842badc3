//! The floor: the least that a query costs a client in one thread. Raw epoll, prebuilt packets in
//! which only ids change, replies that are counted and hardly parsed.
//!
//! The engine is compared with it, so it contains only what no client can omit. It draws keys
//! uniformly, and records no latencies.

mod cpu;
mod load;
mod options;
mod postgres;
mod reply;
mod rounds;
mod user;

use cpu::Spent;
use load::Load;
use options::{HELP, Options};
use rounds::Rounds;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use user::User;

/// The printed report.
#[derive(Debug, Serialize)]
struct Report<'a> {
    mode: &'a str,
    users: usize,
    /// Without connecting, logging in and preparing.
    load: Spent,
    /// The middle half of the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    steady: Option<Spent>,
    /// Connecting, logging in and preparing.
    connecting: Spent,
    /// Events that were restarted after a deadlock or a lock wait.
    restarts: u64,
    /// The process, from its start to its end; its ticks are 10 ms long.
    process_user_us: u64,
    process_system_us: u64,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The reader may be gone.
            drop(writeln!(std::io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::read(std::env::args().skip(1))? else {
        std::io::stdout().write_all(HELP.as_bytes())?;
        return Ok(());
    };
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    let begun = cpu::Mark::now(0);
    let rounds = Rounds::of(options.mode);
    let users = (0..options.users)
        .map(|index| User::open(&options, &rounds, index))
        .collect::<Result<Vec<_>, _>>()?;
    let connected = cpu::Mark::now(0);
    let outcome = Load::new(&options, &rounds, users)?.run(options.seconds)?;
    let (process_user_us, process_system_us) = cpu::process()?;
    let report = Report {
        mode: options.mode.name(),
        users: options.users,
        load: outcome.end.since(&outcome.begin),
        steady: options.steady.then(|| outcome.three_quarters.since(&outcome.quarter)),
        restarts: outcome.restarts,
        connecting: connected.since(&begun),
        process_user_us,
        process_system_us,
    };
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&report)?)?;
    Ok(())
}
