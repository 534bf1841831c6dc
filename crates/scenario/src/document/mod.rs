//! The scenario document: one file per section, in the order in which a document is read.
//!
//! The types are the truth: the JSON Schema, the explanations and the canonical form all come
//! from them. What serde can check stands in the types; what needs a second look at the whole
//! stands in `build`.

mod backpressure;
mod fabric;
mod flows;
mod mpls;
mod network;
mod notification;
mod run;
mod timeline;
mod topology;
mod written;

pub use backpressure::{
    Addresses, BackPressure, Block, Detection, FillRate, Mac, Notify, OnOff, RateControl, Response, Scope, Signal,
    Watermark,
};
pub use fabric::{Fabric, FatTree, LeafSpine};
pub use flows::{FlowGroup, Marking, Pair, Per, Transport};
pub use mpls::{Imposition, Mpls, Tunnel};
pub use network::{FrameLength, Framing, FramingTable, Network, Routing, default_discipline};
pub use notification::RateLimiters;
pub use run::{Engine, Metric, Precision, Run, Warmup, WarningName};
pub use timeline::{Change, State};
pub use topology::{
    Action, Conditioner, CutThrough, Direction, Ends, Host, InputFifo, Link, OutputQueued, Port, Shaper, SharedBuffer,
    SharedMemory, Switch, SwitchModel, VirtualOutputQueues, Watchdog,
};
pub use written::{Delays, Directions, Length, Limit, Limits};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_qdisc::classify::Match;

/// The version of the document that this program reads and writes.
pub const VERSION: u32 = 1;

/// A scenario: a network, what is sent through it, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Document {
    /// Version of the document's format: 1.
    #[schemars(range(min = 1, max = 1), example = 1)]
    pub tailback: u32,
    /// One line that says what this scenario shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// As much more as is worth saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How long, how often and with which seed.
    pub run: Run,
    /// Classes, framing, routing, and what holds for every switch unless it says otherwise.
    #[serde(default)]
    pub network: Network,
    /// Back-pressure of every switch that has none of its own; absent, switches only drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backpressure: Option<BackPressure>,
    /// Hosts, switches and links of a data-centre network, by a few numbers; absent, only those that are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<Fabric>,
    /// End stations by name. `h = { count = 3 }` makes h1, h2 and h3; without `count` the name is one host's.
    #[serde(default)]
    pub hosts: BTreeMap<String, Host>,
    /// Switches by name. `sw = { count = 3 }` makes sw1, sw2 and sw3; without `count` the name is one switch's.
    #[serde(default)]
    pub switches: BTreeMap<String, Switch>,
    /// Class maps by name: what a class of a discipline, or a conditioner, is for. `voice = { dscp = "ef" }` is one; others
    /// name it as `match = "voice"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub class_maps: BTreeMap<String, Match>,
    /// Full-duplex links between hosts and switches.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Groups of flows from host to host.
    #[serde(default)]
    pub flows: Vec<FlowGroup>,
    /// Changes at given instants: links that fail, sources that stop, thresholds that move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Change>,
}
