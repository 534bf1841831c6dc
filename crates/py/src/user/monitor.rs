//! Progress of the calls of components in Python: for a watchdog in this process, and for the process that has started this
//! one.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The record of the last call ([`record_calls`]); absent: calls are not recorded.
static RECORD: OnceLock<Record> = OnceLock::new();
/// Words for the name of a call.
const CALL_WORDS: usize = 2;
/// Words for the name of a component and its place.
const COMPONENT_WORDS: usize = 60;

/// Memory for the last call of this process, which has one thread with components.
struct Record {
    /// Number of calls begun and ended, simulated time in picoseconds, and name of the call.
    call: PyBuffer<u64>,
    /// Name of the component and its place.
    component: PyBuffer<u64>,
    last: Mutex<Last>,
}

/// Content of the record.
#[derive(Default)]
struct Last {
    call: [u64; 2 + CALL_WORDS],
    component: String,
}

impl Record {
    /// Records the begin of a call; `now_ps` is the simulated time, and `None` that of the call before.
    fn begin(&self, py: Python<'_>, component: &str, call: &str, now_ps: Option<u64>) -> PyResult<()> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.component != component {
            component.clone_into(&mut last.component);
            self.component.copy_from_slice(py, &words::<COMPONENT_WORDS>(component))?;
        }
        last.call[1] = now_ps.unwrap_or(last.call[1]);
        last.call[2..].copy_from_slice(&words::<CALL_WORDS>(call));
        self.step(py, &mut last)
    }
    /// Records the end of a call.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        self.step(py, &mut self.last.lock().unwrap_or_else(PoisonError::into_inner))
    }
    fn step(&self, py: Python<'_>, last: &mut Last) -> PyResult<()> {
        last.call[0] += 1;
        self.call.copy_from_slice(py, &last.call)
    }
}

/// Returns a text in words, padded with zero bytes or truncated.
fn words<const COUNT: usize>(text: &str) -> [u64; COUNT] {
    let mut words = [0; COUNT];
    for (word, chunk) in words.iter_mut().zip(text.as_bytes().chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        *word = u64::from_ne_bytes(bytes);
    }
    words
}

thread_local! {
    /// Number of calls begun and ended on this thread: odd during a call.
    static CALLS: Arc<AtomicU64> = Arc::default();
}

/// Marks a call of a component as long as it lives.
pub struct InCall<'py>(Python<'py>);

impl InCall<'_> {
    /// Begins a call: `component` is the name of the component and its place, `call` that of the call, and `now_ps` the
    /// simulated time; `None`: that of the call before.
    pub fn begin<'py>(py: Python<'py>, component: &str, call: &str, now_ps: Option<u64>) -> InCall<'py> {
        CALLS.with(|calls| calls.fetch_add(1, Ordering::Relaxed));
        if let Some(record) = RECORD.get() {
            // `record_calls` has written to the same memory; the record is no part of the run.
            let _ = record.begin(py, component, call, now_ps);
        }
        InCall(py)
    }
}

impl Drop for InCall<'_> {
    fn drop(&mut self) {
        CALLS.with(|calls| calls.fetch_add(1, Ordering::Relaxed));
        if let Some(record) = RECORD.get() {
            let _ = record.end(self.0);
        }
    }
}

/// Records the last call of a component in two buffers of 4 and 60 words: the process that shares this memory reads there
/// which call has crashed or hangs. Raises `ValueError` if there is a record already, and `BufferError` for buffers of
/// another size and those that are read-only.
#[pyfunction]
pub fn record_calls(py: Python<'_>, call: PyBuffer<u64>, component: PyBuffer<u64>) -> PyResult<()> {
    call.copy_from_slice(py, &[0; 2 + CALL_WORDS])?;
    component.copy_from_slice(py, &[0; COMPONENT_WORDS])?;
    let record = Record { call, component, last: Mutex::default() };
    RECORD.set(record).map_err(|_| PyValueError::new_err("calls are recorded already"))
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
