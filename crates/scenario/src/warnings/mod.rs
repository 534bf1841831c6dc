//! Warnings about valid scenarios: checks of the plan before a run, and settings without effect (`no_effect`).
//!
//! Each check of the plan is a function in a file of its own, which reports findings with numbers and a remedy;
//! `CHECKS` lists them. A warning reports only facts that are certain from the plan, such as a load above a link's
//! rate, and nothing that depends on the run. Where only bounds of a quantity are known, the bound that gives fewer
//! warnings is used.

mod load;
mod marks;
mod measurement;
mod no_effect;
mod numbers;
mod offered;
mod order;
mod pass;
mod paths;
mod samples;
mod thresholds;

use crate::build::ExpandedDocument;
use crate::document::Document;
use crate::origin::Origin;
use tailback_sim::plan::Plan;

pub use offered::Offered;
pub(crate) use offered::groups as offered;
pub use pass::Warning;
pub(crate) use pass::{Pass, Warnings};

/// A check of a plan.
type Check = fn(&Pass<'_>, &mut Warnings);

/// All checks of a plan.
const CHECKS: [Check; 6] =
    [load::check, thresholds::check, marks::check, order::check, samples::check, measurement::check];

/// Returns the warnings about a document and its plan that the document does not accept, in the order of the file.
pub(crate) fn of(document: &Document, plan: &Plan, origin: &Origin) -> Vec<Warning> {
    let expanded = ExpandedDocument::new(document);
    let pass = Pass { plan, places: expanded.places(), used: paths::Used::new(plan) };
    let mut found = Warnings::default();
    for check in &CHECKS {
        check(&pass, &mut found);
    }
    found.locate(document, origin)
}
