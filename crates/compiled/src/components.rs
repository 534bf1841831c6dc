//! Components by the language of their file.

use crate::abi::{Properties, role_number};
use crate::{Component, Make, Parameters, native, wasm};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tailback_document::{listed, suggest};
use tailback_user::{Code, CongestionLaw, Language, LoadError, Loaded, QueueLaw, Role, SchedulerLaw, SourceLaw};

/// A class in one of the languages.
#[derive(Clone, Debug)]
enum Class {
    Native(Arc<native::Class>),
    WebAssembly(Arc<wasm::Class>),
}

/// Place of a class: this process, or a worker that has loaded it.
#[derive(Clone, Debug)]
enum Place {
    Here(Class),
    /// Another process has loaded the class from the library at this path, which has this content; this one does it for the
    /// first instance.
    Elsewhere(Role, PathBuf, Arc<[u8]>),
}

/// A class that is known.
#[derive(Debug)]
struct Known {
    name: String,
    place: Place,
    loaded: Loaded,
}

/// The components loaded so far; [`Loaded::index`] is an index of this list.
#[derive(Debug, Default)]
pub struct Components {
    classes: Mutex<Vec<Known>>,
}

/// Advice for a file that does not follow the interface.
const HELP: &str = "the page docs/laws.md has the rules for compiled laws";

impl Components {
    /// Loads the class of `code` from the file at `path`, and tries its parameters by making an instance.
    ///
    /// # Errors
    /// If the file cannot be loaded, or has no such class, or if the class refuses the parameters.
    pub fn load(&self, role: Role, code: &Code, path: &Path) -> Result<Loaded, LoadError> {
        let (class, loaded) = found(role, code, path)?;
        let refused = |message| LoadError::new("parameters", message, HELP);
        class.tried(Parameters::new(&code.parameters)).map_err(refused)?;
        Ok(self.add(&code.class, Place::Here(class), loaded))
    }

    /// Adds a class of the library at `path` that another process has loaded, with the properties that it has found there. This
    /// process executes the library only for a run of its own.
    ///
    /// # Errors
    /// If the file cannot be read, or has changed since the other process has loaded it.
    pub fn add_elsewhere(&self, role: Role, code: &Code, path: PathBuf, loaded: Loaded) -> Result<Loaded, LoadError> {
        let refused = |message| LoadError::new("file", message, HELP);
        let content = native::Library::content_of(&path).map_err(refused)?;
        if native::Library::digest_of(&content) != loaded.digest {
            return Err(refused(format!(
                "{} has changed while it was loaded; load the scenario again",
                path.display()
            )));
        }
        Ok(self.add(&code.class, Place::Elsewhere(role, path, content.into()), loaded))
    }

    /// Returns the role of the class `name` of the file at `path`, which this process loads; `None`: there is no such class, or
    /// its description has another number.
    ///
    /// # Errors
    /// If the file cannot be loaded.
    pub fn role(path: &Path, name: &str) -> Result<Option<Role>, String> {
        let file = path.to_string_lossy();
        let description = if Language::of(&file) == Some(Language::WebAssembly) {
            wasm::Class::described(&wasm::Module::load(path)?, Role::QueueLaw, name)?
        } else {
            let full_name = format!("`{name}` of {}", path.file_name().unwrap_or_default().display());
            native::Class::described(&*native::Library::load(path, &full_name)?, name, &full_name)
        };
        let number = description.map(|found| found.role);
        Ok(Role::ALL.into_iter().find(|role| number == Some(role_number(*role))))
    }

    /// Adds a class, unless it is in the list; returns its properties with its index.
    fn add(&self, name: &str, place: Place, loaded: Loaded) -> Loaded {
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&Known| known.name == name && known.loaded.digest == loaded.digest;
        if let Some(known) = classes.iter().find(same) {
            return known.loaded.clone();
        }
        let loaded = Loaded { index: classes.len() as u32, ..loaded };
        classes.push(Known { name: name.to_owned(), place, loaded: loaded.clone() });
        loaded
    }

    /// Returns the content of the file of a component as it was loaded, here or elsewhere. `None`: it has not been.
    pub fn content(&self, code: &Code) -> Option<Vec<u8>> {
        let classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = classes.get(code.loaded.as_ref()?.index as usize)?;
        Some(match &known.place {
            Place::Here(class) => class.content().to_vec(),
            Place::Elsewhere(_, _, content) => content.to_vec(),
        })
    }

    /// Returns the class of `code`, which has been loaded here or elsewhere.
    fn class(&self, code: &Code) -> Result<Class, String> {
        let index = code.loaded.as_ref().map_or(0, |loaded| loaded.index as usize);
        let place = |place: &dyn Fn(&mut Place)| {
            let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
            let known = classes.get_mut(index).ok_or_else(|| format!("`{}` is not loaded", code.class))?;
            place(&mut known.place);
            Ok::<_, String>((known.place.clone(), known.loaded.digest.clone()))
        };
        let (role, path, digest) = match place(&|_| ())? {
            (Place::Here(class), _) => return Ok(class),
            (Place::Elsewhere(role, path, _), digest) => (role, path, digest),
        };
        // The list is not locked while code of the library is executed.
        let (class, loaded) = found(role, code, &path).map_err(|error| error.message)?;
        if loaded.digest != digest {
            return Err(format!("{} differs from the file that was loaded; load the scenario again", path.display()));
        }
        place(&|place| *place = Place::Here(class.clone()))?;
        Ok(class)
    }
}

/// Loads the class of `code` from the file at `path`; returns it with its properties, whose index is not set.
///
/// # Errors
/// If the file cannot be loaded, or has no such class.
fn found(role: Role, code: &Code, path: &Path) -> Result<(Class, Loaded), LoadError> {
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
    let (class, digest) = if code.language() == Some(Language::WebAssembly) {
        let module = Arc::new(wasm::Module::load(path).map_err(in_file)?);
        let found = wasm::Class::find(&module, role, &code.class).map_err(in_class)?;
        let class = Arc::new(found.ok_or_else(|| unknown(module.classes()))?);
        (Class::WebAssembly(class), module.digest().to_owned())
    } else {
        let full_name = format!("`{}` of {}", code.class, code.file);
        let library = native::Library::load(path, &full_name).map_err(in_file)?;
        let found = native::Class::find(&library, role, &code.class, &full_name).map_err(in_class)?;
        let class = Arc::new(found.ok_or_else(|| unknown(library.classes()))?);
        (Class::Native(class), library.digest().to_owned())
    };
    let properties = class.properties();
    let (events, marks, options) = (properties.events, properties.marks, properties.options);
    Ok((class, Loaded { index: 0, digest, events, marks, options }))
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
    /// Returns the properties that the class states.
    fn properties(&self) -> Arc<Properties> {
        match self {
            Class::Native(class) => class.properties().clone(),
            Class::WebAssembly(class) => class.properties().clone(),
        }
    }
    /// Returns the content of the file.
    fn content(&self) -> &[u8] {
        match self {
            Class::Native(class) => class.content(),
            Class::WebAssembly(class) => class.content(),
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
