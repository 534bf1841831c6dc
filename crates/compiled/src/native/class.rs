//! Classes of libraries.

#![allow(unsafe_code, reason = "functions of the component are called through pointers")]

use super::host::Host;
use super::instance::{Answer, Destroy, Made, NativeInstance, Probe};
use super::library::Library;
use crate::abi::{Description, Properties};
use crate::{Make, Parameters};
use core::ffi::c_void;
use std::sync::Arc;
use tailback_user::Role;

/// Fills in a description.
type Describe = unsafe extern "C" fn(*mut Description);
/// Makes an instance; arguments are the host and the place for the pointer to the instance.
type Create = unsafe extern "C" fn(*const Host, *mut *mut c_void) -> i32;

/// A class of a library.
#[derive(Debug)]
pub struct Class {
    library: Arc<Library>,
    name: String,
    properties: Arc<Properties>,
    create: Create,
    answer: Answer,
    probe: Option<Probe>,
    destroy: Option<Destroy>,
}

impl Class {
    /// Returns the class `name` of a library; `None`: there is no class of this name.
    ///
    /// # Errors
    /// If it lacks a function, or if its description is invalid.
    pub fn find(library: &Arc<Library>, role: Role, name: &str) -> Result<Option<Class>, String> {
        // SAFETY: the types are those of the header; libraries stay loaded.
        let (describe, create, answer, probe, destroy) = unsafe {
            (
                library.function::<Describe>(name, "describe"),
                library.function::<Create>(name, "create"),
                library.function::<Answer>(name, "answer"),
                library.function::<Probe>(name, "probe"),
                library.function::<Destroy>(name, "destroy"),
            )
        };
        let Some(describe) = describe else { return Ok(None) };
        let missing = |function: &str| format!("it does not define the function `tailback_{name}_{function}`");
        let mut description = Description::EMPTY;
        // SAFETY: by the rules of the interface the function writes a description.
        unsafe { describe(&raw mut description) };
        let properties = Arc::new(description.checked(role)?);
        if probe.is_none() && !properties.probes.is_empty() {
            return Err(missing("probe"));
        }
        Ok(Some(Class {
            library: library.clone(),
            name: name.to_owned(),
            properties,
            create: create.ok_or_else(|| missing("create"))?,
            answer: answer.ok_or_else(|| missing("answer"))?,
            probe,
            destroy,
        }))
    }

    /// Returns the name of the class.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Returns the content of the file.
    pub fn content(&self) -> &[u8] {
        self.library.content()
    }
    /// Returns the hash of the library.
    pub fn digest(&self) -> &str {
        self.library.digest()
    }
}

impl Make for Class {
    type Instance = NativeInstance;

    fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    fn instance(&self, parameters: Parameters) -> Result<NativeInstance, String> {
        let make = |host: &Host| {
            let mut this = std::ptr::null_mut();
            // SAFETY: by the rules of the interface.
            let status = unsafe { (self.create)(host, &raw mut this) };
            let owner = Box::new(self.library.clone());
            (Made { this, answer: self.answer, probe: self.probe, destroy: self.destroy, owner }, status)
        };
        // SAFETY: the functions are those of the class, in the library that is the owner.
        unsafe { NativeInstance::new(parameters, make) }
    }
}
