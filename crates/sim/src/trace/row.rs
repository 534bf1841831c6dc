//! Rows of a packet trace.

use crate::plan::{EventKind, FrameKind};
use tailback_measure::Digest;
use tailback_qdisc::congestion_notification::Tag;
use tailback_qdisc::{Colour, Ecn, Reason};
use tailback_transport::Block;
use tailback_units::Time;

/// One event of a packet, a control frame or a congested queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Time of the event.
    pub time: Time,
    /// Position among the rows of the same time.
    pub order: Order,
    /// Number of the row among the arrivals, departures and drops at its port's queue, from 1, in causal order even
    /// within an instant; 0: another event.
    pub turn: u64,
    /// Kind of the event.
    pub event: EventKind,
    /// Kind of the frame of the event.
    pub frame: FrameKind,
    /// Index of the port: the queue, or the link behind it for [`EventKind::Receive`], [`EventKind::Deliver`] and
    /// losses on the link. Of a congested input, and of a queue there, the port towards the neighbour behind the input.
    pub port: u32,
    /// Class of the packet or of the congested queue, 0 (highest) to 7.
    pub class: u8,
    /// Index of the flow in the plan, for an acknowledgement that of the data; [`Row::NO_FLOW`]: a control frame or a
    /// queue.
    pub flow: u32,
    /// Number of the packet in its flow, or of the segment for flows with a transport; in an acknowledgement the number
    /// of the next segment expected.
    pub sequence: u32,
    /// Identity of the packet: a hash that is the same in all rows of the packet, and that differs between a segment
    /// and its retransmissions; 0: no frame.
    pub packet: u64,
    /// Time at which the source passed the packet to the network; in an acknowledgement the timestamp that it echoes
    /// (RFC 7323); in a control frame the start of its transmission.
    pub stamp: Time,
    /// Payload bytes; 0 for everything but data.
    pub payload: u16,
    /// Length of the packet in buffer bytes.
    pub size: u16,
    /// Length of the frame in wire bytes.
    pub wire: u16,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Echo flag of the transport: CWR on data, ECE on an acknowledgement (RFC 3168).
    pub echo: bool,
    /// Colour, which is the drop precedence.
    pub colour: Colour,
    /// DSCP, 0 to 63; 0 in a network with rate limiters, whose tags take its place.
    pub dscp: u8,
    /// Traffic class field of the packet's MPLS labels, 0 to 7; at ports without labels the upper three bits of the
    /// DSCP.
    pub exp: u8,
    /// Rate-limited tag of congestion notification; `None`: the packet has none.
    pub tag: Option<Tag>,
    /// `true` if the packet was generated after the warm-up, so that it counts in the results.
    pub measured: bool,
    /// Number of packets of the class that wait at the port, without this packet if it has not been queued yet.
    pub queue_packets: u64,
    /// Buffer bytes of the packets in `queue_packets`; for [`EventKind::Congested`], [`EventKind::Relieved`] and
    /// [`EventKind::Notify`] the occupancy that was compared with the threshold.
    pub queue_bytes: u64,
    /// Reason of a drop; `None`: the event is not a drop.
    pub reason: Option<Reason>,
    /// State of the class's discipline after the decision, in the order of [`crate::World::trace_state_names`]; empty
    /// for events that are not decisions of a discipline.
    pub state: Box<[f64]>,
    /// Further content; `None` for most rows.
    pub detail: Option<Box<Detail>>,
}

/// Position of a row among those of the same time: rows are sorted by the kind of the event during which they were
/// written, then by the component of that event, then by port; rows of equal `Order` are in the order in which they
/// were written. The position does not depend on engine, partition or steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// Rank of the event's kind among the kinds of events.
    pub kind: u8,
    /// Index of the event's component; for changes of the timeline the index of the change.
    pub component: u32,
    /// For changes of the timeline the port of the row, since a change acts in several partitions; otherwise 0.
    pub port: u32,
}

/// Content that only rows of some kinds have.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// Selective acknowledgement: up to three blocks, the newest first (RFC 2018); also on a SYN-ACK.
    Ack {
        /// Blocks of segments; empty blocks have `start == end`.
        sack: [Block; 3],
    },
    /// PAUSE (IEEE 802.3 annex 31B) or PFC frame (IEEE 802.1Qbb), or its effect.
    Pause {
        /// Bit k: the frame sets the time of class k. 0: a PAUSE for the whole port.
        classes: u8,
        /// Pause time of each class in quanta of 512 bit times; that of a PAUSE for the whole port is the first
        /// element. 0 resumes.
        quanta: [u16; 8],
    },
    /// Idealised XOFF or XON, or its effect.
    Notice {
        /// The congested queue.
        cause: Cause,
        /// Destinations that are stopped or resumed, node indices; empty: all.
        destinations: Vec<u16>,
    },
    /// Transition of a congested queue, or a notification to a neighbour on its behalf.
    Congestion {
        /// The congested queue.
        cause: Cause,
        /// Threshold that the occupancy exceeded or fell below, buffer bytes; `None`: the threshold is not fixed.
        threshold: Option<u64>,
    },
    /// Message of a congestion point.
    Feedback {
        /// Number of the congestion point, from 1.
        point: u16,
        /// Index of the flow of the sampled frame, for an acknowledgement that of the data.
        flow: u32,
        /// Index of the host that sent the sampled frame, to which the message goes.
        source: u16,
        /// Change of the rate in the unit of the congestion point's law; `None`: the source is to stop.
        change: Option<f64>,
    },
}

/// A congested queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The port of the queue; for an input of a crossbar or of memory accounted by input, the port towards the
    /// neighbour behind the input; for a queue at an input, the output to which its frames go.
    pub port: u32,
    /// Class of the queue.
    pub class: u8,
    /// `true` if the queue is an input of the switch, or at an input.
    pub input: bool,
    /// Node index of the congested destination; `None`: destinations have no limits of their own.
    pub destination: Option<u16>,
}

impl Row {
    /// Value of [`Row::flow`] in rows without a flow.
    pub const NO_FLOW: u32 = u32::MAX;

    /// Adds the row to a digest.
    pub fn digest(&self, digest: &mut Digest) {
        let Order { kind, component, port } = self.order;
        for value in [self.time.0, u64::from(kind), u64::from(component), u64::from(port), self.turn] {
            digest.u64(value);
        }
        let head = [self.event as u64, self.frame as u64, self.port.into(), self.class.into(), self.flow.into()];
        let numbers = [self.sequence.into(), self.packet, self.stamp.0, self.payload.into(), self.size.into()];
        let flags = u64::from(self.echo) | u64::from(self.measured) << 1;
        let marks = [self.wire.into(), self.ecn as u64, flags, self.colour as u64, self.dscp.into(), self.exp.into()];
        let tag = self.tag.map_or(0, |tag| u64::from(tag.point) << 1 | u64::from(tag.solicit));
        let reason = self.reason.map_or(u64::MAX, |reason| reason as u64);
        let tail = [tag, self.queue_packets, self.queue_bytes, reason, self.state.len() as u64];
        head.into_iter().chain(numbers).chain(marks).chain(tail).for_each(|value| digest.u64(value));
        self.state.iter().for_each(|value| digest.u64(value.to_bits()));
        match self.detail.as_deref() {
            None => digest.u64(0),
            Some(detail) => detail.digest(digest),
        }
    }
}

impl Detail {
    fn digest(&self, digest: &mut Digest) {
        match self {
            Detail::Ack { sack } => {
                digest.u64(1);
                for block in sack {
                    digest.u64(u64::from(block.start) << 32 | u64::from(block.end));
                }
            }
            Detail::Pause { classes, quanta } => {
                digest.u64(2);
                digest.u64((*classes).into());
                for time in quanta {
                    digest.u64((*time).into());
                }
            }
            Detail::Notice { cause, destinations } => {
                digest.u64(3);
                cause.digest(digest);
                digest.u64(destinations.len() as u64);
                for destination in destinations {
                    digest.u64((*destination).into());
                }
            }
            Detail::Congestion { cause, threshold } => {
                digest.u64(4);
                cause.digest(digest);
                digest.u64(threshold.unwrap_or(u64::MAX));
            }
            Detail::Feedback { point, flow, source, change } => {
                digest.u64(5);
                let change = change.map_or(u64::MAX, f64::to_bits);
                let numbers = [u64::from(*point), u64::from(*flow), u64::from(*source), change];
                for number in numbers {
                    digest.u64(number);
                }
            }
        }
    }
}

impl Cause {
    fn digest(self, digest: &mut Digest) {
        let destination = self.destination.map_or(u64::MAX, u64::from);
        for value in [self.port.into(), self.class.into(), self.input.into(), destination] {
            digest.u64(value);
        }
    }
}

/// Number and hash of the rows of a trace so far.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    rows: u64,
    digest: Digest,
}

impl Summary {
    /// Adds the next rows of the trace.
    pub fn add(&mut self, rows: &[Row]) {
        self.rows += rows.len() as u64;
        for row in rows {
            row.digest(&mut self.digest);
        }
    }
    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// Returns the versioned hash over all rows added, in order: equal traces have equal hashes on every platform.
    pub fn hash(&self) -> String {
        self.digest.finish()
    }
}
