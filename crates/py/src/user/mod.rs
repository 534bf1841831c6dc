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

pub use base::{Component, CongestionControl};
pub use congestion::Call as CongestionCall;
pub use lifeline::abort_at_end_of_input;
pub use machine::host_functions;
pub use maths::module as maths;
pub use monitor::{LawMonitor, record_calls};
pub use queue::Call;
pub use scheduler::{Call as SchedulerCall, State as QueueState};
pub use source::Call as SourceCall;

use crate::error::Cancelled;
use failure::{failure, traceback};
use instance::made;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
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
/// problem as key, message and advice.
type Found = (Option<Py<PyType>>, String, u32, bool, u32, Option<(String, String, String)>);

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
}

/// Returns the parameters of a component as JSON.
fn parameters(code: &Code) -> String {
    serde_json::Value::Object(code.parameters.clone()).to_string()
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
    let kind = if is_known { Parameter::Invalid } else { Parameter::Unknown };
    let help = help.unwrap_or_else(|| HELP.to_owned());
    Ok(LoadError { parameter: name.map(kind), ..LoadError::new("parameters", message, help) })
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
            if let Some((key, message, help)) = problem {
                let key = ["class", "parameters"].into_iter().find(|known| *known == key).unwrap_or("file");
                return Err(LoadError::new(key, message, help));
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
        Python::attach(|py| {
            let class = self.class(py, code)?;
            let law = made(class.bind(py), code).and_then(|instance| machine::queue_law(&instance));
            law.map_err(|error| traceback(py, &error))
        })
    }

    fn congestion_control(&self, code: &Code) -> Result<Box<dyn CongestionLaw>, String> {
        Python::attach(|py| {
            let class = self.class(py, code)?;
            let control = congestion::PyControl::new(class.bind(py), code);
            control.map(|control| Box::new(control) as Box<dyn CongestionLaw>).map_err(|error| traceback(py, &error))
        })
    }

    fn source(&self, code: &Code) -> Result<Box<dyn SourceLaw>, String> {
        Python::attach(|py| {
            let class = self.class(py, code)?;
            let source = source::PySource::new(class.bind(py), code);
            source.map(|source| Box::new(source) as Box<dyn SourceLaw>).map_err(|error| traceback(py, &error))
        })
    }

    fn scheduler(&self, code: &Code) -> Result<Box<dyn SchedulerLaw>, String> {
        Python::attach(|py| {
            let class = self.class(py, code)?;
            let made = made(class.bind(py), code).and_then(|instance| scheduler::PyScheduler::new(&instance));
            made.map(|scheduler| Box::new(scheduler) as Box<dyn SchedulerLaw>).map_err(|error| traceback(py, &error))
        })
    }
}

/// Runs `work`: with the interpreter lock if `held`, since a component in Python needs it at each call, else without.
pub fn with_lock<T: Send>(py: Python<'_>, held: bool, work: impl FnOnce() -> T + Send) -> T {
    if held { work() } else { py.detach(work) }
}
