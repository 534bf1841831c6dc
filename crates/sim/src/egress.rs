//! Optional stages between a port's scheduler and its transmitter: a transmit ring, a shaper, and the extremes of the
//! queue between samples.

use crate::hints::unlikely;
use crate::plan::ShaperPlan;
use std::collections::VecDeque;
use tailback_diffserv::TokenBucket;
use tailback_qdisc::{Accounting, Gate, Packet};
use tailback_units::{Rate, Time};

/// Transmit ring, with the packets that the scheduler has released in their order, shaper, and extremes of the queue;
/// all but one of them may be absent.
#[derive(Debug)]
pub(crate) struct Egress {
    ring: VecDeque<Packet>,
    /// Capacity of the ring, packets; 0: there is no ring.
    places: usize,
    shaper: Option<Shaping>,
    /// Extremes of the queue since the last sample; `None`: they are not recorded.
    extremes: Option<Extremes>,
}

/// Minimum and maximum of a port's queue, all classes together, since the last sample. Backlogs that last for no time
/// do not count, as when a packet arrives at the instant at which another one leaves.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    /// Time of the last change of the queue, or of the last sample if that is later.
    changed: Time,
    min: u64,
    max: u64,
}

impl Extremes {
    const EMPTY: Extremes = Extremes { changed: Time::ZERO, min: u64::MAX, max: 0 };

    /// Takes account of a backlog that has lasted until now.
    fn add(&mut self, backlog: u64) {
        self.min = self.min.min(backlog);
        self.max = self.max.max(backlog);
    }

    /// Takes account of the backlog before it changes.
    fn change(&mut self, now: Time, backlog: impl FnOnce() -> u64) {
        if now > self.changed {
            self.add(backlog());
            self.changed = now;
        }
    }
}

/// Token bucket in front of the transmitter.
#[derive(Debug)]
struct Shaping {
    bucket: TokenBucket,
    /// Token rate.
    rate: Rate,
    /// Bytes that the shaper counts for each packet in addition to buffer bytes.
    accounting: Accounting,
    /// Counted length of the largest packet so far, bytes. Without a ring, the shaper does not know the length of the
    /// next packet in advance.
    largest: u32,
    /// Earliest time at which the delayed packet conforms; [`Time::NEVER`]: no packet is delayed.
    release: Time,
}

impl Shaping {
    /// Returns the bytes that the shaper counts for a packet.
    fn counts(&self, packet: &Packet) -> u32 {
        self.accounting.bytes(packet)
    }
    /// Returns `true` if a packet of `bytes` conforms now. A packet larger than the bucket conforms once the bucket is
    /// full.
    fn allows(&mut self, now: Time, bytes: u32) -> bool {
        self.bucket.fill(now);
        let needed = u64::from(bytes).min(self.bucket.depth()) as u32;
        let conforms = self.bucket.holds(needed);
        self.release = if conforms { Time::NEVER } else { self.bucket.ready_at(needed).unwrap_or(Time::NEVER) };
        conforms
    }
}

impl Egress {
    /// Returns the stages; `None`: the port needs no stage. `ring` is the ring's capacity in packets; `extremes`: the
    /// extremes of the queue are recorded.
    pub fn new(ring: Option<u32>, shaper: Option<&ShaperPlan>, extremes: bool) -> Option<Box<Egress>> {
        if ring.is_none() && shaper.is_none() && !extremes {
            return None;
        }
        let shaping = |plan: &ShaperPlan| Shaping {
            bucket: TokenBucket::new(plan.rate, plan.burst),
            rate: plan.rate,
            accounting: plan.accounting,
            largest: 0,
            release: Time::NEVER,
        };
        Some(Box::new(Egress {
            ring: VecDeque::new(),
            places: ring.unwrap_or(0) as usize,
            shaper: shaper.map(shaping),
            extremes: extremes.then_some(Extremes::EMPTY),
        }))
    }
    /// Replaces the rate and the burst of the shaper. The shaper keeps its tokens, up to the new burst, and computes
    /// anew when a delayed packet conforms.
    pub fn retune(&mut self, now: Time, plan: &ShaperPlan) {
        if let Some(shaping) = &mut self.shaper {
            shaping.bucket.adopt(now, &TokenBucket::new(plan.rate, plan.burst));
            (shaping.rate, shaping.release) = (plan.rate, Time::NEVER);
        }
    }

    /// Returns `true` if the ring has room for another packet.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.ring.len() < self.places
    }
    /// Returns `true` if there is a ring.
    #[inline]
    pub fn has_ring(&self) -> bool {
        self.places > 0
    }
    /// Appends a packet to the ring.
    pub fn push(&mut self, packet: Packet) {
        self.ring.push_back(packet);
    }
    /// Takes account of the queue before it changes in another way than by an arrival; `backlog` returns its buffer
    /// bytes, all classes together.
    #[inline]
    pub fn changes(&mut self, now: Time, backlog: impl FnOnce() -> u64) {
        if unlikely(self.extremes.is_some()) {
            self.note_extremes(now, backlog);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_extremes(&mut self, now: Time, backlog: impl FnOnce() -> u64) {
        if let Some(extremes) = &mut self.extremes {
            extremes.change(now, backlog);
        }
    }
    /// Returns the minimum and the maximum of the queue since the last sample, and begins anew; `None`: they are not
    /// recorded.
    pub fn take_extremes(&mut self, now: Time, backlog: u64) -> Option<[u64; 2]> {
        let extremes = self.extremes.as_mut()?;
        extremes.add(backlog);
        let Extremes { min, max, .. } = std::mem::replace(extremes, Extremes { changed: now, ..Extremes::EMPTY });
        Some([min, max])
    }
    /// Takes the length of a packet that arrives at the port into account.
    #[inline]
    pub fn arrived(&mut self, packet: &Packet) {
        if let Some(shaper) = &mut self.shaper {
            shaper.largest = shaper.largest.max(shaper.counts(packet));
        }
    }
    /// Removes and returns the oldest packet of the ring; `None`: the ring is empty, the packet does not conform to the
    /// shaper, or the gate does not admit it.
    pub fn pop(&mut self, now: Time, gate: &Gate) -> Option<Packet> {
        let head = self.ring.front()?;
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        if let Some(shaper) = &mut self.shaper {
            let bytes = shaper.counts(head);
            if !shaper.allows(now, bytes) {
                return None;
            }
        }
        self.ring.pop_front()
    }
    /// Returns `true` if a port without a ring may release a packet: one of the largest counted length so far conforms,
    /// so that any packet conforms.
    pub fn may_release(&mut self, now: Time) -> bool {
        self.shaper.as_mut().is_none_or(|shaper| {
            let largest = shaper.largest;
            shaper.allows(now, largest)
        })
    }
    /// Charges a packet whose transmission begins to the token bucket.
    #[inline]
    pub fn sent(&mut self, packet: &Packet) {
        if let Some(shaper) = &mut self.shaper {
            let bytes = shaper.counts(packet);
            shaper.bucket.charge(bytes);
        }
    }
    /// Returns the time at which the packet that the shaper delays conforms; [`Time::NEVER`]: the shaper delays no
    /// packet.
    pub fn release(&self, now: Time) -> Time {
        self.shaper
            .as_ref()
            .map_or(Time::NEVER, |shaper| if shaper.release > now { shaper.release } else { Time::NEVER })
    }
    /// Returns the rate at which the scheduler is served on a link of `rate`: the lower of `rate` and the shaper's
    /// rate.
    pub fn rate(&self, rate: Rate) -> Rate {
        self.shaper.as_ref().map_or(rate, |shaper| shaper.rate.min(rate))
    }
    /// Passes each packet in the ring to `f`.
    pub fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.ring.iter().for_each(f);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_qdisc::Traits;
    use tailback_random::Rng;
    use tailback_units::Dur;

    fn packet(size: u32) -> Packet {
        let mut packet = Packet::new(0, Traits::data(0, true), Time::ZERO, 0, 1);
        packet.set_lengths(size, size);
        packet
    }

    /// Sends packets of random sizes that arrive at random times, and checks the token bucket's bound between any two
    /// instants: bytes sent minus rate × time never exceeds its minimum so far by more than the burst.
    fn check_conformance(ring: Option<u32>, seed: u64) {
        const RATE: u64 = 5_000_000;
        // Bits of a byte times picoseconds of a second: in this unit, bytes and rate × time are integers.
        const BYTE: i128 = 8_000_000_000_000;
        let (burst, accounting) = (4_000, Accounting::new(18));
        let plan = ShaperPlan { rate: Rate(RATE), burst, accounting };
        let mut egress = Egress::new(ring, Some(&plan), false).expect("a shaper");
        let (mut rng, gate) = (Rng::named(seed, "test"), Gate::default());
        let mut waiting: VecDeque<Packet> = VecDeque::new();
        let (mut now, mut sent, mut minimum, mut count, mut last) = (Time::ZERO, 0i128, i128::MAX, 0, Time::ZERO);
        while count < 20_000 {
            if waiting.len() < 50 && rng.chance(0.6) {
                let arrival = packet(rng.between(40, 1500) as u32);
                egress.arrived(&arrival);
                waiting.push_back(arrival);
            } else {
                now += Dur(rng.below(3_000_000_000));
            }
            while egress.has_room() && !waiting.is_empty() {
                egress.push(waiting.pop_front().expect("one waits"));
            }
            let next = if egress.has_ring() {
                egress.pop(now, &gate)
            } else if !waiting.is_empty() && egress.may_release(now) {
                waiting.pop_front()
            } else {
                None
            };
            let Some(packet) = next else { continue };
            egress.sent(&packet);
            let credit = i128::from(RATE) * i128::from(now.0);
            minimum = minimum.min(sent * BYTE - credit);
            sent += i128::from(accounting.bytes(&packet));
            assert!(sent * BYTE - credit - minimum <= i128::from(burst) * BYTE, "packet {count}");
            (count, last) = (count + 1, now);
        }
        assert!(last > Time::ZERO);
    }

    #[test]
    fn packets_behind_a_shaper_conform_between_any_two_instants_with_and_without_a_ring() {
        for seed in 0..5 {
            check_conformance(None, seed);
            check_conformance(Some(1), seed);
            check_conformance(Some(15), seed);
        }
    }
}
