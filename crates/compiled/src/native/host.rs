//! The functions of the host that a component in machine code calls.

#![allow(unsafe_code, reason = "the component passes pointers of the interface")]

use crate::State;
use core::ffi::{CStr, c_char};
use tailback_random::maths;

/// Table of the host's functions, `tailback_host` of the header. Functions that need the state of the instance take
/// `context`. A refused call returns 0, and the instance fails when its call ends.
#[derive(Debug)]
#[repr(C)]
pub struct Host {
    context: *mut State,
    fail: unsafe extern "C" fn(*mut State, *const c_char),
    random: unsafe extern "C" fn(*mut State) -> f64,
    below: unsafe extern "C" fn(*mut State, u64) -> u64,
    exponential: unsafe extern "C" fn(*mut State, f64) -> f64,
    normal: unsafe extern "C" fn(*mut State) -> f64,
    parameter: unsafe extern "C" fn(*mut State, *const c_char, u32, f64) -> f64,
    text: unsafe extern "C" fn(*mut State, *const c_char, *mut c_char, u32) -> u32,
    ln: extern "C" fn(f64) -> f64,
    ln_1p: extern "C" fn(f64) -> f64,
    log2: extern "C" fn(f64) -> f64,
    exp: extern "C" fn(f64) -> f64,
    exp_m1: extern "C" fn(f64) -> f64,
    sin: extern "C" fn(f64) -> f64,
    cos: extern "C" fn(f64) -> f64,
    ln_gamma: extern "C" fn(f64) -> f64,
    pow: extern "C" fn(f64, f64) -> f64,
}

impl Host {
    /// Returns the table for an instance whose state is at `context`, which outlives the table.
    pub(super) fn new(context: *mut State) -> Host {
        Host {
            context,
            fail,
            random,
            below,
            exponential,
            normal,
            parameter,
            text,
            ln,
            ln_1p,
            log2,
            exp,
            exp_m1,
            sin,
            cos,
            ln_gamma,
            pow,
        }
    }
}

/// Returns the text at `text`, which ends with a zero.
///
/// # Safety
///
/// `text` is null, or points to such a text, which is not changed while the result is used.
unsafe fn text_at<'a>(text: *const c_char) -> std::borrow::Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: by the contract above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// Returns the state of the instance that calls.
///
/// # Safety
///
/// `context` is that of the table, and the instance makes no other call of the host meanwhile.
unsafe fn state<'a>(context: *mut State) -> &'a mut State {
    // SAFETY: by the contract above; the instance has handed over its access to the state for the duration of its call.
    unsafe { &mut *context }
}

unsafe extern "C" fn fail(context: *mut State, reason: *const c_char) {
    // SAFETY: by the rules of the interface.
    let (state, reason) = unsafe { (state(context), text_at(reason)) };
    state.fail(reason);
}
unsafe extern "C" fn random(context: *mut State) -> f64 {
    // SAFETY: by the rules of the interface.
    unsafe { state(context) }.random().unwrap_or(0.0)
}
unsafe extern "C" fn below(context: *mut State, n: u64) -> u64 {
    // SAFETY: by the rules of the interface.
    unsafe { state(context) }.below(n).unwrap_or(0)
}
unsafe extern "C" fn exponential(context: *mut State, mean: f64) -> f64 {
    // SAFETY: by the rules of the interface.
    unsafe { state(context) }.exponential(mean).unwrap_or(0.0)
}
unsafe extern "C" fn normal(context: *mut State) -> f64 {
    // SAFETY: by the rules of the interface.
    unsafe { state(context) }.normal().unwrap_or(0.0)
}
unsafe extern "C" fn parameter(context: *mut State, name: *const c_char, unit: u32, default: f64) -> f64 {
    // SAFETY: by the rules of the interface.
    let (state, name) = unsafe { (state(context), text_at(name)) };
    state.parameter(&name, unit, default).unwrap_or(default)
}
/// Copies the text of a parameter with a zero at its end; returns its length, `u32::MAX` if the table does not have it. A text
/// that does not fit is cut off at `capacity`.
unsafe extern "C" fn text(context: *mut State, name: *const c_char, buffer: *mut c_char, capacity: u32) -> u32 {
    // SAFETY: by the rules of the interface.
    let (state, name) = unsafe { (state(context), text_at(name)) };
    let Ok(Some(found)) = state.text(&name) else { return u32::MAX };
    let copied = found.len().min((capacity as usize).saturating_sub(1));
    if capacity > 0 {
        // SAFETY: `buffer` has room for `capacity` bytes, and a zero follows the copied ones.
        unsafe {
            buffer.cast::<u8>().copy_from_nonoverlapping(found.as_ptr(), copied);
            buffer.add(copied).write(0);
        }
    }
    found.len() as u32
}

/// Defines the functions of one number.
macro_rules! functions {
    ($($name:ident),+) => {
        $(
            extern "C" fn $name(x: f64) -> f64 {
                maths::$name(x)
            }
        )+
    };
}
functions!(ln, ln_1p, log2, exp, exp_m1, sin, cos, ln_gamma);

extern "C" fn pow(x: f64, y: f64) -> f64 {
    maths::pow(x, y)
}

/// Returns the names and addresses of the functions of the table, for compilers that call addresses.
pub fn addresses() -> [(&'static str, usize); 15] {
    [
        ("fail", fail as *const () as usize),
        ("random", random as *const () as usize),
        ("below", below as *const () as usize),
        ("exponential", exponential as *const () as usize),
        ("normal", normal as *const () as usize),
        ("parameter", parameter as *const () as usize),
        ("ln", ln as *const () as usize),
        ("ln_1p", ln_1p as *const () as usize),
        ("log2", log2 as *const () as usize),
        ("exp", exp as *const () as usize),
        ("exp_m1", exp_m1 as *const () as usize),
        ("sin", sin as *const () as usize),
        ("cos", cos as *const () as usize),
        ("ln_gamma", ln_gamma as *const () as usize),
        ("pow", pow as *const () as usize),
    ]
}
