//! Start-time fair queueing: the smallest start tag first.

use super::fair::{Buckets, ByFlow, Clock, Order, Tagged, Weights, check_weights};
use crate::Site;
use crate::retune::Fixed;
use crate::state::bytes_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;

/// Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the packet with the smallest
/// start tag is served first, and the virtual time is the start tag of the packet in service; fair
/// also on links of variable rate. When the limit is exceeded, the packet with the largest finish
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
    pub fn build(&self, site: &Site) -> Stfq {
        Tagged::new(ByFlow::new(self.buckets, &self.weights), OwnStart::default(), site)
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

/// Start-time fair queueing of flows. O(log n) per packet.
pub type Stfq = Tagged<ByFlow, OwnStart>;

/// Virtual time in bytes per unit of weight: the start tag of the packet in service, or on an idle link the largest
/// finish tag served so far.
#[derive(Debug, Default)]
pub struct OwnStart {
    virtual_time: f64,
    /// Largest finish tag served so far.
    finished: f64,
}

impl Clock for OwnStart {
    const ORDER: Order = Order::Start;
    const WATCHES_IDLE: bool = true;

    fn start(&self, last: f64, _backlogged: bool) -> f64 {
        last.max(self.virtual_time)
    }
    fn serve(&mut self, _slot: usize, (start, finish): (f64, f64), _bytes: u16) {
        self.virtual_time = start;
        self.finished = self.finished.max(finish);
    }
    fn idle(&mut self) {
        self.virtual_time = self.finished;
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; virtual_time, finished)
    }
}
