//! Classes of libraries.

#![allow(unsafe_code, reason = "functions of the component are called through pointers")]

use super::host::Host;
use super::instance::{Answer, Destroy, Made, NativeInstance, Probe};
use super::library::Library;
use crate::abi::{Description, Properties};
use crate::last_call::outside_a_run;
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
    /// Name in messages, such as "`Red` of red.so".
    full_name: String,
    properties: Arc<Properties>,
    create: Create,
    answer: Answer,
    probe: Option<Probe>,
    destroy: Option<Destroy>,
}

impl Class {
    /// Returns the description of the class `name` of a library; `None`: there is no class of this name. `full_name` is its name
    /// in messages.
    pub fn described(library: &Library, name: &str, full_name: &str) -> Option<Description> {
        // SAFETY: the type is that of the header; libraries stay loaded.
        let describe = unsafe { library.function::<Describe>(name, "describe") }?;
        let mut description = Description::EMPTY;
        let noted = outside_a_run(full_name, "describe");
        // SAFETY: by the rules of the interface the function writes a description.
        unsafe { describe(&raw mut description) };
        drop(noted);
        Some(description)
    }

    /// Returns the class `name` of a library; `None`: there is no class of this name. `full_name` is its name in messages.
    ///
    /// # Errors
    /// If it lacks a function, or if its description is invalid.
    pub fn find(library: &Arc<Library>, role: Role, name: &str, full_name: &str) -> Result<Option<Class>, String> {
        // SAFETY: the types are those of the header; libraries stay loaded.
        let (create, answer, probe, destroy) = unsafe {
            (
                library.function::<Create>(name, "create"),
                library.function::<Answer>(name, "answer"),
                library.function::<Probe>(name, "probe"),
                library.function::<Destroy>(name, "destroy"),
            )
        };
        let Some(description) = Class::described(library, name, full_name) else { return Ok(None) };
        let missing = |function: &str| format!("it does not define the function `tailback_{name}_{function}`");
        let properties = Arc::new(description.checked(role)?);
        if probe.is_none() && !properties.probes.is_empty() {
            return Err(missing("probe"));
        }
        Ok(Some(Class {
            library: library.clone(),
            full_name: full_name.to_owned(),
            properties,
            create: create.ok_or_else(|| missing("create"))?,
            answer: answer.ok_or_else(|| missing("answer"))?,
            probe,
            destroy,
        }))
    }

    /// Returns the content of the file.
    pub fn content(&self) -> &[u8] {
        self.library.content()
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
            let noted = outside_a_run(&self.full_name, "create");
            // SAFETY: by the rules of the interface.
            let status = unsafe { (self.create)(host, &raw mut this) };
            drop(noted);
            let (name, owner) = (self.full_name.clone(), Box::new(self.library.clone()));
            (Made { name, this, answer: self.answer, probe: self.probe, destroy: self.destroy, owner }, status)
        };
        // SAFETY: the functions are those of the class, in the library that is the owner.
        unsafe { NativeInstance::new(parameters, make) }
    }
}
