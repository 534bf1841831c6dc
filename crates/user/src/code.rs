//! The part of a document that names a user-defined component.

use crate::Language;
use core::fmt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tailback_document::Invalid;

/// A component that the user has written: a queue law, a scheduler, a congestion control or a traffic source, in Python (a
/// class derived from `tailback.Law`, `tailback.Scheduler`, `tailback.CongestionControl` or `tailback.Source`), in a language
/// that is compiled to machine code, or in WebAssembly. It receives numbers and answers with a
/// decision. A scenario with such a component runs the code of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Code {
    /// Path of the file with the component, relative to the scenario's file: Python source (`.py`), a library in machine
    /// code (`.so`, `.dylib`, `.dll`), or a WebAssembly module (`.wasm`, or `.wat` as text).
    #[schemars(extend("x-fixed" = Code::FIXED))]
    pub file: String,
    /// Name of the class in the file; in compiled files the name in `tailback_NAME_answer`.
    #[schemars(extend("x-fixed" = Code::FIXED))]
    pub class: String,
    /// Parameters of the component, by name. The component checks them, and refuses unknown ones; times, rates and sizes
    /// are texts with a unit. Default: none, so that the component uses its own defaults.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(extend("x-fixed" = Code::FIXED))]
    pub parameters: Map<String, Value>,
    /// The loaded component; `None`: the file has not been loaded.
    #[serde(skip)]
    pub loaded: Option<Loaded>,
}

impl Code {
    /// Reason why all keys are fixed during a run.
    pub const FIXED: &'static str = "the law is made once, at the start of the run";

    /// Refuses an empty path and an empty name.
    ///
    /// # Errors
    /// If one of them is empty; the error names the key.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.file.is_empty() {
            return Err(Invalid::new("file", "it is empty; write the path of the file, such as \"mylaw.py\""));
        }
        if self.class.is_empty() {
            return Err(Invalid::new(
                "class",
                "it is empty; write the name of the class in the file, such as \"MyLaw\"",
            ));
        }
        Ok(())
    }

    /// Returns the language of the file; `None`: its name has an unknown suffix.
    pub fn language(&self) -> Option<Language> {
        Language::of(&self.file)
    }

    /// Returns `true` if the component wants to be called for the event with the bit `event`. A component that is not
    /// loaded wants no call.
    pub fn wants(&self, event: u32) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| loaded.events & event != 0)
    }

    /// Returns `true` if the component has declared the property with the bit `option`. A component that is not loaded has
    /// declared none.
    pub fn has(&self, option: u32) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| loaded.options & option != 0)
    }

    /// Returns `true` if the component may mark packets. A component that is not loaded marks none.
    pub fn marks(&self) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| loaded.marks)
    }
}

/// Properties of a component that has been loaded.
#[derive(Clone, PartialEq)]
pub struct Loaded {
    /// Index of the component among those that the [`crate::Factories`] have loaded.
    pub index: u32,
    /// Hash of everything on which the component's decisions depend: its source, the modules that it imports, and the
    /// version of its interpreter or compiler. It is part of the hash of a scenario's effect.
    pub digest: String,
    /// Events for which the component is called, a bit each, such as [`crate::QueueEvent::bit`].
    pub events: u32,
    /// `true` if the component may mark packets.
    pub marks: bool,
    /// Properties that the component declares, a bit each, such as [`crate::CongestionOptions::PACES`].
    pub options: u32,
}

/// The hash only: it determines the other properties, and the index has no effect on results.
impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.digest)
    }
}
