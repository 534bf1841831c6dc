//! Factories of components in all languages; the suffix of a file is its language.

use crate::user::PyFactories;
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
                self.compiled.load(role, code, &path)
            }
            None => Err(refused(
                format!("`{}` is not Python source, a native library or a WebAssembly module", code.file),
                "write the path of a file that ends with .py, .so, .dylib, .dll, .wasm or .wat",
            )),
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
