//! Exceptions of the extension: scenario errors with place and advice, faults of laws, cancellation.

use crate::interrupt::take_interrupt;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tailback_scenario::Problem;

create_exception!(tailback._native, LawFault, PyRuntimeError, "A user-defined component has failed.");
create_exception!(tailback._native, Cancelled, PyException, "The run was stopped through its Cancel.");
create_exception!(tailback._native, ScenarioError, PyValueError, "A scenario that cannot be run.");

/// Returns the exception with its attributes: those of the first error, the text of all errors, and the list of all
/// errors. If Ctrl-C has ended the loading of a component, the exception is KeyboardInterrupt.
pub fn raise(py: Python<'_>, error: &tailback_scenario::ScenarioError) -> PyErr {
    if let Some(interrupt) = take_interrupt()
        && interrupt.is_instance_of::<PyKeyboardInterrupt>(py)
    {
        return interrupt;
    }
    let rendered = error.rendered();
    let made = ScenarioError::new_err(rendered.clone());
    match decorate(py, &made, error, &rendered) {
        Ok(()) => made,
        Err(failed) => failed,
    }
}

/// Sets the attributes of an exception.
fn decorate(py: Python<'_>, made: &PyErr, error: &tailback_scenario::ScenarioError, rendered: &str) -> PyResult<()> {
    let value = made.value(py);
    let first = error.first();
    value.setattr("message", &first.message)?;
    value.setattr("path", &first.path)?;
    value.setattr("line", first.line)?;
    value.setattr("column", first.column)?;
    value.setattr("suggestion", &first.suggestion)?;
    value.setattr("rendered", rendered)?;
    let problems = PyList::empty(py);
    for problem in error.problems() {
        problems.append(table(py, problem)?)?;
    }
    value.setattr("problems", problems)
}

/// Returns warnings as a list of dictionaries, each with the attributes of an error and the warning's name.
pub fn warnings<'py>(py: Python<'py>, found: &[tailback_scenario::Warning]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for warning in found {
        let table = table(py, &warning.problem)?;
        table.set_item("name", warning.name.text())?;
        list.append(table)?;
    }
    Ok(list)
}

/// Returns an error or warning as a dictionary.
fn table<'py>(py: Python<'py>, problem: &Problem) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("message", &problem.message)?;
    table.set_item("path", &problem.path)?;
    table.set_item("line", problem.line)?;
    table.set_item("column", problem.column)?;
    table.set_item("suggestion", &problem.suggestion)?;
    table.set_item("rendered", &problem.rendered)?;
    Ok(table)
}
