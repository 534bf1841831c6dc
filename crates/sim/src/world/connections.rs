//! Connections: the ends of the flows that a transport carries.

use crate::conditioning::NONE;
use crate::hints::prefetch_lines;
use crate::plan::{FlowPlan, Plan};
use std::collections::VecDeque;
use tailback_measure::Sketch;
use tailback_qdisc::{Ecn, Packet};
use tailback_random::Rng;
use tailback_transport::{Ack, Receiver, Sender, Statistics};
use tailback_units::Time;

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Transports {
    pub outgoing: Vec<Outgoing>,
    pub incoming: Vec<Incoming>,
    /// By flow: its connection, or with [`Transports::PLAIN`] set its place among the flows without one.
    pub(super) of_flow: Vec<u32>,
    /// Acknowledgements that do not fit into a packet.
    pub(super) long: LongAcks,
    /// Completion times of writes, by group of flows, picoseconds.
    pub completions: Vec<Sketch>,
    /// By connection, state at the end of the warm-up; empty in runs without one.
    pub bases: Vec<Base>,
}

/// What the ends of a connection had counted at the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    pub sent: Statistics,
    /// Payload bytes delivered in order.
    pub delivered: u64,
}

/// A connection's sending side, in whole cache prefetch_lines.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Outgoing {
    pub sender: Sender,
    /// When its next event is due; an event at another time is stale.
    pub(super) due: Time,
    pub flow: u32,
    /// The number of its first segment.
    pub(super) first: u32,
    pub(super) port: u32,
    pub(super) to: u16,
    pub(super) class: u8,
    pub(super) code: u8,
    /// Whether it takes turns with the host's other connections, and whether it waits for its turn.
    pub(super) turns: bool,
    pub(super) waits: bool,
    pub(super) header: u16,
    /// The conditioner at its entry.
    pub conditioner: u32,
}

/// A connection's receiving side.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub receiver: Receiver,
    pub(super) due: Time,
    /// The number of its first segment.
    pub(super) first: u32,
    pub(super) port: u32,
    pub(super) to: u16,
    pub(super) class: u8,
    pub(super) code: u8,
    /// The ECN codepoint of acknowledgements: those of network adapters are ECN-capable, so that a queue that
    /// marks does not drop them.
    pub(super) ecn: Ecn,
    /// An acknowledgement's bytes in a buffer and on the wire.
    pub(super) size: u16,
    pub(super) wire: u16,
    /// Its group's place in the completions.
    pub group: u32,
    /// Of connections for writes that end, or that are opened again.
    pub(super) finite: Option<Box<Finite>>,
}

const _: () = assert!(size_of::<Incoming>() <= 112);
const _: () = assert!(size_of::<Outgoing>() <= 256);

/// What a connection's receiving side has beside a stream without end.
#[derive(Debug, Default)]
pub(super) struct Finite {
    /// When it was opened for the last time, and how often before.
    pub(super) opened: Time,
    pub(super) before: u32,
    /// Writes that have not arrived in full, in order.
    pub(super) writes: VecDeque<Write>,
    pub(super) completed: Completed,
}

impl Incoming {
    /// Something is on its way here.
    pub(super) fn await_write(&mut self, write: Write) {
        self.finite.get_or_insert_default().writes.push_back(write);
    }
    /// Writes that have arrived in full.
    pub fn completed(&self) -> Completed {
        self.finite.as_ref().map_or_else(Completed::default, |finite| finite.completed)
    }
    /// When it was opened for the last time.
    pub(super) fn opened(&self) -> Time {
        self.finite.as_ref().map_or(Time::ZERO, |finite| finite.opened)
    }
    /// Whether there are writes that have not arrived in full.
    pub(super) fn awaits(&self) -> bool {
        self.finite.as_ref().is_some_and(|finite| !finite.writes.is_empty())
    }
}

/// Something that the application has written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// The segment after its last.
    pub(super) end: u32,
    pub(super) at: Time,
}

/// Writes that have arrived in full, of those written after the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Completed {
    pub count: u64,
    /// Sum and maximum of the times from the write to the last byte's arrival, picoseconds.
    pub sum: u128,
    pub max: u64,
}

/// Acknowledgements with selective blocks, kept aside: a packet has room for a number and a time.
#[derive(Debug, Default)]
pub(super) struct LongAcks {
    slots: Vec<Ack>,
    free: Vec<u32>,
}

/// Set in an acknowledgement's word when the rest is a slot of [`LongAcks`]: no run lasts 106 days.
pub(super) const LONG: u64 = 1 << 63;

impl LongAcks {
    pub(super) fn put(&mut self, ack: Ack) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = ack;
            return slot;
        }
        self.slots.push(ack);
        (self.slots.len() - 1) as u32
    }
    pub(super) fn take(&mut self, slot: u32) -> Ack {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}

impl Transports {
    /// The acknowledgement that a packet carries beside itself, if it is one and has such.
    pub(super) fn long_ack(&self, packet: &Packet) -> Option<Ack> {
        let long = packet.born.0 & LONG != 0 && packet.flow() as usize >= self.of_flow.len();
        long.then(|| self.long.slots[packet.born.0 as u32 as usize])
    }

    /// The word of a packet that carries `ack` beside itself.
    pub(super) fn store_long_ack(&mut self, ack: Ack) -> Time {
        Time(LONG | u64::from(self.long.put(ack)))
    }

    /// Forgets what a packet carries beside itself.
    pub(super) fn drop_long_ack(&mut self, packet: &Packet) {
        if packet.born.0 & LONG != 0 && packet.flow() as usize >= self.of_flow.len() {
            self.long.take(packet.born.0 as u32);
        }
    }
}

impl Transports {
    /// No plan has so many flows.
    pub(super) const PLAIN: u32 = 1 << 31;

    /// Bytes that the packets of all connections touch.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(&*self.outgoing) + size_of_val(&*self.incoming)
    }

    /// The connections of a plan; `route` gives the first port from a node to another.
    pub fn new(plan: &Plan, route: impl Fn(u16, u16) -> u32) -> Transports {
        // Not to grow step by step: there may be a hundred thousand.
        let connections = plan.flows.iter().filter(|flow| flow.transport.is_some()).count();
        let mut made = Transports {
            of_flow: Vec::with_capacity(plan.flows.len()),
            outgoing: Vec::with_capacity(connections),
            incoming: Vec::with_capacity(connections),
            ..Transports::default()
        };
        let mut groups: Vec<&str> = Vec::new();
        for (index, flow) in plan.flows.iter().enumerate() {
            let connections = made.outgoing.len() as u32;
            let Some(tcp) = &flow.transport else {
                made.of_flow.push((index as u32 - connections) | Transports::PLAIN);
                continue;
            };
            made.of_flow.push(connections);
            let group = groups.iter().position(|g| *g == flow.group).unwrap_or_else(|| {
                groups.push(&flow.group);
                groups.len() - 1
            });
            let rng = Rng::named(plan.seed, &format!("transport {}", flow.name()));
            // At most 1000 B, which the parameters' check sees to.
            let header = tcp.header.0 as u16;
            let (size, wire) = plan.framing.lengths(u32::from(header));
            made.outgoing.push(Outgoing {
                sender: Sender::new(tcp, rng),
                due: Time::NEVER,
                flow: index as u32,
                first: 0,
                port: route(flow.from, flow.to),
                to: flow.to,
                class: flow.class,
                code: flow.code,
                turns: tcp.takes_turns,
                waits: false,
                header,
                conditioner: NONE,
            });
            made.incoming.push(Incoming {
                receiver: Receiver::new(tcp),
                due: Time::NEVER,
                first: 0,
                port: route(flow.to, flow.from),
                to: flow.from,
                class: flow.class,
                code: flow.code,
                ecn: if tcp.takes_turns { Ecn::Ect0 } else { Ecn::NotEct },
                size: size as u16,
                wire: wire as u16,
                group: group as u32,
                finite: None,
            });
        }
        made.completions = vec![Sketch::default(); groups.len()];
        made
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// A flow's connection.
    #[inline]
    pub fn of(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).copied().filter(|c| c & Transports::PLAIN == 0)
    }

    /// The place of a flow without a connection among those.
    #[inline]
    pub fn plain(&self, flow: u32) -> usize {
        (self.of_flow[flow as usize] & !Transports::PLAIN) as usize
    }

    /// Asks for what a packet of this number will touch at its destination.
    #[inline]
    pub fn prefetch_end(&self, flow: u32) {
        let flows = self.of_flow.len() as u32;
        if flow >= flows {
            self.prefetch_sender((flow - flows) as usize);
        } else if let Some(incoming) = self.incoming.get(self.of_flow[flow as usize] as usize) {
            prefetch_lines::<_, 2>(incoming);
        }
    }

    /// Asks for a sender.
    #[inline]
    pub fn prefetch_sender(&self, connection: usize) {
        prefetch_lines::<_, 4>(&raw const self.outgoing[connection]);
    }

    /// The number under which a connection's acknowledgements travel.
    #[inline]
    pub fn ack_flow(&self, connection: u32) -> u32 {
        self.of_flow.len() as u32 + connection
    }

    /// The receiving host's port towards the sender.
    pub fn ack_port(&self, connection: u32) -> u32 {
        self.incoming[connection as usize].port
    }

    /// State of a connection at the end of the warm-up.
    pub fn base(&self, connection: usize) -> Base {
        self.bases.get(connection).copied().unwrap_or_default()
    }

    pub fn end_warmup(&mut self) {
        let ends = self.outgoing.iter().zip(&self.incoming);
        let base = |(out, incoming): (&Outgoing, &Incoming)| Base {
            sent: out.sender.statistics(),
            delivered: incoming.receiver.delivered(),
        };
        self.bases = ends.map(base).collect();
    }
}

/// How many numbers for packets a plan's flows take: one each and one more for acknowledgements.
pub(crate) fn numbers(flows: &[FlowPlan]) -> usize {
    flows.len() + flows.iter().filter(|f| f.transport.is_some()).count()
}
