//! The ledger: what became of every packet, per flow and per class.

use crate::causes::{Cause, Causes, Since};
use crate::hints::{lines, seldom};
use tailback_measure::{Sketch, Variation};
use tailback_qdisc::{Packet, Reason};
use tailback_units::Time;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub packets: u64,
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
    pub fn plus(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
    pub fn minus(self, other: Count) -> Count {
        Count { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}

/// One flow's account of its measured packets.
///
/// It never lies across more than two cache lines.
#[derive(Debug, Default)]
#[repr(C, align(16))]
pub(crate) struct FlowAccount {
    pub offered: Count,
    pub delivered: Count,
    pub dropped: Count,
    /// Sum of the delays, picoseconds: its low 64 bits, and those above.
    delay_low: u64,
    delay_high: u32,
    /// Sequence number that the next packet in order would not go below, of those only carried, too.
    next_seq: u32,
    /// Largest of the delays.
    pub delay_max: u64,
    /// Packets that arrived after a later one of their flow, those only carried included.
    pub reordered: u64,
}

const _: () = assert!(size_of::<FlowAccount>() == 80);

/// Packets that are only carried, since they were born before the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    pub offered: Count,
    pub delivered: Count,
    pub dropped: Count,
}

/// The acknowledgements of one connection, none of which is measured, packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckAccount {
    pub offered: u64,
    pub delivered: u64,
    pub dropped: u64,
}

impl AckAccount {
    /// Those in the network.
    pub fn in_network(&self) -> u64 {
        self.offered - self.delivered - self.dropped
    }
}

impl FlowAccount {
    /// Sum of the delays of measured packets, picoseconds.
    pub fn delay_sum(&self) -> u128 {
        u128::from(self.delay_high) << 64 | u128::from(self.delay_low)
    }
    #[inline]
    fn add_delay(&mut self, delay: u64) {
        let (low, carry) = self.delay_low.overflowing_add(delay);
        self.delay_low = low;
        self.delay_high += u32::from(carry);
        self.delay_max = self.delay_max.max(delay);
    }
}

/// What most runs keep no account of.
#[derive(Debug, Default)]
pub(crate) struct More {
    /// Delays of measured packets.
    pub delays: Option<Sketch>,
    /// Measured packets by colour.
    pub colours: Option<ByColour>,
    /// How the delays of measured packets vary.
    pub variation: Option<Box<Variation>>,
}

/// What is kept of each flow where asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    pub delays: bool,
    pub colours: bool,
    pub variation: bool,
}

/// Measured packets and payload by colour: that at the entry, at the delivery, at the loss.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByColour {
    pub offered: [Count; 3],
    pub delivered: [Count; 3],
    pub dropped: [Count; 3],
}

/// The accounts of all flows and the delays of all classes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub flows: Vec<FlowAccount>,
    /// By flow, what is only carried; empty in runs without a warm-up.
    carried: Vec<Carried>,
    /// The acknowledgements of each connection.
    pub acks: Vec<AckAccount>,
    /// What more is kept of each flow; empty where nothing is.
    more: Vec<More>,
    pub class_delays: Vec<Sketch>,
    /// Of the measured packets that each flow has lost.
    causes: Causes,
    /// Of those only carried, after the end of the warm-up.
    carried_causes: Since,
    /// Of the acknowledgements that each connection has lost, after the end of the warm-up.
    ack_causes: Since,
}

impl Ledger {
    /// For so many flows and connections; `carries` says whether some packets are not measured.
    pub fn new(flows: usize, connections: usize, classes: usize, carries: bool, keep: Keep) -> Ledger {
        let more = || More {
            delays: keep.delays.then(Sketch::default),
            colours: keep.colours.then(ByColour::default),
            variation: keep.variation.then(Box::default),
        };
        let any = keep.delays || keep.colours || keep.variation;
        Ledger {
            flows: (0..flows).map(|_| FlowAccount::default()).collect(),
            carried: vec![Carried::default(); if carries { flows } else { 0 }],
            acks: vec![AckAccount::default(); connections],
            more: if any { (0..flows).map(|_| more()).collect() } else { Vec::new() },
            class_delays: vec![Sketch::default(); classes],
            causes: Causes::default(),
            carried_causes: Since::default(),
            ack_causes: Since::default(),
        }
    }

    /// What more is kept of a flow, where anything is.
    #[inline]
    pub fn more(&self, flow: usize) -> Option<&More> {
        self.more.get(flow)
    }

    /// What is only carried of a flow.
    pub fn carried(&self, flow: usize) -> Carried {
        self.carried.get(flow).copied().unwrap_or_default()
    }

    /// How a flow's delays vary, where that is measured.
    pub fn variation(&self, flow: usize) -> Option<&Variation> {
        self.more(flow)?.variation.as_deref()
    }

    /// Where and why a flow's measured packets were lost, in order, and how many.
    pub fn causes(&self, flow: usize) -> Vec<(Cause, u64)> {
        self.causes.of(flow as u32, self.flows[flow].dropped.packets)
    }

    /// Where and why packets of a flow that were born in the warm-up were lost after it.
    pub fn carried_causes(&self, flow: usize) -> Vec<(Cause, u64)> {
        self.carried_causes.of(flow as u32, self.carried(flow).dropped.packets)
    }

    /// Where and why a connection's acknowledgements were lost after the warm-up.
    pub fn ack_causes(&self, connection: usize) -> Vec<(Cause, u64)> {
        self.ack_causes.of(connection as u32, self.acks[connection].dropped)
    }

    /// The warm-up is over: what is not measured by its birth counts at ports from now on.
    pub fn end_warmup(&mut self) {
        self.carried_causes.begin(self.carried.iter().map(|carried| carried.dropped.packets));
        self.ack_causes.begin(self.acks.iter().map(|acks| acks.dropped));
    }

    /// Bytes that the packets of all flows touch.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(&*self.flows) + size_of_val(&*self.acks)
    }

    /// Asks for the account of packets of this number.
    #[inline]
    pub fn ask_for(&self, flow: u32) {
        match self.flows.get(flow as usize) {
            Some(account) => lines::<_, 2>(account),
            None => lines::<_, 1>(self.acks.as_ptr().wrapping_add(flow as usize - self.flows.len())),
        }
    }

    /// Counts the colour of a packet handed to the network, where colours are counted.
    pub fn offer_coloured(&mut self, packet: &Packet) {
        let more = self.more.get_mut(packet.flow() as usize);
        if let Some(colours) = more.and_then(|more| more.colours.as_mut())
            && packet.measured()
        {
            colours.offered[packet.colour() as usize].add(u64::from(packet.payload));
        }
    }

    /// Counts a packet handed to the network; not an acknowledgement.
    #[inline]
    pub fn offer(&mut self, packet: &Packet) {
        let (flow, bytes) = (packet.flow() as usize, u64::from(packet.payload));
        if packet.measured() {
            self.flows[flow].offered.add(bytes);
        } else {
            self.carried[flow].offered.add(bytes);
        }
    }

    /// Counts an acknowledgement handed to the network.
    #[inline]
    pub fn offer_ack(&mut self, connection: u32) {
        self.acks[connection as usize].offered += 1;
    }

    /// Counts a packet that has reached its destination, and takes it; not an acknowledgement.
    #[inline(always)]
    pub fn deliver(&mut self, packet: Packet, now: Time) {
        let (flow, bytes) = (packet.flow() as usize, u64::from(packet.payload));
        let account = &mut self.flows[flow];
        // Half of the number space counts as "later", so that the numbers may wrap.
        if seldom(packet.seq.wrapping_sub(account.next_seq) > u32::MAX / 2) {
            account.reordered += 1;
        } else {
            account.next_seq = packet.seq.wrapping_add(1);
        }
        if packet.measured() {
            account.delivered.add(bytes);
            let delay = now.since(packet.born).0;
            account.add_delay(delay);
            if let Some(more) = self.more.get_mut(flow) {
                more.deliver(&packet, delay);
            }
            self.class_delays[usize::from(packet.class())].record(delay);
        } else {
            self.carried[flow].delivered.add(bytes);
        }
    }

    /// Counts an acknowledgement that has reached its destination, and takes it.
    #[inline]
    pub fn deliver_ack(&mut self, _: Packet, connection: u32) {
        self.acks[connection as usize].delivered += 1;
    }

    /// Counts a packet lost at (or behind) `port`, and takes it.
    pub fn drop(&mut self, packet: Packet, port: u32, why: Reason) {
        let (flow, bytes) = (packet.flow() as usize, u64::from(packet.payload));
        if let Some(connection) = flow.checked_sub(self.flows.len()) {
            self.acks[connection].dropped += 1;
            self.ack_causes.add(connection as u32, self.acks.len(), (port, why), 1);
        } else if packet.measured() {
            self.flows[flow].dropped.add(bytes);
            let more = self.more.get_mut(flow);
            if let Some(colours) = more.and_then(|more| more.colours.as_mut()) {
                colours.dropped[packet.colour() as usize].add(bytes);
            }
            self.causes.add(packet.flow(), self.flows.len(), (port, why), 1);
        } else {
            self.carried[flow].dropped.add(bytes);
            self.carried_causes.add(packet.flow(), self.carried.len(), (port, why), 1);
        }
    }
}

impl Ledger {
    /// Takes in what another part of the network has counted; it `owns` the destinations of some flows, and knows
    /// all about their order and delays.
    pub fn merge(&mut self, other: Ledger, owns: impl Fn(usize) -> bool) {
        for flow in 0..other.flows.len() {
            for (cause, packets) in other.causes(flow) {
                self.causes.add(flow as u32, other.flows.len(), cause, packets);
            }
        }
        let lost: Vec<u64> = other.carried.iter().map(|carried| carried.dropped.packets).collect();
        self.carried_causes.merge(&other.carried_causes, &lost);
        let lost: Vec<u64> = other.acks.iter().map(|acks| acks.dropped).collect();
        self.ack_causes.merge(&other.ack_causes, &lost);
        for (flow, (mine, mut theirs)) in self.flows.iter_mut().zip(other.flows).enumerate() {
            if owns(flow) {
                std::mem::swap(mine, &mut theirs);
            }
            mine.add(&theirs);
        }
        for (flow, (mine, mut theirs)) in self.more.iter_mut().zip(other.more).enumerate() {
            if owns(flow) {
                std::mem::swap(mine, &mut theirs);
            }
            mine.add(&theirs);
        }
        self.carried.iter_mut().zip(&other.carried).for_each(|(mine, theirs)| mine.add(theirs));
        self.acks.iter_mut().zip(&other.acks).for_each(|(mine, theirs)| mine.add(theirs));
        for (mine, theirs) in self.class_delays.iter_mut().zip(&other.class_delays) {
            mine.merge(theirs);
        }
    }
}

impl FlowAccount {
    /// Those in the network.
    pub fn in_network(&self) -> Count {
        self.offered.minus(self.delivered.plus(self.dropped))
    }
    /// Adds what a part without the flow's destination has counted.
    fn add(&mut self, other: &FlowAccount) {
        self.offered = self.offered.plus(other.offered);
        self.delivered = self.delivered.plus(other.delivered);
        self.dropped = self.dropped.plus(other.dropped);
    }
}

impl Carried {
    /// Those in the network.
    pub fn in_network(&self) -> Count {
        self.offered.minus(self.delivered.plus(self.dropped))
    }
    fn add(&mut self, other: &Carried) {
        self.offered = self.offered.plus(other.offered);
        self.delivered = self.delivered.plus(other.delivered);
        self.dropped = self.dropped.plus(other.dropped);
    }
}

impl AckAccount {
    fn add(&mut self, other: &AckAccount) {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
    }
}

fn add(mine: &mut [Count], theirs: &[Count]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = mine.plus(*theirs));
}

impl More {
    /// Adds what a part without the flow's destination has counted.
    fn add(&mut self, other: &More) {
        if let (Some(mine), Some(theirs)) = (&mut self.colours, &other.colours) {
            add(&mut mine.offered, &theirs.offered);
            add(&mut mine.delivered, &theirs.delivered);
            add(&mut mine.dropped, &theirs.dropped);
        }
    }
    #[inline(never)]
    fn deliver(&mut self, packet: &Packet, delay: u64) {
        if let Some(delays) = &mut self.delays {
            delays.record(delay);
        }
        if let Some(variation) = &mut self.variation {
            variation.record(packet.seq, delay);
        }
        if let Some(colours) = &mut self.colours {
            colours.delivered[packet.colour() as usize].add(u64::from(packet.payload));
        }
    }
}
