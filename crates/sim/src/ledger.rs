//! The ledger: what became of every packet, per flow and per class.

use std::collections::BTreeMap;
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

/// One flow's account. The pairs are (only carried, measured).
///
/// Two cache lines; most of what every packet touches is in the first.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct FlowAccount {
    pub offered: [Count; 2],
    pub delivered: [Count; 2],
    pub dropped: [Count; 2],
    /// Sum of the delays of measured packets, picoseconds: its low 64 bits, and those above.
    delay_low: u64,
    delay_high: u32,
    /// Sequence number that the next packet in order would not go below.
    next_seq: u32,
    /// Largest of the delays.
    pub delay_max: u64,
    /// Packets that arrived after a later one of their flow.
    pub reordered: u64,
}

const _: () = assert!(size_of::<FlowAccount>() == 128);

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
#[derive(Debug)]
pub(crate) struct Ledger {
    pub flows: Vec<FlowAccount>,
    /// What more is kept of each flow; empty where nothing is.
    more: Vec<More>,
    pub class_delays: Vec<Sketch>,
    /// Measured drops by (flow, port, reason).
    pub causes: BTreeMap<(u32, u32, Reason), u64>,
}

impl Ledger {
    pub fn new(flows: usize, classes: usize, keep: Keep) -> Ledger {
        let more = || More {
            delays: keep.delays.then(Sketch::default),
            colours: keep.colours.then(ByColour::default),
            variation: keep.variation.then(Box::default),
        };
        let any = keep.delays || keep.colours || keep.variation;
        Ledger {
            flows: (0..flows).map(|_| FlowAccount::default()).collect(),
            more: if any { (0..flows).map(|_| more()).collect() } else { Vec::new() },
            class_delays: vec![Sketch::default(); classes],
            causes: BTreeMap::new(),
        }
    }

    /// What more is kept of a flow, where anything is.
    #[inline]
    pub fn more(&self, flow: usize) -> Option<&More> {
        self.more.get(flow)
    }

    /// How a flow's delays vary, where that is measured.
    pub fn variation(&self, flow: usize) -> Option<&Variation> {
        self.more(flow)?.variation.as_deref()
    }

    /// Bytes that the packets of all flows touch.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(&*self.flows)
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

    /// Counts a packet handed to the network.
    #[inline]
    pub fn offer(&mut self, packet: &Packet) {
        self.flows[packet.flow() as usize].offered[usize::from(packet.measured())].add(u64::from(packet.payload));
    }

    /// Counts a packet that has reached its destination, and takes it.
    #[inline(always)]
    pub fn deliver(&mut self, packet: Packet, now: Time) {
        let account = &mut self.flows[packet.flow() as usize];
        // Half of the number space counts as "later", so that the numbers may wrap.
        if packet.seq.wrapping_sub(account.next_seq) > u32::MAX / 2 {
            account.reordered += 1;
        } else {
            account.next_seq = packet.seq.wrapping_add(1);
        }
        account.delivered[usize::from(packet.measured())].add(u64::from(packet.payload));
        if packet.measured() {
            let delay = now.since(packet.born).0;
            account.add_delay(delay);
            if let Some(more) = self.more.get_mut(packet.flow() as usize) {
                more.deliver(&packet, delay);
            }
            self.class_delays[usize::from(packet.class())].record(delay);
        }
    }

    /// Counts a packet lost at (or behind) `port`, and takes it.
    pub fn drop(&mut self, packet: Packet, port: u32, why: Reason) {
        let account = &mut self.flows[packet.flow() as usize];
        account.dropped[usize::from(packet.measured())].add(u64::from(packet.payload));
        if packet.measured() {
            let more = self.more.get_mut(packet.flow() as usize);
            if let Some(colours) = more.and_then(|more| more.colours.as_mut()) {
                colours.dropped[packet.colour() as usize].add(u64::from(packet.payload));
            }
            *self.causes.entry((packet.flow(), port, why)).or_default() += 1;
        }
    }
}

impl Ledger {
    /// Takes in what another part of the network has counted; it `owns` the destinations of some flows, and knows
    /// all about their order and delays.
    pub fn merge(&mut self, other: Ledger, owns: impl Fn(usize) -> bool) {
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
        for (mine, theirs) in self.class_delays.iter_mut().zip(&other.class_delays) {
            mine.merge(theirs);
        }
        for (cause, packets) in other.causes {
            *self.causes.entry(cause).or_default() += packets;
        }
    }
}

impl FlowAccount {
    /// Adds what a part without the flow's destination has counted.
    fn add(&mut self, other: &FlowAccount) {
        add(&mut self.offered, &other.offered);
        add(&mut self.delivered, &other.delivered);
        add(&mut self.dropped, &other.dropped);
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
