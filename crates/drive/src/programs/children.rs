//! Child processes: started by a shell, waited for, and ended all at once.

use crate::error::os_text;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most of a line that is taken, in bytes; a number is shorter.
const MOST_OF_A_LINE: u64 = 256;

/// Variables of the environment with secrets, which no program that is started here inherits.
const SECRETS: [&str; 4] = ["LOADSTONE_PASSWORD", "LOADSTONE_TOKEN", "PGPASSWORD", "MYSQL_PWD"];

/// Those that run.
#[derive(Debug, Default)]
pub(super) struct Children(Mutex<Running>);

#[derive(Debug, Default)]
struct Running {
    /// Each leads a process group of its own.
    leaders: Vec<Pid>,
    /// No more are started.
    has_ended: bool,
}

impl Children {
    /// Has a shell run a command line, and waits for its end. Returns the first line of its output
    /// if that is wanted, and why it failed otherwise.
    pub(super) fn run(&self, command: &[u8], wants_line: bool) -> Result<Vec<u8>, String> {
        let not_run = |error: io::Error| format!("the program cannot be run: {}", os_text(&error));
        let mut child = self.start(command, wants_line).map_err(not_run)?;
        let line = child.stdout.take().map(first_line).unwrap_or_else(|| Ok(Vec::new()));
        let status = self.wait(child).map_err(not_run)?;
        let line = line.map_err(not_run)?;
        match (wants_line, line.is_empty()) {
            (true, true) => Err("the program has printed nothing".to_owned()),
            (false, _) if !status.success() => Err(format!("the program has failed: {status}")),
            _ => Ok(line),
        }
    }

    fn start(&self, command: &[u8], wants_line: bool) -> io::Result<Child> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(OsStr::from_bytes(command));
        // What else they print goes where ours does, as with pgbench.
        shell.stdin(Stdio::null()).stderr(Stdio::inherit());
        shell.stdout(if wants_line { Stdio::piped() } else { Stdio::inherit() });
        shell.process_group(0);
        for name in SECRETS {
            shell.env_remove(name);
        }
        // Within the lock: one that starts while all are ended would be missed.
        let mut running = self.running();
        if running.has_ended {
            return Err(io::Error::other("the step is over"));
        }
        let child = shell.spawn()?;
        running.leaders.push(Pid::from_child(&child));
        Ok(child)
    }

    /// Waits for a child's end. Its number is not free for another process before it is taken off
    /// the list.
    fn wait(&self, mut child: Child) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&child);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(error) = waitid(WaitId::Pid(pid), options) {
            if error != rustix::io::Errno::INTR {
                break; // the wait below says why
            }
        }
        let mut running = self.running();
        running.leaders.retain(|leader| *leader != pid);
        child.wait()
    }

    /// Ends all, with what they have started, and starts no more.
    pub(super) fn end(&self) {
        let mut running = self.running();
        running.has_ended = true;
        for leader in &running.leaders {
            // It fails if the group has ended already.
            let _ = kill_process_group(*leader, Signal::KILL);
        }
    }

    /// How many run.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.running().leaders.len()
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first line, or its start; the program is not read any further.
fn first_line(output: impl Read) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(output.take(MOST_OF_A_LINE)).read_until(b'\n', &mut line)?;
    Ok(line)
}
