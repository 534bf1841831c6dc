//! Parameters of RED-PD.

use crate::law::red;
use crate::retune::Fixed;
use crate::signals::{Signals, Threshold, inside};
use crate::{Site, Victim, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Dur;

/// RED with preferential dropping (Mahajan, Floyd and Wetherall, ICNP 2001; constants and order of steps from ns-2.35):
/// a flow is considered to send more than a TCP with the round-trip time `rtt` if RED has dropped packets of it in at
/// least `needed` of the last `intervals` intervals. A filter in front of RED then drops its packets with a probability
/// that rises while this condition holds and RED still drops packets of the flow, and falls once RED has dropped no
/// packet of the flow in all remembered intervals. The filter drops packets only while RED's average is at least `min`
/// and more than one packet waits; its drops have the reason "unresponsive flow". Marks count as drops. The paper's
/// test for unresponsive flows is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Target round-trip time R, above 0s and at most 24h: flows that send more than a TCP with
    /// this round-trip time are monitored. The length of an interval is
    /// (`needed`/`intervals`)·R/√(1.5·p), 2·R to 10·R, where p is a moving average over the
    /// intervals of the fraction of bytes that RED dropped or marked; 10·R if p is 0. Default 40ms.
    pub rtt: Dur,
    /// Number of intervals that are remembered, 1 to 100. Default 5.
    pub intervals: u32,
    /// Number of remembered intervals in which RED must have dropped packets of a flow for it to be
    /// monitored, 1 to `intervals`. Default 3.
    pub needed: u32,
    /// Number of flows that an interval records, those with the most dropped bytes, 1 to 1000000.
    /// Default 50.
    pub flows: u32,
    /// Lower bound of the time between two changes of a flow's filter probability, at most 24h. If the last 4 intervals
    /// (before an increase) or the last 3 (before a decrease) are longer, they are the minimum. Default 400ms.
    pub hold: Dur,
    /// RED behind the filter; its `victim` must be "tail". Default: the defaults of the discipline
    /// `red`.
    pub red: red::Params,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            rtt: Dur::from_ms(40),
            intervals: 5,
            needed: 3,
            flows: 50,
            hold: Dur::from_ms(400),
            red: red::Params::default(),
        }
    }
}

impl Params {
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("rtt", self.rtt)?;
        check::at_most_a_day("hold", self.hold)?;
        check::within("intervals", f64::from(self.intervals), 1.0, 100.0)?;
        check::within("needed", f64::from(self.needed), 1.0, f64::from(self.intervals))?;
        check::within("flows", f64::from(self.flows), 1.0, 1e6)?;
        if self.red.victim != Victim::Tail {
            return Err(Invalid::new("red.victim", "only arriving packets are dropped; leave `victim` out"));
        }
        self.red.check().map_err(|e| e.within("red"))
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.red.check_retune(&to.red).map_err(|e| e.within("red"))
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.red.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        inside("red", &self.red, site, f);
    }
}
