//! The state of the compilation.

use super::conditions::Conditions;
use crate::Report;
use crate::ir::Platform;
use serde::Serialize;
use std::collections::BTreeSet;

/// State of the compilation.
pub(super) struct Lower<'a> {
    pub(super) conditions: Conditions<'a>,
    pub(super) report: Report,
    /// Largest packet in bytes.
    pub(super) largest: u64,
    /// `true` for the queue of an interface, `false` for that of a class.
    pub(super) legacy: bool,
    /// Number of classes so far.
    pub(super) classes: usize,
    /// Rate of the link in bit/s.
    pub(super) line: u64,
    /// Link-layer bytes that buffers count per packet.
    pub(super) header: u16,
    /// Default reference rate of the engine's percentages: that of the link or of the enclosing shaper, bit/s.
    pub(super) site: u64,
    /// `true` if shapers are those of Linux.
    pub(super) linux: bool,
    /// Platform whose defaults apply.
    pub(super) platform: Platform,
    /// Defaults that were used, each with its source.
    pub(super) defaults: BTreeSet<String>,
    /// Groups of flows by class.
    pub(super) members: Vec<Membership>,
}

/// A class of the port with its flows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Membership {
    /// Name of the class; nested classes are prefixed by the outer names.
    pub class: String,
    /// Groups of flows.
    pub groups: Vec<String>,
}
