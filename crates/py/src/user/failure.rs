//! Failures of components in Python.

use crate::error::Cancelled;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::cell::RefCell;

/// Returns the traceback of an exception, without the frames of this package.
pub fn traceback(py: Python<'_>, error: &PyErr) -> String {
    // `into_value` attaches the traceback, which `value` does not before Python 3.12.
    let value = error.clone_ref(py).into_value(py);
    let shown = || py.import("tailback.laws.loading")?.call_method1("traceback_text", (value,))?.extract();
    shown().unwrap_or_else(|_| error.to_string())
}

thread_local! {
    /// An exception of a component that is no error; the run on this thread that it ends raises it again.
    static INTERRUPT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Returns the message of an exception of a component. One that is no error, such as Ctrl-C, is raised again by
/// [`crate::run`] after the run has ended.
pub fn failure(py: Python<'_>, error: PyErr) -> String {
    let message = traceback(py, &error);
    if !error.is_instance_of::<PyException>(py) || error.is_instance_of::<Cancelled>(py) {
        INTERRUPT.with(|interrupt| {
            interrupt.borrow_mut().get_or_insert(error);
        });
    }
    message
}

/// Removes and returns the exception of a component that is no error, such as KeyboardInterrupt. `None`: there is none.
pub fn take_interrupt() -> Option<PyErr> {
    INTERRUPT.with(|interrupt| interrupt.borrow_mut().take())
}
