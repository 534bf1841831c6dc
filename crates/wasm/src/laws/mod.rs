//! Users' components of which the host has the code: queue laws, schedulers, congestion controls and traffic sources.
//!
//! This module cannot load files. A host that can, such as a page with a WebAssembly module of the user's law, passes a
//! function ([`tailback_set_law_host`]), which then answers for all components of the scenarios opened on the same thread. In
//! WebAssembly the function is an entry of the table of functions, which the module exports. `crates/wasm/laws.mjs` is a host
//! in JavaScript. During a call of its function, the host passes the component's calls of the functions of `tailback_law.h` on
//! to the exports [`tailback_law_random`] and others.

mod layout;
mod services;
mod task;
#[cfg(test)]
mod tests;

pub use layout::Layout;
pub use services::*;
pub use task::{LawHost, Task, tailback_set_law_host};

use std::sync::{Arc, Mutex, PoisonError};
use tailback_compiled::abi::{Description, Properties, Record};
use tailback_compiled::{Component, Instance, Make, Parameters, State};
use tailback_random::Rng;
use tailback_scenario::{Files, Scenario, ScenarioError};
use tailback_user::{Code, CongestionLaw, Factories, LoadError, Loaded, QueueLaw, Role, SchedulerLaw, SourceLaw};
use task::{has_host, work};

/// Result of [`Task::Load`].
#[derive(Clone, Copy)]
#[repr(C)]
struct Found {
    description: Description,
    number: u32,
    digest: [u8; 64],
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
    let files = if has_host() { none.with_factories(Arc::new(HostLaws)) } else { none };
    Scenario::from_toml_with(toml, "<scenario>", files)
}
