//! Runs of one replication without the interpreter lock; they can be cancelled.

use crate::error::{Cancelled, LawFault};
use crate::interrupt::take_interrupt;
use crate::panics::{guarded, whole};
use crate::user::with_lock;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailback_parallel::Ended;
use tailback_scenario::Scenario;
use tailback_sim::plan::Plan;
use tailback_sim::trace::Row;
use tailback_sim::{Parts, Report, World};
use tailback_user::{Factories, Fault, Language};

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

/// Ends of a run before its time.
enum Stop {
    /// By an error of the function that takes the rows.
    Take(PyErr),
    /// By a cancellation, or an exception of `progress`.
    Watch(PyErr),
}

/// Returns the exception for the failure of a user-defined component: the exception that the component raised if that is
/// no error, such as KeyboardInterrupt, with the description as a note, else `LawFault`.
pub fn fault(fault: &Fault) -> PyErr {
    let Some(interrupt) = take_interrupt() else { return LawFault::new_err(fault.to_string()) };
    let noted = Python::attach(|py| interrupt.value(py).call_method1("add_note", (fault.to_string(),)).map(drop));
    noted.err().unwrap_or(interrupt)
}

/// Runs a plan in at most `parallel` partitions with a thread each, and passes the rows of its packet trace to `take`.
/// `factories` makes its user-defined components. `progress` is called with the fraction of the simulated time that has
/// passed. Called without the interpreter lock, unless a component is in Python.
///
/// The outer result is the error of `take`. The inner one is `Cancelled` or the exception of `progress`: `take` has got
/// the rows up to it.
pub fn watched(
    plan: Plan,
    parallel: usize,
    factories: &dyn Factories,
    cancel: Option<&AtomicBool>,
    progress: Option<&Py<PyAny>>,
    mut take: impl FnMut(Vec<Row>) -> PyResult<()>,
) -> PyResult<PyResult<World>> {
    let mut checks = 0;
    let world = tailback_parallel::run_traced(plan, parallel, factories, |done, rows| {
        take(rows).map_err(Stop::Take)?;
        if cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Stop::Watch(Cancelled::new_err("cancelled")));
        }
        checks += 1;
        if checks % CHECKS_PER_PROGRESS == 0
            && let Some(callback) = progress
        {
            Python::attach(|py| callback.call1(py, (done,))).map_err(Stop::Watch)?;
        }
        Ok(())
    });
    match world {
        Ok(world) => Ok(Ok(world)),
        Err(Ended::Watch(Stop::Watch(error))) => Ok(Err(error)),
        Err(Ended::Watch(Stop::Take(error))) => Err(error),
        Err(Ended::Fault(found)) => Ok(Err(fault(&found))),
    }
}

/// Runs a plan of `scenario` as [`watched`] does, without the interpreter lock unless a user-defined component needs it;
/// returns the result of `extract` for the report.
pub fn run<T: Send>(
    py: Python<'_>,
    scenario: &Scenario,
    plan: Plan,
    parallel: usize,
    cancel: Option<&Cancel>,
    progress: Option<&Py<PyAny>>,
    extract: impl FnOnce(&Report) -> T + Send,
) -> PyResult<T> {
    undivided(scenario, parallel)?;
    let flag = cancel.map(Cancel::flag);
    let factories = scenario.factories();
    with_lock(py, scenario.has_code_in(Language::Python), || {
        whole(|| {
            let world = watched(plan, parallel, factories, flag.as_deref(), progress, |_| Ok(()))??;
            Ok(extract(&world.report()))
        })
    })
}

/// Raises `ValueError` if a run in more than one part is wanted and the scenario has user-defined components in Python,
/// which run on one thread.
pub fn undivided(scenario: &Scenario, parts: usize) -> PyResult<()> {
    if parts > 1 && scenario.has_code_in(Language::Python) {
        return Err(PyValueError::new_err(format!(
            "parallel is {parts}, and the scenario has a law in Python, which runs on one thread; write 1"
        )));
    }
    Ok(())
}

/// Runs a plan of `scenario` in at most `parts` partitions, one after the other on this thread; returns the report as JSON.
pub fn in_turn(py: Python<'_>, scenario: &Scenario, plan: Plan, parts: usize) -> PyResult<String> {
    if scenario.has_user_code() {
        return Err(PyValueError::new_err("partitions of a scenario with a user's law do not take turns"));
    }
    let done = py.detach(|| guarded(|| Parts::new(plan, parts).run_in_turn().report()));
    Ok(json(&done.map_err(PyRuntimeError::new_err)?))
}

/// Returns a report as JSON.
pub fn json(report: &Report) -> String {
    serde_json::to_string(report).expect("a report has text keys and finite numbers only")
}
