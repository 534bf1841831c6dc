//! Additive increase, multiplicative decrease (Jacobson 1988, RFC 5681).

use super::hystart::HyStart;
use super::whole::{Whole, reduced};
use super::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, Profile, RecoveryWindow, Setup, Timer, Window,
};
use crate::check::{factor, number};
use crate::params::Form;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Time};

/// Reno: the window grows by one segment per round trip and is halved at a loss (RFC 5681).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Factor by which a loss multiplies the window, above 0 and below 1. Default 0.5.
    pub beta: Fraction,
    /// Factor by which an echo of congestion (ECE) multiplies the window, above 0 and below 1; 0.8
    /// is the alternative back-off of RFC 8511. Default 0.5.
    pub ecn_beta: Fraction,
    /// Upper bound of the growth per acknowledgement in slow start, segments, 1 to 1000: 1 as in RFC
    /// 5681, 2 as in RFC 3465. In the slow start after a timeout the bound is 1. In congestion avoidance
    /// the window grows per acknowledgement if the value is 1, and per acknowledged segment if it is
    /// larger. Default 2.
    pub byte_counting: u32,
    /// Base of the reduction at a loss. "flight": FlightSize; of several expiries for a segment only the first reduces
    /// the threshold, and recovery ends with the window at the threshold (RFC 5681). "window": the congestion window;
    /// each expiry reduces the threshold, which is rounded down to whole segments while the window keeps its fraction
    /// (ns-2). Default "flight".
    pub reduction: Reduction,
    /// `true` if the first slow start ends when the round-trip time rises (HyStart++, RFC 9406); the window then grows
    /// by up to 8 segments per acknowledgement in that slow start. Default false.
    pub hystart: bool,
    /// "rfc": RFC 5681; "linux": windows of whole segments as in Linux 6.1, without a bound of the growth per
    /// acknowledgement and with reductions of the window, for which only `beta` and `ecn-beta` may differ from their
    /// defaults. Default "rfc".
    pub form: Form,
}

/// Base of the reduction at a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// FlightSize (RFC 5681 equation 4).
    #[default]
    Flight,
    /// The congestion window (RFC 2001, ns-2).
    Window,
}

impl Default for Params {
    fn default() -> Params {
        let half = Fraction(0.5);
        Params {
            beta: half,
            ecn_beta: half,
            byte_counting: 2,
            reduction: Reduction::Flight,
            hystart: false,
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
        factor("beta", self.beta.0)?;
        factor("ecn-beta", self.ecn_beta.0)?;
        number("byte-counting", self.byte_counting, 1, 1000)?;
        let fixed = Params { beta: self.beta, ecn_beta: self.ecn_beta, form: self.form, ..Params::default() };
        if self.form == Form::Linux && *self != fixed {
            let message =
                "\"linux\" allows only `beta` and `ecn-beta`; remove the other parameters, or write `form = \"rfc\"`";
            return Err(Invalid::new("form", message));
        }
        Ok(())
    }
}

impl Build for Params {
    type Control = Reno;
    fn build(&self, setup: &Setup, _: Rng) -> Reno {
        let tuned = || Tuned {
            beta: self.beta.0,
            ecn_beta: self.ecn_beta.0,
            hystart: self.hystart.then(|| HyStart::new(setup, true)),
            whole: (self.form == Form::Linux).then(Whole::default),
        };
        let defaults = Params { byte_counting: self.byte_counting, reduction: self.reduction, ..Params::default() };
        let is_default = *self == defaults;
        Reno {
            growth: Growth::new(self.byte_counting),
            by_window: self.reduction == Reduction::Window,
            tuned: (!is_default).then(|| Box::new(tuned())),
        }
    }
}

/// State of Reno in one sender.
#[derive(Debug)]
pub struct Reno {
    growth: Growth,
    /// `true` if the congestion window is the base of a reduction, `false` if FlightSize is.
    by_window: bool,
    /// Parameters other than the defaults. `None`: factors of [`HALF`], no HyStart++, and not Linux's form.
    tuned: Option<Box<Tuned>>,
}

const _: () = assert!(size_of::<Reno>() <= 16);

/// Default factor by which a loss or an echo multiplies the window.
const HALF: f64 = 0.5;

/// Parameters other than the defaults, boxed so that the common case stays at 16 bytes.
#[derive(Debug)]
struct Tuned {
    beta: f64,
    ecn_beta: f64,
    /// State of HyStart++. `None` if it is off, and after the first congestion or the end of the first slow start.
    hystart: Option<HyStart>,
    /// State of Linux's form. `None`: windows may have fractions of a segment.
    whole: Option<Whole>,
}

impl CongestionControl for Reno {
    fn profile(&self) -> Profile {
        let recovery = if self.by_window { RecoveryWindow::AtLoss } else { RecoveryWindow::Sender };
        Profile { recovery, every_expiry: self.by_window, ..Profile::default() }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if let Some(tuned) = &mut self.tuned
            && let Some(whole) = &mut tuned.whole
        {
            if acked.window_limited && acked.advanced > 0 {
                whole.reno(window, acked.delivered);
            }
            return;
        }
        if let Some(tuned) = &mut self.tuned
            && let Some(hystart) = &mut tuned.hystart
        {
            if hystart.active() && window.cwnd < window.ssthresh {
                if acked.advanced > 0 {
                    hystart.on_ack(window, acked);
                }
                return;
            }
            tuned.hystart = None;
        }
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
        let [beta, ecn_beta] = match &mut self.tuned {
            Some(tuned) => {
                tuned.hystart = None;
                [tuned.beta, tuned.ecn_beta]
            }
            None => [HALF; 2],
        };
        let ecn = event.sign == Congestion::Ecn;
        if let Some(whole) = self.tuned.as_mut().and_then(|tuned| tuned.whole.as_mut()) {
            let ssthresh = reduced(window.cwnd, if ecn { ecn_beta } else { beta });
            return whole.reduce(window, ssthresh, event.sign);
        }
        let reduced = window.cwnd * if ecn { ecn_beta } else { beta };
        // RFC 5681 equation 4 uses FlightSize, which is less than the window if the sender has not filled the window.
        window.ssthresh = match (ecn, self.by_window) {
            (_, true) => reduced.floor().max(2.0),
            (true, false) => reduced.max(2.0),
            (false, false) => (f64::from(event.in_flight) * beta).max(2.0),
        };
        if ecn || self.by_window {
            window.cwnd = reduced.max(1.0);
        }
        if event.sign == Congestion::Timeout {
            self.growth.timed_out();
        }
    }

    fn on_timer(&mut self, _: &mut Window, _: Time, _: Timer) {
        if let Some(whole) = self.tuned.as_mut().and_then(|tuned| tuned.whole.as_mut()) {
            whole.restart();
        }
    }
}

/// Growth of the window by acknowledgements (RFC 5681, RFC 3465).
#[derive(Debug)]
pub(crate) struct Growth {
    /// Upper bound of the growth per acknowledgement in slow start, segments, at most 1000.
    limit: u16,
    /// `true` from a timeout to the end of the slow start after it.
    after_timeout: bool,
}

impl Growth {
    pub(crate) fn new(limit: u32) -> Growth {
        Growth { limit: limit.try_into().unwrap_or(u16::MAX), after_timeout: false }
    }
    /// Processes a timeout.
    pub(crate) fn timed_out(&mut self) {
        self.after_timeout = true;
    }
    /// Grows the window by the segments acknowledged, at most by the limit per acknowledgement.
    #[inline]
    pub(crate) fn slow_start(&mut self, window: &mut Window, advanced: u32) {
        // After a timeout one acknowledgement may cover many segments that arrived long before (RFC 3465 section 2.3).
        let limit = if self.after_timeout { 1 } else { self.limit };
        window.cwnd += f64::from(advanced.min(limit.into()));
        if window.cwnd >= window.ssthresh {
            self.after_timeout = false;
        }
    }
    /// Returns the number of segments by which an acknowledgement of `advanced` segments counts in congestion
    /// avoidance.
    #[inline]
    pub(crate) fn counted(&self, advanced: u32) -> f64 {
        if self.limit == 1 { 1.0 } else { f64::from(advanced) }
    }
}
