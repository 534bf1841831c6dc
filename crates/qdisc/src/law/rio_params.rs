//! Parameters of RED with In and Out.

use super::red::{self, Count};
use crate::retune::{Fixed, fixed};
use crate::signals::{Signals, Threshold, inside};
use crate::{Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Amount, Fraction, Size};

/// RED with In and Out (Clark and Fang 1998): one RED for each colour that a meter assigns. Green packets are dropped
/// by the average of the waiting green packets, yellow and red ones by the average of the waiting packets of their own
/// and of better colours, so that out-of-profile packets are dropped first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// RED of green packets ("in"). Default: `min` 40 packets, `max` 70 packets, `max-p` 0.02,
    /// `weight` 0.002, `count` "packets", `gentle` and `wait` false. If the table is written,
    /// its omitted fields have the defaults of the discipline `red` instead.
    pub green: red::Params,
    /// RED of yellow packets ("out"), by the average of green and yellow ones. Default: `min` 10
    /// packets, `max` 30 packets, `max-p` 0.5, the others as the default of `green`.
    pub yellow: red::Params,
    /// RED of red packets, by the average of all packets. Default: red packets are treated as
    /// yellow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<red::Params>,
}

/// Returns a RED with the parameters of Clark and Fang and these thresholds in packets.
fn level(min: u64, max: u64, max_p: f64) -> red::Params {
    red::Params {
        min: Some(Amount::packets(min)),
        max: Some(Amount::packets(max)),
        max_p: Fraction(max_p),
        weight: Some(0.002),
        gentle: false,
        wait: false,
        byte_mode: false,
        count: Count::Packets,
        mean_packet: Size(1000),
        ..red::Params::default()
    }
}

impl Default for Params {
    fn default() -> Params {
        Params { green: level(40, 70, 0.02), yellow: level(10, 30, 0.5), red: None }
    }
}

impl Params {
    /// Refuses invalid levels, victims other than the arriving packet, and different values of `idle`.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        for (name, level) in self.levels() {
            level.check().map_err(|e| e.within(name))?;
            if level.victim != Victim::Tail {
                let field = format!("{name}.victim");
                return Err(Invalid::new(&field, "only arriving packets are dropped; leave `victim` out"));
            }
            if level.idle != self.green.idle {
                return Err(Invalid::new(
                    format!("{name}.idle"),
                    "`idle` must be the same for all colours; write it as in `green`",
                ));
            }
        }
        Ok(())
    }
    /// Returns the levels by name, green first.
    pub(super) fn levels(&self) -> Vec<(&'static str, &red::Params)> {
        let mut levels = vec![("green", &self.green), ("yellow", &self.yellow)];
        levels.extend(self.red.as_ref().map(|red| ("red", red)));
        levels
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        let written = |params: &Params| params.red.is_some();
        fixed("red", written(self), written(to), "waiting red packets are counted with the yellow ones or apart")?;
        for ((name, from), (_, to)) in self.levels().into_iter().zip(to.levels()) {
            from.check_retune(to).map_err(|e| e.within(name))?;
        }
        Ok(())
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.levels().iter().any(|(_, level)| level.ecn)
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        self.levels().into_iter().for_each(|(name, level)| inside(name, level, site, f));
    }
}
