//! The only place where an error of the engine becomes a Python exception.

use loadstone_drive::PlanError as EnginePlanError;
use loadstone_measure::hlog::HlogError;
use loadstone_null_server::NullServerError;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};

create_exception!(_engine, PlanError, PyValueError, "A plan that cannot be carried out.");

pub(crate) fn plan(error: EnginePlanError) -> PyErr {
    PlanError::new_err(error.to_string())
}

pub(crate) fn host_plan(error: loadstone_hosttests::PlanError) -> PyErr {
    PlanError::new_err(error.to_string())
}

pub(crate) fn os(error: std::io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
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

/// A value of ours that does not become JSON: a bug.
pub(crate) fn json(error: serde_json::Error) -> PyErr {
    PyRuntimeError::new_err(format!("a record does not become JSON: {error}"))
}
