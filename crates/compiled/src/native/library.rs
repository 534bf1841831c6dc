//! Libraries that have been loaded.

#![allow(unsafe_code, reason = "a library is loaded and its symbols are used by the interface's rules")]
#![allow(clippy::disallowed_methods, reason = "no run depends on the temporary folder")]

use super::elf::check_complete;
use crate::digest;
use crate::last_call::outside_a_run;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A library in the process.
#[derive(Debug)]
pub struct Library {
    handle: libloading::Library,
    digest: String,
    classes: Vec<String>,
    content: Vec<u8>,
}

/// Libraries by the hash of their files. They stay loaded until the process ends: threads that a library has started, and
/// destructors of its thread-local variables, may use its code at any time.
static LIBRARIES: Mutex<BTreeMap<String, Arc<Library>>> = Mutex::new(BTreeMap::new());

impl Library {
    /// Loads a library, unless a file with the same content has been loaded. `full_name` is the name in messages of the component
    /// that is wanted from it.
    ///
    /// # Errors
    /// If the file cannot be read, or is no library for this platform.
    pub fn load(path: &Path, full_name: &str) -> Result<Arc<Library>, String> {
        let content = Library::content_of(path)?;
        let digest = Library::digest_of(&content);
        let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = libraries.get(&digest) {
            return Ok(known.clone());
        }
        // The functions that the library runs at its loading may crash, or not return.
        let noted = outside_a_run(full_name, "dlopen");
        let handle = open(path, &content)?;
        drop(noted);
        let classes = crate::abi::classes(&content);
        let library = Arc::new(Library { handle, digest: digest.clone(), classes, content });
        libraries.insert(digest, library.clone());
        Ok(library)
    }

    /// Returns the content of the file of a library, which is not loaded.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn content_of(path: &Path) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    }
    /// Returns the hash of a library with this content, the version of the interface and the platform.
    pub fn digest_of(content: &[u8]) -> String {
        digest::of(&format!("native {} {}", std::env::consts::ARCH, std::env::consts::OS), content)
    }

    /// Returns the hash of the file, the version of the interface and the platform.
    pub fn digest(&self) -> &str {
        &self.digest
    }
    /// Returns the content of the file.
    pub fn content(&self) -> &[u8] {
        &self.content
    }
    /// Returns the names of the library's classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Returns the address of the function `tailback_CLASS_FUNCTION`. `None`: the library does not define it.
    ///
    /// # Safety
    ///
    /// `F` is the type that the interface declares for the function. The result is used as long as the library is loaded,
    /// which is for ever.
    pub(super) unsafe fn function<F: Copy>(&self, class: &str, function: &str) -> Option<F> {
        let symbol = format!("tailback_{class}_{function}\0");
        // SAFETY: by the contract above.
        unsafe { self.handle.get::<F>(symbol.as_bytes()) }.ok().map(|found| *found)
    }
}

/// Loads a private copy of the file: the user's compiler may write the file again while it is mapped, and the platform takes
/// another library under the same path for the one that is loaded. If the copy cannot be loaded, as from a folder without the
/// permission to execute, loads the file itself.
fn open(path: &Path, content: &[u8]) -> Result<libloading::Library, String> {
    let refused = |reason: String| {
        format!("{} is no library for {} {}: {reason}", path.display(), std::env::consts::ARCH, std::env::consts::OS)
    };
    check_complete(content).map_err(refused)?;
    let copy = copy(path, content).ok();
    // SAFETY: the user has chosen to run this library, which includes its initialisation.
    let load = |path: &Path| unsafe { libloading::Library::new(path) };
    let loaded = copy.as_deref().map(load);
    if let Some(copy) = copy {
        // Some platforms keep a loaded file, which their temporary folder then has until it is emptied.
        let _ = std::fs::remove_file(copy);
    }
    match loaded {
        Some(Ok(library)) => Ok(library),
        _ => load(path).map_err(|error| {
            refused(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
        }),
    }
}

/// Writes a copy of a library into the temporary folder; returns its path.
fn copy(path: &Path, content: &[u8]) -> std::io::Result<PathBuf> {
    static COPIES: AtomicU64 = AtomicU64::new(0);
    let number = COPIES.fetch_add(1, Ordering::Relaxed);
    let suffix = path.extension().unwrap_or_default().to_string_lossy();
    let copy = std::env::temp_dir().join(format!("tailback-{}-{number}.{suffix}", std::process::id()));
    // A file that exists is not followed: it may be another user's.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&copy)?;
    file.write_all(content)?;
    Ok(copy)
}
