//! Frames of rows.

use super::address::{ip, mac, receiver_port, sender_port};
use super::ethernet::{Header, Labels};
use super::feedback::Message;
use super::frame::Synthetic;
use super::rdma::Transfer;
use super::tcp::{Segment, Shape, flag};
use super::{ip, mac_control, udp};
use crate::network::{Flow, Network};
use tailback_qdisc::congestion_notification::cp::Spec;
use tailback_qdisc::congestion_notification::wire::Format;
use tailback_sim::plan::{FlowPlan, FrameKind, LinkPlan, NodeId, NodeKind, Plan};
use tailback_sim::trace::{Detail, Row};
use tailback_transport::{Block, EcnMode, Recovery, Tcp};
use tailback_units::Time;

/// Window of a receiver that offers an unlimited one, bytes: the largest that TCP can announce.
const LARGEST_WINDOW: u64 = 0xffff << 14;
/// Picoseconds in a microsecond, the unit of time stamps.
const US: u64 = 1_000_000;

/// Protocol of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    Udp,
    Tcp(Shape),
    /// RoCEv2, with the payload of a full segment.
    Rdma(u16),
}

/// A flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub from: NodeId,
    pub to: NodeId,
    pub protocol: Protocol,
}

/// Properties of a packet that its rows do not state, fixed when it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// Number of the connection's opening.
    pub opening: u32,
    /// Bytes before the segment, or before the one that an acknowledgement expects.
    pub offset: u64,
    /// Value and echo of the time stamp, us.
    pub stamps: [u32; 2],
    /// Bytes that are acknowledged selectively.
    pub sack: [[u32; 2]; 3],
}

/// Parts of a plan that frames show.
#[derive(Clone, Debug)]
pub(super) struct Builder {
    pub flows: Vec<Ends>,
    /// Nodes at the ends of each port's link: the one that sends, and the other.
    pub ends: Vec<[NodeId; 2]>,
    /// Entries of the label stack by port.
    labels: Vec<u8>,
    classes: u8,
    /// `true` if rate limiters add tags to frames.
    tags: bool,
    /// Format of congestion points' messages.
    format: Format,
}

impl Protocol {
    /// Returns the protocol of a flow with this transport.
    fn of(transport: Option<&Tcp>) -> Protocol {
        let Some(tcp) = transport else { return Protocol::Udp };
        let segment = tcp.segment.0 as u16;
        if tcp.takes_turns {
            return Protocol::Rdma(segment);
        }
        let offered = |segments: u32| (u64::from(segments) * u64::from(segment)).min(LARGEST_WINDOW);
        Protocol::Tcp(Shape {
            segment,
            timestamps: tcp.timestamps,
            selective: matches!(tcp.recovery, Recovery::Sack(_)),
            ecn: tcp.ecn != EcnMode::Off,
            window: tcp.receive_window.map_or(LARGEST_WINDOW, offered),
        })
    }
    /// Returns the payload of a full segment, bytes; 0 without segments.
    pub fn segment(&self) -> u16 {
        match self {
            Protocol::Udp => 0,
            Protocol::Tcp(shape) => shape.segment,
            Protocol::Rdma(segment) => *segment,
        }
    }
}

impl Builder {
    /// Returns the builder of a plan, whose random choices of hosts are those of `network`.
    pub fn new(plan: &Plan, network: &Network) -> Builder {
        let ends = |(flow, drawn): (&FlowPlan, &Flow)| Ends {
            from: drawn.from,
            to: drawn.to,
            protocol: Protocol::of(flow.transport.as_deref()),
        };
        let sides = |link: &LinkPlan| [link.ends, [link.ends[1], link.ends[0]]];
        let mut labels = vec![0; 2 * plan.links.len()];
        for stack in &plan.labels {
            labels[stack.port as usize] = stack.labels;
        }
        let limiters = |kind: &NodeKind| match kind {
            NodeKind::Host(host) => host.limiters.as_deref().map(|spec| spec.tag_bytes),
            NodeKind::Switch(switch) => switch.limiters.as_deref().map(|spec| spec.tag_bytes),
        };
        let point = |kind: &NodeKind| match kind {
            NodeKind::Switch(switch) => switch.notification.as_deref().map(|spec| matches!(spec, Spec::Qcn(_))),
            NodeKind::Host(_) => None,
        };
        let is_qcn = plan.nodes.iter().find_map(|node| point(&node.kind)).unwrap_or(false);
        Builder {
            flows: plan.flows.iter().zip(&network.flows).map(ends).collect(),
            ends: plan.links.iter().flat_map(sides).collect(),
            labels,
            classes: plan.classes,
            tags: plan.nodes.iter().any(|node| limiters(&node.kind).is_some_and(|bytes| bytes > 0)),
            format: if is_qcn { Format::Cnm } else { Format::Bcn },
        }
    }

    /// Returns the priority of a class: the classes in order, the lowest has priority 0.
    fn priority(&self, class: u8) -> u8 {
        (self.classes - 1).saturating_sub(class)
    }

    /// Returns the value of an array by class in the order of priorities.
    fn by_priority(&self, by_class: &[u16; 8]) -> [u16; 8] {
        let mut found = [0; 8];
        for class in 0..self.classes {
            found[usize::from(self.priority(class))] = by_class[usize::from(class)];
        }
        found
    }

    /// Returns the frame of a control frame's row; `None`: the row has no content of a frame.
    pub fn control(&self, row: &Row) -> Option<Synthetic> {
        let from = self.ends[row.port as usize][0];
        Some(match row.detail.as_deref()? {
            Detail::Pause { classes: 0, quanta } => mac_control::pause(from, quanta[0]),
            Detail::Pause { classes, quanta } => {
                let set = (0..self.classes).filter(|class| classes & 1 << class != 0);
                let priorities = set.fold(0, |mask, class| mask | 1 << self.priority(class));
                mac_control::pfc(from, priorities, self.by_priority(quanta))
            }
            Detail::Notice { cause, destinations } => {
                let stops = row.frame == FrameKind::Xoff;
                mac_control::notice(from, stops, self.priority(cause.class), cause.port, destinations)
            }
            Detail::Feedback { point, flow, source, change } => {
                let ends = self.flows[*flow as usize];
                let [from, to] = if *source == ends.from { [ends.from, ends.to] } else { [ends.to, ends.from] };
                let sampled = self.example(*flow, from, to);
                let message = Message {
                    format: self.format,
                    point: *point,
                    source: *source,
                    change: *change,
                    priority: self.priority(row.class),
                    length: row.size,
                    sampled: &sampled,
                    time: row.stamp.0 / US,
                };
                message.frame()
            }
            Detail::Ack { .. } | Detail::Congestion { .. } => return None,
        })
    }

    /// Returns the first bytes of a frame between two hosts, for messages about such a frame.
    fn example(&self, flow: u32, from: NodeId, to: NodeId) -> Vec<u8> {
        let mut frame = Synthetic::default();
        let header = Header { destination: mac(to), source: mac(from), priority: None, limited: None, labels: None };
        header.write(&mut frame.head);
        let ip = ip::Header { source: ip(from), destination: ip(to), service: 0, identity: 0, protocol: 0, payload: 0 };
        match self.flows[flow as usize].protocol {
            Protocol::Tcp(shape) => {
                let ports = [sender_port(flow, 0), receiver_port(flow)];
                Segment { ports, flags: flag::ACK, ..Segment::default() }.write(&mut frame, ip, &shape);
            }
            Protocol::Udp | Protocol::Rdma(_) => {
                udp::write(&mut frame, ip, [sender_port(flow, 0), receiver_port(flow)]);
            }
        }
        frame.head
    }

    /// Returns the frame of a packet's row.
    pub fn packet(&self, row: &Row, sent: &Sent) -> Synthetic {
        let ends = self.flows[row.flow as usize];
        let forward = matches!(row.frame, FrameKind::Data | FrameKind::Syn);
        let (from, to) = if forward { (ends.from, ends.to) } else { (ends.to, ends.from) };
        let mut frame = self.begin(row, from, to);
        let ip = ip::Header {
            source: ip(from),
            destination: ip(to),
            service: row.dscp << 2 | row.ecn as u8,
            identity: match ends.protocol {
                Protocol::Udp => row.sequence as u16,
                _ => row.packet as u16,
            },
            protocol: 0,
            payload: 0,
        };
        match ends.protocol {
            Protocol::Udp => {
                frame.zeros = usize::from(row.payload).saturating_sub(ip::LENGTH + udp::LENGTH);
                udp::write(&mut frame, ip, [sender_port(row.flow, 0), receiver_port(row.flow)]);
            }
            Protocol::Rdma(_) => {
                frame.zeros = usize::from(row.payload);
                let transfer = Transfer {
                    port: sender_port(row.flow, 0),
                    flow: row.flow,
                    sequence: if forward { row.sequence } else { row.sequence.wrapping_sub(1) },
                    acknowledges: !forward,
                    notifies: !forward && row.echo,
                };
                transfer.write(&mut frame, ip);
            }
            Protocol::Tcp(shape) => {
                frame.zeros = usize::from(row.payload);
                segment(row, sent, &shape).write(&mut frame, ip, &shape);
            }
        }
        frame
    }

    /// Returns the three frames of a handshake before the packet of a row, each with the direction: `true` from the
    /// flow's sender to its receiver. Empty without TCP.
    pub fn handshake(&self, row: &Row, sent: &Sent) -> Vec<(Synthetic, bool)> {
        let ends = self.flows[row.flow as usize];
        let Protocol::Tcp(shape) = ends.protocol else { return Vec::new() };
        let now = (row.time.0 / US) as u32;
        let ecn = |flags| if shape.ecn { flags } else { 0 };
        let ports = [sender_port(row.flow, sent.opening), receiver_port(row.flow)];
        let steps = [
            (flag::SYN | ecn(flag::ECE | flag::CWR), 0, 0, [now, 0]),
            (flag::SYN | flag::ACK | ecn(flag::ECE), 0, 1, [now, now]),
            (flag::ACK, 1, 1, [now, now]),
        ];
        let made = steps.into_iter().enumerate().map(|(step, (flags, sequence, acknowledgement, stamps))| {
            let forward = step != 1;
            let (from, to) = if forward { (ends.from, ends.to) } else { (ends.to, ends.from) };
            let ports = if forward { ports } else { [ports[1], ports[0]] };
            let mut frame = self.begin(row, from, to);
            let ip = ip::Header {
                source: ip(from),
                destination: ip(to),
                service: row.dscp << 2,
                identity: 0,
                protocol: 0,
                payload: 0,
            };
            let segment = Segment { ports, sequence, acknowledgement, flags, stamps, ..Segment::default() };
            segment.write(&mut frame, ip, &shape);
            (frame, forward)
        });
        made.collect()
    }

    /// Returns a frame with the Ethernet header of a packet's row.
    fn begin(&self, row: &Row, from: NodeId, to: NodeId) -> Synthetic {
        let labels = self.labels[row.port as usize];
        let (destination, source) = if labels > 0 {
            // Between label-switching routers, the addresses are theirs.
            let [from, to] = self.ends[row.port as usize];
            (mac(to), mac(from))
        } else {
            (mac(to), mac(from))
        };
        let header = Header {
            destination,
            source,
            priority: (self.classes > 1 && labels == 0).then(|| self.priority(row.class)),
            limited: row.tag.filter(|_| self.tags).map(|tag| (tag, (row.time.0 / US) as u16)),
            labels: (labels > 0).then(|| Labels { count: labels, index: to.into(), class: row.exp }),
        };
        let mut frame = Synthetic::default();
        header.write(&mut frame.head);
        frame
    }
}

/// Returns the TCP segment of a row.
fn segment(row: &Row, sent: &Sent, shape: &Shape) -> Segment {
    let echo = |flags| if row.echo { flags } else { 0 };
    let position = sent.offset.wrapping_add(1) as u32;
    let forward = [sender_port(row.flow, sent.opening), receiver_port(row.flow)];
    let backward = [forward[1], forward[0]];
    let (ports, sequence, acknowledgement, flags) = match row.frame {
        FrameKind::Syn => (forward, 0, 0, flag::SYN | echo(flag::ECE | flag::CWR)),
        FrameKind::SynAck => (backward, 0, 1, flag::SYN | flag::ACK | echo(flag::ECE)),
        FrameKind::Ack => (backward, 1, position, flag::ACK | echo(flag::ECE)),
        _ => {
            let push = if row.payload < shape.segment { flag::PSH } else { 0 };
            (forward, position, 1, flag::ACK | push | echo(flag::CWR))
        }
    };
    Segment { ports, sequence, acknowledgement, flags, stamps: sent.stamps, sack: sent.sack }
}

/// Returns the time stamp of an instant, us modulo 2^32.
pub(super) fn stamp(at: Time) -> u32 {
    (at.0 / US) as u32
}

/// Returns the selective acknowledgements of a row, as blocks of segments.
pub(super) fn blocks(row: &Row) -> [Block; 3] {
    match row.detail.as_deref() {
        Some(Detail::Ack { sack }) => *sack,
        _ => Default::default(),
    }
}
