//! The scenario document: one file per section, in the order of a document.
//!
//! JSON Schema, explanations and canonical form are all derived from these types. Checks of single values are in the
//! types; checks that need the whole document are in `build`.

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
pub use run::{Engine, Metric, Precision, RecordName, Run, Tunable, Warmup, WarningName};
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

/// Version of the document format that this program reads and writes.
pub const VERSION: u32 = 1;

/// A scenario: a network, its traffic, and the parameters of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Document {
    /// Version of the document's format: 1.
    #[schemars(range(min = 1, max = 1), example = 1)]
    pub tailback: u32,
    /// Title, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description, any length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Duration, replications, seed and recording of the run.
    pub run: Run,
    /// Traffic classes, framing, routing, and the defaults of every switch.
    #[serde(default)]
    pub network: Network,
    /// Back-pressure of every switch that has no `backpressure` of its own. Absent: switches drop frames and send no
    /// notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backpressure: Option<BackPressure>,
    /// A generated data-centre topology. Absent: the network has only the nodes and links that are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<Fabric>,
    /// End stations by name. `h = { count = 3 }` makes h1, h2 and h3; an entry without `count` is one host of that name.
    #[serde(default)]
    pub hosts: BTreeMap<String, Host>,
    /// Switches by name. `sw = { count = 3 }` makes sw1, sw2 and sw3; an entry without `count` is one switch of that
    /// name.
    #[serde(default)]
    pub switches: BTreeMap<String, Switch>,
    /// Class maps: conditions on packets, which disciplines and conditioners refer to by name. `voice = { dscp = "ef" }`
    /// defines a class map, `match = "voice"` refers to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub class_maps: BTreeMap<String, Match>,
    /// Full-duplex links between hosts and switches.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Groups of flows from host to host.
    #[serde(default)]
    pub flows: Vec<FlowGroup>,
    /// Changes at given times: link failures, sources that stop, thresholds that change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Change>,
}
