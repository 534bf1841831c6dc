//! Users' laws of which the host has the code.
//!
//! This module cannot load files. A host that can, such as a page with a WebAssembly module of the user's law, passes a
//! function ([`tailback_set_law_host`]), which then answers for all laws of the scenarios opened on the same thread. In
//! WebAssembly the function is an entry of the table of functions, which the module exports. `crates/wasm/laws.mjs` is a host
//! in JavaScript. During a call of its function, the host passes the law's calls of the functions of `tailback_law.h` on to
//! the exports `tailback_law_random` and others.

use crate::memory::{RESULT, text_at};
use core::ffi::c_void;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};
use tailback_compiled::abi::{Description, Record};
use tailback_compiled::{Component, Failed, Instance, Parameters, State};
use tailback_random::{Rng, maths};
use tailback_scenario::{Files, Scenario, ScenarioError};
use tailback_user::{Code, Factories, LoadError, Loaded, QueueLaw, Role};

/// Function of the host for its laws. Arguments are the [`Task`], a number, `len` bytes at `input`, and a place for the
/// result; it returns a status: 0, or another number if the task failed.
pub type LawHost = unsafe extern "C" fn(u32, u32, *const u8, usize, *mut c_void) -> i32;

/// Task of the host.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Load a class: the input is the name of its file, a zero, and the name of the class. The result is its description
    /// (256 bytes), the number of the class (4 bytes), and the hash of the file (64 bytes of text).
    Load = 0,
    /// Make an instance of the class with the number; the result is the number of the instance (4 bytes).
    Create = 1,
    /// Call the instance with the number: the input is the call, the result the answer.
    Answer = 2,
    /// Read a state variable of the instance with the number: the input is the variable's number (4 bytes), the result a real
    /// of 8 bytes.
    Probe = 3,
    /// Free the instance with the number.
    Destroy = 4,
}

/// Result of [`Task::Load`].
#[derive(Clone, Copy)]
#[repr(C)]
struct Class {
    description: Description,
    number: u32,
    digest: [u8; 64],
}

thread_local! {
    static HOST: Cell<Option<LawHost>> = const { Cell::new(None) };
    /// State of the instance that the host works for.
    static CURRENT: RefCell<Option<State>> = const { RefCell::new(None) };
}

/// Gives the host a task for an instance with this state.
///
/// # Errors
/// If there is no host, or if the task failed; the message describes the failure.
fn work(task: Task, number: u32, input: &[u8], result: *mut c_void, state: &mut Option<State>) -> Result<(), String> {
    let host = HOST.get().ok_or("the program has not set a host of laws")?;
    CURRENT.set(state.take());
    // SAFETY: the host keeps to its contract; input and result live during the call, and the result has the size that belongs
    // to the task.
    let status = unsafe { host(task as u32, number, input.as_ptr(), input.len(), result) };
    *state = CURRENT.take();
    state.as_mut().map_or(Ok(()), |state| state.outcome(status))
}

/// An instance that the host has made.
#[derive(Debug)]
struct HostLaw {
    number: u32,
    /// `None` only during a call.
    state: Mutex<Option<State>>,
}

impl Instance for HostLaw {
    fn answer<C: Record + ?Sized, A: Record>(
        &mut self,
        _number: u32,
        _now_ps: u64,
        call: &C,
        answer: &mut A,
        rng: &mut Rng,
    ) -> Result<(), String> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = state.as_mut() {
            state.exchange(rng);
        }
        let done = work(Task::Answer, self.number, call.bytes(), answer.bytes_mut().as_mut_ptr().cast(), state);
        if let Some(state) = state.as_mut() {
            state.exchange(rng);
        }
        done
    }
    fn probe(&self, number: u32) -> Result<f64, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut value = 0.0f64;
        work(Task::Probe, self.number, &number.to_le_bytes(), (&raw mut value).cast(), &mut state)?;
        Ok(value)
    }
}

impl Drop for HostLaw {
    fn drop(&mut self) {
        let mut state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Nothing can be done about a failure.
        let _ = work(Task::Destroy, self.number, &[], std::ptr::null_mut(), &mut state);
    }
}

/// Factories of the host's laws.
struct HostLaws;

/// Returns the class of `code`.
fn class(code: &Code) -> Result<Class, String> {
    let name = format!("{}\0{}", code.file, code.class);
    let mut class = Class { description: Description::EMPTY, number: 0, digest: [0; 64] };
    let mut state = Some(State::new(Parameters::default()));
    work(Task::Load, 0, name.as_bytes(), (&raw mut class).cast(), &mut state)?;
    Ok(class)
}

/// Returns an instance of `code`, whose class is for `role`.
fn instance(role: Role, code: &Code) -> Result<Component<HostLaw>, String> {
    let class = class(code)?;
    let properties = Arc::new(class.description.checked(role)?);
    let mut state = Some(State::new(Parameters::new(&code.parameters)));
    let mut number = 0u32;
    work(Task::Create, class.number, &[], (&raw mut number).cast(), &mut state)?;
    if let Some(state) = &mut state {
        state.made(0)?;
    }
    Ok(Component::new(HostLaw { number, state: Mutex::new(state) }, properties))
}

impl Factories for HostLaws {
    fn load(&self, role: Role, code: &Code) -> Result<Loaded, LoadError> {
        let help = "the host of this program provides the laws";
        let refused = |key, message| LoadError { key, message, help: help.to_owned() };
        if role != Role::QueueLaw {
            return Err(refused("file", "of the user's components only queue laws are supported here".to_owned()));
        }
        let class = class(code).map_err(|message| refused("file", message))?;
        let properties = class.description.checked(role).map_err(|message| refused("class", message))?;
        instance(role, code).map_err(|message| refused("parameters", message))?;
        let digest = String::from_utf8_lossy(&class.digest).into_owned();
        Ok(Loaded {
            index: class.number,
            digest,
            events: properties.events,
            marks: properties.marks,
            options: properties.options,
        })
    }
    fn queue_law(&self, code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        Ok(Box::new(instance(Role::QueueLaw, code)?))
    }
}

/// Reads a scenario, whose laws the host has; without a host, laws are refused.
///
/// # Errors
/// If the document is invalid.
pub(crate) fn scenario(toml: &str) -> Result<Scenario, ScenarioError> {
    let none = Files::none();
    let files = if HOST.get().is_some() { none.with_factories(Arc::new(HostLaws)) } else { none };
    Scenario::from_toml_with(toml, "<scenario>", files)
}

/// Sets the function of the host for the laws of the scenarios that are opened afterwards on this thread; null: there is none.
/// In WebAssembly it is an index of the exported table of functions, and 0 is null.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_set_law_host(host: Option<LawHost>) {
    HOST.set(host);
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicate;
    use tailback_user::{QueueAnswer, QueueCall};

    const SCENARIO: &str = r#"
        tailback = 1
        [run]
        duration = "50ms"
        sample = "10ms"
        [network]
        discipline = { kind = "user", file = "law", class = "Drops", parameters = { share = 0.25 } }
        [hosts]
        a = {}
        b = {}
        [switches.s]
        [[links]]
        between = ["a", "s"]
        rate = "10Mbit/s"
        [[links]]
        between = ["s", "b"]
        rate = "10Mbit/s"
        [[flows]]
        name = "data"
        from = "a"
        to = "b"
        source = { kind = "cbr", rate = "5Mbit/s", packet = "1000B" }
    "#;

    /// Host of a law that drops a share of the arriving packets; the share of an instance is that of all.
    unsafe extern "C" fn host(task: u32, number: u32, input: *const u8, len: usize, result: *mut c_void) -> i32 {
        thread_local! {
            static SHARE: Cell<f64> = const { Cell::new(0.0) };
        }
        // SAFETY: the tasks have these inputs and results.
        unsafe {
            match task {
                0 => {
                    let name = std::slice::from_raw_parts(input, len);
                    if name != b"law\0Drops" {
                        tailback_law_fail(b"there is no such law".as_ptr(), 20);
                        return 1;
                    }
                    let class = &mut *result.cast::<Class>();
                    class.description = Description { abi: 1, events: 2, ..Description::EMPTY };
                    class.description.probes[..5].copy_from_slice(b"share");
                    class.number = 7;
                    class.digest = [b'7'; 64];
                }
                1 => {
                    assert_eq!(number, 7);
                    let name = b"share";
                    SHARE.set(tailback_law_parameter(name.as_ptr(), name.len(), 0, 0.5));
                    *result.cast::<u32>() = 3;
                }
                2 => {
                    assert_eq!((number, len), (3, size_of::<QueueCall>()));
                    let answer = &mut *result.cast::<QueueAnswer>();
                    answer.verdict = if tailback_law_random() < SHARE.get() { 2 } else { 0 };
                    if SHARE.get() > 1.0 {
                        tailback_law_below(0);
                    }
                }
                3 => *result.cast::<f64>() = SHARE.get(),
                _ => assert_eq!(task, Task::Destroy as u32),
            }
        }
        0
    }

    /// Returns the report of a run with the host.
    fn run(scenario: &str) -> Result<serde_json::Value, String> {
        tailback_set_law_host(Some(host));
        let report = replicate(scenario, 3);
        tailback_set_law_host(None);
        report.map(|text| serde_json::from_str(&text).expect("reports are JSON"))
    }

    #[test]
    fn a_law_of_the_host_decides_about_the_packets_with_draws_of_the_port() {
        let report = run(SCENARIO).expect("the scenario runs");
        let dropped = report["flows"][0]["dropped"]["packets"].as_u64().expect("a count");
        // Of 31 packets, with 1000 B at 5 Mbit/s each 1.6 ms; the expectation is 7.75, the standard deviation 2.4.
        assert!((1..16).contains(&dropped), "{dropped}");
        assert_eq!(report["series"]["ports"]["s->b"]["state"]["share"][0], 0.25);
        assert_eq!(run(SCENARIO).expect("the scenario runs")["digest"], report["digest"]);
    }

    #[test]
    fn failures_of_the_host_are_refusals_and_faults() {
        let error = run(&SCENARIO.replace("\"Drops\"", "\"Other\"")).expect_err("it is refused");
        assert!(error.contains("there is no such law"), "{error}");
        let error = run(&SCENARIO.replace("share", "shares")).expect_err("it is refused");
        assert!(error.contains("did you mean `share`?"), "{error}");
        let error = run(&SCENARIO.replace("0.25", "1.25")).expect_err("the run fails");
        assert!(error.contains("`Drops` of law at s->b, in `arrive` at 0.00"), "{error}");
        assert!(error.ends_with("`below` was called with 0; write 1 or more"), "{error}");
        assert!(replicate(SCENARIO, 3).expect_err("it is refused").contains("disabled here"));
    }
}
