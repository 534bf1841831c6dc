//! CUBIC: a window that is a cubic function of the time since the last loss (RFC 9438).

use super::hystart::HyStart;
use super::reno::Growth;
use super::{Acked, Build, Congestion, CongestionControl, Window};
use crate::params::{Tcp, factor, number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::{Rng, maths};
use tailback_units::{Fraction, Time};

/// CUBIC: grows fast far from the window of the last loss and slowly near it, whatever the round-trip
/// time, and at least as fast as Reno would (RFC 9438).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// C, how fast the window grows, segments per second cubed, above 0 and at most 1000. Default 0.4.
    pub c: f64,
    /// What a loss leaves of the window, above 0 and below 1. Default 0.7.
    pub beta: Fraction,
    /// What an echo of congestion leaves of the window, above 0 and below 1; 0.85 is the alternative
    /// back-off of RFC 8511. Default 0.7.
    pub ecn_beta: Fraction,
    /// Aim lower than the last loss when that came below the one before, so that newcomers get room.
    /// Default true.
    pub fast_convergence: bool,
    /// Leave the first slow start when round trips lengthen (HyStart++, RFC 9406). Default true.
    pub hystart: bool,
    /// What (target − cwnd) / cwnd is added for above the Reno-friendly region: each "acknowledgement" (RFC 9438 section
    /// 4.4) or each "segment" that it acknowledges, as Linux does, which with delayed acknowledgements is twice as
    /// fast where 1.5 windows per round trip are the most. Default "acknowledgement".
    pub growth_per: GrowthPer,
    /// Segments that one acknowledgement may count for in slow start without HyStart++, 1 to 1000.
    /// Default 2.
    pub byte_counting: u32,
}

/// What the growth towards the curve is counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthPer {
    /// New acknowledgements, however many segments each acknowledges.
    #[default]
    Acknowledgement,
    /// Segments acknowledged.
    Segment,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            c: 0.4,
            beta: Fraction(0.7),
            ecn_beta: Fraction(0.7),
            fast_convergence: true,
            hystart: true,
            growth_per: GrowthPer::Acknowledgement,
            byte_counting: 2,
        }
    }
}

impl Params {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(self.c > 0.0 && self.c <= 1_000.0) {
            let advice = format!("{} is out of range; write a number above 0 and at most 1000", self.c);
            return Err(Invalid::new("c", advice));
        }
        factor("beta", self.beta.0)?;
        factor("ecn-beta", self.ecn_beta.0)?;
        number("byte-counting", self.byte_counting, 1, 1000)
    }
}

impl Build for Params {
    type Control = Cubic;
    fn build(&self, tcp: &Tcp, _: Rng) -> Cubic {
        Cubic {
            c: self.c,
            beta: self.beta.0,
            ecn_beta: self.ecn_beta.0,
            fast_convergence: self.fast_convergence,
            growth_per: self.growth_per,
            curve: Curve { after: After::Nothing, w_max: 0.0, cwnd_prior: 0.0, k: 0.0, w_est: 0.0, start: None },
            undo: None,
            last: Time::ZERO,
            growth: Growth::new(self.byte_counting),
            hystart: HyStart::new(tcp, self.hystart),
        }
    }
}

/// CUBIC at work, by the letter of RFC 9438 where that leaves a choice:
/// - Above the Reno-friendly region the window grows by (target − cwnd)/cwnd for each acknowledgement
///   (sections 4.4 and 4.5), not for each segment as in Linux ([`GrowthPer`]); with delayed acknowledgements it then
///   follows the curve about one round trip later, and at most half as fast.
/// - In the Reno-friendly region the window *is* W_est (section 4.3), also in the rare case that this
///   is less.
/// - An echo of congestion is answered by the window, not FlightSize, which lacks the segments that
///   the echo itself acknowledges (section 4.6 allows both).
/// - At cwnd = ssthresh congestion avoidance begins.
#[derive(Debug)]
pub struct Cubic {
    c: f64,
    beta: f64,
    ecn_beta: f64,
    fast_convergence: bool,
    growth_per: GrowthPer,
    curve: Curve,
    /// The curve before the last reduction (section 4.9).
    undo: Option<Curve>,
    /// The last acknowledgement in congestion avoidance.
    last: Time,
    growth: Growth,
    hystart: HyStart,
}

/// What congestion avoidance comes after; it says where its curve begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Slow start, without congestion.
    Nothing,
    /// A reduction.
    Reduction,
    /// A timeout and the slow start after it.
    Timeout,
}

/// The growth since the last reduction, in segments and seconds.
#[derive(Clone, Copy, Debug)]
struct Curve {
    after: After,
    w_max: f64,
    cwnd_prior: f64,
    k: f64,
    w_est: f64,
    /// t_epoch: the beginning of this stage of congestion avoidance, later by the time in which the
    /// window was not needed.
    start: Option<Time>,
}

/// The cube root, of either sign.
fn cube_root(x: f64) -> f64 {
    maths::pow(x.abs(), 1.0 / 3.0).copysign(x)
}

impl Cubic {
    /// W_cubic (figure 1).
    fn at(&self, t: f64) -> f64 {
        let from_plateau = t - self.curve.k;
        self.c * from_plateau * from_plateau * from_plateau + self.curve.w_max
    }

    /// A stage of congestion avoidance begins at a window of `cwnd`.
    fn begin(&mut self, cwnd: f64, now: Time) {
        let curve = &mut self.curve;
        if curve.after == After::Nothing {
            // Section 4.10: slow start has ended without a loss.
            curve.cwnd_prior = cwnd;
        }
        if curve.after == After::Reduction {
            curve.k = cube_root((curve.w_max - cwnd) / self.c);
        } else {
            // Section 4.8 and 4.10: the plateau is here.
            curve.k = 0.0;
            curve.w_max = cwnd;
        }
        curve.after = After::Reduction;
        curve.w_est = cwnd;
        curve.start = Some(now);
        self.last = now;
    }

    fn avoid(&mut self, window: &mut Window, acked: &Acked) {
        let start = match self.curve.start {
            Some(start) => start,
            None => {
                self.begin(window.cwnd, acked.now);
                acked.now
            }
        };
        let alpha =
            if self.curve.w_est >= self.curve.cwnd_prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) };
        self.curve.w_est += alpha * f64::from(acked.advanced) / window.cwnd;
        let t = acked.now.since(start).as_secs();
        if self.at(t) < self.curve.w_est {
            window.cwnd = self.curve.w_est;
        } else {
            let target = self.at(t + acked.srtt.as_secs()).max(window.cwnd).min(1.5 * window.cwnd);
            let step = (target - window.cwnd) / window.cwnd;
            window.cwnd = match self.growth_per {
                GrowthPer::Acknowledgement => window.cwnd + step,
                // Not beyond the target, however many segments one acknowledgement is for.
                GrowthPer::Segment => (window.cwnd + step * f64::from(acked.advanced)).min(target),
            };
        }
    }

    /// Section 4.2: the curve stands still while the window is not what limits.
    fn pause(&mut self, now: Time) {
        if let Some(start) = &mut self.curve.start {
            *start += now.since(self.last);
        }
    }
}

impl CongestionControl for Cubic {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if acked.advanced == 0 {
            return;
        }
        let slow_start = window.cwnd < window.ssthresh;
        if slow_start {
            // After it a new stage of congestion avoidance begins, also when an idle time has led here.
            self.curve.start = None;
        }
        if slow_start && self.hystart.active() {
            self.hystart.on_ack(window, acked);
        } else if !acked.window_limited {
            self.pause(acked.now);
        } else if slow_start {
            self.growth.slow_start(window, acked.advanced);
        } else {
            self.avoid(window, acked);
        }
        self.last = acked.now;
    }

    fn on_congestion(&mut self, window: &mut Window, why: Congestion, _: Time, in_flight: u32) {
        self.hystart.stop();
        // Of timeouts in a row the first has the window to go back to.
        if why != Congestion::Timeout || self.curve.after != After::Timeout {
            self.undo = Some(self.curve);
        }
        let cwnd = window.cwnd;
        let converge = self.fast_convergence && cwnd < self.curve.w_max;
        self.curve.w_max = if converge { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.curve.cwnd_prior = cwnd;
        self.curve.start = None;
        self.curve.after = After::Reduction;
        match why {
            Congestion::Ecn => {
                window.ssthresh = (cwnd * self.ecn_beta).max(2.0);
                window.cwnd = (cwnd * self.ecn_beta).max(1.0);
            }
            Congestion::Loss => window.ssthresh = (f64::from(in_flight) * self.beta).max(2.0),
            Congestion::Timeout => {
                window.ssthresh = (f64::from(in_flight) * self.beta).max(2.0);
                self.curve.after = After::Timeout;
                self.growth.timed_out();
            }
        }
    }

    fn on_spurious(&mut self, _: &mut Window) {
        if let Some(curve) = self.undo.take() {
            self.curve = curve;
        }
    }

    fn on_sent(&mut self, now: Time, idle: bool) {
        if idle {
            self.pause(now);
            self.last = now;
        }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("w-max", self.curve.w_max);
        f("w-est", self.curve.w_est);
        f("k", self.curve.k);
    }
}
