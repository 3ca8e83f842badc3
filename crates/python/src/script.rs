//! The class `Script` for Python: what a Lua script declares and prints.

use crate::errors;
use crate::json::to_json;
use loadstone_drive::{Plan, ScriptSpec, ServerFamily, Servers, ServersHandle};
use loadstone_script::{
    Command, Contents, Declared, Inspector, Kind, Pending, Report, ScriptPlan, Server, Wish,
};
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How long one wait may last before Python checks for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A script that can be inspected. Each method returns when the script has returned control, or was
/// interrupted by a signal.
#[pyclass(frozen, module = "loadstone._engine")]
pub(crate) struct Script {
    inspector: Inspector,
    /// The servers that it may query, once they are set.
    servers: OnceLock<ServersHandle>,
}

impl Script {
    pub(crate) fn open(spec: &str, plan: Option<&str>) -> PyResult<Self> {
        let handle = OnceLock::new();
        let server = match plan {
            Some(plan) => {
                let servers = servers_of(plan)?;
                drop(handle.set(servers.handle()));
                Some(Box::new(servers) as Box<dyn Server + Send>)
            }
            None => None,
        };
        let inspector = Inspector::open(script_plan(spec)?, server).map_err(errors::os)?;
        Ok(Self { inspector, servers: handle })
    }

    fn wait<T: Send>(&self, py: Python<'_>, pending: Pending<T>) -> PyResult<T> {
        // Python passes its values between threads, and this one has no other reader.
        let pending = std::sync::Mutex::new(pending);
        let wait = || match pending.lock() {
            Ok(pending) => pending.recv_timeout(POLL_INTERVAL),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        loop {
            match py.detach(wait) {
                Ok(told) => return told.map_err(errors::script),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(errors::lost_script()),
            }
            py.check_signals().inspect_err(|_| self.give_up())?;
        }
    }

    fn give_up(&self) {
        if let Some(servers) = self.servers.get() {
            servers.give_up();
        }
        self.inspector.give_up();
    }
}

fn script_plan(spec: &str) -> PyResult<ScriptPlan> {
    let spec = ScriptSpec::from_json(spec).map_err(errors::plan)?;
    Ok(spec.script_plan(0, 1, &ServerFamily::default().usual()))
}

fn servers_of(plan: &str) -> PyResult<Servers> {
    let plan = Plan::from_json(plan).map_err(errors::plan)?;
    Servers::new(plan).map_err(errors::plan)
}

#[pymethods]
impl Script {
    /// The script's declarations, as JSON.
    fn contents(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&ContentsDocument::of(self.wait(py, self.inspector.contents())?))
    }

    /// Raises if the script does not have the options, or there is nothing to run.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, self.inspector.check())
    }

    /// From now on these options are given to it.
    fn give(&self, spec: &str) -> PyResult<()> {
        self.inspector.give(script_plan(spec)?);
        Ok(())
    }

    /// The output of its command `help`.
    fn help(&self, py: Python<'_>) -> PyResult<String> {
        self.wait(py, self.inspector.help())
    }

    /// Gives it the servers of this plan to query, unless it has some; its statements wait for the answers.
    fn serve(&self, plan: &str) -> PyResult<()> {
        let servers = servers_of(plan)?;
        if self.servers.set(servers.handle()).is_ok() {
            self.inspector.serve(servers);
        }
        Ok(())
    }

    /// What it printed before it failed.
    fn printed(&self, py: Python<'_>) -> PyResult<String> {
        self.wait(py, self.inspector.printed())
    }

    /// The servers' refusals since the last call, as JSON.
    fn refusals(&self) -> PyResult<String> {
        let refused = self.servers.get().map(ServersHandle::take_errors);
        to_json(&refused.unwrap_or_default())
    }

    /// What its reporting hook prints for these figures: the final hook, or the one for intervals.
    fn report(&self, py: Python<'_>, figures: Report, is_last: bool) -> PyResult<String> {
        let wish = if is_last {
            Wish::ReportCumulative(figures)
        } else {
            Wish::ReportIntermediate(figures)
        };
        self.wait(py, self.inspector.report(wish))
    }

    /// What it prints after the last report of an interval.
    fn end_reports(&self, py: Python<'_>) -> PyResult<String> {
        self.wait(py, self.inspector.end_reports())
    }
}

/// Nobody waits for a server on behalf of a script that is gone.
impl Drop for Script {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[derive(Serialize)]
struct ContentsDocument {
    options: Option<Vec<OptionDocument>>,
    commands: BTreeMap<String, &'static str>,
    functions: Vec<&'static str>,
    hooks: Vec<String>,
    has_init: bool,
    printed: String,
}

#[derive(Serialize)]
struct OptionDocument {
    name: String,
    help: String,
    kind: &'static str,
    default: Option<String>,
}

impl ContentsDocument {
    fn of(contents: Contents) -> Self {
        let options = contents.options;
        let commands = contents.commands.into_iter();
        Self {
            options: options.map(|each| each.into_iter().map(OptionDocument::of).collect()),
            commands: commands.map(|(name, command)| (name, name_of(command))).collect(),
            functions: contents.functions,
            hooks: contents.hooks,
            has_init: contents.has_init,
            printed: contents.printed,
        }
    }
}

impl OptionDocument {
    fn of(declared: Declared) -> Self {
        let Declared { name, help, kind, default } = declared;
        Self { name, help, kind: name_of_kind(kind), default }
    }
}

fn name_of(command: Command) -> &'static str {
    match command {
        Command::Single => "single",
        Command::Parallel => "parallel",
    }
}

fn name_of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Size => "size",
        Kind::Double => "double",
        Kind::String => "string",
        Kind::List => "list",
        Kind::File => "file",
    }
}
