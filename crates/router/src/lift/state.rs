//! State of the decompilation.

use crate::ir::Config;
use crate::{Place, Report};
use serde_json::Value;

/// Place of remarks: a scenario has no lines.
pub(super) const NOWHERE: Place = Place::new(0, 0);
pub(super) const DEFAULT_CLASS: &str = "class-default";
/// Upper bound on the nesting of disciplines, and of conditions.
pub(super) const MAX_DEPTH: usize = 8;

/// State of the decompilation.
pub(super) struct Lifting<'a> {
    pub(super) document: &'a Value,
    pub(super) config: Config,
    pub(super) report: Report,
    /// Classes converted so far, with their conditions.
    pub(super) class_conditions: Vec<ClassCondition>,
    /// Conditions of the enclosing classes.
    pub(super) outer: Vec<Value>,
    /// Rate of the port's link in bit/s; `None`: not stated.
    pub(super) line: Option<u64>,
}

impl Lifting<'_> {
    /// Reports a setting that is not exported; `what` is the message.
    pub(super) fn not_exported(&mut self, what: impl Into<String>) {
        self.report.unsupported(NOWHERE, what, None);
    }
}

/// A class of a policy, and the condition of its packets.
pub(super) struct ClassCondition {
    /// Name of the policy.
    pub policy: String,
    /// Name of the class.
    pub class: String,
    /// Complete condition, including those of the enclosing classes.
    pub when: Value,
    /// Index of the rule in the policy, if each alternative of the condition is a rule; `None`: the class has one rule.
    pub rule: Option<usize>,
}
