//! Input and output of the checks.

use super::paths::Used;
use crate::build::Places;
use crate::complaint::{Complaint, On};
use crate::document::{Document, WarningName};
use crate::error::Problem;
use crate::origin::{Origin, Place};
use tailback_document::Path;
use tailback_sim::plan::Plan;

/// A warning: a valid setting that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Name; `run.accept` takes it to hide the warning.
    pub name: WarningName,
    /// Place, message and advice, formatted like an error.
    pub problem: Problem,
}

/// Input of the checks.
pub(crate) struct Pass<'a> {
    pub plan: &'a Plan,
    /// Paths of the parts of the plan in the document.
    pub places: Places<'a>,
    /// Ports that flows use.
    pub used: Used,
}

/// Collects warnings.
#[derive(Default)]
pub(crate) struct Warnings(Vec<(WarningName, Complaint)>);

impl Warnings {
    /// Adds a warning about the value at `path`, with advice.
    pub fn add(&mut self, name: WarningName, path: Path, message: impl Into<String>, advice: impl Into<String>) {
        self.0.push((name, Complaint { path, on: On::Value, message: message.into(), help: Some(advice.into()) }));
    }
    /// Returns the warnings that the document does not accept, with their places, in the order of the file.
    pub fn locate(self, document: &Document, origin: &Origin) -> Vec<Warning> {
        let mut located: Vec<(Option<(usize, usize)>, Warning)> = Vec::new();
        for (name, complaint) in self.0.into_iter().filter(|(name, _)| !document.run.accept.contains(name)) {
            let place = origin.place(&complaint.path, complaint.on == On::Key);
            let at = place.as_ref().map(|place: &Place<'_>| (place.line, place.column));
            let accept = format!("to accept this, write accept = [\"{}\"] under [run]", name.text());
            let help = complaint.help.map_or_else(|| accept.clone(), |help| format!("{help}; {accept}"));
            let problem = Problem::new("warning", Complaint { help: Some(help), ..complaint }, place.as_ref(), origin);
            located.push((at, Warning { name, problem }));
        }
        located.sort_by_key(|(at, _)| *at);
        located.into_iter().map(|(_, warning)| warning).collect()
    }
}
