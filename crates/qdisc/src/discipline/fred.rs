//! FRED: random early drop that counts each flow's packets in the queue.

use super::fair::{Buckets, ByFlow, Key, Weights};
use crate::fifo::Fifo;
use crate::retune::{Fixed, Retune};
use crate::signals::{Length, Signals, Threshold};
use crate::state::{QUEUE, bytes_of};
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::maths;
use tailback_units::{Amount, Dur, Fraction, Rate, Size, Time};

/// Flow random early drop (Lin and Morris, SIGCOMM 1997): as RED, but packets of a flow with few
/// waiting packets are not chosen at random, arrivals of a flow with many waiting packets are
/// always dropped, and a flow that has repeatedly exceeded its share is limited to an equal share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Average queue below which no packet is chosen at random, and limit of the waiting packets of each flow, at
    /// least one packet. Default: a quarter of the queue's limit, at most what the link sends in 100 ms, at least
    /// one packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    /// Average queue at or above which each flow may have at most two waiting packets (see
    /// `many-flows`), above `min`. Default: twice `min`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Amount>,
    /// Probability just below `max`, above 0 and at most 1. Default 0.02.
    pub max_p: Fraction,
    /// Weight of a new sample in the average, above 0 and at most 1. Default 0.002.
    pub weight: f64,
    /// Number of waiting packets below which a flow's packets are never chosen at random, 1 to
    /// 1000; in the paper 2 for small and 4 for large buffers. Default 4.
    pub min_flow: u32,
    /// `true` if flows may have two waiting packets each while the average is at or above `max`,
    /// the paper's support for many flows; `false` if every arrival is then dropped. Default true.
    pub many_flows: bool,
    /// Mean packet size, which converts between packets and bytes, 1 B to 65535 B. Default 1000 B.
    pub mean_packet: Size,
    /// `true` if ECN-capable packets that are chosen at random are marked instead of dropped. Default
    /// false.
    pub ecn: bool,
    /// Number of hash buckets to which flows are assigned, 1 to 2^20, or "per-flow". Default
    /// "per-flow".
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub buckets: Buckets,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            min: None,
            max: None,
            max_p: Fraction(0.02),
            weight: 0.002,
            min_flow: 4,
            many_flows: true,
            mean_packet: Size(1000),
            ecn: false,
            buckets: Buckets::PerFlow,
        }
    }
}

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Fred {
        let mean = self.mean_packet.0 as f64;
        let (min, max) = self.thresholds(site);
        Fred {
            key: ByFlow::new(self.buckets, &Weights::new()),
            queue: Fifo::new(site),
            flows: Vec::new(),
            active: 0,
            average: 0.0,
            share: 1.0,
            count: -1,
            empty_since: Time::ZERO,
            packets_per_second: site.rate.0 as f64 / (8.0 * mean),
            min,
            max,
            params: self.clone(),
        }
    }
    /// Refuses thresholds out of order and parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::packet("mean-packet", self.mean_packet)?;
        check::positive_fraction("max-p", self.max_p)?;
        check::above("weight", self.weight, 0.0, 1.0)?;
        check::within("min-flow", f64::from(self.min_flow), 1.0, 1000.0)?;
        self.buckets.check("buckets")?;
        let mean = self.mean_packet.0 as f64;
        match (self.min, self.max) {
            (Some(min), _) if min.in_packets(mean) < 1.0 => {
                Err(Invalid::new("min", "`min` also limits each flow; write \"1packet\" or more"))
            }
            (Some(min), Some(max)) if max.in_packets(mean) <= min.in_packets(mean) => {
                Err(Invalid::new("max", format!("{max} is not above `min`; write more than {min}")))
            }
            (None, Some(max)) => {
                Err(Invalid::new("min", format!("`max` is {max}, so `min` has no default; write `min`, too")))
            }
            _ => Ok(()),
        }
    }
    /// Returns `min` and `max` in packets.
    fn thresholds(&self, site: &Site) -> (f64, f64) {
        let mean = self.mean_packet.0 as f64;
        let limit = f64::min(site.packets as f64, site.bytes as f64 / mean);
        let round_trip = site.rate.0 as f64 / 8.0 * Dur::from_ms(100).as_secs() / mean;
        let min = self.min.map_or_else(|| f64::min(limit / 4.0, round_trip).max(1.0), |min| min.in_packets(mean));
        (min, self.max.map_or(2.0 * min, |max| max.in_packets(mean)))
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let (min, max) = self.thresholds(site);
        for (name, packets, derived) in [("min", min, self.min.is_none()), ("max", max, self.max.is_none())] {
            f(Threshold { path: name.to_owned(), derived, length: Length::Packets(packets), site: *site });
        }
    }
}

/// A FIFO under FRED. O(1) per packet; memory per flow or bucket.
///
/// The average is updated at accepted arrivals and at departures, as in the paper. An idle time ages the average once.
/// By the text of the paper it would do so twice: when the packet arrives, and again when it is accepted.
#[derive(Debug)]
pub struct Fred {
    key: ByFlow,
    queue: Fifo,
    flows: Vec<Flow>,
    /// Number of flows with waiting packets.
    active: u64,
    /// Average queue, packets.
    average: f64,
    /// Average queue per active flow, packets, at least 1 (`avgcq`).
    share: f64,
    /// Packets since the last random choice; −1 while the average is below `min`.
    count: i64,
    /// Time up to which an idle time has aged the average.
    empty_since: Time,
    /// Packets of the mean size that the link sends per second.
    packets_per_second: f64,
    /// Thresholds `min` and `max`, packets.
    min: f64,
    max: f64,
    params: Params,
}

/// Record of a flow or bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Number of waiting packets.
    packets: u32,
    /// Number of drops because the flow exceeded its share, since it last had no waiting packet.
    strikes: u32,
}

impl Fred {
    /// Updates the average queue and the average per flow, at a departure if `departed` is `true`, else at an arrival.
    fn estimate(&mut self, now: Time, departed: bool) {
        let (waiting, kept) = (self.queue.packets() as f64, 1.0 - self.params.weight);
        if waiting > 0.0 || departed {
            self.average = self.average * kept + self.params.weight * waiting;
        } else {
            let missed = (now.since(self.empty_since).as_secs() * self.packets_per_second).floor();
            self.average *= maths::pow(kept, missed);
            self.empty_since = now;
        }
        if waiting == 0.0 && departed {
            self.empty_since = now;
        }
        self.share = f64::max(1.0, self.average / self.active.max(1) as f64);
    }
    /// Returns `true` if an arriving packet of the flow is dropped because of the flow's waiting packets and strikes.
    fn is_excessive(&self, flow: Flow) -> bool {
        let packets = f64::from(flow.packets);
        let crowded = self.average >= self.max;
        let allowed = if crowded && self.params.many_flows { 2.0 } else { self.min };
        packets >= allowed || (crowded && packets > 2.0 * self.share) || (packets >= self.share && flow.strikes > 1)
    }
    /// Counts a packet and returns `true` if it is to be marked or dropped: at random, if enough packets of its flow
    /// wait, or for certain above `max` without `many-flows`.
    fn chooses(&mut self, flow: Flow, cx: &mut Cx<'_>) -> bool {
        if self.average < self.min {
            self.count = -1;
            return false;
        }
        if self.average >= self.max {
            self.count = 0;
            return !self.params.many_flows;
        }
        self.count += 1;
        if f64::from(flow.packets) < f64::max(f64::from(self.params.min_flow), self.share) {
            return false;
        }
        let p_b = self.params.max_p.0 * (self.average - self.min) / (self.max - self.min);
        let accumulated = self.count as f64 * p_b;
        let chosen = accumulated >= 1.0 || cx.rng.chance(p_b / (1.0 - accumulated));
        if chosen {
            self.count = 0;
        }
        chosen
    }
}

impl Retune for Fred {
    fn adopt(&mut self, now: Time, fresh: Fred) {
        self.queue.adopt(now, fresh.queue);
        (self.min, self.max, self.packets_per_second) = (fresh.min, fresh.max, fresh.packets_per_second);
        self.params = fresh.params;
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.buckets.check_retune("buckets", to.buckets)
    }
}

impl Qdisc for Fred {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let slot = self.key.slot(&packet, cx.rng);
        if slot >= self.flows.len() {
            self.flows.resize(slot + 1, Flow::default());
        }
        if self.queue.packets() == 0 {
            self.estimate(now, false);
        }
        let flow = self.flows[slot];
        if self.is_excessive(flow) {
            self.flows[slot].strikes += 1;
            cx.drop(packet, Reason::Unresponsive);
            return;
        }
        let mut packet = packet;
        if self.chooses(flow, cx) {
            let markable = self.params.ecn && self.average < self.max;
            match cx.signal(packet, markable, Reason::Early) {
                Some(marked) => packet = marked,
                None => return,
            }
        }
        if self.queue.is_full(packet.size) {
            cx.drop(packet, Reason::BufferFull);
            return;
        }
        if flow.packets == 0 {
            self.active += 1;
        }
        self.estimate(now, false);
        self.flows[slot].packets += 1;
        self.queue.push(packet);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.queue.pop(gate)?;
        let slot = self.key.slot(&packet, cx.rng);
        self.flows[slot].packets -= 1;
        self.estimate(now, true);
        if self.flows[slot].packets == 0 {
            self.active -= 1;
            self.flows[slot] = Flow::default();
        }
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.visit(f);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.packets_per_second = rate.0 as f64 / (8.0 * self.params.mean_packet.0 as f64);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("average_packets", self.average);
        f("average_packets_per_flow", self.share);
        f("flows", self.active as f64);
    }
    fn state_bytes(&self) -> usize {
        let flows = size_of_val(self.flows.as_slice());
        QUEUE + self.key.state_bytes() + flows + bytes_of!(self; active, average, share, count, empty_since)
    }
}
