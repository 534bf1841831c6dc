//! DCTCP: a reduction in proportion to the fraction of marked segments (RFC 8257).

use super::reno::Growth;
use super::{Acked, BackOff, Build, Congestion, CongestionControl, Window};
use crate::params::{EcnEcho, Tcp, number};
use crate::seq::before;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Time};

/// DCTCP: cuts the window by half the fraction of segments that were marked, for queues that mark
/// above a threshold (RFC 8257). Needs `ecn`; the receiver then echoes each mark ("accurate").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// g, the weight of the last window in the estimate of the marked fraction, above 0 and at most 1.
    /// Default 1/16.
    pub g: Fraction,
    /// Estimate of the marked fraction at the start, 0 to 1: 1 answers the first mark as Reno does.
    /// Default 1.
    pub initial_alpha: Fraction,
    /// Segments that one acknowledgement may count for in slow start, 1 to 1000. Default 2.
    pub byte_counting: u32,
    /// Smallest window that an echo leaves, segments, 1 or 2. Linux has 2: with every segment marked it sends two in a round
    /// trip, and `ecn-floor` has no say. With 1, RFC 3168's, `ecn-floor` says what happens there. Default 2.
    pub least_window: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { g: Fraction(1.0 / 16.0), initial_alpha: Fraction(1.0), byte_counting: 2, least_window: 2 }
    }
}

impl Params {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(self.g.0 > 0.0 && self.g.0 <= 1.0) {
            let advice = format!("{} is out of range; write a number above 0 and at most 1", self.g);
            return Err(Invalid::new("g", advice));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha.0) {
            let advice = format!("{} is out of range; write a number from 0 to 1", self.initial_alpha);
            return Err(Invalid::new("initial-alpha", advice));
        }
        number("byte-counting", self.byte_counting, 1, 1000)?;
        number("least-window", self.least_window, 1, 2)
    }
}

impl Build for Params {
    type Control = Dctcp;
    fn build(&self, _: &Tcp, _: Rng) -> Dctcp {
        Dctcp {
            g: self.g.0,
            alpha: self.initial_alpha.0,
            acked: 0,
            marked: 0,
            window_end: 0,
            least: self.least_window as u8,
            growth: Growth::new(self.byte_counting),
        }
    }
    fn echo(&self) -> EcnEcho {
        EcnEcho::Accurate
    }
    fn needs_marks(&self) -> bool {
        true
    }
}

/// DCTCP at work.
///
/// RFC 8257 section 3.3 leaves open when in a window the reduction comes. Here, as in Linux, the
/// first echo brings it, with the estimate of the windows before, and no second one follows until
/// what was outstanding is acknowledged. Growth and the answer to loss are Reno's.
#[derive(Debug)]
pub struct Dctcp {
    g: f64,
    alpha: f64,
    /// Segments acknowledged in this observation window, and with an echo.
    acked: u32,
    marked: u32,
    /// The observation window ends when what comes after this segment is acknowledged.
    window_end: u32,
    /// Smallest window that an echo leaves.
    least: u8,
    growth: Growth,
}

impl CongestionControl for Dctcp {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if !acked.window_limited || acked.advanced == 0 {
            return;
        }
        if window.cwnd < window.ssthresh {
            self.growth.slow_start(window, acked.advanced);
        } else {
            window.cwnd += self.growth.counted(acked.advanced) / window.cwnd;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, why: Congestion, _: Time, in_flight: u32) {
        match why {
            Congestion::Ecn => {
                let reduced = window.cwnd * (1.0 - self.alpha / 2.0);
                window.ssthresh = reduced.max(2.0);
                // One of one segment, after a timeout, stays: no echo opens a window.
                window.cwnd = reduced.max(f64::from(self.least)).min(window.cwnd);
            }
            Congestion::Loss | Congestion::Timeout => {
                window.ssthresh = (f64::from(in_flight) / 2.0).max(2.0);
                if why == Congestion::Timeout {
                    self.growth.timed_out();
                }
            }
        }
    }

    /// RFC 8257 section 3.5: conventional TCP's answer to loss, whatever a mark has taken of the window.
    fn loss_counts_after_echo(&self) -> bool {
        true
    }

    /// With Linux' floor nothing is below it; else the scenario says.
    fn back_off(&self) -> Option<BackOff> {
        (self.least > 1).then_some(BackOff::None)
    }

    #[inline]
    fn on_echo(&mut self, _: &mut Window, acked: u32, ece: bool, una: u32, next: u32) {
        self.acked += acked;
        if ece {
            self.marked += acked;
        }
        if before(self.window_end, una) && self.acked > 0 {
            let fraction = f64::from(self.marked) / f64::from(self.acked);
            self.alpha = self.alpha * (1.0 - self.g) + self.g * fraction;
            self.window_end = next;
            self.acked = 0;
            self.marked = 0;
        }
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("alpha", self.alpha);
    }
}
