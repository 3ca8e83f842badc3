//! `loadstone._engine`, the extension module: the engine's interface for Python. JSON in, JSON out;
//! `docs/engine.md` is the contract. Python code uses it through `loadstone.engine`, which adds
//! types.

mod errors;
mod journal;
mod json;
mod null_server;
mod script;
mod sessions;

use errors::{PlanError, ScriptError};
use json::to_json;
use loadstone_drive::Plan;
use loadstone_hosttests::HostPlan;
use loadstone_load::LoadPlan;
use loadstone_measure::{Latency, LatencySummary, hlog};
use null_server::NullServer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use script::Script;
use serde::Serialize;
use sessions::{Drive, HostTest, Load};
use std::collections::BTreeMap;

/// The crate's version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// How the engine was built, as JSON.
#[pyfunction]
fn build_info() -> PyResult<String> {
    #[derive(Serialize)]
    struct BuildInfo {
        version: &'static str,
        profile: &'static str,
        tls: &'static str,
    }
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    to_json(&BuildInfo { version: version(), profile, tls: "rustls, aws-lc-rs" })
}

/// The built-in workloads, as JSON.
#[pyfunction]
fn workloads() -> PyResult<String> {
    to_json(&loadstone_workload::builtin())
}

/// Sample events, as text, of a step's plan whose workload is a template; as JSON.
#[pyfunction]
fn samples(plan: &str, count: usize) -> PyResult<String> {
    let plan = Plan::from_json(plan).map_err(errors::plan)?;
    let workload = plan.build_workload().map_err(errors::plan)?;
    let found = workload.map(|workload| workload.samples(plan.seed, count));
    to_json(&found.unwrap_or_default())
}

/// What a script of pgbench consists of, as JSON. Raises `PlanError` if it is none.
#[pyfunction]
fn pgbench_commands(script: &str) -> PyResult<String> {
    to_json(&loadstone_workload::pgbench::listing(script).map_err(errors::pgbench_script)?)
}

/// Raises `PlanError` if the plan of a step cannot be run.
#[pyfunction]
fn check_plan(plan: &str) -> PyResult<()> {
    Plan::from_json(plan).map(drop).map_err(errors::plan)
}

/// Starts a step; returns at once.
#[pyfunction]
fn start(plan: &str) -> PyResult<Drive> {
    let plan = Plan::from_json(plan).map_err(errors::plan)?;
    loadstone_drive::Drive::start(plan).map(Drive::new).map_err(errors::os)
}

/// Starts loading tables; returns at once.
#[pyfunction]
fn load(plan: &str) -> PyResult<Load> {
    let plan = LoadPlan::from_json(plan).map_err(errors::plan)?;
    loadstone_load::Load::start(plan).map(Load::new).map_err(errors::os)
}

/// Starts a host test, or prepares or removes its files; returns at once.
#[pyfunction]
fn host_test(plan: &str) -> PyResult<HostTest> {
    let plan = HostPlan::from_json(plan).map_err(errors::host_plan)?;
    loadstone_hosttests::HostTest::start(plan).map(HostTest::new).map_err(errors::os)
}

/// The numbers that the server at `place` gave to this process's connections: the path of a unix
/// socket, or `HOST:PORT` as in the plan.
#[pyfunction]
fn connections_to(py: Python<'_>, place: &str) -> Vec<u32> {
    py.detach(|| loadstone_drive::connections_to(place))
}

/// MariaDB's `client_ed25519`: the signature of the server's nonce under the password's key. Raises
/// `ValueError` if the nonce is not 32 bytes long.
#[pyfunction]
fn ed25519_answer<'py>(py: Python<'py>, password: &[u8], nonce: [u8; 32]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &loadstone_drive::ed25519_answer(password, &nonce))
}

/// MariaDB's `parsec`: a nonce of our own, and the signature of both nonces under the key that the
/// password is with the server's salt. Raises `ValueError` if the nonce is not 32 bytes long or the
/// salt is unusable.
#[pyfunction]
fn parsec_answer<'py>(
    py: Python<'py>,
    password: &[u8],
    nonce: [u8; 32],
    salt: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let answer = loadstone_drive::parsec_answer(password, &nonce, salt).map_err(errors::login)?;
    Ok(PyBytes::new(py, &answer))
}

/// Loads a script for inspection; returns at once. While it is loaded it may query the servers of this plan.
#[pyfunction]
#[pyo3(name = "script", signature = (spec, plan=None))]
fn open_script(spec: &str, plan: Option<&str>) -> PyResult<Script> {
    Script::open(spec, plan)
}

/// Starts a null server; clients can connect when this returns.
#[pyfunction]
#[pyo3(name = "null_server")]
fn start_null_server(py: Python<'_>, settings: &str) -> PyResult<NullServer> {
    py.detach(|| NullServer::start(settings)).map_err(errors::null_server)
}

/// Latency summaries of the lines of an interval log, merged by tag, as JSON.
#[pyfunction]
fn merge_hlog(py: Python<'_>, lines: Vec<String>) -> PyResult<String> {
    py.detach(|| {
        let merged = hlog::merge(lines.iter().map(String::as_str)).map_err(errors::hlog)?;
        let summaries: BTreeMap<_, _> =
            merged.iter().map(|(tag, latency)| (tag, latency.summary())).collect();
        to_json(&summaries)
    })
}

/// The lines of an interval log added up by tag, one line each, and their latency summaries, as
/// JSON.
#[pyfunction]
fn sum_hlog(py: Python<'_>, lines: Vec<String>) -> PyResult<String> {
    #[derive(Serialize)]
    struct Summed {
        lines: Vec<String>,
        latency: BTreeMap<String, LatencySummary>,
    }
    py.detach(|| {
        let summed = hlog::sum(lines.iter().map(String::as_str)).map_err(errors::hlog)?;
        let mut lines = Vec::new();
        for interval in &summed {
            hlog::write_interval(interval, &mut lines).map_err(errors::hlog)?;
        }
        let summary = |interval: hlog::Interval| (interval.tag, interval.latency.summary());
        to_json(&Summed { lines, latency: summed.into_iter().map(summary).collect() })
    })
}

/// Each value and how often it occurred, from the lines of an interval log, merged by tag, as JSON.
#[pyfunction]
fn hlog_counts(py: Python<'_>, lines: Vec<String>) -> PyResult<String> {
    py.detach(|| {
        let merged = hlog::merge(lines.iter().map(String::as_str)).map_err(errors::hlog)?;
        let counts = |latency: &Latency| -> Vec<(u64, u64)> {
            latency.counts().into_iter().map(|(value, count)| (value.0, count)).collect()
        };
        let counts: BTreeMap<_, _> =
            merged.iter().map(|(tag, latency)| (tag, counts(latency))).collect();
        to_json(&counts)
    })
}

/// For each line of an interval log, how many of its values lie at or above each edge and below the
/// next one, as JSON; those below the first edge count as above it. Edges are in rising order.
#[pyfunction]
fn hlog_rows(py: Python<'_>, lines: Vec<String>, edges_ns: Vec<u64>) -> PyResult<String> {
    py.detach(|| {
        let rows: PyResult<Vec<Vec<u64>>> = lines
            .iter()
            .map(|line| {
                let merged = hlog::merge([line.as_str()]).map_err(errors::hlog)?;
                let mut rows = vec![0; edges_ns.len()];
                for (value, count) in merged.values().flat_map(Latency::counts) {
                    let row = edges_ns.partition_point(|edge| *edge <= value.0).saturating_sub(1);
                    if let Some(times) = rows.get_mut(row) {
                        *times += count;
                    }
                }
                Ok(rows)
            })
            .collect();
        to_json(&rows?)
    })
}

/// The lines of a journal that have to be parsed, with where each begins, and where to read on:
/// `journal::other_lines`.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a list and a number, for Python")]
fn other_lines<'py>(
    py: Python<'py>,
    path: &str,
    from_byte: u64,
    until: u64,
    most: usize,
) -> PyResult<(Vec<(u64, Bound<'py, PyBytes>)>, u64)> {
    let found = py.detach(|| journal::other_lines(path, from_byte, until, most))?;
    let lines = found.lines.iter().map(|(at, line)| (*at, PyBytes::new(py, line)));
    Ok((lines.collect(), found.next))
}

/// The header of an interval log whose times count from `start_unix_s`.
#[pyfunction]
fn hlog_header(start_unix_s: f64) -> String {
    hlog::header(start_unix_s)
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PlanError", module.py().get_type::<PlanError>())?;
    module.add("ScriptError", module.py().get_type::<ScriptError>())?;
    module.add_class::<Drive>()?;
    module.add_class::<Load>()?;
    module.add_class::<HostTest>()?;
    module.add_class::<NullServer>()?;
    module.add_class::<Script>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(build_info, module)?)?;
    module.add_function(wrap_pyfunction!(workloads, module)?)?;
    module.add_function(wrap_pyfunction!(samples, module)?)?;
    module.add_function(wrap_pyfunction!(pgbench_commands, module)?)?;
    module.add_function(wrap_pyfunction!(check_plan, module)?)?;
    module.add_function(wrap_pyfunction!(start, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(host_test, module)?)?;
    module.add_function(wrap_pyfunction!(connections_to, module)?)?;
    module.add_function(wrap_pyfunction!(ed25519_answer, module)?)?;
    module.add_function(wrap_pyfunction!(parsec_answer, module)?)?;
    module.add_function(wrap_pyfunction!(open_script, module)?)?;
    module.add_function(wrap_pyfunction!(start_null_server, module)?)?;
    module.add_function(wrap_pyfunction!(merge_hlog, module)?)?;
    module.add_function(wrap_pyfunction!(sum_hlog, module)?)?;
    module.add_function(wrap_pyfunction!(hlog_counts, module)?)?;
    module.add_function(wrap_pyfunction!(hlog_rows, module)?)?;
    module.add_function(wrap_pyfunction!(other_lines, module)?)?;
    module.add_function(wrap_pyfunction!(hlog_header, module)?)
}
