//! State of the compilation.

use super::conditions::Conditions;
use crate::Report;
use crate::ir::Platform;
use serde::Serialize;
use std::collections::BTreeSet;

/// State of the compilation.
pub(super) struct Lower<'a> {
    pub(super) conditions: Conditions<'a>,
    pub(super) report: Report,
    /// Largest packet of the traffic table in bytes, at least 1500.
    pub(super) largest: u64,
    /// `true` while the queue of an interface is compiled, `false` for that of a class.
    pub(super) legacy: bool,
    /// Number of classes compiled so far.
    pub(super) classes: usize,
    /// Rate of the link in bit/s.
    pub(super) line: u64,
    /// Link-layer bytes per packet that buffers count.
    pub(super) header: u16,
    /// Rate in bit/s to which a discipline without `base` refers its percentages: that of the link, or of the enclosing
    /// shaper.
    pub(super) site: u64,
    /// `true` if shapers are those of Linux (tbf).
    pub(super) linux: bool,
    /// Platform whose defaults apply.
    pub(super) platform: Platform,
    /// Defaults that were used, each as a phrase with its source.
    pub(super) defaults: BTreeSet<String>,
    /// Groups of flows by class.
    pub(super) members: Vec<Membership>,
}

/// A class of the port, with its groups of flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Membership {
    /// Name of the class, prefixed by those of the enclosing classes other than `class-default`, such as `gold/voice`.
    pub class: String,
    /// Names of the groups of flows.
    pub groups: Vec<String>,
}
