//! The languages of configurations: a row each.

use crate::ir::Config;
use crate::{Exported, Imported, Report, Syntax, junos, mqc, routeros, sonic, tc};

/// A language that configurations are read in, and perhaps written.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Its reader.
    pub import: fn(&str) -> Imported,
    /// Its writer, if there is one.
    pub writer: Option<Writer>,
}

/// How a language is written.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// How its numbers are written into an original.
    pub syntax: Syntax,
    /// Writes a whole configuration.
    pub export: fn(&Config) -> Exported,
    /// Calls the interface of a configuration that came from a scenario so, or by a name that is noted.
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
    /// The language of that name.
    pub fn named(name: &str) -> Option<&'static Language> {
        LANGUAGES.iter().find(|language| language.name == name)
    }
}
