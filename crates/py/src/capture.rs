//! Captures of runs.

use crate::panics::whole;
use crate::run::{Cancel, json, undivided, watched};
use crate::scenario::Scenario;
use crate::trace::{Chosen, traced};
use crate::user::with_lock;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tailback_sim::plan::TracePlan;
use tailback_trace::pcap::{Capture, Options, Sides};
use tailback_user::Language;

/// Bytes that are gathered before they are written.
const CHUNK: usize = 1 << 20;

/// Runs a replication and passes its capture to `sink` in pieces of whole blocks; returns the report as JSON. Raises
/// `Cancelled`, or the exception of `sink` or `progress`; the capture is ended in any case but an exception of `sink`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, sink, *, sides, snap, chosen, comments, engine = None, warmup_s = None,
    parallel = 1, cancel = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn capture(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    sink: Py<PyAny>,
    sides: &str,
    snap: u32,
    chosen: Chosen,
    comments: Vec<String>,
    engine: Option<&str>,
    warmup_s: Option<f64>,
    parallel: usize,
    cancel: Option<PyRef<'_, Cancel>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let TracePlan { ports, flows, from, until, .. } = traced(scenario.inner(), seed, chosen)?;
    let mut plan = scenario.plan(seed, engine, warmup_s)?;
    let options = Options {
        snap,
        sides: sides_named(sides)?,
        ports,
        flows,
        from,
        until,
        application: format!("Tailback {}", env!("CARGO_PKG_VERSION")),
        comments,
    };
    let flag = cancel.map(|cancel| cancel.flag());
    let write = |bytes: &mut Vec<u8>| -> PyResult<()> {
        Python::attach(|py| sink.call1(py, (PyBytes::new(py, bytes),)))?;
        bytes.clear();
        Ok(())
    };
    undivided(scenario.inner(), parallel)?;
    let factories = scenario.inner().factories();
    with_lock(py, scenario.inner().has_code_in(Language::Python), || {
        whole(|| {
            let end = plan.end;
            let mut capture = Capture::new(&mut plan, options);
            let mut bytes = Vec::new();
            capture.begin(&mut bytes);
            write(&mut bytes)?;
            let take = |rows| {
                capture.rows(rows, &mut bytes);
                if bytes.len() >= CHUNK { write(&mut bytes) } else { Ok(()) }
            };
            let world = watched(plan, parallel, factories, flag.as_deref(), progress.as_ref(), take)?;
            capture.end(world.is_ok().then_some(end), &mut bytes);
            write(&mut bytes)?;
            Ok(json(&world?.report()))
        })
    })
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
