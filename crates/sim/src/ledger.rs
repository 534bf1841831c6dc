//! Ledger: offered, delivered and dropped packets per flow, acknowledgements per connection, causes of drops, and
//! delays per flow and class.

use crate::drop_causes::{DropCause, DropCauses, Since};
use crate::hints::{prefetch_lines, unlikely};
use tailback_measure::{Sketch, Variation};
use tailback_qdisc::Packet;
use tailback_units::Time;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub packets: u64,
    /// Payload bytes in accounts of flows, buffer bytes in accounts of ports.
    pub bytes: u64,
}

impl Count {
    /// Counts a packet of `bytes`.
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

/// Account of the measured packets of a flow; at most two cache lines.
#[derive(Debug, Default)]
#[repr(C, align(16))]
pub(crate) struct FlowAccount {
    /// Packets and payload handed to the network.
    pub offered: Count,
    pub delivered: Count,
    pub dropped: Count,
    /// Sum of the delays, picoseconds: lower 64 bits.
    delay_low: u64,
    /// Sum of the delays: upper 32 bits.
    delay_high: u32,
    /// Next expected sequence number, unmeasured packets included; a packet with a lower one is reordered.
    next_seq: u32,
    /// Largest delay, picoseconds.
    pub delay_max: u64,
    /// Packets that arrived after a later one of their flow, unmeasured ones included (RFC 4737).
    pub reordered: u64,
}

const _: () = assert!(size_of::<FlowAccount>() == 80);

/// Account of the packets of a flow that are not measured: those generated before the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unmeasured {
    pub offered: Count,
    pub delivered: Count,
    pub dropped: Count,
}

/// Account of the acknowledgements of a connection, in packets; they are never measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckAccount {
    pub offered: u64,
    pub delivered: u64,
    pub dropped: u64,
}

impl AckAccount {
    /// Returns the number of packets in the network.
    pub fn in_network(&self) -> u64 {
        self.offered - self.delivered - self.dropped
    }
}

impl FlowAccount {
    /// Returns the sum of the delays of measured packets, picoseconds.
    pub fn delay_sum(&self) -> u128 {
        u128::from(self.delay_high) << 64 | u128::from(self.delay_low)
    }
    /// Adds the delay of a measured packet, picoseconds.
    #[inline]
    fn add_delay(&mut self, delay: u64) {
        let (low, carry) = self.delay_low.overflowing_add(delay);
        self.delay_low = low;
        self.delay_high += u32::from(carry);
        self.delay_max = self.delay_max.max(delay);
    }
}

/// Optional statistics of a flow.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// Delays of measured packets.
    pub delays: Option<Sketch>,
    /// Measured packets by colour.
    pub colours: Option<ByColour>,
    /// Delay variation of measured packets.
    pub variation: Option<Box<Variation>>,
}

/// Choice of the optional statistics that are kept for each flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// `true`: a histogram of delays.
    pub delays: bool,
    /// `true`: counts by colour.
    pub colours: bool,
    /// `true`: delay variation.
    pub variation: bool,
}

/// Measured packets and payload bytes by colour: when they enter the network, are delivered, and are dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByColour {
    pub offered: [Count; 3],
    pub delivered: [Count; 3],
    pub dropped: [Count; 3],
}

/// Accounts of all flows, and the delays of all classes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Measured packets by flow.
    pub flows: Vec<FlowAccount>,
    /// Unmeasured packets by flow; empty in runs without a warm-up.
    unmeasured: Vec<Unmeasured>,
    /// Acknowledgements by connection.
    pub acks: Vec<AckAccount>,
    /// Optional statistics by flow; empty if the run keeps none.
    extras: Vec<Extras>,
    /// Delays of measured packets by class.
    pub class_delays: Vec<Sketch>,
    /// Drop causes of measured packets, by flow.
    causes: DropCauses,
    /// Drop causes of unmeasured packets after the end of the warm-up, by flow.
    unmeasured_causes: Since,
    /// Drop causes of acknowledgements after the end of the warm-up, by connection.
    ack_causes: Since,
}

impl Ledger {
    /// Returns empty accounts; `has_warmup`: some packets are not measured.
    pub fn new(flows: usize, connections: usize, classes: usize, has_warmup: bool, keep: Keep) -> Ledger {
        let extras = || Extras {
            delays: keep.delays.then(Sketch::default),
            colours: keep.colours.then(ByColour::default),
            variation: keep.variation.then(Box::default),
        };
        let any = keep.delays || keep.colours || keep.variation;
        Ledger {
            flows: (0..flows).map(|_| FlowAccount::default()).collect(),
            unmeasured: vec![Unmeasured::default(); if has_warmup { flows } else { 0 }],
            acks: vec![AckAccount::default(); connections],
            extras: if any { (0..flows).map(|_| extras()).collect() } else { Vec::new() },
            class_delays: vec![Sketch::default(); classes],
            causes: DropCauses::default(),
            unmeasured_causes: Since::default(),
            ack_causes: Since::default(),
        }
    }

    /// Returns a flow's optional statistics, if any are kept.
    #[inline]
    pub fn extras(&self, flow: usize) -> Option<&Extras> {
        self.extras.get(flow)
    }

    /// Returns a flow's unmeasured packets.
    pub fn unmeasured(&self, flow: usize) -> Unmeasured {
        self.unmeasured.get(flow).copied().unwrap_or_default()
    }

    /// Returns a flow's delay variation, if it is measured.
    pub fn variation(&self, flow: usize) -> Option<&Variation> {
        self.extras(flow)?.variation.as_deref()
    }

    /// Returns the drop causes of a flow's measured packets, sorted, with the number of packets.
    pub fn causes(&self, flow: usize) -> Vec<(DropCause, u64)> {
        self.causes.of(flow as u32, self.flows[flow].dropped.packets)
    }

    /// Returns the causes of drops after the end of the warm-up, of a flow's packets that were generated during it.
    pub fn unmeasured_causes(&self, flow: usize) -> Vec<(DropCause, u64)> {
        self.unmeasured_causes.of(flow as u32, self.unmeasured(flow).dropped.packets)
    }

    /// Returns the drop causes of a connection's acknowledgements after the end of the warm-up.
    pub fn ack_causes(&self, connection: usize) -> Vec<(DropCause, u64)> {
        self.ack_causes.of(connection as u32, self.acks[connection].dropped)
    }

    /// Ends the warm-up: from now on drops of unmeasured packets and of acknowledgements are counted by cause.
    pub fn end_warmup(&mut self) {
        self.unmeasured_causes.begin(self.unmeasured.iter().map(|unmeasured| unmeasured.dropped.packets));
        self.ack_causes.begin(self.acks.iter().map(|acks| acks.dropped));
    }

    /// Returns the size of the accounts that packets touch, bytes.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(&*self.flows) + size_of_val(&*self.acks)
    }

    /// Prefetches the account of packets of `flow`.
    #[inline]
    pub fn prefetch_account(&self, flow: u32) {
        match self.flows.get(flow as usize) {
            Some(account) => prefetch_lines::<_, 2>(account),
            None => prefetch_lines::<_, 1>(self.acks.as_ptr().wrapping_add(flow as usize - self.flows.len())),
        }
    }

    /// Counts the colour of a packet handed to the network, if colours are counted.
    pub fn offer_coloured(&mut self, packet: &Packet) {
        let extras = self.extras.get_mut(packet.flow() as usize);
        if let Some(colours) = extras.and_then(|extras| extras.colours.as_mut())
            && packet.measured()
        {
            colours.offered[packet.colour() as usize].add(u64::from(packet.payload));
        }
    }

    /// Counts a packet handed to the network, other than an acknowledgement.
    #[inline]
    pub fn offer(&mut self, packet: &Packet) {
        let (flow, bytes) = (packet.flow() as usize, u64::from(packet.payload));
        if packet.measured() {
            self.flows[flow].offered.add(bytes);
        } else {
            self.unmeasured[flow].offered.add(bytes);
        }
    }

    /// Counts an acknowledgement handed to the network.
    #[inline]
    pub fn offer_ack(&mut self, connection: u32) {
        self.acks[connection as usize].offered += 1;
    }

    /// Counts a packet at its destination, other than an acknowledgement, and consumes it.
    #[inline(always)]
    pub fn deliver(&mut self, packet: Packet, now: Time) {
        let (flow, bytes) = (packet.flow() as usize, u64::from(packet.payload));
        let account = &mut self.flows[flow];
        // Serial number arithmetic (RFC 1982): half of the number space counts as later.
        if unlikely(packet.seq.wrapping_sub(account.next_seq) > u32::MAX / 2) {
            account.reordered += 1;
        } else {
            account.next_seq = packet.seq.wrapping_add(1);
        }
        if packet.measured() {
            account.delivered.add(bytes);
            let delay = now.since(packet.born).0;
            account.add_delay(delay);
            if let Some(extras) = self.extras.get_mut(flow) {
                extras.deliver(&packet, delay);
            }
            self.class_delays[usize::from(packet.class())].record(delay);
        } else {
            self.unmeasured[flow].delivered.add(bytes);
        }
    }

    /// Counts an acknowledgement at its destination, and consumes it.
    #[inline]
    pub fn deliver_ack(&mut self, _: Packet, connection: u32) {
        self.acks[connection as usize].delivered += 1;
    }

    /// Counts a packet dropped by `cause`, and consumes it.
    pub fn drop(&mut self, packet: Packet, cause: DropCause) {
        let (flow, bytes) = (packet.flow() as usize, u64::from(packet.payload));
        if let Some(connection) = flow.checked_sub(self.flows.len()) {
            self.acks[connection].dropped += 1;
            self.ack_causes.add(connection as u32, self.acks.len(), cause, 1);
        } else if packet.measured() {
            self.flows[flow].dropped.add(bytes);
            let extras = self.extras.get_mut(flow);
            if let Some(colours) = extras.and_then(|extras| extras.colours.as_mut()) {
                colours.dropped[packet.colour() as usize].add(bytes);
            }
            self.causes.add(packet.flow(), self.flows.len(), cause, 1);
        } else {
            self.unmeasured[flow].dropped.add(bytes);
            self.unmeasured_causes.add(packet.flow(), self.unmeasured.len(), cause, 1);
        }
    }
}

impl Ledger {
    /// Adds the accounts of another partition. `owns` returns `true` for flows whose destination is in that partition:
    /// only there are reordering and delays measured.
    pub fn merge(&mut self, other: Ledger, owns: impl Fn(usize) -> bool) {
        for flow in 0..other.flows.len() {
            for (cause, packets) in other.causes(flow) {
                self.causes.add(flow as u32, other.flows.len(), cause, packets);
            }
        }
        let lost: Vec<u64> = other.unmeasured.iter().map(|unmeasured| unmeasured.dropped.packets).collect();
        self.unmeasured_causes.merge(&other.unmeasured_causes, &lost);
        let lost: Vec<u64> = other.acks.iter().map(|acks| acks.dropped).collect();
        self.ack_causes.merge(&other.ack_causes, &lost);
        for (flow, (mine, mut theirs)) in self.flows.iter_mut().zip(other.flows).enumerate() {
            if owns(flow) {
                std::mem::swap(mine, &mut theirs);
            }
            mine.add(&theirs);
        }
        for (flow, (mine, mut theirs)) in self.extras.iter_mut().zip(other.extras).enumerate() {
            if owns(flow) {
                std::mem::swap(mine, &mut theirs);
            }
            mine.add(&theirs);
        }
        self.unmeasured.iter_mut().zip(&other.unmeasured).for_each(|(mine, theirs)| mine.add(theirs));
        self.acks.iter_mut().zip(&other.acks).for_each(|(mine, theirs)| mine.add(theirs));
        for (mine, theirs) in self.class_delays.iter_mut().zip(&other.class_delays) {
            mine.merge(theirs);
        }
    }
}

impl FlowAccount {
    /// Returns the packets and bytes in the network.
    pub fn in_network(&self) -> Count {
        self.offered.minus(self.delivered.plus(self.dropped))
    }
    /// Adds the counts of a partition that does not have the flow's destination.
    fn add(&mut self, other: &FlowAccount) {
        self.offered = self.offered.plus(other.offered);
        self.delivered = self.delivered.plus(other.delivered);
        self.dropped = self.dropped.plus(other.dropped);
    }
}

impl Unmeasured {
    /// Returns the packets and bytes in the network.
    pub fn in_network(&self) -> Count {
        self.offered.minus(self.delivered.plus(self.dropped))
    }
    fn add(&mut self, other: &Unmeasured) {
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

impl Extras {
    /// Adds the counts of a partition that does not have the flow's destination.
    fn add(&mut self, other: &Extras) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_qdisc::{Colour, Reason, Traits};

    const EVERYTHING: Keep = Keep { delays: true, colours: true, variation: true };
    const NOTHING: Keep = Keep { delays: false, colours: false, variation: false };

    fn packet(flow: u32, measured: bool, born: u64, seq: u32, payload: u16) -> Packet {
        let mut packet = Packet::new(flow, Traits::data(1, measured), Time(born), seq, 0);
        packet.payload = payload;
        packet
    }

    fn cause(port: u32, why: Reason) -> DropCause {
        DropCause { port, why, handshake: false }
    }

    fn count(packets: u64, bytes: u64) -> Count {
        Count { packets, bytes }
    }

    #[test]
    fn a_sum_of_delays_beyond_64_bits_keeps_every_picosecond() {
        let mut account = FlowAccount::default();
        let delays = [u64::MAX, 5, u64::MAX - 7, u64::MAX, 3];
        for delay in delays {
            account.add_delay(delay);
        }
        assert_eq!(account.delay_sum(), delays.into_iter().map(u128::from).sum());
        assert_eq!(account.delay_max, u64::MAX);
    }

    /// RFC 4737, section 3.3: a packet is reordered if its number is below the next one expected; RFC 1982 for numbers
    /// that wrap around, where exactly 2^31 - 1 further is still later.
    #[test]
    fn a_packet_below_the_next_number_expected_is_reordered_also_where_numbers_wrap_around() {
        let mut ledger = Ledger::new(1, 0, 2, false, NOTHING);
        let mut reordered = Vec::new();
        for seq in [0, 3, 1, 4, 2, 5, 5, u32::MAX / 2 + 6, 3, u32::MAX, 0, u32::MAX - 1, 1] {
            let before = ledger.flows[0].reordered;
            ledger.offer(&packet(0, true, 0, seq, 1));
            ledger.deliver(packet(0, true, 0, seq, 1), Time(1));
            reordered.push(ledger.flows[0].reordered - before);
        }
        //           0  3  1  4  2  5  5 far 3 max 0 m-1 1
        assert_eq!(reordered, [0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn packets_count_where_they_were_offered_delivered_and_dropped_and_the_rest_is_in_the_network() {
        let mut ledger = Ledger::new(2, 1, 2, true, EVERYTHING);
        for (flow, measured, payload) in
            [(0, true, 100), (0, true, 20), (0, false, 7), (1, true, 3), (0, false, 9), (0, false, 1)]
        {
            ledger.offer(&packet(flow, measured, 10, 0, payload));
        }
        (0..5).for_each(|_| ledger.offer_ack(0));
        ledger.deliver(packet(0, true, 10, 0, 100), Time(14));
        ledger.deliver(packet(0, false, 10, 1, 7), Time(99));
        ledger.drop(packet(1, true, 10, 0, 3), cause(6, Reason::Early));
        ledger.drop(packet(0, false, 10, 2, 9), cause(6, Reason::BufferFull));
        ledger.deliver_ack(packet(2, false, 0, 0, 0), 0);
        ledger.drop(packet(2, false, 0, 0, 0), cause(4, Reason::LinkLoss));
        ledger.drop(packet(2, false, 0, 0, 0), cause(4, Reason::LinkLoss));

        let flow = &ledger.flows[0];
        assert_eq!((flow.offered, flow.delivered, flow.dropped), (count(2, 120), count(1, 100), count(0, 0)));
        assert_eq!(flow.in_network(), count(1, 20));
        assert_eq!((flow.delay_sum(), flow.delay_max), (4, 4));
        let early = ledger.unmeasured(0);
        assert_eq!((early.offered, early.delivered, early.dropped), (count(3, 17), count(1, 7), count(1, 9)));
        assert_eq!(early.in_network(), count(1, 1));
        assert_eq!(ledger.flows[1].dropped, count(1, 3));
        assert_eq!(ledger.flows[1].in_network(), count(0, 0));
        assert_eq!(ledger.acks[0].in_network(), 2);
        assert_eq!(ledger.causes(0), []);
        assert_eq!(ledger.causes(1), [(cause(6, Reason::Early), 1)]);
        assert_eq!(ledger.unmeasured_causes(0), [(cause(6, Reason::BufferFull), 1)]);
        assert_eq!(ledger.ack_causes(0), [(cause(4, Reason::LinkLoss), 2)]);
        assert_eq!(ledger.class_delays.iter().map(Sketch::count).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(ledger.extras(0).and_then(|extras| extras.delays.as_ref()).map(Sketch::sum), Some(4));
    }

    #[test]
    fn only_measured_packets_are_counted_by_colour() {
        let mut ledger = Ledger::new(1, 0, 2, true, EVERYTHING);
        let coloured = |measured, colour| {
            let mut packet = packet(0, measured, 0, 0, 50);
            packet.set_colour(colour);
            packet
        };
        ledger.offer_coloured(&coloured(false, Colour::Green));
        for colour in [Colour::Green, Colour::Yellow, Colour::Yellow, Colour::Red] {
            ledger.offer_coloured(&coloured(true, colour));
        }
        ledger.deliver(coloured(true, Colour::Yellow), Time(1));
        ledger.drop(coloured(true, Colour::Red), cause(0, Reason::Early));
        ledger.drop(coloured(false, Colour::Red), cause(0, Reason::Early));
        let colours = ledger.extras(0).and_then(|extras| extras.colours).expect("kept");
        assert_eq!(colours.offered, [count(1, 50), count(2, 100), count(1, 50)]);
        assert_eq!(colours.delivered, [count(0, 0), count(1, 50), count(0, 0)]);
        assert_eq!(colours.dropped, [count(0, 0), count(0, 0), count(1, 50)]);
    }

    #[test]
    fn only_the_chosen_optional_statistics_are_kept() {
        assert!(Ledger::new(1, 0, 1, false, NOTHING).extras(0).is_none());
        for (n, keep) in
            [Keep { delays: true, ..NOTHING }, Keep { colours: true, ..NOTHING }, Keep { variation: true, ..NOTHING }]
                .into_iter()
                .enumerate()
        {
            let ledger = Ledger::new(1, 0, 1, false, keep);
            let extras = ledger.extras(0).expect("one is kept");
            let kept = [extras.delays.is_some(), extras.colours.is_some(), extras.variation.is_some()];
            assert_eq!(kept, [n == 0, n == 1, n == 2]);
        }
    }

    /// Flow 0 ends in part 0, flow 1 in part 1. Each part counts what it sees: offers at the source, deliveries at the
    /// destination, drops anywhere.
    #[test]
    fn the_accounts_of_two_parts_add_up_to_those_of_the_whole() {
        let [mut whole, mut left, mut right] = [0; 3].map(|_| Ledger::new(2, 2, 2, true, EVERYTHING));
        let mut both = |part: &mut Ledger, act: &dyn Fn(&mut Ledger)| {
            act(part);
            act(&mut whole);
        };
        let offer = |flow, measured| {
            move |ledger: &mut Ledger| {
                ledger.offer(&packet(flow, measured, 10, 0, 100));
                ledger.offer_coloured(&packet(flow, measured, 10, 0, 100));
                ledger.offer_ack(1);
            }
        };
        (0..9).for_each(|_| both(&mut right, &offer(0, true)));
        (0..7).for_each(|_| both(&mut left, &offer(1, true)));
        (0..5).for_each(|_| both(&mut right, &offer(0, false)));
        both(&mut right, &|ledger| ledger.drop(packet(0, false, 0, 0, 100), cause(3, Reason::Early)));
        both(&mut left, &|ledger| ledger.drop(packet(3, false, 0, 0, 100), cause(3, Reason::Early)));
        [&mut left, &mut right].into_iter().for_each(Ledger::end_warmup);
        both(&mut right, &|ledger| {
            ledger.drop(packet(0, true, 0, 0, 100), cause(3, Reason::Early));
            ledger.drop(packet(0, false, 0, 0, 100), cause(3, Reason::LinkLoss));
            ledger.drop(packet(3, false, 0, 0, 0), cause(3, Reason::LinkLoss));
            ledger.deliver_ack(packet(3, false, 0, 0, 0), 1);
        });
        both(&mut left, &|ledger| {
            ledger.drop(packet(0, true, 0, 0, 100), cause(2, Reason::BufferFull));
            for seq in [3, 1, 2] {
                ledger.deliver(packet(0, true, 10, seq, 100), Time(30));
            }
            ledger.deliver(packet(0, false, 10, 4, 100), Time(30));
        });
        both(&mut right, &|ledger| {
            for seq in [1, 0] {
                ledger.deliver(packet(1, true, 10, seq, 100), Time(50));
            }
        });

        let mut merged = left;
        merged.merge(right, |flow| flow == 1);
        for flow in 0..2 {
            let [got, expected] = [&merged, &whole].map(|ledger| {
                let account = &ledger.flows[flow];
                let (sum, max, late) = (account.delay_sum(), account.delay_max, account.reordered);
                let unmeasured = ledger.unmeasured(flow);
                (account.in_network(), account.dropped, sum, max, late, unmeasured.in_network(), unmeasured.dropped)
            });
            assert_eq!(got, expected, "flow {flow}");
            assert_eq!(merged.causes(flow), whole.causes(flow));
            let [got, expected] = [&merged, &whole].map(|ledger| {
                let extras = ledger.extras(flow).expect("kept");
                let colours = extras.colours.expect("kept");
                let delays = extras.delays.as_ref().map(|delays| (delays.count(), delays.sum()));
                (delays, colours.offered, colours.delivered, colours.dropped)
            });
            assert_eq!(got, expected, "flow {flow}");
        }
        assert_eq!(merged.flows[0].in_network(), count(4, 400));
        assert_eq!(merged.unmeasured(0).in_network(), count(2, 200));
        assert_eq!(merged.acks[1].in_network(), 21 - 1 - 2);
        assert_eq!(merged.unmeasured_causes(0), [(cause(3, Reason::LinkLoss), 1)]);
        assert_eq!(merged.ack_causes(1), [(cause(3, Reason::LinkLoss), 1)]);
        let delays = merged.class_delays.iter().map(|delays| (delays.count(), delays.sum()));
        assert_eq!(delays.collect::<Vec<_>>(), [(0, 0), (5, 3 * 20 + 2 * 40)]);
    }
}
