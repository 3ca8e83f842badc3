//! The only place where an error of the engine becomes a Python exception.

use loadstone_drive::PlanError as EnginePlanError;
use loadstone_measure::hlog::HlogError;
use loadstone_null_server::NullServerError;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};

create_exception!(_engine, PlanError, PyValueError, "A plan that cannot be carried out.");
create_exception!(
    _engine,
    ScriptError,
    PyValueError,
    "A script that cannot go on: a stable name of why, whom it is about, and the words."
);

pub(crate) fn plan(error: EnginePlanError) -> PyErr {
    PlanError::new_err(error.to_string())
}

pub(crate) fn pgbench_script(error: loadstone_workload::pgbench::ScriptError) -> PyErr {
    PlanError::new_err(error.to_string())
}

pub(crate) fn host_plan(error: loadstone_hosttests::PlanError) -> PyErr {
    PlanError::new_err(error.to_string())
}

pub(crate) fn login(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn os(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}

pub(crate) fn script(error: loadstone_script::ScriptError) -> PyErr {
    use loadstone_script::ScriptError as Error;
    let (kind, subject) = match &error {
        Error::Load { .. } => ("load", String::new()),
        Error::NoEvent { script } => ("no_event", script.clone()),
        Error::NoCommand { command, .. } => ("no_command", command.clone()),
        Error::UnknownOption { option } => ("option", option.clone()),
        Error::WrongValue { option, .. } => ("value", option.clone()),
        Error::Hook { hook, .. } => ("hook", (*hook).to_owned()),
        Error::BrokenOff { hook, .. } | Error::Ended { hook, .. } => {
            ("broken_off", (*hook).to_owned())
        }
        Error::Engine { .. } => ("engine", String::new()),
    };
    ScriptError::new_err((kind, subject, error.to_string()))
}

/// The script's thread has ended early: a bug.
pub(crate) fn lost_script() -> PyErr {
    PyRuntimeError::new_err("the thread of the script has ended")
}

pub(crate) fn hlog(error: HlogError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn null_server(error: NullServerError) -> PyErr {
    match error {
        NullServerError::Plan(line) => PlanError::new_err(line),
        NullServerError::System { .. } => PyOSError::new_err(error.to_string()),
        NullServerError::Gone => PyRuntimeError::new_err(error.to_string()),
    }
}

/// A value that cannot be converted to JSON: a bug.
pub(crate) fn json(error: serde_json::Error) -> PyErr {
    PyRuntimeError::new_err(format!("a record does not become JSON: {error}"))
}
