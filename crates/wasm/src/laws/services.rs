//! Exports for the host during a task: what a law asks of the simulator.

use super::task::CURRENT;
use crate::memory::{RESULT, text_at};
use tailback_compiled::{Failed, State};
use tailback_random::maths;

/// Calls `work` with the state of the instance that the host works for; returns 0 if `work` fails, and outside a task.
fn current<T: Default>(work: impl FnOnce(&mut State) -> Result<T, Failed>) -> T {
    CURRENT.with_borrow_mut(|state| state.as_mut().and_then(|state| work(state).ok())).unwrap_or_default()
}

/// States why the present task fails, as UTF-8.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_law_fail(at: *const u8, len: usize) {
    // SAFETY: by the contract above.
    let reason = unsafe { text_at(at, len) }.map_or_else(|error| error, str::to_owned);
    current(|state| Err::<(), Failed>(state.fail(reason)));
}
/// Draws a uniform number on [0, 1).
#[unsafe(no_mangle)]
pub extern "C" fn tailback_law_random() -> f64 {
    current(State::random)
}
/// Draws a uniform integer on [0, n).
#[unsafe(no_mangle)]
pub extern "C" fn tailback_law_below(n: u64) -> u64 {
    current(|state| state.below(n))
}
/// Draws an exponentially distributed number with this mean.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_law_exponential(mean: f64) -> f64 {
    current(|state| state.exponential(mean))
}
/// Draws a number with the standard normal distribution.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_law_normal() -> f64 {
    current(State::normal)
}
/// Returns a parameter whose name is the `len` bytes at `at`, in the unit with this number; `otherwise` if the scenario does not
/// state it.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_law_parameter(at: *const u8, len: usize, unit: u32, otherwise: f64) -> f64 {
    // SAFETY: by the contract above.
    let name = unsafe { text_at(at, len) }.unwrap_or_default();
    current(|state| state.parameter(name, unit, otherwise))
}
/// Returns the length of a parameter that is text, whose name is the `len` bytes at `at`; the text is the last result.
/// `u32::MAX`: the scenario does not state it.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_law_text(at: *const u8, len: usize) -> u32 {
    // SAFETY: by the contract above.
    let name = unsafe { text_at(at, len) }.unwrap_or_default();
    let Some(found) = current(|state| state.text(name)) else { return u32::MAX };
    let length = found.len() as u32;
    RESULT.set(found.into_bytes());
    length
}
/// Returns a function with the same bits on every platform: ln (0), ln(1 + x) (1), logarithm to base 2 (2), exp (3), exp(x) - 1
/// (4), sine (5), cosine (6), logarithm of the gamma function (7), and x to the power y (8).
#[unsafe(no_mangle)]
pub extern "C" fn tailback_law_maths(function: u32, x: f64, y: f64) -> f64 {
    match function {
        0 => maths::ln(x),
        1 => maths::ln_1p(x),
        2 => maths::log2(x),
        3 => maths::exp(x),
        4 => maths::exp_m1(x),
        5 => maths::sin(x),
        6 => maths::cos(x),
        7 => maths::ln_gamma(x),
        8 => maths::pow(x, y),
        _ => f64::NAN,
    }
}
