//! The null server as a program: prints its addresses as a line of JSON, and serves until it is
//! asked to stop, its parent is gone, or its time is up.

mod arguments;

use arguments::{Arguments, HELP};
use loadstone_null_server::NullServer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Resource, Rlimit, getppid, getrlimit, pidfd_open, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::error::Error;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

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
    let Some(arguments) = Arguments::read(std::env::args().skip(1))? else {
        std::io::stdout().write_all(HELP.as_bytes())?;
        return Ok(());
    };
    allow_many_descriptors()?;
    let parent = parent()?;
    let (signalled, signal) = UnixStream::pair()?;
    for number in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(number, signal.try_clone()?)?;
    }
    let server = NullServer::start(arguments.settings.clone())?;
    let place = serde_json::json!({
        "port": server.port(),
        "socket": server.socket(),
        "pid": std::process::id(),
    });
    writeln!(std::io::stdout(), "{place}")?;
    wait(&server, &signalled, parent.as_ref(), arguments.duration)?;
    server.stop()?;
    Ok(())
}

/// Waits for a signal, the parent's end, the server's own end, or the time to be up.
fn wait(
    server: &NullServer,
    signalled: &UnixStream,
    parent: Option<&OwnedFd>,
    duration: Duration,
) -> Result<(), Box<dyn Error>> {
    let end = Instant::now() + duration;
    let alive = server.alive();
    let mut watched =
        vec![PollFd::new(signalled, PollFlags::IN), PollFd::new(&alive, PollFlags::IN)];
    watched.extend(parent.map(|parent| PollFd::new(parent, PollFlags::IN)));
    loop {
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now()))?;
        match poll(&mut watched, Some(&left)) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// A descriptor that is ready when the parent has ended; `None` if there is no parent.
fn parent() -> Result<Option<OwnedFd>, Box<dyn Error>> {
    let Some(pid) = getppid() else { return Ok(None) };
    if pid.is_init() {
        return Ok(None);
    }
    let parent = pidfd_open(pid, PidfdFlags::empty())?;
    if getppid() != Some(pid) {
        return Err("the parent is gone already".into());
    }
    Ok(Some(parent))
}

/// A connection needs a descriptor; the soft limit is for programs that use select().
fn allow_many_descriptors() -> Result<(), Errno> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
}
