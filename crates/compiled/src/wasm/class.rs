//! Classes of modules.

use super::instance::{WasmInstance, describe};
use super::module::Module;
use crate::abi::{Description, Properties};
use crate::{Make, Parameters};
use std::sync::Arc;
use tailback_user::Role;

/// A class of a module.
#[derive(Debug)]
pub struct Class {
    module: Arc<Module>,
    name: String,
    role: Role,
    properties: Arc<Properties>,
}

impl Class {
    /// Returns the description of the class `name` of a module; `None`: there is no class of this name. The module lends the
    /// memory for `role`.
    ///
    /// # Errors
    /// If it lacks a function.
    pub fn described(module: &Module, role: Role, name: &str) -> Result<Option<Description>, String> {
        describe(module, role, name)
    }

    /// Returns the class `name` of a module; `None`: there is no class of this name.
    ///
    /// # Errors
    /// If it lacks a function, or if its description is invalid.
    pub fn find(module: &Arc<Module>, role: Role, name: &str) -> Result<Option<Class>, String> {
        let Some(description) = Class::described(module, role, name)? else { return Ok(None) };
        let properties = Arc::new(description.checked(role)?);
        Ok(Some(Class { module: module.clone(), name: name.to_owned(), role, properties }))
    }

    /// Returns the content of the file.
    pub fn content(&self) -> &[u8] {
        self.module.content()
    }
}

impl Make for Class {
    type Instance = WasmInstance;

    fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    fn instance(&self, parameters: Parameters) -> Result<WasmInstance, String> {
        WasmInstance::new(&self.module, self.role, &self.name, parameters)
    }
}
