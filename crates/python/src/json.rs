//! Values of the engine as JSON, for Python.

use crate::errors;
use pyo3::PyResult;
use serde::Serialize;

pub(crate) fn to_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(errors::json)
}
