//! Parameters of RED-PD.

use crate::law::red;
use crate::signals::{Signals, Threshold, inside};
use crate::{Site, Victim, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Dur;

/// RED with preferential dropping: a flow that RED has dropped in most of the last intervals sends
/// more than a TCP with the target round-trip time would; a filter in front of RED then drops its
/// packets with a probability that grows until it does no longer (Mahajan, Floyd and Wetherall, ICNP
/// 2001; constants and order from ns-2.35). Marks count as drops. The paper's test for flows that do
/// not respond at all is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Target round-trip time R, above 0s: flows that send more than a TCP with it are found. An
    /// interval is (needed/intervals)·R/√(1.5·drop rate) long, from 2·R to 10·R. Default 40ms.
    pub rtt: Dur,
    /// Intervals that are remembered, 1 to 100. Default 5.
    pub intervals: u32,
    /// Number of them in which a flow must have been dropped to be monitored, 1 to `intervals`. Default 3.
    pub needed: u32,
    /// Flows that are remembered of each interval, those with most bytes dropped. Default 50.
    pub flows: u32,
    /// Least time between two changes of a flow's probability. Default 400ms.
    pub hold: Dur,
    /// The law behind the filter; its `victim` is "tail". Default: that of the discipline `red`.
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
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("rtt", self.rtt)?;
        check::pause("hold", self.hold)?;
        check::within("intervals", f64::from(self.intervals), 1.0, 100.0)?;
        check::within("needed", f64::from(self.needed), 1.0, f64::from(self.intervals))?;
        check::within("flows", f64::from(self.flows), 1.0, 1e6)?;
        if self.red.victim != Victim::Tail {
            return Err(Invalid::new("red.victim", "here RED drops the packet that arrives; leave it out"));
        }
        self.red.check().map_err(|e| e.within("red"))
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
