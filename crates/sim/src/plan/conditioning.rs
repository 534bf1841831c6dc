//! Traffic conditioners and MPLS label stacks.

use tailback_qdisc::classify::Match;

/// A traffic conditioner (RFC 2475): a meter that colours packets, and optionally a policer.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionerPlan {
    /// Unique name: that of a group of flows, such as `data`, or of a port, a direction and a number, such as
    /// `edge->core egress 1`.
    pub name: String,
    /// Place in the network at which packets are metered.
    pub place: Place,
    /// Indices of the flows to which the conditioner applies, ascending; `None`: all flows, including acknowledgements.
    /// At a port, only the first conditioner that matches a packet is applied to it.
    pub flows: Option<Vec<u32>>,
    /// Condition on the packets of `flows` to which the conditioner applies; `None`: all packets. Must be `None` at a
    /// source.
    pub matches: Option<Match>,
    /// `true`: a meter per flow; `false`: one meter for all flows.
    pub per_flow: bool,
    /// Meter; it counts buffer bytes adjusted by `accounting`.
    pub meter: tailback_diffserv::Meter,
    /// Bytes that the meter counts for each packet in addition to buffer bytes.
    pub accounting: tailback_qdisc::Accounting,
    /// Best colour that is dropped: packets of this colour and of worse ones are dropped; `None`: no packet is dropped.
    pub police: Option<tailback_diffserv::Colour>,
    /// Actions for green, yellow and red packets.
    pub actions: [Action; 3],
}

/// Action of a conditioner on packets of a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// `true` if the packets are dropped.
    pub drop: bool,
    /// New code point, 0 to 63; `None`: unchanged.
    pub dscp: Option<u8>,
    /// New value of the upper three bits of the code point, 0 to 7; `None`: unchanged.
    pub precedence: Option<u8>,
    /// New class, below [`Plan::classes`](super::Plan::classes); `None`: unchanged.
    pub class: Option<u8>,
}

/// Place of a conditioner. Port numbers are twice the link plus the sending side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a flow's entry to the network: in the sending host, before its queue.
    Source,
    /// Before the queue of a port.
    Egress {
        /// The port.
        port: u32,
    },
    /// After the link of a port, in the switch at its other end.
    Ingress {
        /// The port.
        port: u32,
    },
}

/// A label stack (RFC 3031, RFC 3032) on the packets that leave by a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelPlan {
    /// Port number: twice the link plus the sending side.
    pub port: u32,
    /// Number of entries of the stack, 4 bytes each.
    pub labels: u8,
    /// Relation between the labels' traffic class field and the code point of the packet.
    pub tunnel: Tunnel,
    /// Traffic class field, 0 to 7, of packets that receive labels here, by code point.
    pub exp: Box<[u8; 64]>,
}

/// Tunnelling models of differentiated services over MPLS (RFC 3270 section 2.6); they differ in the effect of removing
/// the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// The traffic class field of the labels is written into the packet's code point.
    Uniform,
    /// The packet keeps its code point; the port by which it leaves the tunnel still schedules by the labels' traffic
    /// class field.
    Pipe,
    /// The packet keeps its code point; the port by which it leaves the tunnel schedules by that code point.
    ShortPipe,
}
