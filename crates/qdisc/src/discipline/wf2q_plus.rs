//! WF²Q+: weighted fair queueing that serves no packet before the fluid server would begin it.

use super::fair::{Buckets, ByFlow, Clock, Order, Tagged, Weights, Work, check_weights};
use crate::Site;
use crate::state::bytes_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Rate, Time};

/// Worst-case fair weighted fair queueing in its simpler form: the smallest finish tag goes first
/// among the packets whose start tag is not in the future, so that no flow runs ahead of its share by more than
/// a packet; the virtual time is max(V + work / weights, smallest start tag) (Bennett and Zhang,
/// IEEE/ACM ToN 5(5), 1997). A flow's reserved rate is its share by weight among the flows seen so
/// far. When the limit is exceeded, the packet with the largest finish tag is dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Number of queues, 1 to 2^20, into which flows are hashed, or "per-flow". Default "per-flow".
    #[serde(default)]
    pub buckets: Buckets,
    /// Weights by flow number, 1e-6 to 1e6, with `buckets = "per-flow"`. Default 1 for each flow.
    #[serde(default, skip_serializing_if = "Weights::is_empty")]
    pub weights: Weights,
}

impl Params {
    /// Returns the empty queues at their site.
    pub fn build(&self, site: &Site) -> Wf2qPlus {
        Tagged::new(ByFlow::new(self.buckets, &self.weights), SystemTime::new(site.rate), site)
    }
    /// Buckets in range, weights in range and only where each flow has a queue to itself.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.buckets.check("buckets")?;
        check_weights(&self.weights, self.buckets)
    }
}

/// WF²Q+ of flows. O(log n) per packet.
pub type Wf2qPlus = Tagged<ByFlow, SystemTime>;

/// The system virtual time of WF²Q+, in bytes per unit of weight.
#[derive(Debug)]
pub struct SystemTime {
    now: f64,
    work: Work,
    /// Sum of the weights of the flows seen so far: the link's rate in units of weight.
    sum: f64,
}

/// Relative error that is forgiven when start tags are compared with the time: both are sums of
/// many quotients, which agree in exact arithmetic.
const ROUNDING: f64 = 1e-12;

impl SystemTime {
    /// Idle, on a link of `rate`.
    pub fn new(rate: Rate) -> SystemTime {
        SystemTime { now: 0.0, work: Work::new(rate), sum: 0.0 }
    }
}

impl Clock for SystemTime {
    const ORDER: Order = Order::Finish;

    fn advance(&mut self, now: Time) {
        let bytes = self.work.until(now);
        if bytes > 0.0 {
            self.now += bytes / self.sum;
        }
    }
    fn join(&mut self, weight: f64) {
        self.sum += weight;
    }
    fn start(&self, last: f64, backlogged: bool) -> f64 {
        if backlogged { last } else { last.max(self.now) }
    }
    fn eligible(&mut self, least: f64) -> f64 {
        self.now = self.now.max(least);
        self.now * (1.0 + ROUNDING)
    }
    fn serve(&mut self, _slot: usize, _tags: (f64, f64), bytes: u16) {
        let rest = self.work.begin(bytes);
        self.now += rest / self.sum;
    }
    fn set_rate(&mut self, rate: Rate) {
        self.work.set_rate(rate);
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; now, sum) + self.work.state_bytes()
    }
}
