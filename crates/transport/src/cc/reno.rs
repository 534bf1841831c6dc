//! Additive increase, multiplicative decrease (Jacobson 1988, RFC 5681).

use super::hystart::HyStart;
use super::{Acked, Build, Congestion, CongestionControl, Window};
use crate::params::{Tcp, factor, number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Time};

/// Reno: one segment more per round trip, half the window at a loss (RFC 5681).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// What a loss leaves of the window, above 0 and below 1. Default 0.5.
    pub beta: Fraction,
    /// What an echo of congestion leaves of the window, above 0 and below 1; 0.8 is the
    /// alternative back-off of RFC 8511. Default 0.5.
    pub ecn_beta: Fraction,
    /// Segments that one acknowledgement may count for in slow start, 1 to 1000: 1 is RFC 5681, 2
    /// RFC 3465. After a timeout it is 1; in congestion avoidance 1 counts acknowledgements and
    /// more counts segments. Default 2.
    pub byte_counting: u32,
    /// What a loss reduces: "flight" is FlightSize, once for each segment that times out, and the
    /// window is the threshold (RFC 5681); "window" is the congestion window, at each expiry, and the
    /// threshold is whole segments while the window keeps its fraction (ns-2). Default "flight".
    pub reduction: Reduction,
    /// Leave the first slow start when round trips lengthen (HyStart++, RFC 9406, which is for any
    /// slow start of this kind); it then counts up to 8 segments per acknowledgement. Default false.
    pub hystart: bool,
}

/// What a loss reduces.
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
        Params { beta: half, ecn_beta: half, byte_counting: 2, reduction: Reduction::Flight, hystart: false }
    }
}

impl Params {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), Invalid> {
        factor("beta", self.beta.0)?;
        factor("ecn-beta", self.ecn_beta.0)?;
        number("byte-counting", self.byte_counting, 1, 1000)
    }
}

impl Build for Params {
    type Control = Reno;
    fn build(&self, tcp: &Tcp, _: Rng) -> Reno {
        let own = || Own {
            beta: self.beta.0,
            ecn_beta: self.ecn_beta.0,
            hystart: self.hystart.then(|| HyStart::new(tcp, true)),
        };
        let usual = self.beta.0 == HALF && self.ecn_beta.0 == HALF && !self.hystart;
        Reno {
            growth: Growth::new(self.byte_counting),
            window: self.reduction == Reduction::Window,
            own: (!usual).then(|| Box::new(own())),
        }
    }
}

/// Reno at work.
#[derive(Debug)]
pub struct Reno {
    growth: Growth,
    /// Whether losses reduce the window instead of FlightSize.
    window: bool,
    /// None leaves half a window and has no other end of slow start, as most do.
    own: Option<Box<Own>>,
}

const _: () = assert!(size_of::<Reno>() <= 16);

/// What a loss and an echo leave of the window, as a rule.
const HALF: f64 = 0.5;

/// What is not as with most.
#[derive(Debug)]
struct Own {
    beta: f64,
    ecn_beta: f64,
    /// Until the first congestion or the end of the first slow start.
    hystart: Option<HyStart>,
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if let Some(own) = &mut self.own
            && let Some(hystart) = &mut own.hystart
        {
            if hystart.active() && window.cwnd < window.ssthresh && acked.advanced > 0 {
                return hystart.on_ack(window, acked);
            }
            own.hystart = None;
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

    fn on_congestion(&mut self, window: &mut Window, why: Congestion, _: Time, in_flight: u32) {
        let [beta, ecn_beta] = match &mut self.own {
            Some(own) => {
                own.hystart = None;
                [own.beta, own.ecn_beta]
            }
            None => [HALF; 2],
        };
        let ecn = why == Congestion::Ecn;
        let kept = window.cwnd * if ecn { ecn_beta } else { beta };
        // RFC 5681 equation 4: FlightSize, not the window, for a sender that did not fill it.
        window.ssthresh = match (ecn, self.window) {
            (_, true) => kept.floor().max(2.0),
            (true, false) => kept.max(2.0),
            (false, false) => (f64::from(in_flight) * beta).max(2.0),
        };
        if ecn || self.window {
            window.cwnd = kept.max(1.0);
        }
        if why == Congestion::Timeout {
            self.growth.timed_out();
        }
    }

    fn halves_window(&self) -> bool {
        self.window
    }

    fn is_plain(&self) -> bool {
        true
    }
}

/// How acknowledgements count towards growth (RFC 5681, RFC 3465).
#[derive(Debug)]
pub(crate) struct Growth {
    /// At most 1000.
    limit: u16,
    after_timeout: bool,
}

impl Growth {
    pub(crate) fn new(limit: u32) -> Growth {
        Growth { limit: limit.try_into().unwrap_or(u16::MAX), after_timeout: false }
    }
    /// A timeout has happened.
    pub(crate) fn timed_out(&mut self) {
        self.after_timeout = true;
    }
    /// One segment per segment acknowledged, up to the limit.
    #[inline]
    pub(crate) fn slow_start(&mut self, window: &mut Window, advanced: u32) {
        // After a timeout one acknowledgement may cover what had arrived long before (RFC 3465 section 2.3).
        let limit = if self.after_timeout { 1 } else { self.limit };
        window.cwnd += f64::from(advanced.min(limit.into()));
        if window.cwnd >= window.ssthresh {
            self.after_timeout = false;
        }
    }
    /// What an acknowledgement counts for in congestion avoidance.
    #[inline]
    pub(crate) fn counted(&self, advanced: u32) -> f64 {
        if self.limit == 1 { 1.0 } else { f64::from(advanced) }
    }
}
