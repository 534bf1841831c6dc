//! `[[flows]]`: senders, receivers and their traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_diffserv::{Colour, Dscp, Meter};
use tailback_document::kinds;
use tailback_traffic::{Application, Model};
use tailback_transport::{Rdma, Tcp};
use tailback_units::Dur;

/// A group of flows with the same parameters, reported together under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlowGroup {
    /// Name of the group, unique. A single flow has this name; several flows are `name[1]`, `name[2]`, …
    #[schemars(example = &"data")]
    pub name: String,
    /// Sending host, by name or pattern (`*`, `?`, `[12]`, `[1-3]`).
    #[schemars(example = &"h1")]
    pub from: String,
    /// Receiving host, by name or pattern.
    #[schemars(example = &"h2")]
    pub to: String,
    /// Pairing of senders with receivers. Absent: if one side is a single host, it is paired with every host of the
    /// other side; if both sides have the same number of hosts, "zip".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// Number of flows per pair (with `pair = "random"`, in total), 1 to 200000. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 200_000))]
    pub count: Option<u32>,
    /// Traffic class, 0 (highest priority) to below `network.classes`.
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub class: u8,
    /// DSCP of all packets and their acknowledgements: "default", "cs1" to "cs7", "af11" to "af43", "ef", "va", or 0 to
    /// 63 (RFC 2474).
    #[serde(default, skip_serializing_if = "is_best_effort")]
    pub dscp: Dscp,
    /// Start time of the source; before the end of the run.
    #[serde(default)]
    pub start: Dur,
    /// Width of the interval after `start` from which the start time of each flow is drawn (uniform distribution).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_spread: Dur,
    /// Stop time of the source, after `start`. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Dur>,
    /// Open-loop traffic of each flow, independent of the network's state. Every group has either a `source` or an
    /// `application`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Model>,
    /// Closed-loop traffic of each flow, in place of a source: the next message depends on what has arrived. Responses
    /// travel from `to` to `from` as flows of their own, in the group `NAME response`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// Transport protocol. Absent: packets leave when the source generates them, as with UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Meter that colours the packets (drop precedence) where they enter the network. Absent: all packets are green,
    /// unless their transport colours them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<Marking>,
    /// `true` if the time series (`run.sample`) include each flow's window and round-trip time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub probe: bool,
}

kinds! {
    /// Transport protocol of a flow.
    pub enum Transport {
        "tcp" => Tcp(Tcp),
        "rdma" => Rdma(Rdma),
    }
}

impl Transport {
    /// Returns the parameters of the connection; those of RDMA are converted to the equivalent ones of TCP.
    pub fn connection(&self) -> Tcp {
        match self {
            Transport::Tcp(tcp) => tcp.clone(),
            Transport::Rdma(rdma) => rdma.connection(),
        }
    }
}

/// A meter, and optionally a policer, where flows enter the network, before the sending host's queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Marking {
    /// Meter that colours the packets. It counts the length of packets in buffers (`network.framing`).
    pub meter: Meter,
    /// "flow": each flow has a meter of its own; "group": one meter for all flows of the group. Default "flow".
    #[serde(default)]
    pub per: Per,
    /// Drops packets of this colour and of worse ones: "yellow" or "red". Absent: no packet is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<Colour>,
}

/// Set of packets that share one meter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// The packets of one flow.
    #[default]
    Flow,
    /// The packets of all flows of the group.
    Group,
}

fn is_best_effort(dscp: &Dscp) -> bool {
    *dscp == Dscp::DEFAULT
}
fn is_zero(duration: &Dur) -> bool {
    *duration == Dur::ZERO
}
fn is_false(value: &bool) -> bool {
    !value
}

/// Pairing of senders with receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pair {
    /// The first with the first, the second with the second, …
    Zip,
    /// Every sender with every receiver other than itself.
    All,
    /// Each flow draws a sender and a different receiver, anew in each replication.
    Random,
    /// A random one-to-one mapping of senders to receivers, drawn anew in each replication.
    Permutation,
    /// The first sender with the second receiver and so on; the last sender with the first receiver.
    Ring,
}
