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

/// SubTCP: in congestion avoidance the window grows by min(1, x·cwnd) segments per round trip, so that the sum
/// of many small windows grows by at most the factor 1 + x per round trip. Slow start and reductions are
/// Reno's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Largest relative growth per round trip, above 0 and at most 1; windows above 1/x grow as Reno's.
    /// Default "10%".
    pub x: Fraction,
    /// Response to congestion at one segment per round trip. "none", "rfc3168", "backoff" and "ns-2" are those of
    /// `ecn-floor`. "interval": the time between segments doubles with each timeout, and with each echo at a window
    /// of one, and shrinks by 1 + x with each unmarked acknowledgement down to a round trip. Default "interval".
    pub back_off: BackOff,
    /// Smallest slow-start threshold, segments, 1 or 2. With 2, as in RFC 5681, a window of 1 doubles
    /// in one round trip for any x. Default 1.
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
            let advice = format!("{} is out of range; write a number above 0 and at most 1", self.x);
            return Err(Invalid::new("x", advice));
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
/// Its back-off has no published formula; "interval" treats the time between segments as the
/// inverse of a window below one: it doubles where a window halves, and shrinks by 1 + x where a
/// window grows by that.
#[derive(Debug)]
pub struct SubTcp {
    /// Largest relative growth per round trip.
    x: f64,
    /// Time between segments; zero at windows of one segment and more.
    interval: Dur,
    /// Smoothed round-trip time at the last acknowledgement.
    srtt: Dur,
    /// Upper bound of `interval`: the maximum retransmission timeout.
    longest: Dur,
    /// Smallest slow-start threshold, segments.
    least_ssthresh: u8,
    back_off: BackOff,
    growth: Growth,
}

impl SubTcp {
    /// Sets the time between segments to twice its value or twice `from`, whichever is longer, up to the maximum
    /// timeout; only with back-off "interval".
    fn double(&mut self, from: Dur) {
        if self.back_off == BackOff::Interval {
            self.interval = (self.interval.max(from) * 2).min(self.longest);
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
            window.cwnd += (self.x * window.cwnd).min(1.0) / window.cwnd * self.growth.counted(acked.advanced);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        let least = f64::from(self.least_ssthresh);
        match event.sign {
            Congestion::Ecn => {
                if window.cwnd <= 1.0 {
                    self.double(self.srtt);
                }
                window.ssthresh = (window.cwnd / 2.0).max(least);
                window.cwnd = (window.cwnd / 2.0).max(1.0);
            }
            Congestion::Loss | Congestion::Timeout => {
                window.ssthresh = (f64::from(event.in_flight) / 2.0).max(least);
            }
        }
    }

    #[inline]
    fn pacing(&self) -> Pacing {
        Pacing { interval: self.interval, ..Pacing::default() }
    }

    fn on_timer(&mut self, _: Time, timer: Timer) {
        if let Timer::Retransmission(rto) = timer {
            self.double(rto);
        }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("interval", self.interval.as_secs());
    }
}
