//! `[[timeline]]`: what changes while the run goes on.

use super::Ends;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_units::{Dur, Fraction, Rate};

/// A change at a given instant to a link, a flow or a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Change {
    /// When; not after the end of the run.
    pub at: Dur,
    /// The link between two nodes, by name or pattern in either order. One of `link`, `flow` and `switch` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Ends>,
    /// A group of flows or a single flow, such as `data[2]`, by name or pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// A switch with back-pressure, by name or pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// A host, by name or pattern; with `state` "storm" or "calm".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Of a link "down" (frames on it are lost, queues wait) or "up"; of a flow "stop" or "start"; of a host "storm"
    /// (it sends PAUSE frames without end, as a broken adapter does) or "calm".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// A link's new rate in both directions, from the next frame on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A link's new propagation delay, from the next frame on; frames keep their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Dur>,
    /// A switch's new high threshold; goes with `low`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Fraction>,
    /// A switch's new low threshold, below `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<Fraction>,
}

/// A state that a link or a flow changes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A link stops carrying.
    Down,
    /// A link carries again.
    Up,
    /// A flow starts or resumes sending.
    Start,
    /// A flow stops sending; packets already sent go on.
    Stop,
    /// A host sends PAUSE frames without end.
    Storm,
    /// A host stops doing so.
    Calm,
}
