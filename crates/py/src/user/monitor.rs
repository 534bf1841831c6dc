//! Progress of the calls of components in Python, for a watchdog.

use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// Number of calls begun and ended on this thread: odd during a call.
    static CALLS: Arc<AtomicU64> = Arc::default();
}

/// Marks a call of a component as long as it lives.
pub struct InCall(());

impl InCall {
    /// Begins a call.
    pub fn begin() -> InCall {
        CALLS.with(|calls| calls.fetch_add(1, Ordering::Relaxed));
        InCall(())
    }
}

impl Drop for InCall {
    fn drop(&mut self) {
        CALLS.with(|calls| calls.fetch_add(1, Ordering::Relaxed));
    }
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
