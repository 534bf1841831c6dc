//! Panics of the engine as exceptions with a message, instead of output on stderr.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records the message of each panic and its place for [`guarded`]; also prints them if `TAILBACK_DEBUG` is set.
#[allow(clippy::disallowed_methods, reason = "debugging output, not a result, depends on it")]
pub fn catch_messages() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        LAST.with(|last| *last.borrow_mut() = Some(info.to_string()));
        if std::env::var_os("TAILBACK_DEBUG").is_some() {
            print(info);
        }
    }));
}

/// Returns the result of `work`, or the message of its panic.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // A panic may leave state inconsistent; that state is dropped with the panic.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let message = LAST.with(|last| last.borrow_mut().take());
        // A panic in another thread recorded its message there, but its payload carries the text.
        let text = || panic.downcast::<String>().map(|text| *text).ok();
        message.or_else(text).unwrap_or_else(|| "the simulator stopped without a message".to_owned())
    })
}

/// Returns the result of `work` for Python: a panic becomes a RuntimeError, which is an `Exception`.
pub fn whole<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    guarded(work).unwrap_or_else(|message| Err(PyRuntimeError::new_err(message)))
}
