//! SubTCP: growth by fractions of a segment, for many flows with small windows (Feng, Kandlur, Saha and Shin 1997).

use super::reno::Growth;
use super::{
    Acked, BackOff, Build, Congestion, CongestionControl, CongestionEvent, Pacing, Profile, Setup, Timer, Window,
};
use crate::check::number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Time};

/// SubTCP: in congestion avoidance the window grows by min(1, x·cwnd) segments per round trip, so that the sum of many
/// small windows grows at most by the factor 1 + x per round trip. Slow start and reductions are those of Reno.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Maximum relative growth of the window per round trip, above 0 and at most 1; windows above 1/x segments grow as
    /// with Reno. Default "10%".
    pub x: Fraction,
    /// Response to congestion at one segment per round trip. "none", "rfc3168", "backoff" and "ns-2" are those of
    /// `ecn-floor`. "interval": the time between segments doubles with each timeout and with each echo at a window of
    /// one segment; each other acknowledgement divides it by 1 + x, until it is a round trip or less. Default
    /// "interval".
    pub back_off: BackOff,
    /// Minimum slow-start threshold, segments, 1 or 2. With 2, as in RFC 5681, a window of 1 doubles in one round trip
    /// whatever x is. Default 1.
    pub least_ssthresh: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { x: Fraction(0.1), back_off: BackOff::Interval, least_ssthresh: 1 }
    }
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(self.x.0 > 0.0 && self.x.0 <= 1.0) {
            let message = format!("{} is out of range; write a number above 0 and at most 1", self.x);
            return Err(Invalid::new("x", message));
        }
        number("least-ssthresh", self.least_ssthresh, 1, 2)
    }
}

impl Build for Params {
    type Control = SubTcp;
    fn build(&self, setup: &Setup, _: Rng) -> SubTcp {
        SubTcp {
            x: self.x.0,
            interval: Dur::ZERO,
            srtt: Dur::ZERO,
            longest: setup.max_rto,
            least_ssthresh: self.least_ssthresh as u8,
            back_off: self.back_off,
            growth: Growth::new(1),
        }
    }
}

/// State of SubTCP in one sender.
///
/// No formula of SubTCP's back-off has been published. With back-off "interval" the time between segments is treated as
/// the inverse of a window below one segment: it doubles where that window would be halved, and is divided by 1 + x
/// where that window would grow by the factor 1 + x.
#[derive(Debug)]
pub struct SubTcp {
    /// Maximum relative growth of the window per round trip.
    x: f64,
    /// Minimum time between segments; zero at windows of one segment and more.
    interval: Dur,
    /// Smoothed round-trip time at the last acknowledgement.
    srtt: Dur,
    /// Upper bound of `interval`: the maximum retransmission timeout.
    longest: Dur,
    /// Minimum slow-start threshold, segments, 1 or 2.
    least_ssthresh: u8,
    back_off: BackOff,
    growth: Growth,
}

impl SubTcp {
    /// With back-off "interval", doubles the time between segments, to at least twice `base` and at most the maximum
    /// timeout. Other back-offs: no effect.
    fn double_interval(&mut self, base: Dur) {
        if self.back_off == BackOff::Interval {
            self.interval = (self.interval.max(base) * 2).min(self.longest);
        }
    }
}

impl CongestionControl for SubTcp {
    fn profile(&self) -> Profile {
        Profile { paces: true, below_one: Some(self.back_off), ..Profile::default() }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.srtt = acked.srtt;
        if acked.advanced == 0 {
            return;
        }
        if self.interval > Dur::ZERO {
            let shrunk = self.interval.as_secs() / (1.0 + self.x);
            self.interval = Dur::from_secs_f64(shrunk);
            window.cwnd = 1.0;
            if self.interval <= acked.srtt {
                self.interval = Dur::ZERO;
            }
        } else if acked.window_limited && window.cwnd < window.ssthresh {
            self.growth.slow_start(window, acked.advanced);
        } else if acked.window_limited {
            window.cwnd += (self.x * window.cwnd).min(1.0) / window.cwnd;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        let minimum = f64::from(self.least_ssthresh);
        match event.sign {
            Congestion::Ecn => {
                if window.cwnd <= 1.0 {
                    self.double_interval(self.srtt);
                }
                window.ssthresh = (window.cwnd / 2.0).max(minimum);
                window.cwnd = (window.cwnd / 2.0).max(1.0);
            }
            Congestion::Loss | Congestion::Timeout => {
                window.ssthresh = (f64::from(event.in_flight) / 2.0).max(minimum);
            }
        }
    }

    #[inline]
    fn pacing(&self) -> Pacing {
        Pacing { interval: self.interval, ..Pacing::default() }
    }

    fn on_timer(&mut self, _: &mut Window, _: Time, timer: Timer) {
        if let Timer::Retransmission(rto) = timer {
            self.double_interval(rto);
        }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("interval", self.interval.as_secs());
    }
}
