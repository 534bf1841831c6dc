//! Virtual Clock: packets in the order in which time-division multiplexing would send them.

use super::fair::{Buckets, ByFlow, Clock, Order, Tagged, Weights, check_weights};
use crate::Site;
use crate::retune::Fixed;
use crate::state::bytes_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Rate, Time};

/// Virtual Clock (Zhang, SIGCOMM 1990): each packet is stamped with the later of now and the flow's
/// last stamp, plus its size / reserved rate, and the packet with the smallest stamp is served
/// first. A flow that has exceeded its rate while others were idle has to wait when the others send again.
/// When the limit is exceeded, the packet with the largest stamp is dropped.
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
    /// Reserved rate of a flow of weight 1, above 0. Default: the link's rate divided by the sum of
    /// the weights of the flows seen so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> VirtualClock {
        Tagged::new(ByFlow::new(self.buckets, &self.weights), Reserved::new(site.rate, self.rate), site)
    }
    /// Refuses buckets and weights out of range, weights of flows that share queues, and a rate of zero.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.buckets.check("buckets")?;
        if self.rate == Some(Rate(0)) {
            return Err(Invalid::new("rate", "the rate is zero; write a rate above zero, such as \"1Mbit/s\""));
        }
        check_weights(&self.weights, self.buckets)
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.buckets.check_retune("buckets", to.buckets)
    }
}

/// Virtual Clock of flows. O(log n) per packet.
pub type VirtualClock = Tagged<ByFlow, Reserved>;

/// Clock of Virtual Clock: real time in seconds, and the reserved rates.
#[derive(Debug)]
pub struct Reserved {
    /// Real time, seconds.
    now: f64,
    /// Rate of the link.
    link: Rate,
    /// Reserved rate per unit of weight. `None`: the link's rate is divided among the queues seen
    /// so far by weight.
    rate: Option<Rate>,
    /// Sum of the weights of the queues seen so far.
    sum: f64,
}

impl Reserved {
    /// Returns the clock of a link of rate `link`, without flows. `rate` is the reserved rate per unit of weight;
    /// `None`: the link's rate is divided by weight.
    pub fn new(link: Rate, rate: Option<Rate>) -> Reserved {
        Reserved { now: 0.0, link, rate, sum: 0.0 }
    }
}

impl Clock for Reserved {
    const ORDER: Order = Order::Finish;

    fn advance(&mut self, now: Time) {
        self.now = now.as_secs();
    }
    fn join(&mut self, weight: f64) {
        self.sum += weight;
    }
    fn start(&self, last: f64, _backlogged: bool) -> f64 {
        last.max(self.now)
    }
    fn span(&self, bytes: u16, weight: f64) -> f64 {
        let unit = self.rate.map_or(self.link.0 as f64 / self.sum, |rate| rate.0 as f64);
        f64::from(bytes) * 8.0 / (unit * weight)
    }
    fn adopt(&mut self, fresh: Reserved, weights: &mut dyn Iterator<Item = f64>) {
        (self.link, self.rate) = (fresh.link, fresh.rate);
        self.sum = weights.fold(0.0, |sum, weight| sum + weight);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.link = rate;
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 B at the reserved rate, which is a share of 8 Mbit/s unless it is given.
    #[test]
    fn the_reserved_rate_of_a_flow_is_its_share_by_weight_of_the_flows_seen_so_far() {
        let mut clock = Reserved::new(Rate::mbit(8), None);
        clock.join(1.0);
        assert_eq!(clock.span(1000, 1.0), 1e-3);
        clock.join(3.0);
        assert_eq!((clock.span(1000, 1.0), clock.span(1000, 4.0)), (4e-3, 1e-3));
        clock.adopt(Reserved::new(Rate::mbit(8), None), &mut [1.0, 1.0].into_iter());
        assert_eq!(clock.span(1000, 1.0), 2e-3);
        clock.set_rate(Rate::mbit(16));
        assert_eq!(clock.span(1000, 1.0), 1e-3);
        clock.adopt(Reserved::new(Rate::mbit(8), Some(Rate::mbit(1))), &mut [1.0, 1.0].into_iter());
        assert_eq!(clock.span(1000, 1.0), 8e-3);
    }
}
