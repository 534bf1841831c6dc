//! The state in which ports and policies are built.

use super::cos::Cos;
use super::firewall::Firewall;
use crate::Report;
use crate::ir::Config;
use std::collections::{BTreeMap, BTreeSet};

/// Builds ports and policies from the sections.
pub(super) struct Maker<'a> {
    pub(super) cos: &'a Cos,
    pub(super) firewall: &'a Firewall,
    pub(super) config: Config,
    pub(super) report: Report,
    /// Indices of the policies of each name, including numbered ones.
    pub(super) names: BTreeMap<String, Vec<usize>>,
    /// Policies of filters, by `true` for IPv6, and name.
    pub(super) filter_policies: BTreeMap<(bool, String), String>,
    /// Remaining budget of conditions for output filters.
    pub(super) conditions: usize,
    /// Forwarding classes that packets may have.
    pub(super) reached: BTreeSet<usize>,
    /// Loss priorities of classifiers by code point; 255: not determined by the code point.
    pub(super) losses: BTreeSet<Vec<u8>>,
}
