//! Loading and making of user-defined components by the program around the core.

use crate::{
    Code, CongestionEvent, CongestionLaw, Faults, Loaded, QueueEvent, QueueLaw, SchedulerEvent, SchedulerLaw,
    SourceEvent, SourceLaw,
};
use tailback_random::Rng;

/// The interface that a component implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// [`QueueLaw`].
    QueueLaw,
    /// [`CongestionLaw`].
    CongestionControl,
    /// [`SourceLaw`].
    Source,
    /// [`SchedulerLaw`].
    Scheduler,
}

impl Role {
    /// Returns the name of the role, such as "queue-law".
    pub const fn name(self) -> &'static str {
        match self {
            Role::QueueLaw => "queue-law",
            Role::CongestionControl => "congestion-control",
            Role::Source => "source",
            Role::Scheduler => "scheduler",
        }
    }

    /// All roles.
    pub const ALL: [Role; 4] = [Role::QueueLaw, Role::CongestionControl, Role::Source, Role::Scheduler];

    /// Returns the names of the events of the role's interface, in the order of their bits.
    pub fn events(self) -> Vec<&'static str> {
        match self {
            Role::QueueLaw => QueueEvent::ALL.map(QueueEvent::name).into(),
            Role::CongestionControl => CongestionEvent::ALL.map(CongestionEvent::name).into(),
            Role::Source => SourceEvent::ALL.map(SourceEvent::name).into(),
            Role::Scheduler => SchedulerEvent::ALL.map(SchedulerEvent::name).into(),
        }
    }
}

/// A component that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// Key of [`Code`] that is wrong: "file", "class" or "parameters".
    pub key: &'static str,
    /// The parameter that is wrong; `None`: not a single one, or not known.
    pub parameter: Option<Parameter>,
    /// Description of the error.
    pub message: String,
    /// Advice.
    pub help: String,
}

impl LoadError {
    /// Returns the error of the file, the class or the parameters as a whole.
    pub fn new(key: &'static str, message: impl Into<String>, help: impl Into<String>) -> LoadError {
        LoadError { key, parameter: None, message: message.into(), help: help.into() }
    }
}

/// A parameter that a component refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The component has no parameter of this name.
    Unknown(String),
    /// The value of the parameter of this name is wrong.
    Invalid(String),
}

/// Message of factories that make no such component.
const DISABLED: &str = "user-defined components are disabled here";

/// Loads components and makes instances of them. A kind of component whose method is not implemented is refused.
pub trait Factories: Send + Sync {
    /// Loads the component of `code`, and tries its parameters by making an instance.
    ///
    /// # Errors
    /// If the file cannot be read, or has no such component, or if the component refuses the parameters.
    fn load(&self, role: Role, code: &Code) -> Result<Loaded, LoadError>;

    /// Returns the content of the file of a component as it was loaded, so that a copy of it is the one that
    /// [`Loaded::digest`] stands for. `None`: the factories do not keep it.
    fn content(&self, _code: &Code) -> Option<Vec<u8>> {
        None
    }

    /// Makes an instance of a queue law that has been loaded.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn queue_law(&self, _code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        Err(DISABLED.to_owned())
    }

    /// Makes an instance of a congestion control that has been loaded.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn congestion_control(&self, _code: &Code) -> Result<Box<dyn CongestionLaw>, String> {
        Err(DISABLED.to_owned())
    }

    /// Makes an instance of a traffic source that has been loaded.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn source(&self, _code: &Code) -> Result<Box<dyn SourceLaw>, String> {
        Err(DISABLED.to_owned())
    }

    /// Makes an instance of a scheduler that has been loaded.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn scheduler(&self, _code: &Code) -> Result<Box<dyn SchedulerLaw>, String> {
        Err(DISABLED.to_owned())
    }
}

/// Factories that refuse every component.
#[derive(Clone, Copy, Debug)]
pub struct NoFactories;

impl Factories for NoFactories {
    fn load(&self, _role: Role, code: &Code) -> Result<Loaded, LoadError> {
        let message = format!("`{}` is not loaded: user-defined components are disabled here", code.file);
        Err(LoadError::new("file", message, "run the scenario from its file"))
    }
}

/// A place for a user-defined component.
pub trait Install {
    /// Makes the component and calls it for the start of the run. `place` is the name of its port; a failure is recorded in
    /// `faults`.
    fn install(&mut self, factories: &dyn Factories, place: &str, faults: &Faults, rng: &mut Rng);
}
