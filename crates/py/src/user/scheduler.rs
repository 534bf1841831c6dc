//! Schedulers in Python.

use super::failure::failure;
use super::instance::Instance;
use core::fmt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};
use tailback_random::Rng;
use tailback_user::{QueueState, Role, SchedulerAnswer, SchedulerCall, SchedulerEvent, SchedulerLaw};

/// Arguments of a call of a scheduler, read-only.
#[pyclass(frozen, name = "SchedulerCall", module = "tailback._native")]
pub struct Call {
    call: SchedulerCall,
    queues: Py<PyTuple>,
}

/// State of a queue at a call of a scheduler, read-only.
#[pyclass(frozen, name = "QueueState", module = "tailback._native")]
pub struct State(QueueState);

#[pymethods]
impl Call {
    #[getter]
    fn now_ps(&self) -> u64 {
        self.call.now_ps
    }
    #[getter]
    fn now_s(&self) -> f64 {
        self.call.now_ps as f64 * 1e-12
    }
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.call.rate_bps
    }
    #[getter]
    fn queue(&self) -> u32 {
        self.call.queue
    }
    #[getter]
    fn size(&self) -> u32 {
        self.call.size
    }
    #[getter]
    fn wire(&self) -> u32 {
        self.call.wire
    }
    #[getter]
    fn flow(&self) -> u32 {
        self.call.flow
    }
    #[getter]
    fn queues(&self, py: Python<'_>) -> Py<PyTuple> {
        self.queues.clone_ref(py)
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{:?}, queues {}", self.call, self.queues.bind(py).repr()?))
    }
}

#[pymethods]
impl State {
    #[getter]
    fn packets(&self) -> u64 {
        self.0.packets
    }
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }
    #[getter]
    fn ready(&self) -> bool {
        self.0.ready != 0
    }
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// An instance of a class derived from `tailback.Scheduler`.
pub struct PyScheduler {
    instance: Instance,
    state_bytes: usize,
}

impl PyScheduler {
    /// Binds the methods of an instance.
    pub fn new(instance: &Bound<'_, PyAny>) -> PyResult<PyScheduler> {
        let events = Role::Scheduler.events();
        Ok(PyScheduler {
            instance: Instance::new(instance, ("tailback.laws.scheduler", "Scheduler"), events)?,
            state_bytes: instance.getattr("state_bytes")?.extract()?,
        })
    }

    fn call(
        &self,
        py: Python<'_>,
        call: &SchedulerCall,
        queues: &[QueueState],
        wake_ps: u64,
        rng: &mut Rng,
    ) -> PyResult<SchedulerAnswer> {
        let states = queues.iter().map(|state| Bound::new(py, State(*state))).collect::<PyResult<Vec<_>>>()?;
        let arguments = Call { call: *call, queues: PyTuple::new(py, states)?.unbind() };
        let queue = self.instance.call(py, call.event, call.now_ps, arguments, wake_ps, rng)?;
        let queue = queue.filter(|_| call.event == SchedulerEvent::Select as u32);
        let queue = queue.as_ref().map_or(Ok(SchedulerAnswer::NONE), number)?;
        Ok(SchedulerAnswer { wake_ps: self.instance.wake_ps(py), queue, reserved: 0 })
    }
}

/// Returns the number of the chosen queue; `None` is no queue.
fn number(queue: &Bound<'_, PyAny>) -> PyResult<u32> {
    if queue.is_none() {
        return Ok(SchedulerAnswer::NONE);
    }
    if !queue.is_instance_of::<PyInt>() || queue.is_instance_of::<PyBool>() {
        let message = format!("the answer is {}; return the number of a queue, or None", queue.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    let found: Option<u32> = queue.extract().ok().filter(|number| *number != SchedulerAnswer::NONE);
    found.ok_or_else(|| PyValueError::new_err(format!("the answer is {queue}; return the number of a queue, or None")))
}

impl fmt::Debug for PyScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PyScheduler")
    }
}

impl SchedulerLaw for PyScheduler {
    fn placed(&mut self, name: &str) {
        self.instance.placed(name);
    }
    fn answer(
        &mut self,
        call: &SchedulerCall,
        queues: &[QueueState],
        wake_ps: u64,
        rng: &mut Rng,
    ) -> Result<SchedulerAnswer, String> {
        Python::attach(|py| self.call(py, call, queues, wake_ps, rng).map_err(|error| failure(py, error)))
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        self.instance.probe(f)
    }
    fn state_bytes(&self) -> usize {
        self.state_bytes
    }
}
