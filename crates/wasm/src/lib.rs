//! The simulator with a C interface: as a WebAssembly module for browsers and Node.js, and as a native library for C.
//!
//! The WebAssembly module has no imports, so that its host cannot influence a result, except by users' components ([`laws`]). For a run, the host allocates
//! memory in the module ([`tailback_alloc`]), writes the scenario there as UTF-8, calls [`tailback_run`], reads the
//! answer at [`tailback_result_ptr`], and frees the memory ([`tailback_free`]). `tools/wasm_digest.mjs` is an example
//! of a host. A run that is stepped through has a handle ([`stepping`]). An editor checks and changes documents ([`document`]). `tailback.h` declares the functions for C,
//! except those of memory: a C program passes texts in its own memory. `examples/steps.c` is an example in C.

#![allow(unsafe_code, reason = "memory is handed over through pointers of the C interface")]

mod assemble;
pub mod document;
pub mod laws;
mod memory;
mod setting;
pub mod stepping;

pub use assemble::tailback_assemble;
use memory::{RESULT, text_at};
use setting::setting;
use tailback_scenario::Simulation;
use tailback_units::Time;

/// Runs one replication of a TOML scenario with `seed` in place of the scenario's own seed; returns the report as JSON.
/// A warm-up of `"auto"` is determined by pilot runs.
///
/// # Errors
/// If the document is invalid: the text of all errors found. If no pilot run reached a steady state, or if a user's law
/// failed: a message.
pub fn replicate(toml: &str, seed: u64) -> Result<String, String> {
    let scenario = laws::scenario(toml).map_err(|e| e.rendered())?;
    let mut simulation = Simulation::new(&scenario, setting(&scenario, seed)?);
    simulation.run_until(Time::NEVER);
    if let Some(fault) = simulation.fault() {
        return Err(fault.to_string());
    }
    serde_json::to_string(&simulation.report()).map_err(|e| e.to_string())
}

/// Allocates `len` bytes of zeroed memory for the host to write to, and returns their address, which is never null. The
/// host frees them with [`tailback_free`].
#[unsafe(no_mangle)]
pub extern "C" fn tailback_alloc(len: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; len].into_boxed_slice()).cast()
}

/// Frees memory from [`tailback_alloc`].
///
/// # Safety
///
/// `at` is the result of `tailback_alloc(len)` with the same `len`, and is freed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_free(at: *mut u8, len: usize) {
    // SAFETY: by the contract above this is the boxed slice that tailback_alloc returned.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, len)) });
}

/// Runs the scenario in the `len` bytes at `at`, TOML in UTF-8, with the given seed. Returns 0 if the answer is the
/// report as JSON, and 1 if the answer is the text of an error.
///
/// # Safety
///
/// `at` is not null. The `len` bytes at `at` are initialised memory of the process, such as from [`tailback_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_run(at: *const u8, len: usize, seed: u64) -> u32 {
    // SAFETY: by the contract above; the text is used only until the end of this call.
    let answer = unsafe { text_at(at, len) }.and_then(|toml| replicate(toml, seed));
    let failed = u32::from(answer.is_err());
    RESULT.set(answer.unwrap_or_else(|error| error).into_bytes());
    failed
}

/// Returns the address of the last answer in the calling thread: UTF-8 unless it is that of
/// [`stepping::tailback_take_rows`], [`tailback_result_len`] bytes, valid until the
/// next call of a function that has an answer.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_result_ptr() -> *const u8 {
    RESULT.with_borrow(Vec::as_ptr)
}

/// Returns the length of the last answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_result_len() -> usize {
    RESULT.with_borrow(Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        tailback = 1
        [run]
        duration = "10ms"
        [hosts]
        a = {}
        b = {}
        [[links]]
        between = ["a", "b"]
        rate = "10Mbit/s"
        [[flows]]
        name = "data"
        from = "a"
        to = "b"
        source = { kind = "cbr", rate = "5Mbit/s", packet = "1000B" }
    "#;

    /// Calls the exports as a host does; returns the status of [`tailback_run`] and the answer.
    fn call(text: &[u8], seed: u64) -> (u32, String) {
        let at = tailback_alloc(text.len());
        // SAFETY: the allocation has the text's length, is written before it is read, and is freed once.
        let failed = unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), at, text.len());
            let failed = tailback_run(at, text.len(), seed);
            tailback_free(at, text.len());
            failed
        };
        // SAFETY: the answer is kept until the next call.
        let answer = unsafe { std::slice::from_raw_parts(tailback_result_ptr(), tailback_result_len()) };
        (failed, String::from_utf8(answer.to_vec()).expect("answers are UTF-8"))
    }

    #[test]
    fn the_exported_functions_return_the_report_of_a_direct_call() {
        let (failed, answer) = call(SCENARIO.as_bytes(), 3);
        assert_eq!(failed, 0, "{answer}");
        assert_eq!(answer, replicate(SCENARIO, 3).expect("the scenario runs"));
        assert!(answer.contains(r#""digest":"tb2:"#));
    }

    #[test]
    fn an_error_is_returned_as_text_with_its_line() {
        let (failed, answer) = call(SCENARIO.replace("10Mbit/s", "10Mbps").as_bytes(), 3);
        assert_eq!(failed, 1);
        assert!(answer.contains("<scenario>:10"), "{answer}");
    }

    #[test]
    fn an_empty_text_and_one_that_is_not_utf_8_are_refused() {
        assert_eq!(call(&[0xff, 0xfe], 1).0, 1);
        assert_eq!(call(&[], 1).0, 1);
    }
}
