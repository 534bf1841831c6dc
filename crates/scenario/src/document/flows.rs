//! `[[flows]]`: who sends what to whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_diffserv::{Colour, Dscp, Meter};
use tailback_document::kinds;
use tailback_traffic::{Application, Model};
use tailback_transport::{Rdma, Tcp};
use tailback_units::Dur;

/// Flows that are alike, reported together under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlowGroup {
    /// Name of the group, unique. A single flow has this name; several are `name[1]`, `name[2]`, …
    #[schemars(example = &"data")]
    pub name: String,
    /// Sending host, by name or pattern (`*`, `?`, `[12]`, `[1-3]`).
    #[schemars(example = &"h1")]
    pub from: String,
    /// Receiving host, by name or pattern.
    #[schemars(example = &"h2")]
    pub to: String,
    /// Which senders go with which receivers. Absent: every sender with a single receiver (or every receiver with a single
    /// sender), and "zip" when there are equally many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// Makes so many flows of each pair (with `pair = "random"`, in all), 1 to 200000. Absent, one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200_000))]
    pub count: Option<u32>,
    /// Traffic class, 0 (highest) to below `network.classes`.
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub class: u8,
    /// Code point of all packets and their acknowledgements: "default", "cs1" to "cs7", "af11" to "af43", "ef", "va", or 0 to
    /// 63 (RFC 2474).
    #[serde(default, skip_serializing_if = "is_best_effort")]
    pub dscp: Dscp,
    /// When the source starts; before the end of the run.
    #[serde(default)]
    pub start: Dur,
    /// Each flow starts at an instant of its own, drawn uniformly from `start` to so much later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_spread: Dur,
    /// When the source stops, after `start`; absent, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Dur>,
    /// What each flow sends, whatever the network does. Every group has a `source` or an `application`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Model>,
    /// What both ends of each flow do, in place of a source: what is sent next depends on what has arrived. Responses travel
    /// from `to` to `from` as flows of their own, in the group `NAME response`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// What carries it. Absent, packets go out as the source makes them, as with UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// By what the packets get a colour, their drop precedence, where they enter the network. Absent, they are green, unless
    /// their transport marks them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<Marking>,
    /// Whether time series (`run.sample`) also show each flow's window and round-trip time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub probe: bool,
}

kinds! {
    /// What carries a flow from end to end.
    pub enum Transport {
        "tcp" => Tcp(Tcp),
        "rdma" => Rdma(Rdma),
    }
}

impl Transport {
    /// The connection that it is.
    pub fn connection(&self) -> Tcp {
        match self {
            Transport::Tcp(tcp) => tcp.clone(),
            Transport::Rdma(rdma) => rdma.connection(),
        }
    }
}

/// A meter where flows enter the network, before the sending host's queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Marking {
    /// By what the stream is judged; sizes are those that buffers count.
    pub meter: Meter,
    /// Whether each "flow" has a meter of its own, or the "group" has one for all its flows. Default "flow".
    #[serde(default)]
    pub per: Per,
    /// Drops packets of this colour and of worse ones: "yellow" or "red". Absent, all pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<Colour>,
}

/// Whose packets make one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Those of each flow.
    #[default]
    Flow,
    /// Those of all flows that the meter is for.
    Group,
}

fn is_best_effort(dscp: &Dscp) -> bool {
    *dscp == Dscp::DEFAULT
}
fn is_zero(d: &Dur) -> bool {
    *d == Dur::ZERO
}
fn is_false(b: &bool) -> bool {
    !b
}

/// Which senders go with which receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pair {
    /// The first with the first, the second with the second, …
    Zip,
    /// Every sender with every receiver, but never with itself.
    All,
    /// Each flow draws its sender and its receiver, two different hosts, anew in each replication.
    Random,
    /// Each sender has one receiver, and each receiver one sender, drawn anew in each replication.
    Permutation,
    /// The first sender with the second receiver and so on, the last with the first.
    Ring,
}
