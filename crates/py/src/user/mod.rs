//! User-defined components in Python; [`crate::languages`] loads files in all languages.
//!
//! `tailback.laws.loading` loads a file and finds a class in it; this module makes instances and calls them. A component is
//! called with the interpreter lock; the run holds it throughout ([`crate::run`]), so that a call costs no switch.

mod base;
mod congestion;
mod failure;
mod instance;
mod lifeline;
mod machine;
mod maths;
mod monitor;
mod queue;
mod scheduler;
mod source;

pub use base::{Component as Base, CongestionControl};
pub use congestion::Call as CongestionCall;
pub use failure::failure;
pub use lifeline::abort_at_end_of_input;
pub use machine::host_functions;
pub use maths::module as maths;
pub use monitor::{LawMonitor, record_calls};
pub use queue::Call;
pub use scheduler::{Call as SchedulerCall, State as QueueState};
pub use source::Call as SourceCall;

use crate::error::Cancelled;
use failure::traceback;
use instance::made;
use machine::Machine;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tailback_compiled::Component;
use tailback_user::{
    Code, CongestionLaw, Factories, LoadError, Loaded, Parameter, QueueLaw, Role, SchedulerLaw, SourceLaw,
};

/// Factories of components in Python whose files are in a folder.
pub struct PyFactories {
    folder: PathBuf,
    allow_files: bool,
    /// The classes loaded so far; [`Loaded::index`] is an index of this list.
    classes: Mutex<Vec<Class>>,
}

/// Result of `tailback.laws.loading.load`: the class, the hash of its sources, its events, whether it marks, its options, and a
/// problem.
type Found = (Option<Py<PyType>>, String, u32, bool, u32, Option<Problem>);

/// A class that has been loaded.
struct Class {
    class: Py<PyType>,
    loaded: Loaded,
}

impl PyFactories {
    /// Returns factories for files relative to `folder`; files outside it are refused unless `allow_files`.
    pub fn new(folder: PathBuf, allow_files: bool) -> PyFactories {
        PyFactories { folder, allow_files, classes: Mutex::default() }
    }

    /// Returns the class of a component that has been loaded.
    fn class(&self, py: Python<'_>, code: &Code) -> Result<Py<PyType>, String> {
        let index = code.loaded.as_ref().map_or(0, |loaded| loaded.index as usize);
        let classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let class = classes.get(index).map(|class| class.class.clone_ref(py));
        class.ok_or_else(|| format!("`{}` is not loaded", code.class))
    }

    /// Makes an instance of a component that has been loaded: `machine` if its decisions are machine code, else `python`.
    fn instance<L: ?Sized>(
        &self,
        code: &Code,
        machine: impl FnOnce(Component<Machine>) -> Box<L>,
        python: impl FnOnce(&Bound<'_, PyType>, &Code) -> PyResult<Box<L>>,
    ) -> Result<Box<L>, String> {
        Python::attach(|py| {
            let class = self.class(py, code)?;
            match machine::component(class.bind(py), code)? {
                Some(found) => Ok(machine(found)),
                None => python(class.bind(py), code).map_err(|error| traceback(py, &error)),
            }
        })
    }
}

/// Returns the parameters of a component as JSON.
pub fn parameters(code: &Code) -> String {
    serde_json::Value::Object(code.parameters.clone()).to_string()
}

/// A problem in Python: key of the document, message, advice, and the parameter that is wrong, with whether the class has it.
pub type Problem = (String, String, String, Option<(String, bool)>);

/// Returns the error of a problem.
pub fn load_error((key, message, help, parameter): Problem) -> LoadError {
    let key = ["class", "parameters"].into_iter().find(|known| *known == key).unwrap_or("file");
    let parameter =
        parameter.map(|(name, is_known)| if is_known { Parameter::Invalid(name) } else { Parameter::Unknown(name) });
    LoadError { parameter, ..LoadError::new(key, message, help) }
}

/// Returns the problem of an error.
pub fn problem(error: LoadError) -> Problem {
    let parameter = error.parameter.map(|parameter| match parameter {
        Parameter::Invalid(name) => (name, true),
        Parameter::Unknown(name) => (name, false),
    });
    (error.key.to_owned(), error.message, error.help, parameter)
}

/// Advice for a component that does not follow the interface.
const HELP: &str = "the page docs/laws.md has the rules for laws";

/// Returns the error of a class that has refused its parameters with an exception.
///
/// # Errors
/// If the exception is no error, such as Ctrl-C.
fn wrong_parameters(class: &Bound<'_, PyType>, code: &Code, error: &PyErr) -> PyResult<LoadError> {
    let py = class.py();
    if !error.is_instance_of::<PyException>(py) || error.is_instance_of::<Cancelled>(py) {
        return Err(error.clone_ref(py));
    }
    // `into_value` attaches the traceback, which `value` does not before Python 3.12.
    let arguments = (class, parameters(code), error.clone_ref(py).into_value(py));
    let found = py.import("tailback.laws.parameters")?.call_method1("refusal", arguments)?;
    let (message, help, name, is_known): (String, Option<String>, Option<String>, bool) = found.extract()?;
    let help = help.unwrap_or_else(|| HELP.to_owned());
    Ok(load_error(("parameters".to_owned(), message, help, name.map(|name| (name, is_known)))))
}

impl Factories for PyFactories {
    fn load(&self, role: Role, code: &Code) -> Result<Loaded, LoadError> {
        Python::attach(|py| {
            let refused = |key, error: &PyErr| LoadError::new(key, failure(py, error.clone_ref(py)), HELP);
            let load = || -> PyResult<_> {
                let loading = py.import("tailback.laws.loading")?;
                loading.call_method1(
                    "load",
                    (role.name(), &self.folder, &code.file, &code.class, self.allow_files, parameters(code)),
                )
            };
            let found = load().map_err(|error| refused("file", &error))?;
            let (class, digest, events, marks, options, problem): Found =
                found.extract().map_err(|error| refused("file", &error))?;
            if let Some(problem) = problem {
                return Err(load_error(problem));
            }
            let Some(class) = class else {
                return Err(LoadError::new("class", "there is no class", ""));
            };
            made(class.bind(py), code).map_err(|error| {
                let found = wrong_parameters(class.bind(py), code, &error);
                found.unwrap_or_else(|_| refused("parameters", &error))
            })?;
            let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
            let known = classes.iter().find(|known| known.class.is(&class));
            if let Some(known) = known {
                return Ok(known.loaded.clone());
            }
            let loaded = Loaded { index: classes.len() as u32, digest, events, marks, options };
            classes.push(Class { class, loaded: loaded.clone() });
            Ok(loaded)
        })
    }

    fn queue_law(&self, code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        self.instance::<dyn QueueLaw>(
            code,
            |machine| Box::new(machine),
            |class, code| Ok(Box::new(queue::PyLaw::new(&made(class, code)?)?)),
        )
    }

    fn congestion_control(&self, code: &Code) -> Result<Box<dyn CongestionLaw>, String> {
        self.instance::<dyn CongestionLaw>(
            code,
            |machine| Box::new(machine),
            |class, code| Ok(Box::new(congestion::PyControl::new(class, code)?)),
        )
    }

    fn source(&self, code: &Code) -> Result<Box<dyn SourceLaw>, String> {
        self.instance::<dyn SourceLaw>(
            code,
            |machine| Box::new(machine),
            |class, code| Ok(Box::new(source::PySource::new(class, code)?)),
        )
    }

    fn scheduler(&self, code: &Code) -> Result<Box<dyn SchedulerLaw>, String> {
        self.instance::<dyn SchedulerLaw>(
            code,
            |machine| Box::new(machine),
            |class, code| Ok(Box::new(scheduler::PyScheduler::new(&made(class, code)?)?)),
        )
    }
}

/// Runs `work`: with the interpreter lock if `held`, since a component in Python needs it at each call, else without.
pub fn with_lock<T: Send>(py: Python<'_>, held: bool, work: impl FnOnce() -> T + Send) -> T {
    if held { work() } else { py.detach(work) }
}
