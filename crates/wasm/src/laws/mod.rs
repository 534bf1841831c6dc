//! Users' components of which the host has the code: queue laws, schedulers, congestion controls and traffic sources.
//!
//! This module cannot load files. A host that can, such as a page with a WebAssembly module of the user's law, passes a
//! function ([`tailback_set_law_host`]), which then answers for all components of the scenarios opened on the same thread. In
//! WebAssembly the function is an entry of the table of functions, which the module exports. `crates/wasm/laws.mjs` is a host
//! in JavaScript. During a call of its function, the host passes the component's calls of the functions of `tailback_law.h` on
//! to the exports [`tailback_law_random`] and others.

mod services;
#[cfg(test)]
mod tests;

pub use services::*;

use core::ffi::c_void;
use core::mem::offset_of;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};
use tailback_compiled::abi::{Description, Properties, Record, Space};
use tailback_compiled::{Component, Instance, Make, Parameters, State};
use tailback_random::Rng;
use tailback_scenario::{Files, Scenario, ScenarioError};
use tailback_user::{
    Code, CongestionAnswer, CongestionCall, CongestionLaw, Factories, LoadError, Loaded, QueueAnswer, QueueCall,
    QueueLaw, Role, SchedulerAnswer, SchedulerCall, SchedulerLaw, SourceAnswer, SourceCall, SourceLaw,
};

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
    /// Make an instance of the class with the number: the input is the [`Layout`] of its records, the result the number of
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

/// Sizes and offsets of the records of a role, so that a host need not know the roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size of the memory that a module lends to the host, bytes.
    pub space: u32,
    /// Offset of the answer in this memory; the call is at 0.
    pub answer_at: u32,
    /// Size of the answer, bytes.
    pub answer: u32,
    /// Offset of the number of the event in the call; the time of the call is at 0.
    pub event_at: u32,
}

impl Layout {
    /// Returns the layout of the records of a role.
    pub const fn of(role: Role) -> Layout {
        let (answer, event_at) = match role {
            Role::QueueLaw => (size_of::<QueueAnswer>(), offset_of!(QueueCall, event)),
            Role::Scheduler => (size_of::<SchedulerAnswer>(), offset_of!(SchedulerCall, event)),
            Role::CongestionControl => (size_of::<CongestionAnswer>(), offset_of!(CongestionCall, event)),
            Role::Source => (size_of::<SourceAnswer>(), offset_of!(SourceCall, event)),
        };
        let Space { bytes, answer_at } = Space::of(role);
        Layout { space: bytes as u32, answer_at: answer_at as u32, answer: answer as u32, event_at: event_at as u32 }
    }

    /// Returns the input of [`Task::Create`]: the four numbers in their order, 4 bytes each.
    pub fn input(self) -> [u8; 16] {
        let Layout { space, answer_at, answer, event_at } = self;
        let mut input = [0; 16];
        for (place, number) in input.chunks_exact_mut(4).zip([space, answer_at, answer, event_at]) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        input
    }
}

/// Result of [`Task::Load`].
#[derive(Clone, Copy)]
#[repr(C)]
struct Found {
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

impl HostLaw {
    fn state(&mut self) -> &mut Option<State> {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
    /// Exchanges the random stream of the state with `rng`.
    fn exchange(&mut self, rng: &mut Rng) {
        if let Some(state) = self.state() {
            state.exchange(rng);
        }
    }
}

impl Instance for HostLaw {
    fn placed(&mut self, name: &str, calls: &[&'static str]) {
        let names = [&[name], calls].concat().join("\0");
        // The name is for reports of calls that do not return, so that a failure has no effect on the run.
        let _ = work(Task::Place, self.number, names.as_bytes(), std::ptr::null_mut(), self.state());
    }
    fn answer<C: Record + ?Sized, A: Record>(
        &mut self,
        _number: u32,
        _now_ps: u64,
        call: &C,
        answer: &mut A,
        rng: &mut Rng,
    ) -> Result<(), String> {
        self.exchange(rng);
        let result = answer.bytes_mut().as_mut_ptr().cast();
        let done = work(Task::Answer, self.number, call.bytes(), result, self.state());
        self.exchange(rng);
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
        let mut state = self.state().take();
        // Nothing can be done about a failure.
        let _ = work(Task::Destroy, self.number, &[], std::ptr::null_mut(), &mut state);
    }
}

/// A class that the host has loaded.
#[derive(Debug)]
struct Class {
    number: u32,
    layout: Layout,
    properties: Arc<Properties>,
}

impl Class {
    /// Returns the class of `code` for a role, and the hash of its file.
    ///
    /// # Errors
    /// The wrong key and a message.
    fn load(role: Role, code: &Code) -> Result<(Class, String), (&'static str, String)> {
        let name = format!("{}\0{}", code.file, code.class);
        let mut found = Found { description: Description::EMPTY, number: 0, digest: [0; 64] };
        let mut state = Some(State::new(Parameters::default()));
        work(Task::Load, 0, name.as_bytes(), (&raw mut found).cast(), &mut state).map_err(|error| ("file", error))?;
        let properties = Arc::new(found.description.checked(role).map_err(|error| ("class", error))?);
        let digest = String::from_utf8_lossy(&found.digest).into_owned();
        Ok((Class { number: found.number, layout: Layout::of(role), properties }, digest))
    }
}

impl Make for Class {
    type Instance = HostLaw;

    fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }
    fn instance(&self, parameters: Parameters) -> Result<HostLaw, String> {
        let mut state = Some(State::new(parameters));
        let mut number = 0u32;
        work(Task::Create, self.number, &self.layout.input(), (&raw mut number).cast(), &mut state)?;
        let mut law = HostLaw { number, state: Mutex::new(state) };
        if let Some(state) = law.state() {
            state.made(0)?;
        }
        Ok(law)
    }
}

/// Factories of the host's components.
struct HostLaws;

/// Makes a component of `code` in a role.
///
/// # Errors
/// If the host refuses it; the message describes the failure.
fn component(role: Role, code: &Code) -> Result<Box<Component<HostLaw>>, String> {
    let (class, _) = Class::load(role, code).map_err(|(_, message)| message)?;
    Ok(Box::new(Component::of(&Arc::new(class), Parameters::new(&code.parameters))?))
}

impl Factories for HostLaws {
    fn load(&self, role: Role, code: &Code) -> Result<Loaded, LoadError> {
        let help = "the host of this program provides the laws";
        let refused = |(key, message)| LoadError::new(key, message, help);
        let (class, digest) = Class::load(role, code).map_err(refused)?;
        class.instance(Parameters::new(&code.parameters)).map_err(|message| refused(("parameters", message)))?;
        let Properties { events, marks, options, .. } = *class.properties;
        Ok(Loaded { index: class.number, digest, events, marks, options })
    }
    fn queue_law(&self, code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        Ok(component(Role::QueueLaw, code)?)
    }
    fn scheduler(&self, code: &Code) -> Result<Box<dyn SchedulerLaw>, String> {
        Ok(component(Role::Scheduler, code)?)
    }
    fn congestion_control(&self, code: &Code) -> Result<Box<dyn CongestionLaw>, String> {
        Ok(component(Role::CongestionControl, code)?)
    }
    fn source(&self, code: &Code) -> Result<Box<dyn SourceLaw>, String> {
        Ok(component(Role::Source, code)?)
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
