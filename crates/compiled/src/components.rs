//! Components by the language of their file.

use crate::{Parameters, native, wasm};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tailback_document::{listed, suggest};
use tailback_user::{Code, Language, LoadError, Loaded, QueueLaw, Role};

/// A class in one of the languages.
#[derive(Clone, Debug)]
enum Class {
    Native(Arc<native::Class>),
    WebAssembly(Arc<wasm::Class>),
}

/// The components loaded so far; [`Loaded::index`] is an index of this list.
#[derive(Debug, Default)]
pub struct Components {
    classes: Mutex<Vec<(Class, Loaded)>>,
}

/// Advice for a file that does not follow the interface.
const HELP: &str = "the page docs/laws.md has the rules for compiled laws";

impl Components {
    /// Loads the class of `code` from the file at `path`, and tries its parameters by making an instance.
    ///
    /// # Errors
    /// If the file cannot be loaded, or has no such class, or if the class refuses the parameters.
    pub fn load(&self, role: Role, code: &Code, path: &Path) -> Result<Loaded, LoadError> {
        let refused = |key, message, help: &str| LoadError { key, message, help: help.to_owned() };
        let in_file = |message| refused("file", message, HELP);
        let in_class = |message| refused("class", format!("`{}` of {}: {message}", code.class, path.display()), HELP);
        let unknown = |classes: &[String]| {
            let names = || classes.iter().map(String::as_str);
            let help = match suggest(&code.class, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if classes.is_empty() => format!("define `tailback_{}_describe` as the header says", code.class),
                None => format!("its classes are {}", listed(names())),
            };
            refused("class", format!("{} has no class `{}`", path.display(), code.class), &help)
        };
        if role != Role::QueueLaw {
            let message = format!("{}: of compiled components only queue laws are supported", path.display());
            return Err(refused("file", message, "write the component in Python"));
        }
        let class = if code.language() == Some(Language::WebAssembly) {
            let module = Arc::new(wasm::Module::load(path).map_err(in_file)?);
            let found = wasm::Class::find(&module, role, &code.class).map_err(in_class)?;
            Class::WebAssembly(Arc::new(found.ok_or_else(|| unknown(module.classes()))?))
        } else {
            let library = native::Library::load(path).map_err(in_file)?;
            let found = native::Class::find(&library, role, &code.class).map_err(in_class)?;
            Class::Native(Arc::new(found.ok_or_else(|| unknown(library.classes()))?))
        };
        class.queue_law(code).map_err(|message| refused("parameters", message, HELP))?;
        Ok(self.add(class))
    }

    /// Adds a class, unless it is in the list; returns its properties.
    fn add(&self, class: Class) -> Loaded {
        let (name, digest, properties) = match &class {
            Class::Native(class) => (class.name(), class.digest(), class.properties()),
            Class::WebAssembly(class) => (class.name(), class.digest(), class.properties()),
        };
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(known, loaded): &&(Class, Loaded)| known.name() == name && loaded.digest == digest;
        if let Some((_, loaded)) = classes.iter().find(same) {
            return loaded.clone();
        }
        let loaded = Loaded {
            index: classes.len() as u32,
            digest: digest.to_owned(),
            events: properties.events,
            marks: properties.marks,
            options: 0,
        };
        classes.push((class, loaded.clone()));
        loaded
    }

    /// Makes an instance of a queue law that has been loaded.
    ///
    /// # Errors
    /// If the law fails; the message describes the failure.
    pub fn queue_law(&self, code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        let index = code.loaded.as_ref().map_or(0, |loaded| loaded.index as usize);
        let class = {
            let classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
            classes.get(index).map(|(class, _)| class.clone())
        };
        class.ok_or("the law is not loaded")?.queue_law(code)
    }
}

impl Class {
    fn name(&self) -> &str {
        match self {
            Class::Native(class) => class.name(),
            Class::WebAssembly(class) => class.name(),
        }
    }
    /// Makes an instance with the parameters of `code`.
    fn queue_law(&self, code: &Code) -> Result<Box<dyn QueueLaw>, String> {
        let parameters = Parameters::new(&code.parameters);
        match self {
            Class::Native(class) => class.queue_law(parameters),
            Class::WebAssembly(class) => class.queue_law(parameters),
        }
    }
}
