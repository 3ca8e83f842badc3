//! The class `NullServer` for Python.

use crate::errors;
use crate::json::to_json;
use loadstone_null_server::{NullServerError, Script, Settings};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A null server that runs until it is stopped or garbage-collected.
#[pyclass(frozen, module = "loadstone._engine")]
pub(crate) struct NullServer {
    port: u16,
    socket: Option<PathBuf>,
    /// `None` once it is stopped.
    running: Mutex<Option<loadstone_null_server::NullServer>>,
}

impl NullServer {
    pub(crate) fn start(settings: &str) -> Result<Self, NullServerError> {
        let server = loadstone_null_server::NullServer::start(Settings::from_json(settings)?)?;
        let (port, socket) = (server.port(), server.socket().map(PathBuf::from));
        Ok(Self { port, socket, running: Mutex::new(Some(server)) })
    }

    /// Queries the server without holding the interpreter: the answer waits for the server's turn.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&loadstone_null_server::NullServer) -> Result<T, NullServerError> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            question(running.as_ref().ok_or(NullServerError::Gone)?)
        })
        .map_err(errors::null_server)
    }
}

#[pymethods]
impl NullServer {
    /// The TCP port.
    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    /// The unix socket, if one was requested.
    #[getter]
    fn socket(&self) -> Option<String> {
        self.socket.as_ref().map(|path| path.to_string_lossy().into_owned())
    }

    /// The current counters, as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&self.ask(py, |server| server.stats())?)
    }

    /// Takes another script; its time starts again.
    fn set_script(&self, py: Python<'_>, script: &str) -> PyResult<()> {
        self.ask(py, |server| server.set_script(Script::from_json(script)?))
    }

    /// Resets counters and log; the script's time starts again.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.flush())
    }

    /// Closes all connections, writes the log if it has a file, and returns the counters as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let served = py.detach(|| {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.take().ok_or(NullServerError::Gone)?.stop()
        });
        to_json(&served.map_err(errors::null_server)?.stats)
    }
}
