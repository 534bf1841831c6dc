//! Factories of components in all languages; the suffix of a file is its language.

use crate::interrupt::take_interrupt;
use crate::user::{Problem, PyFactories, failure, load_error, parameters, problem};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tailback_compiled::Components;
use tailback_user::{
    Code, CongestionLaw, Factories, Language, LoadError, Loaded, QueueLaw, Role, SchedulerLaw, SourceLaw,
};

/// Factories of components whose files are in a folder.
pub struct Languages {
    folder: PathBuf,
    allow_files: bool,
    python: PyFactories,
    compiled: Components,
}

impl Languages {
    /// Returns factories for files relative to `folder`; files outside it are refused unless `allow_files`.
    pub fn new(folder: PathBuf, allow_files: bool) -> Languages {
        let python = PyFactories::new(folder.clone(), allow_files);
        Languages { folder, allow_files, python, compiled: Components::default() }
    }
}

/// Properties of a component that a worker process has loaded, as [`Loaded`] without the index, or the problem.
type Found = (Option<(String, u32, bool, u32)>, Option<Problem>);

impl Languages {
    /// Loads a component in machine code in a worker process, so that this process is not ended if the library crashes. `None`:
    /// the component is in WebAssembly, or this process is the one that runs it.
    fn elsewhere(&self, role: Role, code: &Code) -> Result<Option<Loaded>, LoadError> {
        if code.language() != Some(Language::Native) {
            return Ok(None);
        }
        let found = Python::attach(|py| {
            let tried = || -> PyResult<Option<Found>> {
                let trial = py.import("tailback.laws.trial")?;
                let arguments =
                    (role.name(), &self.folder, &code.file, &code.class, self.allow_files, parameters(code));
                trial.call_method1("of_library", arguments)?.extract()
            };
            let help = "a worker process loads the library first";
            tried().map_err(|error| LoadError::new("file", failure(py, error), help))
        });
        match found? {
            Some((_, Some(found))) => Err(load_error(found)),
            Some((Some((digest, events, marks, options)), None)) => {
                Ok(Some(Loaded { index: 0, digest, events, marks, options }))
            }
            Some((None, None)) | None => Ok(None),
        }
    }
}

impl Factories for Languages {
    fn load(&self, role: Role, code: &Code) -> Result<Loaded, LoadError> {
        let refused = |message, help: &str| LoadError::new("file", message, help);
        match code.language() {
            Some(Language::Python) => self.python.load(role, code),
            Some(Language::Native | Language::WebAssembly) => {
                let path = self.folder.join(&code.file);
                if !path.exists() {
                    let message = format!("there is no file `{}`", path.display());
                    return Err(refused(message, "give the path relative to the scenario's file"));
                }
                if let Err(message) = inside(&self.folder, &path, self.allow_files) {
                    return Err(refused(format!("`{}`: {message}", path.display()), "its code would run"));
                }
                match self.elsewhere(role, code)? {
                    Some(loaded) => self.compiled.add_elsewhere(role, code, path, loaded),
                    None => self.compiled.load(role, code, &path),
                }
            }
            None => Err(refused(
                format!("`{}` is not Python source, a native library or a WebAssembly module", code.file),
                "write the path of a file that ends with .py, .so, .dylib, .dll, .wasm or .wat",
            )),
        }
    }

    /// The sources of components in Python are kept by `tailback.laws.loading`.
    fn content(&self, code: &Code) -> Option<Vec<u8>> {
        match code.language() {
            Some(Language::Native | Language::WebAssembly) => self.compiled.content(code),
            Some(Language::Python) | None => None,
        }
    }

    fn queue_law(&self, code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        match code.language() {
            Some(Language::Native | Language::WebAssembly) => self.compiled.queue_law(code),
            Some(Language::Python) | None => self.python.queue_law(code),
        }
    }

    fn congestion_control(&self, code: &Code) -> Result<Box<dyn CongestionLaw>, String> {
        match code.language() {
            Some(Language::Native | Language::WebAssembly) => self.compiled.congestion_control(code),
            Some(Language::Python) | None => self.python.congestion_control(code),
        }
    }

    fn source(&self, code: &Code) -> Result<Box<dyn SourceLaw>, String> {
        match code.language() {
            Some(Language::Native | Language::WebAssembly) => self.compiled.source(code),
            Some(Language::Python) | None => self.python.source(code),
        }
    }

    fn scheduler(&self, code: &Code) -> Result<Box<dyn SchedulerLaw>, String> {
        match code.language() {
            Some(Language::Native | Language::WebAssembly) => self.compiled.scheduler(code),
            Some(Language::Python) | None => self.python.scheduler(code),
        }
    }
}

/// Refuses a path that is outside `folder`, unless `allow_files`, or is not a regular file.
///
/// # Errors
/// A message with the reason.
pub fn inside(folder: &Path, path: &Path, allow_files: bool) -> Result<(), String> {
    if allow_files {
        return Ok(());
    }
    // Symbolic links are resolved first, so that no link leads out of the folder.
    let inside = folder.canonicalize().and_then(|folder| Ok(path.canonicalize()?.starts_with(folder)));
    if !inside.map_err(|error| error.to_string())? {
        return Err(
            "it is outside the scenario's folder, and a scenario from an untrusted source could read any of your files; if \
             you trust this one, allow it with --allow-files (in Python: allow_files=True)"
                .to_owned(),
        );
    }
    // Reading a pipe or a device may never end.
    if !path.metadata().map_err(|error| error.to_string())?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    Ok(())
}

/// Loads a component and makes an instance, as the loading of a scenario does. The arguments are the role, the folder of the
/// scenario, the keys of the component in it (the parameters as JSON), and whether files outside the folder are permitted.
/// Returns the properties of the component or the problem. Raises what the component raises if it is no `Exception`, and
/// `ValueError` for an unknown role and for other text than JSON.
#[pyfunction]
pub fn load_component(
    role: &str,
    folder: PathBuf,
    file: String,
    class: String,
    allow_files: bool,
    parameters: &str,
) -> PyResult<Found> {
    let unknown = || PyValueError::new_err(format!("there is no role `{role}`"));
    let role = Role::ALL.into_iter().find(|known| known.name() == role).ok_or_else(unknown)?;
    let parameters = serde_json::from_str(parameters).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let code = Code { file, class, parameters, loaded: None };
    let found = Languages::new(folder, allow_files).load(role, &code);
    if let Some(interrupt) = take_interrupt() {
        return Err(interrupt);
    }
    Ok(match found {
        Ok(loaded) => (Some((loaded.digest, loaded.events, loaded.marks, loaded.options)), None),
        Err(error) => (None, Some(problem(error))),
    })
}

/// Returns a WebAssembly module in the binary format. Raises `ValueError` for text that is no module.
#[pyfunction]
pub fn wat_to_wasm<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
    let binary = tailback_compiled::wasm::binary(text.as_bytes()).map_err(PyValueError::new_err)?;
    Ok(PyBytes::new(py, &binary))
}

/// Returns the fields of the records that compiled components receive, with their offsets; the last entry has the size.
#[pyfunction]
pub fn law_records() -> BTreeMap<&'static str, Vec<(&'static str, usize)>> {
    tailback_compiled::abi::layouts()
}

/// Returns the role of the class `name` of a library or WebAssembly module, such as "queue-law"; `None`: the file has no such
/// class, or its description has another number. The file is loaded. Raises `ValueError` for a file that cannot be loaded.
#[pyfunction]
pub fn compiled_role(file: PathBuf, name: &str) -> PyResult<Option<&'static str>> {
    let role = Components::role(&file, name).map_err(PyValueError::new_err)?;
    Ok(role.map(Role::name))
}
