//! `[fabric]`: the networks of data centres by a few numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Invalid, kinds};
use tailback_units::{Dur, Rate};

kinds! {
    /// Hosts, switches and links of a data-centre network. Their names are keys of `hosts` and `switches`, where each may be
    /// given options, but no `count`.
    pub enum Fabric {
        "leaf-spine" => LeafSpine(LeafSpine),
        "fat-tree" => FatTree(FatTree),
    }
}

/// Two tiers: hosts h1, h2, … at switches leaf1, leaf2, …, each of which is linked to all of spine1, spine2, ….
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LeafSpine {
    /// Leaf switches, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub leaves: u32,
    /// Spine switches, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub spines: u32,
    /// Hosts at each leaf, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub hosts_per_leaf: u32,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Rate of the links between leaves and spines; absent, `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of every link. Default 1us, that of 200 m.
    #[serde(default = "microsecond")]
    pub delay: Dur,
}

/// The k-ary fat-tree of M. Al-Fares, A. Loukissas and A. Vahdat (SIGCOMM 2008), three tiers of equal switches: k/2 hosts
/// h1, h2, … at each of k²/2 switches edge1, …, k²/2 switches agg1, …, and k²/4 switches core1, …. Pod p has the edge and
/// aggregation switches (p − 1)·k/2 + 1 to p·k/2, and the i-th aggregation switch of each pod is linked to the cores
/// (i − 1)·k/2 + 1 to i·k/2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FatTree {
    /// Ports of each switch, even, 2 to 48.
    #[schemars(range(min = 2, max = 48))]
    pub k: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link. Default 1us, that of 200 m.
    #[serde(default = "microsecond")]
    pub delay: Dur,
}

fn microsecond() -> Dur {
    Dur::from_us(1)
}

/// Most nodes, which the engine numbers in 16 bits.
const MOST_NODES: u32 = 60_000;

fn number(field: &str, value: u32, low: u32, high: u32) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write {low} to {high}")))
}

impl LeafSpine {
    /// The numbers are within the engine's.
    pub fn check(&self) -> Result<(), Invalid> {
        number("leaves", self.leaves, 1, 1000)?;
        number("spines", self.spines, 1, 1000)?;
        number("hosts-per-leaf", self.hosts_per_leaf, 1, 1000)?;
        let nodes = self.leaves * (1 + self.hosts_per_leaf) + self.spines;
        if nodes > MOST_NODES {
            let message = format!("that makes {nodes} hosts and switches, and there may be {MOST_NODES}; write less");
            return Err(Invalid::new("leaves", message));
        }
        Ok(())
    }
}

impl FatTree {
    /// k is even and within the engine's numbers.
    pub fn check(&self) -> Result<(), Invalid> {
        number("k", self.k, 2, 48)?;
        if self.k % 2 == 1 {
            let message = format!("{} is odd; half of a switch's ports lead up, so write {}", self.k, self.k + 1);
            return Err(Invalid::new("k", message));
        }
        Ok(())
    }
}
