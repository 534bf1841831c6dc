//! Failures of components in Python.

use crate::error::Cancelled;
use crate::interrupt::keep_interrupt;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// Returns the traceback of an exception, without the frames of this package.
pub fn traceback(py: Python<'_>, error: &PyErr) -> String {
    // `into_value` attaches the traceback, which `value` does not before Python 3.12.
    let value = error.clone_ref(py).into_value(py);
    let shown = || py.import("tailback.laws.loading")?.call_method1("traceback_text", (value,))?.extract();
    shown().unwrap_or_else(|_| error.to_string())
}

/// Returns the message of an exception of a component. One that is no error, such as Ctrl-C, is raised again by
/// [`crate::run`] after the run has ended.
pub fn failure(py: Python<'_>, error: PyErr) -> String {
    let message = traceback(py, &error);
    if !error.is_instance_of::<PyException>(py) || error.is_instance_of::<Cancelled>(py) {
        keep_interrupt(error);
    }
    message
}
