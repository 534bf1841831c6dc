//! The Python extension `tailback._native`: scenarios in, reports out, as text.
//!
//! The types of the module's items for Python are in `python/tailback/_native.pyi`. A run releases the interpreter
//! lock, so that replications run in parallel on all processors.

mod capture;
mod error;
mod follow;
mod interrupt;
mod languages;
mod panics;
mod quality;
mod router;
mod run;
mod scenario;
mod simulation;
mod study;
mod trace;
mod user;
mod why;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use tailback_measure::statistics;
use tailback_units::{QuantityError, parse_bytes as bytes, parse_duration as duration, parse_rate as rate};
use tailback_user::Role;

/// Returns the JSON Schema of the scenario document.
#[pyfunction]
fn schema() -> String {
    format!("{:#}", tailback_scenario::schema())
}

/// Returns the JSON Schema of the study document.
#[pyfunction]
fn study_schema() -> String {
    format!("{:#}", tailback_scenario::study_schema())
}

/// Returns the names that a document may choose from as JSON: sections, kinds and words, by family.
#[pyfunction]
fn names() -> String {
    tailback_scenario::names().to_string()
}

/// Explains a section, key, kind or word of documents; `None`: there is no such name.
#[pyfunction]
fn explain(name: &str) -> Option<String> {
    tailback_scenario::explain(name)
}

/// Parses a rate; returns bit/s. Raises `ValueError` for other text.
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<u64> {
    rate(text).map(|rate| rate.0).map_err(refused)
}

/// Parses a duration; returns picoseconds. Raises `ValueError` for other text.
#[pyfunction]
fn parse_duration(text: &str) -> PyResult<u64> {
    duration(text).map(|duration| duration.0).map_err(refused)
}

/// Parses a size; returns bytes. Raises `ValueError` for other text.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    bytes(text).map_err(refused)
}

fn refused(error: QuantityError) -> PyErr {
    PyValueError::new_err(error.0)
}

/// Returns the quantile of Student's t distribution with `dof` degrees of freedom (above 0) at the probability `p`,
/// between 0 and 1. Raises `ValueError` for other arguments.
#[pyfunction]
fn t_quantile(p: f64, dof: f64) -> PyResult<f64> {
    if !(p > 0.0 && p < 1.0 && dof > 0.0) {
        return Err(PyValueError::new_err("p must be between 0 and 1, and dof above 0"));
    }
    Ok(statistics::t_quantile(p, dof))
}

/// The module `tailback._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    panics::catch_messages();
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    module.add("pilot_lengths", tailback_scenario::PILOT_LENGTHS)?;
    module.add("digest_version", tailback_measure::Digest::VERSION)?;
    module.add("ScenarioError", module.py().get_type::<error::ScenarioError>())?;
    module.add("Cancelled", module.py().get_type::<error::Cancelled>())?;
    module.add_class::<run::Cancel>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<user::Base>()?;
    module.add_class::<user::CongestionControl>()?;
    module.add_class::<user::CongestionCall>()?;
    module.add_class::<user::SchedulerCall>()?;
    module.add_class::<user::QueueState>()?;
    module.add_class::<user::SourceCall>()?;
    module.add_class::<user::Call>()?;
    module.add_class::<user::LawMonitor>()?;
    module.add("LawFault", module.py().get_type::<error::LawFault>())?;
    module.add_function(wrap_pyfunction!(user::abort_at_end_of_input, module)?)?;
    module.add_function(wrap_pyfunction!(user::record_calls, module)?)?;
    module.add_function(wrap_pyfunction!(user::host_functions, module)?)?;
    module.add_function(wrap_pyfunction!(languages::law_records, module)?)?;
    module.add_function(wrap_pyfunction!(languages::load_component, module)?)?;
    module.add_function(wrap_pyfunction!(languages::wat_to_wasm, module)?)?;
    module.add_function(wrap_pyfunction!(languages::compiled_role, module)?)?;
    module.add_submodule(&user::maths(module.py())?)?;
    let events: BTreeMap<_, _> = Role::ALL.iter().map(|role| (role.name(), role.events())).collect();
    module.add("component_events", events)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(capture::capture, module)?)?;
    module.add_function(wrap_pyfunction!(router::import_router, module)?)?;
    module.add_function(wrap_pyfunction!(router::translate_router, module)?)?;
    module.add_function(wrap_pyfunction!(router::export_router, module)?)?;
    module.add_function(wrap_pyfunction!(router::patch_router, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_network, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_columns, module)?)?;
    module.add_class::<trace::TraceReader>()?;
    module.add_function(wrap_pyfunction!(study_schema, module)?)?;
    module.add_function(wrap_pyfunction!(names, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(parse_rate, module)?)?;
    module.add_function(wrap_pyfunction!(parse_duration, module)?)?;
    module.add_function(wrap_pyfunction!(parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(t_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(why::why_names, module)?)?;
    module.add_function(wrap_pyfunction!(why::why_packet, module)?)?;
    module.add_function(wrap_pyfunction!(why::why_port, module)?)?;
    module.add_function(wrap_pyfunction!(follow::sender, module)?)?;
    module.add_function(wrap_pyfunction!(follow::receiver, module)?)?;
    module.add_function(wrap_pyfunction!(quality::speech_rating, module)?)?;
    module.add_function(wrap_pyfunction!(quality::mos, module)?)?;
    module.add_function(wrap_pyfunction!(quality::video_score, module)?)?;
    module.add_function(wrap_pyfunction!(quality::y1541_limits, module)?)?;
    module.add_function(wrap_pyfunction!(quality::y1541_violations, module)?)?;
    module.add_function(wrap_pyfunction!(quality::y1541_class, module)?)?;
    Ok(())
}
