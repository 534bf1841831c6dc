//! Weighted fair queueing: packets in the order in which a fluid server would finish them.

use super::fair::{Buckets, ByFlow, Clock, Order, Tagged, Weights, Work, check_weights};
use crate::Site;
use crate::retune::Fixed;
use crate::state::{INDEX, bytes_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tailback_document::Invalid;
use tailback_units::{Rate, Time};

/// Weighted fair queueing, also called PGPS (Demers, Keshav and Shenker, SIGCOMM 1989; Parekh and
/// Gallager, IEEE/ACM ToN 1(3), 1993): packets are served in the order in which generalized
/// processor sharing (GPS) would finish them, with the exact virtual time of that fluid server. A
/// packet leaves later than under GPS by at most the transmission time of the largest packet. When
/// the limit is exceeded, the packet with the largest finish tag is dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Number of queues, 1 to 2^20, to which flows are assigned by a hash, or "per-flow", one queue
    /// per flow. Default "per-flow".
    #[serde(default)]
    #[schemars(extend("x-fixed" = Buckets::FIXED))]
    pub buckets: Buckets,
    /// Weights by flow number, 1e-6 to 1e6, with `buckets = "per-flow"`. Default 1 for each flow.
    #[serde(default, skip_serializing_if = "Weights::is_empty")]
    pub weights: Weights,
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Wfq {
        Tagged::new(ByFlow::new(self.buckets, &self.weights), Gps::new(site.rate), site)
    }
    /// Refuses buckets and weights out of range, and weights of flows that share queues.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.buckets.check("buckets")?;
        check_weights(&self.weights, self.buckets)
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.buckets.check_retune("buckets", to.buckets)
    }
}

/// Weighted fair queueing of flows. O(log n) per packet; each change of the fluid server's set of busy queues costs
/// another O(log n).
pub type Wfq = Tagged<ByFlow, Gps>;

/// The virtual time of a fluid server that shares its link among the busy queues by weight:
/// dV/dt = rate / sum of their weights, in bytes per unit of weight.
#[derive(Debug)]
pub struct Gps {
    virtual_time: f64,
    work: Work,
    /// Sum of the weights of `busy`.
    sum: f64,
    /// Queues that the fluid server still serves, by the virtual time at which it empties each.
    busy: BTreeSet<FluidQueue>,
    /// For each queue its entry in `busy`. `None`: the fluid server has emptied the queue.
    entries: Vec<Option<FluidQueue>>,
}

/// A queue that the fluid server serves.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FluidQueue {
    /// Virtual time at which the fluid server empties the queue.
    at: f64,
    slot: u32,
    weight: f64,
}

impl Eq for FluidQueue {}
impl Ord for FluidQueue {
    fn cmp(&self, other: &FluidQueue) -> core::cmp::Ordering {
        self.at.total_cmp(&other.at).then(self.slot.cmp(&other.slot))
    }
}
impl PartialOrd for FluidQueue {
    fn partial_cmp(&self, other: &FluidQueue) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Gps {
    /// Returns the virtual time of an idle link of `rate`.
    pub fn new(rate: Rate) -> Gps {
        Gps { virtual_time: 0.0, work: Work::new(rate), sum: 0.0, busy: BTreeSet::new(), entries: Vec::new() }
    }
    /// Advances the fluid server by `bytes` bytes of service; queues run empty one after the other.
    fn serve_fluid(&mut self, mut bytes: f64) {
        while let Some(first) = self.busy.first().copied() {
            let needed = (first.at - self.virtual_time) * self.sum;
            if needed > bytes {
                self.virtual_time += bytes / self.sum;
                return;
            }
            bytes -= needed;
            self.virtual_time = first.at;
            self.leave(first);
        }
    }
    /// Removes a queue from those that the fluid server serves.
    fn leave(&mut self, queue: FluidQueue) {
        self.busy.remove(&queue);
        self.entries[queue.slot as usize] = None;
        // Without busy queues the sum is exactly zero, without rounding errors.
        self.sum = if self.busy.is_empty() { 0.0 } else { self.sum - queue.weight };
    }
}

impl Clock for Gps {
    const ORDER: Order = Order::Finish;

    fn advance(&mut self, now: Time) {
        let bytes = self.work.until(now);
        self.serve_fluid(bytes);
    }
    fn start(&self, last: f64, _backlogged: bool) -> f64 {
        last.max(self.virtual_time)
    }
    fn stamped(&mut self, slot: usize, weight: f64, finish: f64) {
        if slot >= self.entries.len() {
            self.entries.resize(slot + 1, None);
        }
        if let Some(before) = self.entries[slot] {
            self.leave(before);
        }
        if finish > self.virtual_time {
            let entry = FluidQueue { at: finish, slot: slot as u32, weight };
            self.busy.insert(entry);
            self.entries[slot] = Some(entry);
            self.sum += weight;
        }
    }
    fn serve(&mut self, _slot: usize, _tags: (f64, f64), bytes: u16) {
        let unsent = self.work.begin(bytes);
        self.serve_fluid(unsent);
    }
    /// A busy queue keeps its weight in the fluid server until its next packet.
    fn adopt(&mut self, fresh: Gps, _weights: &mut dyn Iterator<Item = f64>) {
        self.work.adopt(fresh.work);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.work.set_rate(rate);
    }
    fn state_bytes(&self) -> usize {
        let entry = size_of::<f64>() + INDEX;
        let entries = self.busy.len() * entry + self.entries.len() * size_of::<Option<f64>>();
        bytes_of!(self; virtual_time, sum) + self.work.state_bytes() + entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// A fluid server of 1 B/us: queue 0 of weight 1 is empty at the virtual time 1000, queue 1 of weight 3 at 2000.
    #[test]
    fn the_fluid_server_shares_the_link_among_its_busy_queues_until_each_is_empty() {
        let mut gps = Gps::new(Rate::mbit(8));
        gps.advance(us(5));
        assert_eq!((gps.virtual_time, gps.sum), (0.0, 0.0));
        gps.stamped(0, 1.0, 1000.0);
        gps.stamped(1, 3.0, 2000.0);
        assert_eq!((gps.virtual_time, gps.sum, gps.busy.len()), (0.0, 4.0, 2));
        gps.serve(1, (0.0, 1.0), 6_000);
        gps.advance(us(2_005));
        assert_eq!((gps.virtual_time, gps.sum), (500.0, 4.0));
        // Queue 0 is empty after 2000 B more. Then 3 B are 1 of virtual time.
        gps.advance(us(4_305));
        assert_eq!((gps.virtual_time, gps.sum, gps.busy.len()), (1_100.0, 3.0, 1));
        // A drop sets queue 1 back to 1200; after 300 B the server is idle, and its virtual time stands.
        gps.stamped(1, 3.0, 1_200.0);
        gps.advance(us(5_000));
        assert_eq!((gps.virtual_time, gps.sum, gps.busy.len()), (1_200.0, 0.0, 0));
        assert_eq!([gps.start(900.0, false), gps.start(1_300.0, true)], [1_200.0, 1_300.0]);
        // The rest of a packet counts when the next one begins.
        gps.stamped(0, 1.0, 9_000.0);
        gps.serve(0, (0.0, 1.0), 10);
        assert_eq!(gps.virtual_time, 1_200.0 + 6_000.0 - 4_995.0);
    }
}
