//! Registry of the configuration languages.

use crate::ir::Config;
use crate::{Exported, Imported, Report, Syntax, junos, mqc, routeros, sonic, tc};

/// A language with a reader and possibly a writer.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Name on the command line.
    pub name: &'static str,
    /// Title in messages, such as "scripts of Linux traffic control".
    pub title: &'static str,
    /// Reader. It accepts any text; errors are in the report.
    pub import: fn(&str) -> Imported,
    /// Writer; `None`: import only.
    pub writer: Option<Writer>,
}

/// Writer of a language.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// Notation of numbers, for [`patch`](fn@crate::patch).
    pub syntax: Syntax,
    /// Exports a configuration; unsupported parts are in the report.
    pub export: fn(&Config) -> Exported,
    /// Sets the name of the interface in a configuration that was decompiled from a scenario; `None`: a default name,
    /// which is reported.
    pub name: fn(&mut Config, Option<&str>) -> Report,
}

/// All languages.
pub const LANGUAGES: [Language; 5] = [
    Language {
        name: "mqc",
        title: "Cisco's modular QoS command line",
        import: mqc::import,
        writer: Some(Writer { syntax: Syntax::Mqc, export: mqc::export, name: mqc::name_interface }),
    },
    Language {
        name: "tc",
        title: "scripts of Linux traffic control",
        import: tc::import,
        writer: Some(Writer { syntax: Syntax::Tc, export: tc::export, name: tc::name_device }),
    },
    Language { name: "junos", title: "class of service of Junos", import: junos::import, writer: None },
    Language { name: "routeros", title: "queues of RouterOS", import: routeros::import, writer: None },
    Language { name: "sonic", title: "CONFIG_DB of SONiC", import: sonic::import, writer: None },
];

impl Language {
    /// Returns the language of a name, such as `mqc`; `None`: there is no such language.
    pub fn named(name: &str) -> Option<&'static Language> {
        LANGUAGES.iter().find(|language| language.name == name)
    }
}
