//! `[fabric]`: generated topologies of data-centre networks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, kinds};
use tailback_units::{Dur, Rate};

kinds! {
    /// Hosts, switches and links of a generated data-centre network. Options of generated nodes, except `count`, are
    /// set under their names in `hosts` and `switches`.
    pub enum Fabric {
        "leaf-spine" => LeafSpine(LeafSpine),
        "fat-tree" => FatTree(FatTree),
    }
}

/// Two tiers (leaf-spine): hosts h1, h2, … at switches leaf1, leaf2, …, each of which is linked to all of spine1,
/// spine2, ….
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LeafSpine {
    /// Number of leaf switches, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub leaves: u32,
    /// Number of spine switches, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub spines: u32,
    /// Number of hosts at each leaf, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub hosts_per_leaf: u32,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Rate of the links between leaves and spines. Default: `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of every link. Default 1us (200 m of cable).
    #[serde(default = "default_delay")]
    pub delay: Dur,
}

/// The k-ary fat-tree of M. Al-Fares, A. Loukissas and A. Vahdat (SIGCOMM 2008), three tiers of equal switches: k/2
/// hosts h1, h2, … at each of k²/2 switches edge1, …, k²/2 switches agg1, …, and k²/4 switches core1, …. Pod p has the
/// edge and aggregation switches (p − 1)·k/2 + 1 to p·k/2; the i-th aggregation switch of each pod is linked to the
/// core switches (i − 1)·k/2 + 1 to i·k/2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FatTree {
    /// Number of ports of each switch, even, 2 to 48.
    #[schemars(range(min = 2, max = 48))]
    pub k: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link. Default 1us (200 m of cable).
    #[serde(default = "default_delay")]
    pub delay: Dur,
}

fn default_delay() -> Dur {
    Dur::from_us(1)
}

/// Upper bound on the number of nodes: the engine uses node numbers of 16 bits.
const MAX_NODES: u32 = 60_000;

/// Checks that the value of a field is from `low` to `high`, both included.
fn number(field: &str, value: u32, low: u32, high: u32) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write {low} to {high}")))
}

impl LeafSpine {
    /// Checks the ranges, and that the number of nodes is within the engine's limit.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        number("leaves", self.leaves, 1, 1000)?;
        number("spines", self.spines, 1, 1000)?;
        number("hosts-per-leaf", self.hosts_per_leaf, 1, 1000)?;
        let nodes = self.leaves * (1 + self.hosts_per_leaf) + self.spines;
        if nodes > MAX_NODES {
            let message = format!(
                "the fabric has {nodes} hosts and switches, above the limit of {MAX_NODES}; lower one of the numbers"
            );
            return Err(Invalid::new("leaves", message));
        }
        Ok(())
    }
}

impl FatTree {
    /// Checks that k is even and in range.
    ///
    /// # Errors
    /// The name of the invalid parameter, and the accepted values.
    pub fn check(&self) -> Result<(), Invalid> {
        number("k", self.k, 2, 48)?;
        if self.k % 2 == 1 {
            let message = format!("{} is odd; half of a switch's ports are uplinks, so write {}", self.k, self.k + 1);
            return Err(Invalid::new("k", message));
        }
        Ok(())
    }
}
