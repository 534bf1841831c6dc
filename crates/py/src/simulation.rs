//! Runs that are stepped through.

use crate::error::raise;
use crate::panics::{guarded, whole};
use crate::run::{fault, json};
use crate::scenario::{Scenario, engine_named, instant};
use crate::trace::{CHUNK_ROWS, Chosen, chunk, traced};
use crate::user::with_lock;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_scenario::Setting;
use tailback_sim::Status;
use tailback_units::Time;
use tailback_user::Language;

/// Events between two checks for Ctrl-C: about 10 ms of work.
const EVENTS_PER_CHECK: u64 = 100_000;

/// A run that is stepped through; `None`: its report has been taken, and every call raises `ValueError`.
#[pyclass(module = "tailback._native")]
pub struct Simulation(Option<tailback_scenario::Simulation>);

/// Delivered data: time, flow, sequence number, payload bytes and time of generation; times in picoseconds.
type Delivered = (u64, String, u32, u32, u64);

fn text(view: serde_json::Result<String>) -> String {
    view.expect("a view has text keys and numbers only")
}

impl Simulation {
    /// Returns the run; raises `ValueError` after its report has been taken.
    fn running(&mut self) -> PyResult<&mut tailback_scenario::Simulation> {
        self.0.as_mut().ok_or_else(|| PyValueError::new_err("the simulation is over: its report has been taken"))
    }

    /// Repeats `advance` until all its events have been handled. Raises the exception of a user-defined component that has
    /// failed.
    fn step(
        &mut self,
        py: Python<'_>,
        mut advance: impl FnMut(&mut tailback_scenario::Simulation) -> Status + Send,
    ) -> PyResult<()> {
        let simulation = self.running()?;
        let held = simulation.has_code_in(Language::Python);
        loop {
            let status = with_lock(py, held, || guarded(|| advance(simulation))).map_err(PyRuntimeError::new_err)?;
            if let Some(found) = simulation.fault() {
                return Err(fault(found));
            }
            match status {
                Status::Done => return Ok(()),
                Status::Running => py.check_signals()?,
            }
        }
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scenario, seed, engine = None, warmup_s = None, trace = None))]
    fn new(
        scenario: &Scenario,
        seed: u64,
        engine: Option<&str>,
        warmup_s: Option<f64>,
        trace: Option<Chosen>,
    ) -> PyResult<Simulation> {
        let engine = engine.map(engine_named).transpose()?;
        let warmup = warmup_s.map(instant).transpose()?;
        let trace = trace.map(|chosen| traced(scenario.inner(), seed, chosen)).transpose()?;
        let run = Setting { seed, engine, warmup, trace };
        whole(|| Ok(Simulation(Some(tailback_scenario::Simulation::new(scenario.inner(), run)))))
    }

    #[getter]
    fn now_ps(&mut self) -> PyResult<u64> {
        Ok(self.running()?.now().0)
    }
    #[getter]
    fn end_ps(&mut self) -> PyResult<u64> {
        Ok(self.running()?.end().0)
    }
    #[getter]
    fn warmup_ps(&mut self) -> PyResult<u64> {
        Ok(self.running()?.warmup().0)
    }
    #[getter]
    fn next_event_ps(&mut self) -> PyResult<Option<u64>> {
        let next = self.running()?.next_event();
        Ok((next != Time::NEVER).then_some(next.0))
    }
    #[getter]
    fn done(&mut self) -> PyResult<bool> {
        Ok(self.running()?.is_done())
    }
    #[getter]
    fn touched(&mut self) -> PyResult<bool> {
        Ok(self.running()?.is_touched())
    }
    #[getter]
    fn replays(&mut self) -> PyResult<u32> {
        Ok(self.running()?.replays())
    }

    /// Handles all events at and before `at_ps`; Ctrl-C ends the step between two events.
    fn run_until(&mut self, py: Python<'_>, at_ps: u64) -> PyResult<()> {
        self.step(py, |simulation| simulation.advance(Time(at_ps), EVENTS_PER_CHECK))
    }

    /// Handles events up to the next instant with rows of the trace, at most up to `at_ps`.
    fn run_to_rows(&mut self, py: Python<'_>, at_ps: u64) -> PyResult<()> {
        self.step(py, |simulation| simulation.advance_to_rows(Time(at_ps), EVENTS_PER_CHECK))
    }

    fn jump(&mut self, py: Python<'_>, at_ps: u64) -> PyResult<bool> {
        let simulation = self.running()?;
        let held = simulation.has_code_in(Language::Python);
        let replayed =
            with_lock(py, held, || guarded(|| simulation.jump(Time(at_ps)))).map_err(PyRuntimeError::new_err)?;
        simulation.fault().map_or(Ok(replayed), |found| Err(fault(found)))
    }

    fn view(&mut self) -> PyResult<String> {
        let simulation = self.running()?;
        whole(|| Ok(text(serde_json::to_string(&simulation.view()))))
    }
    fn port(&mut self, name: &str) -> PyResult<Option<String>> {
        let simulation = self.running()?;
        whole(|| Ok(simulation.port(name).map(|view| text(serde_json::to_string(&view)))))
    }
    fn flow(&mut self, name: &str) -> PyResult<Option<String>> {
        let simulation = self.running()?;
        whole(|| Ok(simulation.flow(name).map(|view| text(serde_json::to_string(&view)))))
    }
    fn node(&mut self, name: &str) -> PyResult<Option<String>> {
        let simulation = self.running()?;
        whole(|| Ok(simulation.node(name).map(|view| text(serde_json::to_string(&view)))))
    }

    #[pyo3(signature = (pairs, at_ps = None))]
    #[expect(clippy::needless_pass_by_value, reason = "Python hands over a list")]
    fn change(&mut self, py: Python<'_>, pairs: Vec<(String, String)>, at_ps: Option<u64>) -> PyResult<u64> {
        let simulation = self.running()?;
        let done = guarded(|| simulation.change(&pairs, at_ps.map(Time))).map_err(PyRuntimeError::new_err)?;
        done.map(|at| at.0).map_err(|error| raise(py, &error))
    }

    #[pyo3(signature = (flow, size, at_ps = None))]
    fn inject(&mut self, py: Python<'_>, flow: &str, size: u64, at_ps: Option<u64>) -> PyResult<u64> {
        let simulation = self.running()?;
        let done = guarded(|| simulation.inject(flow, size, at_ps.map(Time))).map_err(PyRuntimeError::new_err)?;
        done.map(|at| at.0).map_err(|error| raise(py, &error))
    }

    fn record_delivered(&mut self, host: &str) -> PyResult<bool> {
        Ok(self.running()?.record_delivered(host))
    }
    fn take_delivered(&mut self) -> PyResult<Vec<Delivered>> {
        let taken = self.running()?.take_delivered();
        Ok(taken
            .into_iter()
            .map(|(flow, packet)| (packet.at.0, flow, packet.sequence, packet.bytes, packet.born.0))
            .collect())
    }

    fn take_trace<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<(usize, Bound<'py, PyDict>)>> {
        let rows = self.running()?.take_trace();
        rows.chunks(CHUNK_ROWS).map(|rows| Ok((rows.len(), chunk(py, rows)?))).collect()
    }
    #[getter]
    fn trace_summary(&mut self) -> PyResult<Option<(u64, String)>> {
        Ok(self.running()?.trace_summary().map(|summary| (summary.rows(), summary.hash())))
    }

    fn scenario(&mut self) -> PyResult<Scenario> {
        let simulation = self.running()?;
        whole(|| Ok(Scenario::from(simulation.scenario())))
    }

    /// Returns the report of a run that ends now, as JSON; the simulation is then over.
    fn report(&mut self, py: Python<'_>) -> PyResult<String> {
        self.running()?;
        let simulation = self.0.take();
        let report = py.detach(|| guarded(|| simulation.map(tailback_scenario::Simulation::report)));
        let report = report.map_err(PyRuntimeError::new_err)?;
        report.as_ref().map(json).ok_or_else(|| PyRuntimeError::new_err("the simulation is over"))
    }
}
