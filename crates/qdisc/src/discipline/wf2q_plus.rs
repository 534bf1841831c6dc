//! WF²Q+: weighted fair queueing that serves no packet before the fluid server would begin to serve
//! it.

use super::fair::{Buckets, ByFlow, Clock, Order, Tagged, Weights, Work, check_weights};
use crate::Site;
use crate::retune::Fixed;
use crate::state::bytes_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Rate, Time};

/// Worst-case fair weighted fair queueing in its simpler form (WF²Q+; Bennett and Zhang, IEEE/ACM ToN 5(5),
/// 1997): of the packets whose start tag is at most the virtual time, the one with the smallest finish tag is
/// served first, so that no flow is ahead of its share by more than a packet. The virtual time V becomes max(V + work
/// done / sum of weights, smallest start tag). The reserved rate of a flow is its share by weight among the flows
/// seen so far. When the limit is exceeded, the packet with the largest finish tag is dropped.
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
    pub fn build(&self, site: &Site) -> Wf2qPlus {
        Tagged::new(ByFlow::new(self.buckets, &self.weights), SystemTime::new(site.rate), site)
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

/// WF²Q+ of flows. O(log n) per packet.
pub type Wf2qPlus = Tagged<ByFlow, SystemTime>;

/// The system virtual time of WF²Q+, in bytes per unit of weight.
#[derive(Debug)]
pub struct SystemTime {
    virtual_time: f64,
    work: Work,
    /// Sum of the weights of the flows seen so far: the link's rate in units of weight.
    sum: f64,
}

/// Relative tolerance of the comparison of start tags with the virtual time: both are sums of many
/// quotients that are equal in exact arithmetic.
const ROUNDING: f64 = 1e-12;

impl SystemTime {
    /// Returns the virtual time of an idle link of `rate`.
    pub fn new(rate: Rate) -> SystemTime {
        SystemTime { virtual_time: 0.0, work: Work::new(rate), sum: 0.0 }
    }
}

impl Clock for SystemTime {
    const ORDER: Order = Order::Finish;

    fn advance(&mut self, now: Time) {
        let bytes = self.work.until(now);
        if bytes > 0.0 {
            self.virtual_time += bytes / self.sum;
        }
    }
    fn join(&mut self, weight: f64) {
        self.sum += weight;
    }
    fn start(&self, last: f64, backlogged: bool) -> f64 {
        if backlogged { last } else { last.max(self.virtual_time) }
    }
    fn eligible(&mut self, smallest_start: f64) -> f64 {
        // The packet before has been sent, even if faster than the rate says. All its work comes before the maximum.
        self.virtual_time += self.work.end() / self.sum;
        self.virtual_time = self.virtual_time.max(smallest_start);
        self.virtual_time * (1.0 + ROUNDING)
    }
    fn serve(&mut self, _slot: usize, _tags: (f64, f64), bytes: u16) {
        let unsent = self.work.begin(bytes);
        self.virtual_time += unsent / self.sum;
    }
    fn adopt(&mut self, fresh: SystemTime, weights: &mut dyn Iterator<Item = f64>) {
        self.work.adopt(fresh.work);
        self.sum = weights.fold(0.0, |sum, weight| sum + weight);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.work.set_rate(rate);
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; virtual_time, sum) + self.work.state_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time(n * 1_000_000)
    }

    /// A link of 1 B/us that queues of weights 1 and 3 share: 4 B of work are 1 of virtual time.
    #[test]
    fn the_virtual_time_advances_by_the_work_divided_by_the_sum_of_the_weights() {
        let mut clock = SystemTime::new(Rate::mbit(8));
        clock.advance(us(5));
        assert_eq!((clock.virtual_time, clock.sum), (0.0, 0.0));
        clock.join(1.0);
        clock.join(3.0);
        clock.advance(us(6));
        assert_eq!((clock.virtual_time, clock.sum), (0.0, 4.0));
        clock.serve(0, (0.0, 1.0), 1000);
        clock.advance(us(406));
        assert_eq!(clock.virtual_time, 100.0);
        clock.advance(Time(406_500_000));
        assert_eq!(clock.virtual_time, 100.125);
        // The packet ends after 1000 B.
        clock.advance(us(2_000));
        assert_eq!(clock.virtual_time, 250.0);
        clock.serve(0, (0.0, 1.0), 1000);
        clock.advance(us(2_400));
        assert_eq!(clock.virtual_time, 350.0);
        // The next packet is wanted although 600 B are not sent by the clock: they count at once.
        assert_eq!(clock.eligible(f64::NEG_INFINITY), 500.0 * (1.0 + ROUNDING));
        // The start tag of the only head is 700.
        assert_eq!(clock.eligible(700.0), 700.0 * (1.0 + ROUNDING));
        clock.serve(0, (0.0, 1.0), 800);
        clock.serve(0, (0.0, 1.0), 500);
        assert_eq!(clock.virtual_time, 900.0);
        // With two queues of weight 1 and a link of 2 B/us, 200 us are 400 B and 200 of virtual time.
        clock.adopt(SystemTime::new(Rate::mbit(16)), &mut [1.0, 1.0].into_iter());
        clock.advance(us(2_600));
        assert_eq!((clock.virtual_time, clock.sum), (1_100.0, 2.0));
    }

    #[test]
    fn a_queue_that_was_empty_starts_at_the_virtual_time_and_a_busy_one_at_its_last_tag() {
        let clock = SystemTime { virtual_time: 5.0, work: Work::new(Rate::mbit(8)), sum: 1.0 };
        assert_eq!([clock.start(3.0, false), clock.start(7.0, false), clock.start(3.0, true)], [5.0, 7.0, 3.0]);
    }
}
