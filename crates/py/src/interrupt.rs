//! Exceptions of a component that are no errors, such as KeyboardInterrupt.

use pyo3::prelude::*;
use std::cell::RefCell;

thread_local! {
    /// The first such exception on this thread.
    static INTERRUPT: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps an exception, unless there is one already; the run or the loading on this thread that it ends raises it again.
pub fn keep_interrupt(error: PyErr) {
    INTERRUPT.with(|interrupt| {
        interrupt.borrow_mut().get_or_insert(error);
    });
}

/// Removes and returns the exception. `None`: there is none.
pub fn take_interrupt() -> Option<PyErr> {
    INTERRUPT.with(|interrupt| interrupt.borrow_mut().take())
}
