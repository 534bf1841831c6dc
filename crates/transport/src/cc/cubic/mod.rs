//! CUBIC: window as a cubic function of the time since the last reduction (RFC 9438).

mod linux;

use super::hystart::HyStart;
use super::reno::Growth;
use super::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, Feedback, Profile, Sent, SentCalls, Setup, Timer,
    Window,
};
use crate::check::{factor, number};
use crate::params::Form;
use linux::Linux;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::{Rng, maths};
use tailback_units::{Dur, Fraction, Time};

/// CUBIC (RFC 9438): the window is a cubic function of the time since the last reduction, with its plateau near the
/// window at which the loss occurred; its growth does not depend on the round-trip time, and is at least that of Reno.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Scale C of the cubic function, segments per second cubed, above 0 and at most 1000. Default 0.4.
    pub c: f64,
    /// Factor by which a loss multiplies the window, above 0 and below 1. Default 0.7.
    pub beta: Fraction,
    /// Factor by which an echo of congestion (ECE) multiplies the window, above 0 and below 1; 0.85
    /// is the alternative back-off of RFC 8511. Default 0.7.
    pub ecn_beta: Fraction,
    /// `true` if the plateau is lowered further when a loss occurs at a smaller window than the loss before, so that
    /// new flows get bandwidth (fast convergence). Default true.
    pub fast_convergence: bool,
    /// `true` if the first slow start ends when the round-trip time rises (HyStart++, RFC 9406).
    /// Default true.
    pub hystart: bool,
    /// Unit of growth above the Reno-friendly region: (target − cwnd) / cwnd is added per "acknowledgement" (RFC 9438
    /// section 4.4), or per acknowledged "segment" (Linux). With delayed acknowledgements, growth per segment is twice
    /// as fast. In both cases the target is at most 1.5 times the window. Default "acknowledgement".
    pub growth_per: GrowthPer,
    /// Upper bound of the growth per acknowledgement in slow start without HyStart++, segments, 1 to 1000.
    /// Default 2.
    pub byte_counting: u32,
    /// "rfc": RFC 9438; "linux": the integers and HyStart of Linux 6.1, for which only `fast-convergence` may differ from
    /// its default. Default "rfc".
    pub form: Form,
}

/// Unit of growth above the Reno-friendly region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthPer {
    /// Acknowledgements that acknowledge new segments, whatever their number of segments.
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
            form: Form::Rfc,
        }
    }
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(self.c > 0.0 && self.c <= 1_000.0) {
            let message = format!("{} is out of range; write a number above 0 and at most 1000", self.c);
            return Err(Invalid::new("c", message));
        }
        factor("beta", self.beta.0)?;
        factor("ecn-beta", self.ecn_beta.0)?;
        number("byte-counting", self.byte_counting, 1, 1000)?;
        let fixed = Params { fast_convergence: self.fast_convergence, form: self.form, ..Params::default() };
        if self.form == Form::Linux && *self != fixed {
            let message =
                "\"linux\" allows only `fast-convergence`; remove the other parameters, or write `form = \"rfc\"`";
            return Err(Invalid::new("form", message));
        }
        Ok(())
    }
}

impl Build for Params {
    type Control = Cubic;
    fn build(&self, setup: &Setup, _: Rng) -> Cubic {
        Cubic {
            c: self.c,
            beta: self.beta.0,
            ecn_beta: self.ecn_beta.0,
            fast_convergence: self.fast_convergence,
            growth_per: self.growth_per,
            curve: Curve { after: After::Nothing, w_max: 0.0, cwnd_prior: 0.0, k: 0.0, w_est: 0.0, start: None },
            undo: None,
            last_ack: Time::ZERO,
            growth: Growth::new(self.byte_counting),
            hystart: HyStart::new(setup, self.hystart),
            linux: (self.form == Form::Linux).then(|| Box::new(Linux::new(setup, self.fast_convergence))),
        }
    }
}

/// State of CUBIC in one sender. Where RFC 9438 leaves a choice:
/// - Above the Reno-friendly region the window grows by (target − cwnd)/cwnd for each acknowledgement (sections 4.4 and
///   4.5), not for each segment as in Linux ([`GrowthPer`]); with delayed acknowledgements the window follows the curve
///   about one round trip later, and grows at most half as fast.
/// - In the Reno-friendly region the window *is* W_est (section 4.3), even if that reduces the window.
/// - An echo of congestion multiplies the window, not FlightSize, which would not include the segments acknowledged
///   together with the echo (section 4.6 allows both).
/// - At cwnd = ssthresh congestion avoidance begins.
#[derive(Debug)]
pub struct Cubic {
    c: f64,
    beta: f64,
    ecn_beta: f64,
    fast_convergence: bool,
    growth_per: GrowthPer,
    curve: Curve,
    /// The curve before the last reduction, restored if the reduction was spurious (section 4.9). `None`: no reduction
    /// can be undone.
    undo: Option<Curve>,
    /// Time of the last acknowledgement of new segments, or of a later transmission after an idle time.
    last_ack: Time,
    growth: Growth,
    hystart: HyStart,
    /// State of Linux's form, in place of all of the above; `None`: that of RFC 9438.
    linux: Option<Box<Linux>>,
}

/// Event before the current stage of congestion avoidance, which decides how its curve starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Slow start, without congestion.
    Nothing,
    /// Reduction at a loss or an echo.
    Reduction,
    /// Timeout, and the slow start after it.
    Timeout,
}

/// State of the growth since the last reduction, in segments and seconds (names of RFC 9438 section 4.1).
#[derive(Clone, Copy, Debug)]
struct Curve {
    /// Event before the stage.
    after: After,
    /// Window of the plateau, segments.
    w_max: f64,
    /// Window before the last reduction, segments.
    cwnd_prior: f64,
    /// Time from the start of the stage to the plateau, seconds.
    k: f64,
    /// Estimate of Reno's window, segments.
    w_est: f64,
    /// Start of this stage of congestion avoidance (t_epoch), shifted by the time during which the window did not limit
    /// the sender. `None`: the stage has not started.
    start: Option<Time>,
}

/// Returns the cube root of `x`, which may be negative.
fn cube_root(x: f64) -> f64 {
    maths::pow(x.abs(), 1.0 / 3.0).copysign(x)
}

impl Cubic {
    /// Returns W_cubic, segments, `t` seconds after the start of the stage (figure 1).
    fn w_cubic(&self, t: f64) -> f64 {
        let offset = t - self.curve.k;
        self.c * offset * offset * offset + self.curve.w_max
    }

    /// Starts a stage of congestion avoidance at a window of `cwnd` segments.
    fn begin(&mut self, cwnd: f64, now: Time) {
        let curve = &mut self.curve;
        if curve.after == After::Nothing {
            // Section 4.10: slow start ended without congestion.
            curve.cwnd_prior = cwnd;
        }
        if curve.after == After::Reduction {
            curve.k = cube_root((curve.w_max - cwnd) / self.c);
        } else {
            // Sections 4.8 and 4.10: the plateau is at the current window.
            curve.k = 0.0;
            curve.w_max = cwnd;
        }
        curve.after = After::Reduction;
        curve.w_est = cwnd;
        curve.start = Some(now);
        self.last_ack = now;
    }

    /// Grows the window in congestion avoidance (RFC 9438 sections 4.2 to 4.5).
    fn grow_in_congestion_avoidance(&mut self, window: &mut Window, acked: &Acked) {
        let start = if let Some(start) = self.curve.start {
            start
        } else {
            self.begin(window.cwnd, acked.now);
            acked.now
        };
        let alpha =
            if self.curve.w_est >= self.curve.cwnd_prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) };
        self.curve.w_est += alpha * f64::from(acked.advanced) / window.cwnd;
        let t = acked.now.since(start).as_secs();
        if self.w_cubic(t) < self.curve.w_est {
            window.cwnd = self.curve.w_est;
        } else {
            let target = self.w_cubic(t + acked.srtt.as_secs()).max(window.cwnd).min(1.5 * window.cwnd);
            let step = (target - window.cwnd) / window.cwnd;
            window.cwnd = match self.growth_per {
                GrowthPer::Acknowledgement => window.cwnd + step,
                // An acknowledgement of many segments must not overshoot the target.
                GrowthPer::Segment => (window.cwnd + step * f64::from(acked.advanced)).min(target),
            };
        }
    }

    /// Shifts the start of the curve by the time since the last acknowledgement, during which the window did not limit
    /// the sender (section 4.2).
    fn pause(&mut self, now: Time) {
        if let Some(start) = &mut self.curve.start {
            *start += now.since(self.last_ack);
        }
    }
}

impl CongestionControl for Cubic {
    fn profile(&self) -> Profile {
        Profile { sent: SentCalls::Each, ..Profile::default() }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if let Some(linux) = &mut self.linux {
            return linux.on_ack(window, acked);
        }
        if acked.advanced == 0 {
            return;
        }
        let slow_start = window.cwnd < window.ssthresh;
        if slow_start {
            // The congestion avoidance after this slow start is a new stage, also if an idle time led to the slow
            // start.
            self.curve.start = None;
        }
        if slow_start && self.hystart.active() {
            self.hystart.on_ack(window, acked);
        } else if !acked.window_limited {
            self.pause(acked.now);
        } else if slow_start {
            self.growth.slow_start(window, acked.advanced);
        } else {
            self.grow_in_congestion_avoidance(window, acked);
        }
        self.last_ack = acked.now;
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        if let Some(linux) = &mut self.linux {
            return linux.on_congestion(window, event.sign);
        }
        self.hystart.stop();
        let flight = f64::from(event.in_flight);
        // Of consecutive timeouts, the curve before the first one is kept for an undo.
        if event.sign != Congestion::Timeout || self.curve.after != After::Timeout {
            self.undo = Some(self.curve);
        }
        let cwnd = window.cwnd;
        let converge = self.fast_convergence && cwnd < self.curve.w_max;
        self.curve.w_max = if converge { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.curve.cwnd_prior = cwnd;
        self.curve.start = None;
        self.curve.after = After::Reduction;
        match event.sign {
            Congestion::Ecn => {
                window.ssthresh = (cwnd * self.ecn_beta).max(2.0);
                window.cwnd = (cwnd * self.ecn_beta).max(1.0);
            }
            Congestion::Loss => window.ssthresh = (flight * self.beta).max(2.0),
            Congestion::Timeout => {
                window.ssthresh = (flight * self.beta).max(2.0);
                self.curve.after = After::Timeout;
                self.growth.timed_out();
            }
        }
    }

    fn on_open(&mut self, _: &mut Window, now: Time) {
        if let Some(linux) = &mut self.linux {
            linux.open(now);
        }
    }

    fn on_round_trip(&mut self, window: &mut Window, now: Time, rtt: Dur) {
        if let Some(linux) = &mut self.linux {
            linux.on_round_trip(window, now, rtt);
        }
    }

    #[inline]
    fn on_feedback(&mut self, _: &mut Window, feedback: &Feedback<'_>) {
        if let Some(linux) = &mut self.linux {
            linux.follow(feedback.una, feedback.next);
        }
    }

    fn on_timer(&mut self, _: &mut Window, now: Time, timer: Timer) {
        if let (Some(linux), Timer::Retransmission(_)) = (&mut self.linux, timer) {
            linux.on_expiry(now);
        }
    }

    fn on_spurious(&mut self, _: &mut Window, _: Time) {
        if let Some(curve) = self.undo.take() {
            self.curve = curve;
        }
    }

    fn on_sent(&mut self, _: &mut Window, sent: &Sent) -> bool {
        if let Some(linux) = &mut self.linux {
            linux.on_sent(sent.now, sent.idle);
        } else if sent.idle {
            self.pause(sent.now);
            self.last_ack = sent.now;
        }
        false
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        if let Some(linux) = &self.linux {
            return linux.probe(f);
        }
        f("w-max", self.curve.w_max);
        f("w-est", self.curve.w_est);
        f("k", self.curve.k);
    }
}
