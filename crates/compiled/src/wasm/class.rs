//! Classes of modules.

use super::instance::{WasmInstance, describe};
use super::module::Module;
use crate::abi::Properties;
use crate::{Component, Parameters};
use std::sync::Arc;
use tailback_user::{QueueLaw, Role};

/// A class of a module.
#[derive(Debug)]
pub struct Class {
    module: Arc<Module>,
    name: String,
    properties: Arc<Properties>,
}

impl Class {
    /// Returns the class `name` of a module; `None`: there is no class of this name.
    ///
    /// # Errors
    /// If it lacks a function, or if its description is invalid.
    pub fn find(module: &Arc<Module>, role: Role, name: &str) -> Result<Option<Class>, String> {
        let Some(description) = describe(module, name)? else { return Ok(None) };
        let properties = Arc::new(description.checked(role)?);
        Ok(Some(Class { module: module.clone(), name: name.to_owned(), properties }))
    }

    /// Returns the properties that the class states.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }
    /// Returns the name of the class.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Returns the hash of the module.
    pub fn digest(&self) -> &str {
        self.module.digest()
    }

    /// Makes an instance.
    ///
    /// # Errors
    /// If the class refuses the parameters.
    pub fn instance(&self, parameters: Parameters) -> Result<WasmInstance, String> {
        WasmInstance::new(&self.module, &self.name, parameters)
    }

    /// Makes an instance as a queue law.
    ///
    /// # Errors
    /// If the class refuses the parameters.
    pub fn queue_law(&self, parameters: Parameters) -> Result<Box<dyn QueueLaw>, String> {
        Ok(Box::new(Component::new(self.instance(parameters)?, self.properties.clone())))
    }
}
