//! Modules that have been loaded, and their classes.

use super::data::{Data, MEMORY_BYTES};
use super::imports::{HOST, linker};
use crate::digest;
use std::fmt;
use std::path::Path;
use std::sync::LazyLock;
use wasmi::{CompilationMode, Config, Engine, ExternType, FuncType, Linker, ValType};

/// Size of a page of memory, bytes.
const PAGE_BYTES: u64 = 65_536;

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
    content: Vec<u8>,
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
        if let Some(ExternType::Memory(memory)) = parsed.get_export("memory")
            && memory.minimum().saturating_mul(PAGE_BYTES) > MEMORY_BYTES as u64
        {
            let pages = memory.minimum();
            return Err(format!(
                "{}: its memory begins with {pages} pages of 64 KiB; the limit is {MEMORY_BYTES} bytes",
                path.display()
            ));
        }
        check_imports(&parsed).map_err(|error| format!("{}: {error}", path.display()))?;
        let (digest, classes) = (digest::of("wasm", &content), crate::abi::classes(&bytes));
        Ok(Module { parsed, linker, digest, classes, content })
    }

    /// Returns the hash of the file and the version of the interface.
    pub fn digest(&self) -> &str {
        &self.digest
    }
    /// Returns the content of the file: the binary format or text.
    pub fn content(&self) -> &[u8] {
        &self.content
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

/// Name, arguments and results of a function.
type Signature = (&'static str, &'static [ValType], &'static [ValType]);

/// The functions that the host has.
pub(super) const FUNCTIONS: [Signature; 16] = [
    ("fail", &[ValType::I32], &[]),
    ("random", &[], &[ValType::F64]),
    ("below", &[ValType::I64], &[ValType::I64]),
    ("exponential", &[ValType::F64], &[ValType::F64]),
    ("normal", &[], &[ValType::F64]),
    ("parameter", &[ValType::I32, ValType::I32, ValType::F64], &[ValType::F64]),
    ("text", &[ValType::I32, ValType::I32, ValType::I32], &[ValType::I32]),
    ("ln", &[ValType::F64], &[ValType::F64]),
    ("ln_1p", &[ValType::F64], &[ValType::F64]),
    ("log2", &[ValType::F64], &[ValType::F64]),
    ("exp", &[ValType::F64], &[ValType::F64]),
    ("exp_m1", &[ValType::F64], &[ValType::F64]),
    ("sin", &[ValType::F64], &[ValType::F64]),
    ("cos", &[ValType::F64], &[ValType::F64]),
    ("ln_gamma", &[ValType::F64], &[ValType::F64]),
    ("pow", &[ValType::F64, ValType::F64], &[ValType::F64]),
];

/// Refuses imports other than the functions of the host.
fn check_imports(module: &wasmi::Module) -> Result<(), String> {
    for import in module.imports() {
        let name = format!("`{}.{}`", import.module(), import.name());
        let known = FUNCTIONS.iter().find(|(known, ..)| import.module() == HOST && *known == import.name());
        let Some((_, arguments, results)) = known else {
            let names = FUNCTIONS.map(|(name, ..)| name).join(", ");
            return Err(format!("it imports {name}; a law imports only functions of `{HOST}`: {names}"));
        };
        let ours = FuncType::new(arguments.iter().copied(), results.iter().copied());
        if !matches!(import.ty(), ExternType::Func(theirs) if *theirs == ours) {
            return Err(format!("it imports {name} with another type than from {arguments:?} to {results:?}"));
        }
    }
    Ok(())
}
