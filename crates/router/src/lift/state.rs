//! The state of the decompilation.

use crate::ir::Config;
use crate::{Place, Report};
use serde_json::Value;

pub(super) const NOWHERE: Place = Place::new(0, 0);
pub(super) const DEFAULT_CLASS: &str = "class-default";
/// Upper bound on the nesting.
pub(super) const DEEPEST: usize = 8;

pub(super) struct Lifting<'a> {
    pub(super) document: &'a Value,
    pub(super) config: Config,
    pub(super) report: Report,
    /// Classes so far, with their conditions.
    pub(super) class_conditions: Vec<ClassCondition>,
    /// Conditions of the enclosing classes.
    pub(super) outer: Vec<Value>,
    /// Rate of the port's link, bit/s.
    pub(super) line: Option<u64>,
}

impl Lifting<'_> {
    pub(super) fn left_out(&mut self, what: impl Into<String>) {
        self.report.unsupported(NOWHERE, what, None);
    }
}

/// A class of a policy, and the condition of its packets.
pub(super) struct ClassCondition {
    /// Name of the policy.
    pub policy: String,
    /// Name of the class.
    pub class: String,
    /// The complete condition, including those of the enclosing classes.
    pub when: Value,
    /// Index of its rule in the policy, if a class may have several.
    pub rule: Option<usize>,
}
