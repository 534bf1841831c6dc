//! A checked study document; its points are generated in Python.

use crate::error::raise;
use crate::panics::whole;
use pyo3::prelude::*;

/// A checked study document.
#[pyclass(frozen, module = "tailback._native")]
pub struct Study(tailback_scenario::Study);

#[pymethods]
impl Study {
    #[staticmethod]
    #[pyo3(signature = (text, filename = "<study>"))]
    fn from_toml(py: Python<'_>, text: &str, filename: &str) -> PyResult<Study> {
        whole(|| tailback_scenario::Study::from_toml(text, filename).map(Study).map_err(|error| raise(py, &error)))
    }

    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Study> {
        whole(|| tailback_scenario::Study::from_json(text).map(Study).map_err(|error| raise(py, &error)))
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    #[pyo3(signature = (path, message, suggestion = None))]
    fn refuse(&self, py: Python<'_>, path: &str, message: &str, suggestion: Option<&str>) -> PyErr {
        raise(py, &self.0.refuse(path, message, suggestion))
    }
}
