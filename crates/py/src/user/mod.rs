//! User-defined components in Python; [`crate::languages`] loads files in all languages.
//!
//! `tailback.laws.loading` loads a file and finds a class in it; this module makes instances and calls them. A component is
//! called with the interpreter lock; the run holds it throughout ([`crate::run`]), so that a call costs no switch.

mod base;
mod failure;
mod machine;
mod maths;
mod monitor;
mod queue;

pub use base::Law;
pub use failure::take_interrupt;
pub use machine::host_functions;
pub use maths::module as maths;
pub use monitor::LawMonitor;
pub use queue::Call;

use failure::traceback;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tailback_user::{Code, Factories, LoadError, Loaded, QueueLaw, Role};

/// Factories of components in Python whose files are in a folder.
pub struct PyFactories {
    folder: PathBuf,
    allow_files: bool,
    /// The classes loaded so far; [`Loaded::index`] is an index of this list.
    classes: Mutex<Vec<Class>>,
}

/// Result of `tailback.laws.loading.load`: the class, the hash of its sources, its events, whether it marks, and a problem as
/// key, message and advice.
type Found = (Option<Py<PyType>>, String, u32, bool, Option<(String, String, String)>);

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

    /// Returns an instance of `class`, made with the parameters of `code`.
    fn instance<'py>(class: &Bound<'py, PyType>, code: &Code) -> PyResult<Bound<'py, PyAny>> {
        let parameters = PyDict::new(class.py());
        for (name, value) in &code.parameters {
            parameters.set_item(name, python(class.py(), value)?)?;
        }
        class.call((), Some(&parameters))
    }
}

/// Returns a value of a document as a Python object.
fn python<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}

impl Factories for PyFactories {
    fn load(&self, role: Role, code: &Code) -> Result<Loaded, LoadError> {
        Python::attach(|py| {
            let refused = |key: &'static str, error: &PyErr| LoadError {
                key,
                message: traceback(py, error),
                help: "the page docs/laws.md has the rules for laws".to_owned(),
            };
            let load = || -> PyResult<_> {
                let loading = py.import("tailback.laws.loading")?;
                let role = match role {
                    Role::QueueLaw => "queue-law",
                };
                loading.call_method1("load", (role, &self.folder, &code.file, &code.class, self.allow_files))
            };
            let found = load().map_err(|error| refused("file", &error))?;
            let (class, digest, events, marks, problem): Found =
                found.extract().map_err(|error| refused("file", &error))?;
            if let Some((key, message, help)) = problem {
                let key = if key == "class" { "class" } else { "file" };
                return Err(LoadError { key, message, help });
            }
            let Some(class) = class else {
                return Err(LoadError { key: "class", message: "there is no class".to_owned(), help: String::new() });
            };
            PyFactories::instance(class.bind(py), code).map_err(|error| refused("parameters", &error))?;
            let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
            let known = classes.iter().find(|known| known.class.is(&class));
            if let Some(known) = known {
                return Ok(known.loaded.clone());
            }
            let loaded = Loaded { index: classes.len() as u32, digest, events, marks };
            classes.push(Class { class, loaded: loaded.clone() });
            Ok(loaded)
        })
    }

    fn queue_law(&self, code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        let index = code.loaded.as_ref().map_or(0, |loaded| loaded.index as usize);
        Python::attach(|py| {
            let class = {
                let classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
                classes.get(index).map(|class| class.class.clone_ref(py))
            };
            let class = class.ok_or_else(|| "the law is not loaded".to_owned())?;
            let made = PyFactories::instance(class.bind(py), code).and_then(|instance| machine::queue_law(&instance));
            made.map_err(|error| traceback(py, &error))
        })
    }
}

/// Runs `work`: with the interpreter lock if `held`, since a component in Python needs it at each call, else without.
pub fn with_lock<T: Send>(py: Python<'_>, held: bool, work: impl FnOnce() -> T + Send) -> T {
    if held { work() } else { py.detach(work) }
}
