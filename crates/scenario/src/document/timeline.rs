//! `[[timeline]]`: changes during the run.

use super::Ends;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tailback_units::{Dur, Fraction, Rate, Size};

/// A change of a link, a flow, a switch or a host at a given time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Change {
    /// Time of the change; at most `run.duration`.
    pub at: Dur,
    /// New values of tunable keys, by path, such as `{ "links[0].rate" = "5Mbit/s", "switches.*.discipline.target" =
    /// "10ms" }`; a path is written as for `--set`. They take effect together. Exactly one of `set`, `link`, `flow`,
    /// `switch` and `host` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Map<String, Value>>,
    /// Link between two nodes, by name or pattern in either order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Ends>,
    /// A group of flows or a single flow, such as `data[2]`, by name or pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// A switch with back-pressure, by name or pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// A host, by name or pattern; requires `state` "storm" or "calm".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// New state. Of a link: "down" (frames on it are lost, queues wait) or "up"; of a flow: "stop" or "start"; of a
    /// host: "storm" (it sends PAUSE frames continuously, as a faulty adapter does) or "calm".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Payload bytes that a single flow sends at this time in addition to its source, 1 B to 2^40 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<Size>,
    /// A link's new rate in both directions, from the next frame on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A link's new propagation delay, from the next frame on; frames keep their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Dur>,
    /// A switch's new high watermark; requires `low`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Fraction>,
    /// A switch's new low watermark, below `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<Fraction>,
}

/// New state of a link, a flow or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The link is down.
    Down,
    /// The link is up.
    Up,
    /// A flow starts or resumes sending.
    Start,
    /// A flow stops sending; packets already sent are forwarded.
    Stop,
    /// A host sends PAUSE frames continuously.
    Storm,
    /// A host stops sending PAUSE frames.
    Calm,
}
