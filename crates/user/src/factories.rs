//! Loading and making of user-defined components by the program around the core.

use crate::{Code, Faults, Loaded, QueueLaw};
use tailback_random::Rng;

/// The interface that a component implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// [`QueueLaw`].
    QueueLaw,
}

/// A component that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// Key of [`Code`] that is wrong: "file", "class" or "parameters".
    pub key: &'static str,
    /// Description of the error.
    pub message: String,
    /// Advice.
    pub help: String,
}

/// Loads components and makes instances of them.
pub trait Factories: Send + Sync {
    /// Loads the component of `code`, and tries its parameters by making an instance.
    ///
    /// # Errors
    /// If the file cannot be read, or has no such component, or if the component refuses the parameters.
    fn load(&self, role: Role, code: &Code) -> Result<Loaded, LoadError>;

    /// Makes an instance of a queue law that has been loaded.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn queue_law(&self, code: &Code) -> Result<Box<dyn QueueLaw>, String>;
}

/// Factories that refuse every component.
#[derive(Clone, Copy, Debug)]
pub struct NoFactories;

impl Factories for NoFactories {
    fn load(&self, _role: Role, code: &Code) -> Result<Loaded, LoadError> {
        let message = format!("`{}` is not loaded: user-defined components are disabled here", code.file);
        Err(LoadError { key: "file", message, help: "run the scenario from its file".to_owned() })
    }
    fn queue_law(&self, _code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        Err("user-defined components are disabled here".to_owned())
    }
}

/// A place for a user-defined component.
pub trait Install {
    /// Makes the component and calls it for the start of the run. `place` is the name of its port; a failure is recorded in
    /// `faults`.
    fn install(&mut self, factories: &dyn Factories, place: &str, faults: &Faults, rng: &mut Rng);
}
