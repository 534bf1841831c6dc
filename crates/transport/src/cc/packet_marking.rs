//! Packet marking engine in the sender (Feng, Kandlur, Saha and Shin, ICNP 1998; IEEE/ACM ToN 7(5), 1999): a marked and
//! a best-effort window, whose sum is the congestion window.

use super::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, Feedback, Profile, Sent, SentCalls, Setup, Window,
};
use crate::check::number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_diffserv::SlidingWindow;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Source-integrated packet marking: the window is the sum of a marked and a best-effort window, and a segment is
/// marked with a probability equal to the share of the marked window. The marked window grows while the observed rate
/// is below `target` and shrinks otherwise; the best-effort window grows and shrinks as Reno's window. The loss of an
/// unmarked segment halves the best-effort window, the loss of a marked segment halves both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Target rate of marked and unmarked segments together, headers included, above 0.
    pub target: Rate,
    /// Window of the time-sliding-window estimate of the rate, 1ms to 1h: one to three round trips.
    /// Default 300ms.
    #[serde(default = "default_window")]
    pub window: Dur,
    /// Interval of the check for over-subscription, 1ms to 1h. Default 5s.
    #[serde(default = "default_patience")]
    pub patience: Dur,
    /// Number of consecutive intervals after which marking is turned off if each of them ended with a rate below 0.9 of
    /// the target, and either had the loss of a marked segment or ended with a marked window of at least 0.9 of the
    /// window; 1 to 1000. Default 3.
    #[serde(default = "default_strikes")]
    pub strikes: u32,
    /// Time for which marking stays off once it has been turned off, 1ms to 1h. Default 60s.
    #[serde(default = "default_rest")]
    pub rest: Dur,
}

fn default_window() -> Dur {
    Dur::from_ms(300)
}
fn default_patience() -> Dur {
    Dur::from_secs(5)
}
fn default_strikes() -> u32 {
    3
}
fn default_rest() -> Dur {
    Dur::from_secs(60)
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.target == Rate(0) {
            return Err(Invalid::new("target", "the rate is zero; write a rate above 0"));
        }
        for (field, time) in [("window", self.window), ("patience", self.patience), ("rest", self.rest)] {
            if time < Dur::from_ms(1) || time > Dur::from_secs(3600) {
                return Err(Invalid::new(field, format!("{time} is out of range; write 1ms to 1h")));
            }
        }
        number("strikes", self.strikes, 1, 1000)
    }
}

impl Build for Params {
    type Control = PacketMarking;
    fn build(&self, setup: &Setup, rng: Rng) -> PacketMarking {
        let half = f64::from(setup.initial_window) / 2.0;
        let ssthresh = setup.initial_ssthresh.map_or(f64::INFINITY, |s| f64::from(s) / 2.0);
        PacketMarking {
            rng,
            target: self.target.0 as f64 / 8.0,
            segment: setup.full(),
            observed: SlidingWindow::new(self.window, Rate(0)),
            unobserved: 0,
            marked: Part { window: half, ssthresh },
            plain: Part { window: half, ssthresh },
            prior: None,
            halved: false,
            halve_later: false,
            oversubscription: Oversubscription {
                patience: self.patience,
                limit: self.strikes,
                rest: self.rest,
                due: Time::ZERO + self.patience,
                strikes: 0,
                lost: false,
                off_until: Time::ZERO,
            },
        }
    }
}

/// The marked or the best-effort part of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// Window, segments, at least 0.
    window: f64,
    /// Slow-start threshold of this part, segments.
    ssthresh: f64,
}

impl Part {
    /// Grows the window for an acknowledgement of `advanced` segments. In slow start it grows by the fraction `share`
    /// of the segments acknowledged, at most two; otherwise by `advanced`/`cwnd`, which adds up to one segment per
    /// round trip.
    fn grow(&mut self, share: f64, advanced: f64, cwnd: f64) {
        // A window of zero has a share of zero, and would never grow by slow start.
        let slow_start = self.window < self.ssthresh && self.window >= 1.0;
        self.window += if slow_start { share * advanced.min(2.0) } else { advanced / cwnd };
    }
    /// Halves the window, and sets the threshold to the result.
    fn halve(&mut self) {
        self.window /= 2.0;
        self.ssthresh = self.window;
    }
}

/// Detector of over-subscription: the target is missed in consecutive intervals although, in each of them, marked
/// segments are lost or nearly all segments are marked.
#[derive(Debug)]
struct Oversubscription {
    /// Length of an interval.
    patience: Dur,
    /// Number of consecutive intervals after which marking is turned off.
    limit: u32,
    /// Time for which marking stays off once it has been turned off.
    rest: Dur,
    /// End of the current interval.
    due: Time,
    /// Number of consecutive intervals with signs of over-subscription.
    strikes: u32,
    /// `true` if a marked segment was lost in the current interval.
    lost: bool,
    /// End of the time without marking.
    off_until: Time,
}

impl Oversubscription {
    /// If the current interval has ended, looks for signs of over-subscription in it. Returns `true` if marking is
    /// turned off now. `missed`: the rate is below 0.9 times the target; `share`: marked window divided by the whole
    /// window.
    fn check_interval(&mut self, now: Time, missed: bool, share: f64) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now + self.patience;
        self.strikes = if missed && (self.lost || share >= 0.9) { self.strikes + 1 } else { 0 };
        self.lost = false;
        if self.strikes < self.limit {
            return false;
        }
        self.strikes = 0;
        self.off_until = now + self.rest;
        true
    }
}

/// State of packet marking in one sender.
#[derive(Debug)]
pub struct PacketMarking {
    rng: Rng,
    /// Target rate, bytes per second.
    target: f64,
    /// Bytes of a full segment, headers included.
    segment: u32,
    /// Estimate of the rate of all segments.
    observed: SlidingWindow,
    /// Number of segments acknowledged that the estimate does not contain yet. They are added at the next call that has
    /// the time, which [`Feedback`] lacks.
    unobserved: u32,
    /// Window of marked segments.
    marked: Part,
    /// Best-effort window.
    plain: Part,
    /// The marked and the best-effort window before the last reduction. `None`: there was none, or it was undone.
    prior: Option<(Part, Part)>,
    /// `true` if the current recovery has halved the marked window.
    halved: bool,
    /// `true` if the marked window is to be halved at the end of the current recovery, because a marked segment has
    /// been retransmitted and `halved` is `false`.
    halve_later: bool,
    oversubscription: Oversubscription,
}

impl PacketMarking {
    /// Returns the sum of the marked and the best-effort window, segments.
    fn sum(&self) -> f64 {
        self.marked.window + self.plain.window
    }
    /// Adds the acknowledged segments to the estimate, and returns the estimated rate at `now`, bytes per second.
    fn observe(&mut self, now: Time) -> f64 {
        let segments = std::mem::take(&mut self.unobserved);
        if segments > 0 { self.observed.arrive(now, segments * self.segment) } else { self.observed.at(now) }
    }
    /// Scales the marked and the best-effort window so that their sum is `cwnd`, which the sender may have set in
    /// recovery or at a timeout.
    fn follow(&mut self, cwnd: f64) {
        let sum = self.sum();
        if sum > 0.0 && (sum - cwnd).abs() > 1e-9 {
            self.marked.window *= cwnd / sum;
            self.plain.window *= cwnd / sum;
        }
    }
}

impl CongestionControl for PacketMarking {
    fn profile(&self) -> Profile {
        Profile { sent: SentCalls::Marks, ..Profile::default() }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.follow(window.cwnd);
        self.halved = false;
        if std::mem::take(&mut self.halve_later) {
            self.marked.halve();
            window.cwnd = self.sum().max(1.0);
        }
        let missed = self.observe(acked.now) < self.target;
        let missed_by_far = self.observed.last() < 0.9 * self.target;
        if self.oversubscription.check_interval(acked.now, missed_by_far, self.marked.window / self.sum().max(1.0)) {
            self.plain.window += std::mem::take(&mut self.marked.window);
            self.marked.ssthresh = 1.0;
        }
        if acked.window_limited && acked.advanced > 0 {
            let (cwnd, advanced) = (window.cwnd, f64::from(acked.advanced));
            let share = self.marked.window / cwnd;
            if acked.now < self.oversubscription.off_until {
                self.marked.window = 0.0;
            } else if missed {
                self.marked.grow(share, advanced, cwnd);
            } else {
                self.marked.window = f64::max(0.0, self.marked.window - advanced / cwnd);
                // Slow start ends once the target is reached; when the rate is below the target later, slow start would
                // overshoot.
                self.marked.ssthresh = self.marked.ssthresh.min(self.marked.window);
            }
            self.plain.grow(1.0 - share, advanced, cwnd);
        }
        window.cwnd = self.sum().max(1.0);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        self.follow(window.cwnd);
        self.prior = Some((self.marked, self.plain));
        // RFC 5681 reduces FlightSize: scale the windows if the sender has not filled them.
        let used_fraction = f64::min(1.0, (f64::from(event.in_flight) + 1.0) / window.cwnd);
        self.marked.window *= used_fraction;
        self.plain.window *= used_fraction;
        self.plain.halve();
        if event.marked {
            self.marked.halve();
            self.halved = true;
        }
        window.ssthresh = self.sum().max(2.0);
        if event.sign == Congestion::Ecn {
            window.cwnd = self.sum().max(1.0);
        }
    }

    fn on_feedback(&mut self, _: &mut Window, feedback: &Feedback<'_>) {
        self.unobserved += feedback.advanced;
    }

    fn on_spurious(&mut self, _: &mut Window, _: Time) {
        if let Some((marked, plain)) = self.prior.take() {
            (self.marked, self.plain) = (marked, plain);
        }
    }

    fn on_sent(&mut self, _: &mut Window, sent: &Sent) -> bool {
        self.observe(sent.now);
        if sent.was_marked == Some(true) {
            self.oversubscription.lost = true;
            self.halve_later = !self.halved;
        }
        let sum = self.sum();
        sent.now >= self.oversubscription.off_until && sum > 0.0 && self.rng.chance(self.marked.window / sum)
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("marked_window_segments", self.marked.window);
        f("best_effort_window_segments", self.plain.window);
        f("observed_bit_s", 8.0 * self.observed.last());
    }
}
