//! The class `Script` for Python: what a Lua script declares, prints and does outside of a load.

use crate::errors;
use crate::json::to_json;
use loadstone_drive::record::{FirstError, Printed, Stuck};
use loadstone_drive::{
    Clock, Plan, Record, ScriptSpec, ServerFamily, Servers, ServersHandle, Turns,
};
use loadstone_script::{
    Command, Contents, Declared, Inspector, Kind, Pending, Report, Said, ScriptPlan, Server, Wish,
};
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long one wait may last before Python checks for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a script has to close its connections.
const FAREWELL: Duration = Duration::from_secs(1);

/// A script outside of a load. What has to wait for the script returns when it has returned control,
/// or was interrupted by a signal; only what was begun (a command, `init()`, `done()`) is waited for in
/// pieces.
#[pyclass(frozen, module = "loadstone._engine")]
pub(crate) struct Script {
    inspector: Inspector,
    /// The servers that it may query, once they are set.
    servers: OnceLock<ServersHandle>,
    /// The servers' family.
    family: ServerFamily,
    seed: u64,
    /// What it was asked to run.
    running: Mutex<Option<Running>>,
    /// Where that has not returned control for long.
    stuck: Mutex<Vec<Stuck>>,
}

/// A command or another part of the script that is not over.
struct Running {
    pending: Pending<()>,
    turns: Turns,
    is_to_end: bool,
}

impl Running {
    /// Its end, if that comes within a moment.
    fn end(&self) -> Option<Result<(), PyErr>> {
        match self.pending.recv_timeout(POLL_INTERVAL) {
            Ok(end) => Some(end.map_err(errors::script)),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(errors::lost_script())),
        }
    }
}

impl Script {
    pub(crate) fn open(spec: &str, plan: Option<&str>) -> PyResult<Self> {
        let plan = plan.map(Plan::from_json).transpose().map_err(errors::plan)?;
        let seed = plan.as_ref().map_or(0, |plan| plan.seed);
        let servers = plan.map(Servers::new).transpose().map_err(errors::plan)?;
        let family = servers.as_ref().map(Servers::family).unwrap_or_default();
        let handle = OnceLock::new();
        if let Some(servers) = &servers {
            drop(handle.set(servers.handle()));
        }
        let server = servers.map(|servers| Box::new(servers) as Box<dyn Server + Send>);
        let plan = script_plan(spec, seed, family)?;
        let inspector = Inspector::open(plan, server).map_err(errors::os)?;
        Ok(Self {
            inspector,
            servers: handle,
            family,
            seed,
            running: Mutex::default(),
            stuck: Mutex::default(),
        })
    }

    fn wait<T: Send>(&self, py: Python<'_>, pending: Pending<T>) -> PyResult<T> {
        // Python passes its values between threads, and this one has no other reader.
        let pending = Mutex::new(pending);
        loop {
            match py.detach(|| locked(&pending).recv_timeout(POLL_INTERVAL)) {
                Ok(told) => return told.map_err(errors::script),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(errors::lost_script()),
            }
            py.check_signals().inspect_err(|_| self.give_up())?;
        }
    }

    fn begin(&self, wish: Wish) {
        let pending = self.inspector.carry_out(wish);
        let turns = Turns::new(Clock::start());
        *locked(&self.running) = Some(Running { pending, turns, is_to_end: false });
    }

    fn give_up(&self) {
        // Its script is not continued with what a server that is given up has not answered.
        self.inspector.give_up();
        if let Some(servers) = self.servers.get() {
            servers.give_up();
        }
    }

    /// The record of what it has said.
    fn record_of(&self, said: Said) -> Option<Record> {
        match said {
            Said::Printed(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Some(Record::Printed(Printed { text, is_aside: false }))
            }
            Said::Refused { executing } => {
                let error = self.servers.get().and_then(ServersHandle::next_refusal)?;
                let statement = executing.or(error.statement);
                Some(Record::Error(FirstError { statement, ..error }))
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn script_plan(spec: &str, seed: u64, family: ServerFamily) -> PyResult<ScriptPlan> {
    let spec = ScriptSpec::from_json(spec).map_err(errors::plan)?;
    Ok(spec.script_plan(seed, 1, &family.usual()))
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
        self.inspector.give(script_plan(spec, self.seed, self.family)?);
        Ok(())
    }

    /// Has it print its help.
    fn help(&self, py: Python<'_>) -> PyResult<()> {
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

    /// What it has said since the last call, in order: records as in docs/engine.md, as JSON.
    fn said(&self) -> PyResult<String> {
        let said = self.inspector.said().into_iter();
        let records = said.filter_map(|said| self.record_of(said));
        let stuck = std::mem::take(&mut *locked(&self.stuck)).into_iter().map(Record::Stuck);
        to_json(&records.chain(stuck).collect::<Vec<_>>())
    }

    /// Has its reporting hook print these figures: the final hook, or the one for intervals.
    fn report(&self, py: Python<'_>, figures: Report, is_last: bool) -> PyResult<()> {
        let wish = if is_last {
            Wish::ReportCumulative(figures)
        } else {
            Wish::ReportIntermediate(figures)
        };
        self.wait(py, self.inspector.carry_out(wish))
    }

    /// Has it print what follows the last report of an interval.
    fn end_reports(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, self.inspector.end_reports())
    }

    /// Starts a command of the script; `is_over` shows what becomes of it.
    fn begin_command(&self, command: String) {
        self.begin(Wish::Command(command));
    }

    /// Starts its `init()`, if it has one.
    fn begin_init(&self) {
        self.begin(Wish::Init);
    }

    /// Starts its `done()`, if it has one.
    fn begin_done(&self) {
        self.begin(Wish::Done);
    }

    /// Whether what was started is over; waits for a moment. Raises if it failed.
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        let Some(running) = locked(&self.running).take() else { return Ok(true) };
        let (mut running, end) = py.detach(move || {
            let end = running.end();
            (running, end)
        });
        if let Some(end) = end {
            return end.map(|()| true);
        }
        if running.is_to_end {
            self.give_up();
        }
        locked(&self.stuck).extend(running.turns.look_at(self.inspector.watches(), false));
        *locked(&self.running) = Some(running);
        Ok(false)
    }

    /// Asks what was started for its end.
    fn end(&self) {
        if let Some(running) = locked(&self.running).as_mut() {
            running.is_to_end = true;
        }
    }

    /// What it has had counted so far, as JSON.
    fn counts(&self) -> PyResult<String> {
        to_json(&self.servers.get().map(ServersHandle::counts).unwrap_or_default())
    }

    /// Closes its connections. A script that does not return control keeps them.
    fn release(&self, py: Python<'_>) {
        let pending = Mutex::new(self.inspector.release());
        py.detach(|| drop(locked(&pending).recv_timeout(FAREWELL)));
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
