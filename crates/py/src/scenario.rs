//! A checked scenario, ready to run.

use crate::error::{raise, warnings};
use crate::languages::{Languages, inside};
use crate::panics::whole;
use crate::run::{Cancel, in_turn, json, run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tailback_scenario::{Files, build, network};
use tailback_sim::Parts;
use tailback_sim::plan::{Engine, Plan};
use tailback_units::{Dur, Time};
use tailback_user::{Code, Language};

/// A checked scenario.
#[pyclass(frozen, module = "tailback._native")]
pub struct Scenario(tailback_scenario::Scenario);

impl Scenario {
    /// Returns the scenario of the core.
    pub fn inner(&self) -> &tailback_scenario::Scenario {
        &self.0
    }

    /// Returns the plan of a replication; `engine` and `warmup_s` replace the scenario's. Raises `ValueError` if they are
    /// out of range.
    pub fn plan(&self, seed: u64, engine: Option<&str>, warmup_s: Option<f64>) -> PyResult<Plan> {
        let engine = engine.map(engine_named).transpose()?;
        let mut plan = whole(|| Ok(build(&self.0, seed, engine)))?;
        if let Some(seconds) = warmup_s {
            plan.warmup = instant(seconds)?;
        }
        Ok(plan)
    }
}

impl From<tailback_scenario::Scenario> for Scenario {
    fn from(scenario: tailback_scenario::Scenario) -> Scenario {
        Scenario(scenario)
    }
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    #[pyo3(signature = (text, filename = "<scenario>", allow_files = false))]
    fn from_toml(py: Python<'_>, text: &str, filename: &str, allow_files: bool) -> PyResult<Scenario> {
        let folder = Path::new(filename).parent().unwrap_or(Path::new(""));
        whole(|| {
            tailback_scenario::Scenario::from_toml_with(text, filename, files_in(folder, allow_files))
                .map(Scenario)
                .map_err(|error| raise(py, &error))
        })
    }

    #[staticmethod]
    #[pyo3(signature = (text, folder = "", allow_files = false))]
    fn from_json(py: Python<'_>, text: &str, folder: &str, allow_files: bool) -> PyResult<Scenario> {
        whole(|| {
            tailback_scenario::Scenario::from_json_with(text, files_in(Path::new(folder), allow_files))
                .map(Scenario)
                .map_err(|error| raise(py, &error))
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "Python hands over a list")]
    fn with_set(&self, py: Python<'_>, assignments: Vec<(String, String)>) -> PyResult<Scenario> {
        whole(|| self.0.with_set(&assignments).map(Scenario).map_err(|error| raise(py, &error)))
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }
    fn run_config(&self) -> String {
        self.0.run_config()
    }
    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }
    #[getter]
    fn effect(&self) -> String {
        self.0.effect()
    }
    fn offered(&self) -> PyResult<BTreeMap<String, Option<(f64, f64)>>> {
        let found = whole(|| Ok(self.0.offered()))?;
        Ok(found.into_iter().map(|(name, sum)| (name, sum.map(|sum| (sum.buffer_bps, sum.wire_bps)))).collect())
    }
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let found = whole(|| Ok(self.0.warnings()))?;
        warnings(py, &found)
    }
    #[expect(clippy::needless_pass_by_value, reason = "Python hands over a list")]
    fn without_effect<'py>(&self, py: Python<'py>, assignments: Vec<(String, String)>) -> PyResult<Bound<'py, PyList>> {
        let found = whole(|| self.0.without_effect(&assignments).map_err(|error| raise(py, &error)))?;
        warnings(py, &found)
    }
    fn pilot(&self, py: Python<'_>, factor: u64) -> PyResult<(Scenario, u64)> {
        let found = whole(|| self.0.pilot(factor).map_err(|error| raise(py, &error)))?;
        Ok((Scenario(found.0), found.1.0))
    }
    #[expect(clippy::needless_pass_by_value, reason = "Python hands over a list")]
    fn truncation_ps(&self, in_network: Vec<f64>, sample_ps: u64) -> Option<u64> {
        self.0.truncation(&in_network, Dur(sample_ps)).map(|end| end.0)
    }
    #[getter]
    fn has_user_code(&self) -> bool {
        self.0.has_user_code()
    }
    #[getter]
    fn user_languages(&self) -> Vec<&'static str> {
        let all = [Language::Python, Language::Native, Language::WebAssembly];
        all.into_iter().filter(|language| self.0.has_code_in(*language)).map(Language::name).collect()
    }
    #[getter]
    fn user_files<'py>(&self, py: Python<'py>) -> Vec<(String, String, Option<Bound<'py, PyBytes>>)> {
        let digest = |code: &Code| code.loaded.as_ref().map_or_else(String::new, |loaded| loaded.digest.clone());
        let content = |code: &Code| self.0.factories().content(code).map(|content| PyBytes::new(py, &content));
        self.0.codes().iter().map(|code| (code.file.clone(), digest(code), content(code))).collect()
    }
    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }

    #[pyo3(signature = (seed, cancel = None, progress = None, engine = None, warmup_s = None, parallel = 1))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn run(
        &self,
        py: Python<'_>,
        seed: u64,
        cancel: Option<PyRef<'_, Cancel>>,
        progress: Option<Py<PyAny>>,
        engine: Option<&str>,
        warmup_s: Option<f64>,
        parallel: usize,
    ) -> PyResult<String> {
        let plan = self.plan(seed, engine, warmup_s)?;
        run(py, &self.0, plan, parallel, cancel.as_deref(), progress.as_ref(), json)
    }

    #[pyo3(signature = (seed, parallel = 1))]
    fn count(&self, py: Python<'_>, seed: u64, parallel: usize) -> PyResult<(u64, u64)> {
        let plan = whole(|| Ok(build(&self.0, seed, None)))?;
        run(py, &self.0, plan, parallel, None, None, |report| (report.packet_hops, report.events))
    }

    fn run_in_turn(&self, py: Python<'_>, seed: u64, parts: usize) -> PyResult<String> {
        let plan = whole(|| Ok(build(&self.0, seed, None)))?;
        in_turn(py, &self.0, plan, parts)
    }

    fn parts(&self, most: usize, seed: u64) -> PyResult<String> {
        let plan = whole(|| Ok(build(&self.0, seed, None)))?;
        let (nodes, links) = (plan.nodes.clone(), plan.links.clone());
        let parts = Parts::new(plan, most);
        let partition = parts.partition();
        let name = |node: u16| nodes[usize::from(node)].name.clone();
        let of = |part: usize| -> Vec<String> {
            (0..nodes.len() as u16).filter(|node| partition.part_of(*node) == part).map(name).collect()
        };
        let cut: Vec<_> = partition.cut().iter().map(|link| links[*link as usize].ends.map(name)).collect();
        let look_ahead = (!cut.is_empty()).then(|| partition.look_ahead().as_secs());
        let nodes: Vec<_> = (0..partition.parts()).map(of).collect();
        Ok(serde_json::json!({ "parts": nodes, "cut": cut, "look_ahead_s": look_ahead }).to_string())
    }

    fn network(&self, seed: u64) -> PyResult<String> {
        let plan = whole(|| Ok(build(&self.0, seed, None)))?;
        Ok(network(&plan).to_string())
    }

    fn __repr__(&self) -> String {
        format!("<tailback._native.Scenario {:?} {}>", self.0.title(), self.0.hash())
    }
}

/// Returns a reader of files relative to `folder`, and factories of the user-defined components there. Files outside `folder`
/// are refused unless `allow_files`: a scenario may come from an untrusted source.
fn files_in(folder: &Path, allow_files: bool) -> Files {
    let folder = if folder.as_os_str().is_empty() { Path::new(".").to_owned() } else { folder.to_owned() };
    let factories = Languages::new(folder.clone(), allow_files);
    let files = Files::read_by(move |file| {
        let path = folder.join(file);
        inside(&folder, &path, allow_files)?;
        std::fs::read_to_string(path).map_err(|e| e.to_string())
    });
    files.with_factories(Arc::new(factories))
}

/// Returns the event scheme of this name, "merged" or "plain". Raises `ValueError` for other names.
pub fn engine_named(name: &str) -> PyResult<Engine> {
    match name {
        "merged" => Ok(Engine::Merged),
        "plain" => Ok(Engine::Plain),
        other => Err(PyValueError::new_err(format!("there is no engine `{other}`; use \"merged\" or \"plain\""))),
    }
}

/// Rounds seconds to the nearest picosecond. Raises `ValueError` for negative values and those above 208 days.
pub fn instant(seconds: f64) -> PyResult<Time> {
    let ps = (seconds * 1e12).round();
    if ps.is_finite() && (0.0..1.8e19).contains(&ps) {
        return Ok(Time(ps as u64));
    }
    Err(PyValueError::new_err(format!("a warm-up of {seconds} s is out of range; write 0 to 1.8e7 seconds")))
}
