//! Captures of runs.

use crate::panics::{guarded, whole};
use crate::run::{Cancel, Cancelled, json};
use crate::scenario::{Scenario, engine_named, instant};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::atomic::Ordering;
use tailback_scenario::build;
use tailback_trace::Network;
use tailback_trace::pcap::{Capture, Options, Sides};
use tailback_units::Time;

/// Bytes that are gathered before they are written.
const CHUNK: usize = 1 << 20;
/// Number of checks of the cancel flag for each call of the progress function.
const CHECKS_PER_PROGRESS: u64 = 10;

/// Returns the names of ports and flows of a scenario's run, in the order of their indices.
#[pyfunction]
pub fn network_names(scenario: &Scenario, seed: u64) -> PyResult<(Vec<String>, Vec<String>)> {
    let network = whole(|| Ok(Network::of(&build(scenario.inner(), seed, None))))?;
    let ports = network.ports.into_iter().map(|port| port.name).collect();
    Ok((ports, network.flows.into_iter().map(|flow| flow.name).collect()))
}

/// Runs a replication and passes its capture to `sink` in pieces of whole blocks; returns the report as JSON. Raises
/// `Cancelled`, or the exception of `sink` or `progress`; the capture is ended in any case but an exception of `sink`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, sink, *, sides, snap, ports, flows, from_ps, until_ps, comments, engine = None,
    warmup_s = None, parallel = 1, cancel = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn capture(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    sink: Py<PyAny>,
    sides: &str,
    snap: u32,
    ports: Option<Vec<bool>>,
    flows: Option<Vec<bool>>,
    from_ps: u64,
    until_ps: u64,
    comments: Vec<String>,
    engine: Option<&str>,
    warmup_s: Option<f64>,
    parallel: usize,
    cancel: Option<PyRef<'_, Cancel>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let engine = engine.map(engine_named).transpose()?;
    let mut plan = whole(|| Ok(build(scenario.inner(), seed, engine)))?;
    if let Some(seconds) = warmup_s {
        plan.warmup = instant(seconds)?;
    }
    let options = Options {
        snap,
        sides: sides_named(sides)?,
        ports,
        flows,
        from: Time(from_ps),
        until: Time(until_ps),
        application: format!("Tailback {}", env!("CARGO_PKG_VERSION")),
        comments,
    };
    let flag = cancel.map(|cancel| cancel.flag());
    let cancelled = || flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
    let write = |bytes: &mut Vec<u8>| -> PyResult<()> {
        Python::attach(|py| sink.call1(py, (PyBytes::new(py, bytes),)))?;
        bytes.clear();
        Ok(())
    };
    let done = py.detach(|| {
        guarded(|| {
            let end = plan.end;
            let mut capture = Capture::new(&mut plan, options);
            let mut bytes = Vec::new();
            capture.begin(&mut bytes);
            write(&mut bytes)?;
            let (mut checks, mut failed) = (0, false);
            let world = tailback_parallel::run_traced(plan, parallel, |done, rows| {
                capture.rows(rows, &mut bytes);
                if bytes.len() >= CHUNK {
                    write(&mut bytes).inspect_err(|_| failed = true)?;
                }
                if cancelled() {
                    return Err(Cancelled::new_err("cancelled"));
                }
                checks += 1;
                if checks % CHECKS_PER_PROGRESS == 0
                    && let Some(callback) = &progress
                {
                    Python::attach(|py| callback.call1(py, (done,)))?;
                }
                Ok(())
            });
            if failed {
                return world.map(|world| json(&world.report()));
            }
            capture.end(world.is_ok().then_some(end), &mut bytes);
            write(&mut bytes)?;
            world.map(|world| json(&world.report()))
        })
    });
    done.unwrap_or_else(|message| Err(PyRuntimeError::new_err(message)))
}

/// Returns the instants of this name. Raises `ValueError` for other names.
fn sides_named(name: &str) -> PyResult<Sides> {
    match name {
        "send" => Ok(Sides::Send),
        "receive" => Ok(Sides::Receive),
        "both" => Ok(Sides::Both),
        other => Err(PyValueError::new_err(format!("{other:?} is not \"send\", \"receive\" or \"both\""))),
    }
}
