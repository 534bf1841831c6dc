//! Self-clocked fair queueing: the virtual time is the finish tag of the packet in service.

use super::fair::{Buckets, ByFlow, Clock, Order, Tagged, Weights, check_weights};
use crate::Site;
use crate::retune::Fixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;

/// Self-clocked fair queueing (Golestani, INFOCOM 1994): as weighted fair queueing, but with the
/// finish tag of the packet in service as virtual time, which needs no computation; the delay bound
/// grows with the number of flows. When the limit is exceeded, the packet with the largest finish
/// tag is dropped.
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
    pub fn build(&self, site: &Site) -> Scfq {
        Tagged::new(ByFlow::new(self.buckets, &self.weights), OwnFinish::default(), site)
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

/// Self-clocked fair queueing of flows. O(log n) per packet.
pub type Scfq = Tagged<ByFlow, OwnFinish>;

/// Virtual time in bytes per unit of weight: the finish tag of the packet that was served last.
#[derive(Debug, Default)]
pub struct OwnFinish(f64);

impl Clock for OwnFinish {
    const ORDER: Order = Order::Finish;

    fn start(&self, last: f64, _backlogged: bool) -> f64 {
        last.max(self.0)
    }
    fn serve(&mut self, _slot: usize, (_, finish): (f64, f64), _bytes: u16) {
        self.0 = finish;
    }
    fn state_bytes(&self) -> usize {
        size_of_val(&self.0)
    }
}
