//! The handle of a null server that runs in a thread of its own.

use crate::core::Core;
use crate::error::NullServerError;
use crate::listeners::Listeners;
use crate::log::LogFile;
use crate::script::Script;
use crate::server::{Outcome, Request, Server};
use crate::settings::Settings;
use crate::stats::Stats;
use crate::tls::TlsMaker;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// A running server; it stops when this is dropped.
#[derive(Debug)]
pub struct NullServer {
    port: u16,
    socket: Option<PathBuf>,
    requests: Sender<Request>,
    wake: Arc<OwnedFd>,
    /// Hangs up when the thread ends.
    alive: UnixStream,
    log_file: Option<LogFile>,
    thread: Option<JoinHandle<io::Result<Outcome>>>,
}

impl NullServer {
    /// Opens its sockets and starts its thread: clients can connect when this returns.
    pub fn start(settings: Settings) -> Result<Self, NullServerError> {
        settings.script.check()?;
        let tls = settings.tls.as_ref().map(TlsMaker::from_files).transpose()?;
        let listeners = Listeners::open(&settings)?;
        let log_file = settings.log.as_deref().map(open_log).transpose()?;
        let (port, socket) = (listeners.port, settings.socket.clone());
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let wake = eventfd(0, flags).map_err(NullServerError::system("make an eventfd"))?;
        let wake = Arc::new(wake);
        let (alive, thread_end) =
            UnixStream::pair().map_err(NullServerError::system("make a pair of sockets"))?;
        let (requests, received) = channel();
        let core = Core::new(Settings { port, ..settings }, tls)
            .map_err(NullServerError::system("make an epoll descriptor"))?;
        let server = Server::new(core, listeners, wake.clone(), received)
            .map_err(NullServerError::system("watch the listening sockets"))?;
        let thread = std::thread::Builder::new()
            .name("null-server".to_owned())
            .spawn(move || {
                let _thread_end = thread_end;
                server.run()
            })
            .map_err(NullServerError::system("start a thread"))?;
        Ok(Self { port, socket, requests, wake, alive, log_file, thread: Some(thread) })
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The unix socket, if one was requested.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// A descriptor that hangs up when the server's thread has ended.
    pub fn alive(&self) -> BorrowedFd<'_> {
        self.alive.as_fd()
    }

    /// The current counters.
    pub fn stats(&self) -> Result<Stats, NullServerError> {
        let (answer, answered) = channel();
        self.request(Request::Stats(answer))?;
        answered.recv().map_err(|_| NullServerError::Gone)
    }

    /// Replaces the script; its time starts again.
    pub fn set_script(&self, script: Script) -> Result<(), NullServerError> {
        script.check()?;
        self.request(Request::Script(Box::new(script)))
    }

    /// Resets counters and log; the script's time starts again.
    pub fn flush(&self) -> Result<(), NullServerError> {
        self.request(Request::Flush)
    }

    /// Closes all connections, writes the log if it has a file, and returns counters and log.
    pub fn stop(mut self) -> Result<Outcome, NullServerError> {
        let outcome = self.end().unwrap_or(Err(NullServerError::Gone))?;
        if let Some(file) = self.log_file.take() {
            file.write(&outcome.log).map_err(NullServerError::system("write the log"))?;
        }
        Ok(outcome)
    }

    fn end(&mut self) -> Option<Result<Outcome, NullServerError>> {
        let thread = self.thread.take()?;
        // If it is gone already, joining says why.
        drop(self.request(Request::Stop));
        let ended = thread.join().map_err(|_| NullServerError::Gone);
        Some(ended.and_then(|run| run.map_err(NullServerError::system("serve"))))
    }

    fn request(&self, request: Request) -> Result<(), NullServerError> {
        self.requests.send(request).map_err(|_| NullServerError::Gone)?;
        rustix::io::write(&*self.wake, &1_u64.to_ne_bytes())
            .map_err(NullServerError::system("wake the server"))?;
        Ok(())
    }
}

fn open_log(path: &Path) -> Result<LogFile, NullServerError> {
    let what = format!("write the log {}", path.display());
    LogFile::create(path).map_err(NullServerError::system(what))
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // Callers that need the result call `stop`.
        drop(self.end());
    }
}
