//! Modules that have been loaded, and their classes.

use super::imports::{HOST, linker};
use super::instance::{Data, WasmInstance, describe};
use crate::abi::Properties;
use crate::digest;
use crate::{Make, Parameters};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use tailback_user::Role;
use wasmi::{CompilationMode, Config, Engine, ExternType, Linker};

/// Maximum number of steps of one call, about one for each instruction of the module.
pub const FUEL: u64 = 100_000_000;
/// Maximum size of the memory of an instance, bytes.
pub const MEMORY_BYTES: usize = 16 << 20;

/// The interpreter and the functions of the host.
static HOST_FUNCTIONS: LazyLock<(Engine, Result<Linker<Data>, String>)> = LazyLock::new(|| {
    let mut config = Config::default();
    // Steps are counted for the code of the module only, not for its translation.
    config.consume_fuel(true).compilation_mode(CompilationMode::Eager);
    let engine = Engine::new(&config);
    let linker = linker(&engine).map_err(|error| error.to_string());
    (engine, linker)
});

/// A module.
pub struct Module {
    parsed: wasmi::Module,
    linker: &'static Linker<Data>,
    digest: String,
    classes: Vec<String>,
}

/// Returns a module in the binary format; `content` is in that format or in the text format.
///
/// # Errors
/// If the text is invalid.
pub fn binary(content: &[u8]) -> Result<Vec<u8>, String> {
    wat::parse_bytes(content).map(std::borrow::Cow::into_owned).map_err(|error| error.to_string())
}

impl Module {
    /// Loads a module in the binary format or in the text format.
    ///
    /// # Errors
    /// If the file cannot be read, is no valid module, or imports anything but the host's functions.
    pub fn load(path: &Path) -> Result<Module, String> {
        let content = std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let invalid = |error: String| format!("{} is no valid WebAssembly module: {error}", path.display());
        let bytes = binary(&content).map_err(invalid)?;
        let (engine, linker) = &*HOST_FUNCTIONS;
        let linker = linker.as_ref().map_err(Clone::clone)?;
        let parsed = wasmi::Module::new(engine, &bytes).map_err(|error| invalid(error.to_string()))?;
        check_imports(&parsed).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Module { parsed, linker, digest: digest::of("wasm", &content), classes: crate::abi::classes(&bytes) })
    }

    /// Returns the hash of the file and the version of the interface.
    pub fn digest(&self) -> &str {
        &self.digest
    }
    /// Returns the names of the module's classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }
    pub(super) fn engine(&self) -> &Engine {
        self.parsed.engine()
    }
    pub(super) fn parsed(&self) -> &wasmi::Module {
        &self.parsed
    }
    pub(super) fn linker(&self) -> &Linker<Data> {
        self.linker
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Module")
    }
}

/// Names of the functions that the host has.
pub(super) const FUNCTIONS: [&str; 16] = [
    "fail",
    "random",
    "below",
    "exponential",
    "normal",
    "parameter",
    "text",
    "ln",
    "ln_1p",
    "log2",
    "exp",
    "exp_m1",
    "sin",
    "cos",
    "ln_gamma",
    "pow",
];

/// Refuses imports other than the functions of the host; their types are checked when the module is started.
fn check_imports(module: &wasmi::Module) -> Result<(), String> {
    let foreign = |import: &wasmi::ImportType<'_>| {
        let is_function = matches!(import.ty(), ExternType::Func(_));
        import.module() != HOST || !FUNCTIONS.contains(&import.name()) || !is_function
    };
    let Some(import) = module.imports().find(foreign) else { return Ok(()) };
    let name = format!("{}.{}", import.module(), import.name());
    Err(format!("it imports `{name}`; a law imports only functions of `{HOST}`: {}", FUNCTIONS.join(", ")))
}

/// A class of a module.
#[derive(Debug)]
pub struct Class {
    module: Arc<Module>,
    name: String,
    role: Role,
    properties: Arc<Properties>,
}

impl Class {
    /// Returns the class `name` of a module; `None`: there is no class of this name.
    ///
    /// # Errors
    /// If it lacks a function, or if its description is invalid.
    pub fn find(module: &Arc<Module>, role: Role, name: &str) -> Result<Option<Class>, String> {
        let Some(description) = describe(module, role, name)? else { return Ok(None) };
        let properties = Arc::new(description.checked(role)?);
        Ok(Some(Class { module: module.clone(), name: name.to_owned(), role, properties }))
    }

    /// Returns the name of the class.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Returns the hash of the module.
    pub fn digest(&self) -> &str {
        self.module.digest()
    }
    pub(super) fn module(&self) -> &Module {
        &self.module
    }
    pub(super) fn role(&self) -> Role {
        self.role
    }
}

impl Make for Class {
    type Instance = WasmInstance;

    fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    fn instance(&self, parameters: Parameters) -> Result<WasmInstance, String> {
        WasmInstance::new(self, parameters)
    }
}
