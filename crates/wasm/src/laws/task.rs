//! Tasks of the host of users' components, and the state of the instance that it works for.

use core::ffi::c_void;
use std::cell::{Cell, RefCell};
use tailback_compiled::State;

/// Function of the host for its components. Arguments are the [`Task`], a number, `len` bytes at `input`, and a place for the
/// result; it returns a status: 0, or another number if the task failed.
pub type LawHost = unsafe extern "C" fn(u32, u32, *const u8, usize, *mut c_void) -> i32;

/// Task of the host.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Load a class: the input is the name of its file, a zero, and the name of the class. The result is its description
    /// (256 bytes), the number of the class (4 bytes), and the hash of the file (64 bytes of text).
    Load = 0,
    /// Make an instance of the class with the number: the input is the [`Layout`](super::Layout) of its records, the result the number of
    /// the instance (4 bytes).
    Create = 1,
    /// Call the instance with the number: the input is the call, the result the answer.
    Answer = 2,
    /// Read a state variable of the instance with the number: the input is the variable's number (4 bytes), the result a real
    /// of 8 bytes.
    Probe = 3,
    /// Free the instance with the number.
    Destroy = 4,
    /// Note the name of the instance with the number: the input is the name of the component and its place, and after a zero
    /// each the names of its calls, by their numbers. A host that does not report calls ignores it.
    Place = 5,
}

thread_local! {
    static HOST: Cell<Option<LawHost>> = const { Cell::new(None) };
    /// State of the instance that the host works for.
    pub(super) static CURRENT: RefCell<Option<State>> = const { RefCell::new(None) };
}

/// Gives the host a task for an instance with this state.
///
/// # Errors
/// If there is no host, or if the task failed; the message describes the failure.
pub(super) fn work(
    task: Task,
    number: u32,
    input: &[u8],
    result: *mut c_void,
    state: &mut Option<State>,
) -> Result<(), String> {
    let host = HOST.get().ok_or("the program has not set a host of laws")?;
    CURRENT.set(state.take());
    // SAFETY: the host keeps to its contract; input and result live during the call, and the result has the size that belongs
    // to the task.
    let status = unsafe { host(task as u32, number, input.as_ptr(), input.len(), result) };
    *state = CURRENT.take();
    state.as_mut().map_or(Ok(()), |state| state.outcome(status))
}

/// Returns `true` if there is a host.
pub(super) fn has_host() -> bool {
    HOST.get().is_some()
}

/// Sets the function of the host for the laws of the scenarios that are opened afterwards on this thread; null: there is none.
/// In WebAssembly it is an index of the exported table of functions, and 0 is null.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_set_law_host(host: Option<LawHost>) {
    HOST.set(host);
}
