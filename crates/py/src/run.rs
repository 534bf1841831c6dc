//! Runs of one replication without the interpreter lock; they can be cancelled.

use crate::panics::guarded;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailback_sim::plan::Plan;
use tailback_sim::{Parts, Report};

create_exception!(tailback._native, Cancelled, PyException, "The run was stopped through its Cancel.");

/// Number of checks of the cancel flag for each call of the progress function, since that call needs the interpreter
/// lock.
const CHECKS_PER_PROGRESS: u64 = 10;

/// Cancels the runs to which it was passed.
#[pyclass(frozen, module = "tailback._native")]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Returns the flag.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Cancel {
        Cancel(Arc::new(AtomicBool::new(false)))
    }
    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs a plan in at most `parallel` partitions with a thread each; returns the result of `extract` for the report.
/// Raises `Cancelled`, or the exception of `progress`, which is called with the fraction of the simulated time that has
/// passed.
pub fn run<T: Send>(
    py: Python<'_>,
    plan: Plan,
    parallel: usize,
    cancel: Option<&Cancel>,
    progress: Option<&Py<PyAny>>,
    extract: impl FnOnce(&Report) -> T + Send,
) -> PyResult<T> {
    let flag = cancel.map(Cancel::flag);
    let cancelled = || flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
    let done = py.detach(|| {
        guarded(|| {
            let mut checks = 0;
            let world = tailback_parallel::run(plan, parallel, |done| {
                if cancelled() {
                    return Err(Cancelled::new_err("cancelled"));
                }
                checks += 1;
                if checks % CHECKS_PER_PROGRESS == 0
                    && let Some(callback) = progress
                {
                    Python::attach(|py| callback.call1(py, (done,)))?;
                }
                Ok(())
            })?;
            Ok(extract(&world.report()))
        })
    });
    done.unwrap_or_else(|message| Err(PyRuntimeError::new_err(message)))
}

/// Runs a plan in at most `parts` partitions, one after the other on this thread; returns the report as JSON.
pub fn in_turn(py: Python<'_>, plan: Plan, parts: usize) -> PyResult<String> {
    let done = py.detach(|| guarded(|| Parts::new(plan, parts).run_in_turn().report()));
    Ok(json(&done.map_err(PyRuntimeError::new_err)?))
}

/// Returns a report as JSON.
pub fn json(report: &Report) -> String {
    serde_json::to_string(report).expect("a report has text keys and finite numbers only")
}
