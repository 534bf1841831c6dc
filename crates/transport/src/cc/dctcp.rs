//! DCTCP: reduction of the window in proportion to the fraction of marked segments (RFC 8257).

use super::reno::Growth;
use super::{
    Acked, BackOff, Build, Congestion, CongestionControl, CongestionEvent, EchoResponse, Feedback, Needs, Profile,
    Setup, Window,
};
use crate::check::number;
use crate::seq::before;
use crate::wire::EcnEcho;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::Fraction;

/// DCTCP (RFC 8257): an echo multiplies the window by 1 − alpha/2, where alpha estimates the fraction of marked
/// segments. Made for queues that mark above a threshold. Requires `ecn`; by default the receiver echoes each mark
/// (`ecn-echo = "accurate"`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Weight g of the last window in the estimate of the marked fraction, above 0 and at most 1.
    /// Default 1/16.
    pub g: Fraction,
    /// Initial estimate of the marked fraction, 0 to 1; with 1 the first mark halves the window, as in Reno.
    /// Default 1.
    pub initial_alpha: Fraction,
    /// Upper bound of the growth per acknowledgement in slow start, segments, 1 to 1000. Default 2.
    pub byte_counting: u32,
    /// Minimum window after an echo, segments, 1 or 2. With 2, as in Linux, a sender whose segments are all marked
    /// sends two per round trip, and `ecn-floor` has no effect. With 1, as in RFC 3168, `ecn-floor` applies. Default 2.
    pub least_window: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { g: Fraction(1.0 / 16.0), initial_alpha: Fraction(1.0), byte_counting: 2, least_window: 2 }
    }
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(self.g.0 > 0.0 && self.g.0 <= 1.0) {
            let message = format!("{} is out of range; write a number above 0 and at most 1", self.g);
            return Err(Invalid::new("g", message));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha.0) {
            let message = format!("{} is out of range; write a number from 0 to 1", self.initial_alpha);
            return Err(Invalid::new("initial-alpha", message));
        }
        number("byte-counting", self.byte_counting, 1, 1000)?;
        number("least-window", self.least_window, 1, 2)
    }
}

impl Build for Params {
    type Control = Dctcp;
    fn build(&self, _: &Setup, _: Rng) -> Dctcp {
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
    fn needs(&self) -> Needs {
        Needs { echo: EcnEcho::Accurate, marks: true, ..Needs::default() }
    }
}

/// State of DCTCP in one sender.
///
/// RFC 8257 section 3.3 leaves open at which point of a window of data the reduction is made. Here, as in Linux, it is
/// made at the first echo, with the estimate from the previous windows, and not again until all segments outstanding at
/// that time are acknowledged. Growth and the response to loss are those of Reno.
#[derive(Debug)]
pub struct Dctcp {
    /// Weight g of the last window in the estimate.
    g: f64,
    /// Estimate of the marked fraction, 0 to 1.
    alpha: f64,
    /// Number of segments acknowledged in this observation window.
    acked: u32,
    /// Number of segments acknowledged with an echo in this observation window.
    marked: u32,
    /// Segment whose acknowledgement ends the observation window (DCTCP.WindowEnd).
    window_end: u32,
    /// Minimum window after an echo, segments, 1 or 2.
    least: u8,
    growth: Growth,
}

impl CongestionControl for Dctcp {
    fn profile(&self) -> Profile {
        Profile {
            // RFC 8257 section 3.5: the response to loss is that of conventional TCP, even after a reduction for
            // marks.
            echo: EchoResponse::ThenLoss,
            // With a minimum window of 2, as in Linux, only a timeout leads to a window of one segment, and an echo
            // then has no further response.
            below_one: (self.least > 1).then_some(BackOff::None),
            ..Profile::default()
        }
    }

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

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        match event.sign {
            Congestion::Ecn => {
                let reduced = window.cwnd * (1.0 - self.alpha / 2.0);
                window.ssthresh = reduced.max(2.0);
                // After a timeout the window may be below the minimum; an echo must not raise it.
                window.cwnd = reduced.max(f64::from(self.least)).min(window.cwnd);
            }
            Congestion::Loss | Congestion::Timeout => {
                window.ssthresh = (f64::from(event.in_flight) / 2.0).max(2.0);
                if event.sign == Congestion::Timeout {
                    self.growth.timed_out();
                }
            }
        }
    }

    #[inline]
    fn on_feedback(&mut self, _: &mut Window, feedback: &Feedback<'_>) {
        self.acked += feedback.advanced;
        if feedback.ece {
            self.marked += feedback.advanced;
        }
        if before(self.window_end, feedback.una) && self.acked > 0 {
            let fraction = f64::from(self.marked) / f64::from(self.acked);
            self.alpha = self.alpha * (1.0 - self.g) + self.g * fraction;
            self.window_end = feedback.next;
            self.acked = 0;
            self.marked = 0;
        }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("alpha", self.alpha);
    }
}
