//! Import of a text, and the values of the scenario's port that result.

use super::tokens::Syntax;
use super::values::{self, Values};
use crate::{Imported, Options, Traffic, lower, mqc, tc};
use serde::Serialize;
use serde_json::Value;

/// Names of the switch and of its neighbour that identify the port of an imported scenario.
pub(super) const PORT: (&str, &str) = ("ce", "sink");

/// A replaced word.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Change {
    /// Line of the word in the original, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Original word.
    pub from: String,
    /// New word.
    pub to: String,
    /// Path of the value of the scenario's port that the word determines, such as
    /// `discipline.classes[VOICE].priority.rate`.
    pub path: String,
    /// That value in the scenario, with its unit.
    pub wanted: String,
    /// That value as imported from the new text; it differs from `wanted` if the word's unit is too coarse.
    pub written: String,
}

/// Parameters of an import.
pub(crate) struct Reading<'a> {
    pub(super) language: Syntax,
    pub(super) traffic: Traffic,
    pub(super) options: Options,
    /// Function that returns the canonical form of a document; `None`: the document is invalid.
    pub(super) canonical: &'a dyn Fn(&Value) -> Option<Value>,
}

impl Reading<'_> {
    /// Imports a text; returns the values of the port, and `true` if a router would accept the text. `None`: the text
    /// cannot be converted into a scenario.
    pub(super) fn values(&self, text: &str) -> Option<(Values, bool)> {
        let Imported { config, report } = import(self.language, text);
        let lowered = lower(&config, &self.traffic, &self.options);
        let accepted = !report.has_errors() && !lowered.report.has_errors();
        let document = (self.canonical)(&lowered.document?)?;
        Some((values::of(&document, PORT.0, PORT.1)?, accepted))
    }
}

/// Reads a configuration in the language.
pub(super) fn import(language: Syntax, text: &str) -> Imported {
    match language {
        Syntax::Mqc => mqc::import(text),
        Syntax::Tc => tc::import(text),
    }
}
