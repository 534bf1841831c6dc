//! Warnings about valid scenarios: checks of the plan before a run.
//!
//! Each family is a file with a function that examines the compiled plan and reports findings with numbers and a
//! remedy; `CHECKS` lists them. A warning is about something that is certain from the plan, such as a load above a
//! link's rate; what depends on the run is not reported. Bounds are used in the direction that warns less.

mod load;
mod marks;
mod measurement;
mod no_effect;
mod numbers;
mod offered;
mod order;
mod paths;
mod samples;
mod thresholds;

use crate::build::{Places, Spelled};
use crate::complaint::{Complaint, On};
use crate::document::{Document, WarningName};
use crate::error::Problem;
use crate::origin::{Origin, Place};
use tailback_document::Path;
use tailback_sim::plan::Plan;

pub(crate) use no_effect::of as without_effect;
pub use offered::Offered;
pub(crate) use offered::groups as offered;

/// A warning: a valid setting that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Name, by which `run.accept` silences it.
    pub name: WarningName,
    /// Place, message and advice, in the form of an error.
    pub problem: Problem,
}

/// A check of a plan.
type Check = fn(&Pass<'_>, &mut Warnings);

/// All checks of a plan.
const CHECKS: [Check; 6] =
    [load::check, thresholds::check, marks::check, order::check, samples::check, measurement::check];

/// Input of the checks.
pub(crate) struct Pass<'a> {
    pub plan: &'a Plan,
    pub places: Places<'a>,
    /// Ports that flows use.
    pub used: paths::Used,
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
            let accept = format!("if it is meant, write accept = [\"{}\"] under [run]", name.text());
            let help = complaint.help.map_or_else(|| accept.clone(), |help| format!("{help}; {accept}"));
            let problem = Problem::new("warning", Complaint { help: Some(help), ..complaint }, place, origin);
            located.push((at, Warning { name, problem }));
        }
        located.sort_by_key(|(at, _)| *at);
        located.into_iter().map(|(_, warning)| warning).collect()
    }
}

/// Returns all warnings about a document and its plan.
pub(crate) fn of(document: &Document, plan: &Plan, origin: &Origin) -> Vec<Warning> {
    let spelled = Spelled::new(document);
    let pass = Pass { plan, places: spelled.places(), used: paths::Used::new(plan) };
    let mut found = Warnings::default();
    CHECKS.iter().for_each(|check| check(&pass, &mut found));
    found.locate(document, origin)
}
