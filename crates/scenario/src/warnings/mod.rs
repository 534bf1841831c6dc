//! What looks wrong in a scenario that is valid: a pass over the plan before a run.
//!
//! Each family is a file with a function that looks at the compiled plan and says what it finds, with numbers and a
//! cure; `CHECKS` lists them. A warning is about something that is certain of the plan, such as a load above
//! a line's rate: what may or may not come about is left to the run. Where only a bound is known, it is the one that
//! warns less.

mod load;
mod marks;
mod measurement;
mod no_effect;
mod numbers;
mod offered;
mod order;
mod samples;
mod thresholds;
mod ways;

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

/// Something that is allowed and makes little sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What it is about; `run.accept` with this name silences it.
    pub name: WarningName,
    /// Where, what and what to change, in the form of an error.
    pub problem: Problem,
}

/// What looks at a plan.
type Check = fn(&Pass<'_>, &mut Warnings);

/// Every family of warnings about a plan.
const CHECKS: [Check; 6] =
    [load::check, thresholds::check, marks::check, order::check, samples::check, measurement::check];

/// What the checks look at.
pub(crate) struct Pass<'a> {
    pub plan: &'a Plan,
    pub places: Places<'a>,
    /// Which ports flows use.
    pub used: ways::Used,
}

/// Collects warnings.
#[derive(Default)]
pub(crate) struct Warnings(Vec<(WarningName, Complaint)>);

impl Warnings {
    /// About the value at `path`; the advice is what to change.
    pub fn add(&mut self, name: WarningName, path: Path, message: impl Into<String>, advice: impl Into<String>) {
        self.0.push((name, Complaint { path, on: On::Value, message: message.into(), help: Some(advice.into()) }));
    }
    /// Those that the document does not accept, each with its place, in the order of the file.
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

/// All that looks wrong in a document and its plan.
pub(crate) fn of(document: &Document, plan: &Plan, origin: &Origin) -> Vec<Warning> {
    let spelled = Spelled::new(document);
    let pass = Pass { plan, places: spelled.places(), used: ways::Used::new(plan) };
    let mut found = Warnings::default();
    CHECKS.iter().for_each(|check| check(&pass, &mut found));
    found.locate(document, origin)
}
