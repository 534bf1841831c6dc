//! Builder of ports and policies.

use super::cos::Cos;
use super::firewall::Firewall;
use crate::Report;
use crate::ir::Config;
use std::collections::{BTreeMap, BTreeSet};

/// Builder of ports and policies from the parsed sections.
pub(super) struct Builder<'a> {
    pub(super) cos: &'a Cos,
    pub(super) firewall: &'a Firewall,
    pub(super) config: Config,
    pub(super) report: Report,
    /// Indices of the policies by base name, without the number that is appended to make names unique.
    pub(super) names: BTreeMap<String, Vec<usize>>,
    /// Names of the policies of filters. Key: `true` for IPv6, name of the filter.
    pub(super) filter_policies: BTreeMap<(bool, String), String>,
    /// Number of conditions that further output filters may add.
    pub(super) conditions: usize,
    /// Indices of the forwarding classes that packets may have.
    pub(super) reached: BTreeSet<usize>,
    /// Loss priorities that the classifiers assign, one table of 64 DSCPs each; 255: not determined by the DSCP.
    pub(super) losses: BTreeSet<Vec<u8>>,
}
