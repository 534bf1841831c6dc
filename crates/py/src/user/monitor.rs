//! Progress of the calls of components in Python: for a watchdog in this process, and for the process that has started this
//! one.

#[cfg(not(unix))]
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tailback_compiled::last_call::Call;

thread_local! {
    /// Number of calls begun and ended on this thread: odd during a call.
    static CALLS: Arc<AtomicU64> = Arc::default();
}

/// Marks a call of a component as long as it lives.
pub struct InCall {
    /// The note for the process that has started this one; `None`: no such notes are wanted.
    _noted: Option<Call>,
}

impl InCall {
    /// Begins a call.
    pub fn begin(noted: Option<Call>) -> InCall {
        CALLS.with(|calls| calls.fetch_add(1, Ordering::Relaxed));
        InCall { _noted: noted }
    }
}

impl Drop for InCall {
    fn drop(&mut self) {
        CALLS.with(|calls| calls.fetch_add(1, Ordering::Relaxed));
    }
}

/// Records the last call of a component in the file behind a descriptor (`tailback.laws.last_call`): the process that shares
/// this file reads there which call has crashed or hangs. Raises `OSError` if the file cannot be mapped, or if calls are
/// recorded already.
#[pyfunction]
pub fn record_calls(descriptor: i32) -> PyResult<()> {
    #[cfg(unix)]
    return tailback_compiled::last_call::record_in(descriptor).map_err(PyErr::from);
    #[cfg(not(unix))]
    return Err(PyOSError::new_err(format!("files with descriptors such as {descriptor} are not mapped here")));
}

/// Calls of components on the thread that has made the monitor.
#[pyclass(frozen, module = "tailback._native")]
pub struct LawMonitor(Arc<AtomicU64>);

#[pymethods]
impl LawMonitor {
    #[new]
    fn new() -> LawMonitor {
        LawMonitor(CALLS.with(Arc::clone))
    }
    /// Number of calls begun and ended: odd during a call.
    #[getter]
    fn calls(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
