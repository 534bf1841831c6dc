//! Explanations of packets and queues ([`tailback_trace::why`]): runs with traces, without the interpreter lock.

use crate::panics::whole;
use crate::run::{Cancel, undivided, watched};
use crate::scenario::Scenario;
use crate::user::with_lock;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tailback_sim::plan::{Plan, TracePlan};
use tailback_sim::trace::Row;
use tailback_trace::Network;
use tailback_trace::why::{Blame, Finder, Found, Keeper, Log, Query, packet, port};
use tailback_units::Time;
use tailback_user::Language;

/// Maximum number of transmissions of a packet that are explained.
const MOST: usize = 20;

/// A run that is repeated with other selections of rows.
struct Runs<'a> {
    scenario: &'a tailback_scenario::Scenario,
    plan: Plan,
    parallel: usize,
    cancel: Option<Arc<AtomicBool>>,
}

impl Runs<'_> {
    /// Returns the network of the run.
    fn network(&self) -> Network {
        Network::with_factories(&self.plan, self.scenario.factories())
    }

    /// Runs the plan, passes its rows to `take`, and returns the digest.
    fn run(&self, selection: TracePlan, mut take: impl FnMut(Vec<Row>)) -> PyResult<String> {
        let plan = Plan { trace: Some(Box::new(selection)), ..self.plan.clone() };
        let take = |rows| {
            take(rows);
            Ok(())
        };
        let world = watched(plan, self.parallel, self.scenario.factories(), self.cancel.as_deref(), None, take)??;
        Ok(world.report().digest)
    }

    /// Returns the rows that explain an interval.
    fn rows(&self, from: Time, until: Time) -> PyResult<Vec<Row>> {
        let mut keeper = Keeper::new(from, until);
        let selection = TracePlan { until, ..TracePlan::default() };
        self.run(selection, |rows| keeper.add(rows))?;
        Ok(keeper.finish())
    }
}

fn runs<'a>(
    scenario: &'a Scenario,
    seed: u64,
    warmup_s: Option<f64>,
    parallel: usize,
    cancel: Option<&Cancel>,
) -> PyResult<Runs<'a>> {
    undivided(scenario.inner(), parallel)?;
    let plan = scenario.plan(seed, None, warmup_s)?;
    Ok(Runs { scenario: scenario.inner(), plan, parallel, cancel: cancel.map(Cancel::flag) })
}

fn detached(
    py: Python<'_>,
    scenario: &tailback_scenario::Scenario,
    work: impl FnOnce() -> PyResult<String> + Send,
) -> PyResult<String> {
    with_lock(py, scenario.has_code_in(Language::Python), || whole(work))
}

/// Returns the names of flows and ports as JSON.
#[pyfunction]
pub fn why_names(py: Python<'_>, scenario: PyRef<'_, Scenario>, seed: u64) -> PyResult<String> {
    let runs = runs(&scenario, seed, None, 1, None)?;
    detached(py, runs.scenario, || {
        let network = runs.network();
        let flows: Vec<_> = network.flows.iter().map(|flow| &flow.name).collect();
        let ports: Vec<_> = network.ports.iter().map(|port| &port.name).collect();
        Ok(serde_json::json!({ "flows": flows, "ports": ports }).to_string())
    })
}

/// Explains a packet of the flow with the index `flow`; returns JSON. `query` is `packet`, `at` (`value`: picoseconds),
/// `worst` or `drop`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, flow, query, value, warmup_s = None, parallel = 1, cancel = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn why_packet(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    seed: u64,
    flow: u32,
    query: &str,
    value: u64,
    warmup_s: Option<f64>,
    parallel: usize,
    cancel: Option<PyRef<'_, Cancel>>,
) -> PyResult<String> {
    let query = match query {
        "packet" => Query::Packet(u32::try_from(value).map_err(|_| PyValueError::new_err("packet is too large"))?),
        "at" => Query::At(Time(value)),
        "worst" => Query::WorstDelay,
        "drop" => Query::Drop(value),
        _ => return Err(PyValueError::new_err("query is packet, at, worst or drop")),
    };
    let runs = runs(&scenario, seed, warmup_s, parallel, cancel.as_deref())?;
    detached(py, runs.scenario, || {
        let network = runs.network();
        let mut finder = Finder::new(flow, query);
        let digest = runs.run(finder.selection(network.flows.len()), |rows| finder.add(&rows))?;
        let (packets, drops) = finder.counts();
        let found = finder.finish();
        let count = found.len();
        let mut stories = Vec::new();
        for (at, one) in found.into_iter().take(MOST).enumerate() {
            stories.extend(explained(&runs, &network, one, (at + 1, count))?);
        }
        let found = serde_json::json!({ "digest": digest, "packets": packets, "drops": drops, "stories": stories });
        Ok(found.to_string())
    })
}

/// Explains a packet from the rows of another run, and of further runs if the tree of its stops reaches back before it.
fn explained(
    runs: &Runs<'_>,
    network: &Network,
    found: Found,
    transmission: (usize, usize),
) -> PyResult<Option<serde_json::Value>> {
    let mut from = found.from;
    loop {
        let log = Log::new(network, runs.rows(from, found.until)?, found.until);
        let Some(story) = packet(&log, found, transmission) else { return Ok(None) };
        if story.needs >= from {
            return Ok(Some(with_text(&story, &story.text())));
        }
        from = story.needs;
    }
}

/// Explains the queue of the port with the index `number`; returns JSON.
#[pyfunction]
#[pyo3(signature = (scenario, seed, number, warmup_s = None, parallel = 1, cancel = None))]
pub fn why_port(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    seed: u64,
    number: u32,
    warmup_s: Option<f64>,
    parallel: usize,
    cancel: Option<PyRef<'_, Cancel>>,
) -> PyResult<String> {
    let runs = runs(&scenario, seed, warmup_s, parallel, cancel.as_deref())?;
    detached(py, runs.scenario, || {
        let network = runs.network();
        let mut blame = Blame::new(&network, number);
        let digest = runs.run(blame.selection(), |rows| blame.add(rows))?;
        let sums = blame.finish();
        let at = Time(sums.0.time_ps);
        let mut from = at;
        loop {
            let log = Log::new(&network, runs.rows(from, at)?, at);
            let story = port(&log, number, sums.clone());
            if story.needs >= from {
                let story = with_text(&story, &story.text());
                return Ok(serde_json::json!({ "digest": digest, "story": story }).to_string());
            }
            from = story.needs;
        }
    })
}

/// Returns an explanation as JSON, with its text under `text`.
fn with_text(story: &impl serde::Serialize, text: &str) -> serde_json::Value {
    let mut value = serde_json::to_value(story).expect("a story has text keys and finite numbers only");
    value["text"] = text.into();
    value
}
