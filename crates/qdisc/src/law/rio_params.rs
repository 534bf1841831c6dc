//! Parameters of RED with In and Out.

use super::red::{self, Count};
use crate::signals::{Signals, Threshold, inside};
use crate::{Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Amount, Fraction, Size};

/// RED with In and Out (Clark and Fang 1998): a RED for each colour that a meter has given packets.
/// Green ones are judged by the average of what waits of green, the others by that of all that is
/// no worse than themselves, so that out-of-profile packets are dropped first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// RED of green packets ("in"). A table has the defaults of the discipline `red`. Default: 40 and
    /// 70 packets, max-p 0.02, weight 0.002, averaged in packets, neither gentle nor spaced by `wait`.
    pub green: red::Params,
    /// RED of yellow packets ("out"), by the average of green and yellow ones. Default: 10 and 30
    /// packets, max-p 0.5, else as green.
    pub yellow: red::Params,
    /// RED of red packets, by the average of all. Default: red packets are treated as yellow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<red::Params>,
}

/// Returns a level with the parameters of Clark and Fang.
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
    /// Refuses invalid levels, victims other than the arriving packet, and different forms of idle time.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        for (name, level) in self.levels() {
            level.check().map_err(|e| e.within(name))?;
            if level.victim != Victim::Tail {
                let field = format!("{name}.victim");
                return Err(Invalid::new(&field, "another victim may be of a better colour; leave it out"));
            }
            if level.idle != self.green.idle {
                return Err(Invalid::new(
                    format!("{name}.idle"),
                    "the link is idle for all colours; write as in `green`",
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

impl Signals for Params {
    fn marks(&self) -> bool {
        self.levels().iter().any(|(_, level)| level.ecn)
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        self.levels().into_iter().for_each(|(name, level)| inside(name, level, site, f));
    }
}
