//! Components by the language of their file.

use crate::{Component, Make, Parameters, native, wasm};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tailback_document::{listed, suggest};
use tailback_user::{Code, CongestionLaw, Language, LoadError, Loaded, QueueLaw, Role, SchedulerLaw, SourceLaw};

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
        let refused = |key, message, help: &str| LoadError::new(key, message, help);
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
        let class = if code.language() == Some(Language::WebAssembly) {
            let module = Arc::new(wasm::Module::load(path).map_err(in_file)?);
            let found = wasm::Class::find(&module, role, &code.class).map_err(in_class)?;
            Class::WebAssembly(Arc::new(found.ok_or_else(|| unknown(module.classes()))?))
        } else {
            let library = native::Library::load(path).map_err(in_file)?;
            let found = native::Class::find(&library, role, &code.class).map_err(in_class)?;
            Class::Native(Arc::new(found.ok_or_else(|| unknown(library.classes()))?))
        };
        class.tried(Parameters::new(&code.parameters)).map_err(|message| refused("parameters", message, HELP))?;
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
            options: properties.options,
        };
        classes.push((class, loaded.clone()));
        loaded
    }

    /// Returns the class of `code`, which has been loaded.
    fn class(&self, code: &Code) -> Result<Class, String> {
        let index = code.loaded.as_ref().map_or(0, |loaded| loaded.index as usize);
        let classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let found = classes.get(index).map(|(class, _)| class.clone());
        found.ok_or_else(|| format!("`{}` is not loaded", code.class))
    }
}

/// Defines methods that make an instance in a role.
macro_rules! roles {
    ($($name:ident: $law:ident, $article:literal),+ $(,)?) => {
        impl Components {
            $(
                #[doc = concat!("Makes an instance of ", $article, " that has been loaded.")]
                ///
                /// # Errors
                /// If the component fails; the message describes the failure.
                pub fn $name(&self, code: &Code) -> Result<Box<dyn $law>, String> {
                    let parameters = Parameters::new(&code.parameters);
                    Ok(match self.class(code)? {
                        Class::Native(class) => Box::new(Component::of(&class, parameters)?),
                        Class::WebAssembly(class) => Box::new(Component::of(&class, parameters)?),
                    })
                }
            )+
        }
    };
}
roles! {
    queue_law: QueueLaw, "a queue law",
    scheduler: SchedulerLaw, "a scheduler",
    congestion_control: CongestionLaw, "a congestion control",
    source: SourceLaw, "a traffic source",
}

impl Class {
    fn name(&self) -> &str {
        match self {
            Class::Native(class) => class.name(),
            Class::WebAssembly(class) => class.name(),
        }
    }
    /// Makes an instance with these parameters, and drops it.
    fn tried(&self, parameters: Parameters) -> Result<(), String> {
        match self {
            Class::Native(class) => class.instance(parameters).map(drop),
            Class::WebAssembly(class) => class.instance(parameters).map(drop),
        }
    }
}
