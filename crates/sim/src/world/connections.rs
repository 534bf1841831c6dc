//! Connections: senders and receivers of the flows with a transport.

use crate::conditioning::NONE;
use crate::hints::prefetch_lines;
use crate::plan::{FlowPlan, Plan, RecordKind};
use std::collections::VecDeque;
use tailback_measure::Sketch;
use tailback_qdisc::{Ecn, Packet};
use tailback_random::Rng;
use tailback_transport::{Ack, Receiver, Sender, Statistics};
use tailback_units::Time;

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Transports {
    /// Sending sides, by connection.
    pub outgoing: Vec<Outgoing>,
    /// Receiving sides, by connection.
    pub incoming: Vec<Incoming>,
    /// By flow: the index of its connection or, with the flag [`Transports::PLAIN`], its index among the flows without
    /// a connection.
    pub(super) of_flow: Vec<u32>,
    /// Acknowledgements whose content does not fit into a packet.
    pub(super) long: LongAcks,
    /// Times from a write to the arrival of its last byte, by group of flows, picoseconds.
    pub completions: Vec<Sketch>,
    /// By connection: counters at the end of the warm-up; empty in runs without a warm-up.
    pub bases: Vec<Base>,
}

/// Counters of a connection at the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    pub sent: Statistics,
    /// Payload bytes delivered to the application in order.
    pub delivered: u64,
}

/// Sending side of a connection, aligned to cache lines.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Outgoing {
    pub sender: Sender,
    /// Time of the sender's pending event; an event at another time is stale.
    pub(super) due: Time,
    pub flow: u32,
    /// Sequence number of the connection's first segment.
    pub(super) first: u32,
    /// Port by which segments leave the sending host.
    pub(super) port: u32,
    /// Receiving host.
    pub(super) to: u16,
    pub(super) class: u8,
    /// Code point of segments, 0 to 63.
    pub(super) code: u8,
    /// Options that need steps besides plain sending.
    pub(super) mode: Mode,
    /// `true` while the connection waits for its turn to send.
    pub(super) waits: bool,
    /// Length of the transport's headers in a segment, bytes.
    pub(super) header: u16,
    /// Index of the conditioner at the flow's entry, or [`NONE`].
    pub conditioner: u32,
}

/// Options of a connection that need steps besides plain sending, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode(u8);

impl Mode {
    /// Bit: the connections of the host take turns to send.
    const TURNS: u8 = 1;
    /// Bit: retransmissions and changes of the sender are recorded.
    const RECORDED: u8 = 2;

    fn new(turns: bool, recorded: bool) -> Mode {
        Mode((u8::from(turns) * Mode::TURNS) | (u8::from(recorded) * Mode::RECORDED))
    }
    /// Returns `true` if the connection neither takes turns nor is recorded.
    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.0 == 0
    }
    /// Returns `true` if the host's connections take turns to send.
    pub(super) fn takes_turns(self) -> bool {
        self.0 & Mode::TURNS != 0
    }
    /// Returns `true` if retransmissions and changes of the sender are recorded.
    pub(super) fn is_recorded(self) -> bool {
        self.0 & Mode::RECORDED != 0
    }
}

/// Receiving side of a connection.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub receiver: Receiver,
    /// Time of the receiver's pending event; an event at another time is stale.
    pub(super) due: Time,
    /// Sequence number of the connection's first segment.
    pub(super) first: u32,
    /// Port by which acknowledgements leave the receiving host.
    pub(super) port: u32,
    /// Sending host, to which acknowledgements return.
    pub(super) to: u16,
    pub(super) class: u8,
    /// Code point of acknowledgements, 0 to 63.
    pub(super) code: u8,
    /// ECN codepoint of acknowledgements: ECT(0) for those of RDMA adapters, so that queues mark instead of dropping
    /// them.
    pub(super) ecn: Ecn,
    /// Buffer bytes of an acknowledgement.
    pub(super) size: u16,
    /// Wire bytes of an acknowledgement.
    pub(super) wire: u16,
    /// Index of the connection's group in [`Transports::completions`].
    pub group: u32,
    /// State of writes of a known size, and of reopened connections; `None`: there have been none.
    pub(super) finite: Option<Box<Finite>>,
}

const _: () = assert!(size_of::<Incoming>() <= 112);
const _: () = assert!(size_of::<Outgoing>() <= 256);

/// State of a receiving side that is not needed for an endless stream.
#[derive(Debug, Default)]
pub(super) struct Finite {
    /// Time of the last opening.
    pub(super) opened: Time,
    /// Number of openings before the last one.
    pub(super) before: u32,
    /// Writes that have not arrived in full, in order of sequence numbers.
    pub(super) writes: VecDeque<Write>,
    pub(super) completed: Completed,
}

impl Incoming {
    /// Registers a write that will arrive at this side.
    pub(super) fn await_write(&mut self, write: Write) {
        self.finite.get_or_insert_default().writes.push_back(write);
    }
    /// Returns the statistics of writes that have arrived in full.
    pub fn completed(&self) -> Completed {
        self.finite.as_ref().map_or_else(Completed::default, |finite| finite.completed)
    }
    /// Returns the time at which the connection was opened last.
    pub(super) fn opened(&self) -> Time {
        self.finite.as_ref().map_or(Time::ZERO, |finite| finite.opened)
    }
    /// Returns `true` if there are writes that have not arrived in full.
    pub(super) fn awaits(&self) -> bool {
        self.finite.as_ref().is_some_and(|finite| !finite.writes.is_empty())
    }
}

/// A write of the application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// Sequence number after its last segment.
    pub(super) end: u32,
    /// Time of the write.
    pub(super) at: Time,
    /// Number among the recorded transfers of the flow, or [`Write::UNRECORDED`].
    pub(super) number: u32,
    /// Payload bytes; used only if the write is recorded.
    pub(super) bytes: u64,
}

impl Write {
    /// Value of `number` for writes that are not recorded.
    pub(super) const UNRECORDED: u32 = u32::MAX;

    /// Returns `true` if all segments before `next`, the next one that the receiver expects, include the whole write.
    #[inline]
    pub(super) fn has_arrived(&self, next: u32) -> bool {
        next.wrapping_sub(self.end) < u32::MAX / 2
    }
}

/// Writes after the warm-up that have arrived in full.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Completed {
    /// Number of writes.
    pub count: u64,
    /// Sum of the times from the write to the arrival of its last byte, picoseconds.
    pub sum: u128,
    /// Maximum of the times from the write to the arrival of its last byte, picoseconds.
    pub max: u64,
}

/// Acknowledgements with content that does not fit into a packet, such as SACK blocks or one-way delays: a packet has fields for a
/// sequence number and a time only.
#[derive(Debug, Default)]
pub(super) struct LongAcks {
    slots: Vec<Ack>,
    /// Indices of the free slots.
    free: Vec<u32>,
}

/// Flag in the field `born` of an acknowledgement: the other bits are an index into [`LongAcks`]. The time in that
/// field does not have this bit before the 106th day of a run.
pub(super) const LONG: u64 = 1 << 63;

impl LongAcks {
    /// Stores an acknowledgement and returns its slot.
    pub(super) fn put(&mut self, ack: Ack) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = ack;
            return slot;
        }
        self.slots.push(ack);
        (self.slots.len() - 1) as u32
    }
    /// Removes and returns the acknowledgement of a slot.
    pub(super) fn take(&mut self, slot: u32) -> Ack {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}

impl Transports {
    /// Returns the stored content of an acknowledgement; `None`: another packet, or all content is in the packet.
    pub(super) fn long_ack(&self, packet: &Packet) -> Option<Ack> {
        let long = packet.born.0 & LONG != 0 && packet.flow() as usize >= self.of_flow.len();
        long.then(|| self.long.slots[packet.born.0 as u32 as usize])
    }

    /// Stores an acknowledgement and returns the value of the field `born` of its packet.
    pub(super) fn store_long_ack(&mut self, ack: Ack) -> Time {
        Time(LONG | u64::from(self.long.put(ack)))
    }

    /// Removes the stored content of an acknowledgement that is lost, if there is any. Returns `true` for a SYN and a
    /// SYN-ACK.
    #[inline]
    pub(super) fn remove(&mut self, packet: &Packet) -> bool {
        if (packet.flow() as usize) < self.of_flow.len() {
            // Other segments of a transport have a payload.
            return packet.payload == 0 && self.of(packet.flow()).is_some();
        }
        packet.born.0 & LONG != 0 && self.long.take(packet.born.0 as u32).syn
    }
}

impl Transports {
    /// Flag of flows without a connection; larger than the number of flows of any plan.
    pub(super) const PLAIN: u32 = 1 << 31;

    /// Returns the size of the state of connections that packets touch, bytes.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(&*self.outgoing) + size_of_val(&*self.incoming)
    }

    /// Returns the connections of a plan; `route` returns the port by which one node sends to another.
    pub fn new(plan: &Plan, route: impl Fn(u16, u16) -> u32) -> Transports {
        // The lists are allocated with their final length, since there may be a hundred thousand connections.
        let connections = plan.flows.iter().filter(|flow| flow.transport.is_some()).count();
        let mut transports = Transports {
            of_flow: Vec::with_capacity(plan.flows.len()),
            outgoing: Vec::with_capacity(connections),
            incoming: Vec::with_capacity(connections),
            ..Transports::default()
        };
        let recorded = plan.record.has(RecordKind::Transfers) || plan.record.has(RecordKind::TransportChanges);
        let mut groups: Vec<&str> = Vec::new();
        for (index, flow) in plan.flows.iter().enumerate() {
            let connections = transports.outgoing.len() as u32;
            let Some(tcp) = &flow.transport else {
                transports.of_flow.push((index as u32 - connections) | Transports::PLAIN);
                continue;
            };
            transports.of_flow.push(connections);
            let group = groups.iter().position(|g| *g == flow.group).unwrap_or_else(|| {
                groups.push(&flow.group);
                groups.len() - 1
            });
            let rng = Rng::named(plan.seed, &format!("transport {}", flow.name()));
            // The check of the parameters ensures that this is at most 1000 B.
            let header = tcp.header.0 as u16;
            let (size, wire) = plan.framing.lengths(u32::from(header));
            transports.outgoing.push(Outgoing {
                sender: Sender::new(tcp, rng),
                due: Time::NEVER,
                flow: index as u32,
                first: 0,
                port: route(flow.from, flow.to),
                to: flow.to,
                class: flow.class,
                code: flow.code,
                mode: Mode::new(tcp.takes_turns, recorded),
                waits: false,
                header,
                conditioner: NONE,
            });
            transports.incoming.push(Incoming {
                receiver: Receiver::new(tcp),
                due: Time::NEVER,
                first: 0,
                port: route(flow.to, flow.from),
                to: flow.from,
                class: flow.class,
                code: flow.code,
                ecn: tcp.control_ecn(),
                size: size as u16,
                wire: wire as u16,
                group: group as u32,
                finite: None,
            });
        }
        transports.completions = vec![Sketch::default(); groups.len()];
        transports
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// Returns the connection of a flow; `None`: the flow has no transport.
    #[inline]
    pub fn of(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).copied().filter(|c| c & Transports::PLAIN == 0)
    }

    /// Returns the index of a flow without a connection among the flows without a connection.
    #[inline]
    pub fn plain(&self, flow: u32) -> usize {
        (self.of_flow[flow as usize] & !Transports::PLAIN) as usize
    }

    /// Prefetches the side of a connection at which a packet with this flow number arrives.
    #[inline]
    pub fn prefetch_end(&self, flow: u32) {
        let flows = self.of_flow.len() as u32;
        if flow >= flows {
            self.prefetch_sender((flow - flows) as usize);
        } else if let Some(incoming) = self.incoming.get(self.of_flow[flow as usize] as usize) {
            prefetch_lines::<_, 2>(incoming);
        }
    }

    /// Prefetches a sender.
    #[inline]
    pub fn prefetch_sender(&self, connection: usize) {
        prefetch_lines::<_, 4>(&raw const self.outgoing[connection]);
    }

    /// Returns the flow number of a connection's acknowledgements.
    #[inline]
    pub fn ack_flow(&self, connection: u32) -> u32 {
        self.of_flow.len() as u32 + connection
    }

    /// Returns the receiving host's port towards the sender.
    pub fn ack_port(&self, connection: u32) -> u32 {
        self.incoming[connection as usize].port
    }

    /// Returns the counters of a connection at the end of the warm-up; zeros in runs without a warm-up.
    pub fn base(&self, connection: usize) -> Base {
        self.bases.get(connection).copied().unwrap_or_default()
    }

    /// Ends the warm-up: stores the counters of all connections.
    pub fn end_warmup(&mut self) {
        let ends = self.outgoing.iter().zip(&self.incoming);
        let base = |(out, incoming): (&Outgoing, &Incoming)| Base {
            sent: out.sender.statistics(),
            delivered: incoming.receiver.delivered(),
        };
        self.bases = ends.map(base).collect();
    }
}

/// Returns the number of flow numbers in a plan: one for each flow, and one for the acknowledgements of each
/// connection.
pub(crate) fn numbers(flows: &[FlowPlan]) -> usize {
    flows.len() + flows.iter().filter(|f| f.transport.is_some()).count()
}
