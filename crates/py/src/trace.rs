//! Packet traces: chunks of columns for Python, and columns read back.

use crate::panics::{guarded, whole};
use crate::run::{Cancel, json, undivided, watched};
use crate::scenario::Scenario;
use crate::user::with_lock;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;
use tailback_scenario::build;
use tailback_sim::plan::{Plan, TracePlan};
use tailback_sim::trace::{Row, Summary};
use tailback_trace::columns::{COLUMNS, Columns, Names, rows};
use tailback_trace::{Ends, Network, Ns2, Ns3, Places, Selection};
use tailback_units::Time;
use tailback_user::Language;

/// Maximum number of rows of a chunk.
pub const CHUNK_ROWS: usize = 100_000;

/// A selection: flows, ports, kinds of events, kinds of frames, first and last instant in picoseconds.
pub type Chosen = (Vec<String>, Vec<String>, Vec<String>, Vec<String>, Option<u64>, Option<u64>);

/// Returns the rows that a selection names. Raises `ValueError` if a pattern matches nothing.
pub fn traced(scenario: &tailback_scenario::Scenario, seed: u64, chosen: Chosen) -> PyResult<TracePlan> {
    whole(|| selected(&Network::with_factories(&build(scenario, seed, None), scenario.factories()), chosen))
}

fn selected(network: &Network, (flows, ports, events, frames, from, until): Chosen) -> PyResult<TracePlan> {
    let selection = Selection { flows, ports, events, frames, from: from.map(Time), until: until.map(Time) };
    selection.plan(network).map_err(PyValueError::new_err)
}

/// Returns rows as a dictionary: for each column its numbers and their extent ([`tailback_trace::columns::Column`]).
pub fn chunk<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyDict>> {
    let columns = py.detach(|| Columns::of(rows));
    let dictionary = PyDict::new(py);
    for (spec, column) in COLUMNS.iter().zip(columns.columns) {
        let extent = (!column.extent.is_empty()).then(|| PyBytes::new(py, &column.extent));
        dictionary.set_item(spec.name, (PyBytes::new(py, &column.numbers), extent))?;
    }
    Ok(dictionary)
}

/// Rows that have not been handed over yet, and the sums of those that have.
struct Handover<'a> {
    sink: &'a Py<PyAny>,
    waiting: Vec<Row>,
    summary: Summary,
}

impl Handover<'_> {
    /// Hands over full chunks; at the `end` the rest, too.
    fn add(&mut self, rows: Vec<Row>, end: bool) -> PyResult<()> {
        self.summary.add(&rows);
        if self.waiting.is_empty() {
            self.waiting = rows;
        } else {
            self.waiting.extend(rows);
        }
        let whole = if end { self.waiting.len() } else { self.waiting.len() / CHUNK_ROWS * CHUNK_ROWS };
        for rows in self.waiting[..whole].chunks(CHUNK_ROWS) {
            Python::attach(|py| self.sink.call1(py, (rows.len(), chunk(py, rows)?)))?;
        }
        self.waiting.drain(..whole);
        Ok(())
    }
}

/// Runs one replication without the interpreter lock, and calls `sink` with the number of rows and the columns of each
/// chunk of its trace. Returns the report as JSON, the number of rows and their hash. An exception of `sink` ends the
/// run; before `Cancelled` or an exception of `progress` is raised, `sink` gets the rows up to it.
#[pyfunction]
#[pyo3(signature = (scenario, seed, sink, chosen, cancel = None, progress = None, engine = None, warmup_s = None, parallel = 1))]
#[expect(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "they are keywords in Python")]
pub fn trace(
    py: Python<'_>,
    scenario: &Scenario,
    seed: u64,
    sink: Py<PyAny>,
    chosen: Chosen,
    cancel: Option<PyRef<'_, Cancel>>,
    progress: Option<Py<PyAny>>,
    engine: Option<&str>,
    warmup_s: Option<f64>,
    parallel: usize,
) -> PyResult<(String, u64, String)> {
    let selection = traced(scenario.inner(), seed, chosen)?;
    let plan = Plan { trace: Some(Box::new(selection)), ..scenario.plan(seed, engine, warmup_s)? };
    let flag = cancel.map(|cancel| cancel.flag());
    undivided(scenario.inner(), parallel)?;
    let factories = scenario.inner().factories();
    with_lock(py, scenario.inner().has_code_in(Language::Python), || {
        whole(|| {
            let mut handover = Handover { sink: &sink, waiting: Vec::new(), summary: Summary::default() };
            let take = |rows| handover.add(rows, false);
            let world = watched(plan, parallel, factories, flag.as_deref(), progress.as_ref(), take)?;
            handover.add(Vec::new(), true)?;
            Ok((json(&world?.report()), handover.summary.rows(), handover.summary.hash()))
        })
    })
}

/// Returns the network of a replication as JSON: lists of names, ends of ports and flows, names of the state variables.
/// Raises `ValueError` if a pattern of `chosen` matches nothing.
#[pyfunction]
pub fn trace_network(scenario: &Scenario, seed: u64, chosen: Chosen) -> PyResult<String> {
    let network =
        whole(|| Ok(Network::with_factories(&build(scenario.inner(), seed, None), scenario.inner().factories())))?;
    selected(&network, chosen)?;
    let names: BTreeMap<&str, Vec<String>> = Names::ALL.iter().map(|list| (list.name(), list.of(&network))).collect();
    let state: BTreeMap<&str, _> = (network.ports.iter())
        .filter(|port| port.state.iter().any(|names| !names.is_empty()))
        .map(|port| (port.name.as_str(), &port.state))
        .collect();
    let ports: Vec<_> = network.ports.iter().map(|port| [port.from, port.to]).collect();
    let flows: Vec<_> = network.flows.iter().map(|flow| (flow.from, flow.to, flow.has_transport)).collect();
    let groups: Vec<_> = network.flows.iter().map(|flow| &flow.group).collect();
    Ok(serde_json::json!({
        "names": names, "state_names": state, "port_ends": ports, "flow_ends": flows, "flow_groups": groups,
    })
    .to_string())
}

/// Returns the columns of traces: name, type, list of names or `None`, `True` for lists, `True` if a row may have no
/// value, unit, and description.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a tuple for Python")]
pub fn trace_columns() -> Vec<(&'static str, &'static str, Option<&'static str>, bool, bool, &'static str, &'static str)>
{
    let column = |spec: &tailback_trace::columns::Spec| {
        let names = spec.names.map(Names::name);
        (spec.name, spec.kind.name(), names, spec.is_list(), spec.is_optional(), spec.unit, spec.about)
    };
    COLUMNS.iter().map(column).collect()
}

/// Form into which rows are converted.
enum Form {
    /// None: only their number and hash are computed.
    Hash,
    Ns2(Ns2),
    Ns3(Ns3),
}

/// Reads the columns of a trace in order: computes their hash and the lines of a text format.
#[pyclass(module = "tailback._native")]
pub struct TraceReader {
    form: Form,
    summary: Summary,
}

#[pymethods]
impl TraceReader {
    #[new]
    #[pyo3(signature = (form = None, port_ends = None, flow_ends = None))]
    fn new(
        form: Option<&str>,
        port_ends: Option<Vec<(u16, u16)>>,
        flow_ends: Option<Vec<(u16, u16, bool)>>,
    ) -> PyResult<TraceReader> {
        let ends = |(from, to, has_transport)| Ends { from, to, has_transport };
        let places = Places {
            ports: port_ends.unwrap_or_default(),
            flows: flow_ends.unwrap_or_default().into_iter().map(ends).collect(),
        };
        let form = match form {
            None => Form::Hash,
            Some("ns2") => Form::Ns2(Ns2::new(places)),
            Some("ns3") => Form::Ns3(Ns3::new(places)),
            Some(other) => return Err(PyValueError::new_err(format!("there is no format `{other}`"))),
        };
        Ok(TraceReader { form, summary: Summary::default() })
    }

    /// Adds the next rows; returns their lines.
    fn add(
        &mut self,
        py: Python<'_>,
        count: usize,
        columns: BTreeMap<String, (PyBackedBytes, PyBackedBytes)>,
    ) -> PyResult<String> {
        let done = py.detach(|| {
            guarded(|| {
                let columns = columns.iter().map(|(name, (numbers, extent))| (&**name, (&**numbers, &**extent)));
                let rows = rows(count, &columns.collect())?;
                self.summary.add(&rows);
                Ok::<_, String>(match &mut self.form {
                    Form::Hash => String::new(),
                    Form::Ns2(ns2) => ns2.lines(&rows),
                    Form::Ns3(ns3) => ns3.lines(&rows),
                })
            })
        });
        done.map_err(PyRuntimeError::new_err)?.map_err(PyValueError::new_err)
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.summary.rows()
    }
    #[getter]
    fn hash(&self) -> String {
        self.summary.hash()
    }
}
