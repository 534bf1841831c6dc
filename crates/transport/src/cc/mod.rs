//! Congestion control: how the window grows, and how it shrinks.
//!
//! Loss detection and recovery are the sender's work, done once for all. A congestion control sees
//! what was acknowledged and sets the [`Window`]; windows are in segments.

pub mod bbr;
pub mod bbr3;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod fixed;
pub mod hpcc;
mod hystart;
mod model;
pub mod packet_marking;
pub mod reno;
pub mod subtcp;
pub mod swift;
pub mod timely;

use crate::line::Hop;
use crate::params::{EcnEcho, Tcp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// What a congestion control sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, segments, above 0. What is sent is its integer part, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    pub ssthresh: f64,
}

/// What a congestion control is told of an acknowledgement that delivered something.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it came.
    pub now: Time,
    /// Segments newly acknowledged, cumulatively or selectively, at least 1.
    pub delivered: u32,
    /// Of these, cumulatively.
    pub advanced: u32,
    /// Round-trip time of the newest segment that it acknowledges, if that was sent only once.
    pub rtt: Option<Dur>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Smallest round-trip time so far; zero before the first sample.
    pub min_rtt: Dur,
    /// Segments outstanding (sent, neither acknowledged nor taken for lost) before it came.
    pub in_flight_before: u32,
    /// The same after it.
    pub in_flight: u32,
    /// Whether the window, not the application or the receiver, has limited the sender.
    pub window_limited: bool,
    /// Whether it echoes congestion experienced.
    pub ece: bool,
    /// Whether loss recovery is under way (after this acknowledgement was taken in).
    pub recovering: bool,
    /// Whether a round trip has ended: it acknowledges a segment sent after the last round's end.
    pub round: bool,
    /// Segments newly taken for lost since the last call.
    pub lost: u32,
    /// Delivery rate, where [`CongestionControl::samples_rate`] asks for it.
    pub rate: Option<RateSample>,
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Segments delivered over `interval`.
    pub delivered: u32,
    /// The longer of the send and the acknowledgement interval.
    pub interval: Dur,
    /// Segments delivered since the start when the sampled segment was sent.
    pub prior_delivered: u64,
    /// Segments delivered since the start by now.
    pub total_delivered: u64,
    /// Segments outstanding when the sampled segment was sent, itself included.
    pub sent_in_flight: u32,
    /// Segments taken for lost since the sampled segment was sent.
    pub lost: u32,
    /// Whether the sampled segment was sent while the application had too little to send.
    pub app_limited: bool,
}

/// Why a window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Loss, seen from duplicate or selective acknowledgements: recovery begins.
    Loss,
    /// An echo of congestion experienced, at most once a window.
    Ecn,
    /// The retransmission timer expired, or with "tahoe" a loss was seen. The sender sets the window
    /// to one segment afterwards.
    Timeout,
}

/// Parameters of a congestion control, which become the control at work.
pub trait Build {
    /// The control at work.
    type Control;
    /// The control of one sender of `tcp`; `rng` is its own stream, if it needs one.
    fn build(&self, tcp: &Tcp, rng: Rng) -> Self::Control;
    /// The echo of congestion that it needs from the receiver.
    fn echo(&self) -> EcnEcho {
        EcnEcho::Classic
    }
    /// Least time between notifications of congestion that the receiver sends in place of echoes, if the
    /// control wants those: the acknowledgement of a marked segment leaves at once with an echo, and
    /// others have none.
    fn notification(&self) -> Option<Dur> {
        None
    }
    /// Whether switches write into its packets ([`CongestionControl::on_telemetry`]).
    fn telemetry(&self) -> bool {
        false
    }
    /// Whether marks are what it goes by, so that it can do its work only over queues that mark.
    fn needs_marks(&self) -> bool {
        false
    }
    /// Whether it asks [`Tcp::line`].
    fn needs_line(&self) -> bool {
        false
    }
    /// Whether [`Tcp::line`] should have the longest round trip of all ways of its group of flows, not its own way's.
    fn shares_base_rtt(&self) -> bool {
        false
    }
}

/// What a sender does when the network asks for less than one segment per round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackOff {
    /// Nothing: one segment per round trip is the least.
    None,
    /// An echo at a window of one segment starts the timer again and holds the next segment until it
    /// expires (RFC 3168 section 6.1.2).
    #[serde(rename = "rfc3168")]
    Rfc3168,
    /// The same, and each echo in a row doubles the timeout.
    #[serde(rename = "backoff")]
    Backoff,
    /// The same for windows of less than two segments, whose half is none (ns-2.35).
    #[serde(rename = "ns-2")]
    Ns2,
    /// The control spaces segments by [`CongestionControl::interval`].
    #[default]
    Interval,
}

/// A window that never limits: of controls that have a rate only.
pub(crate) const NO_WINDOW: f64 = 1e9;

/// A congestion control.
pub trait CongestionControl {
    /// A connection begins: may set another window than `initial-window`.
    fn begin(&mut self, _window: &mut Window) {}
    /// What the switches have written into the segment that the acknowledgement is for; comes before it.
    fn on_telemetry(&mut self, _hops: &[Hop]) {}
    /// When its rate (or what it depends on) next changes by the passing of time; never, if it does not.
    fn next_change(&self) -> Time {
        Time::NEVER
    }
    /// Time has passed up to `now`; afterwards the next change is later.
    fn pass(&mut self, _now: Time) {}
    /// An acknowledgement delivered something outside recovery, or (if it `controls_recovery`) at any time.
    fn on_ack(&mut self, window: &mut Window, acked: &Acked);
    /// Congestion: sets `window.ssthresh`; for [`Congestion::Ecn`] also `window.cwnd`. During
    /// recovery the sender keeps the window by itself (fast recovery or PRR) and sets it to
    /// `ssthresh` at the end. `in_flight` is FlightSize of RFC 5681: the segments outstanding
    /// when congestion was seen, without those of limited transmit.
    fn on_congestion(&mut self, window: &mut Window, why: Congestion, now: Time, in_flight: u32);
    /// Every acknowledgement, first of all, also in recovery, also duplicates: what an echo says (DCTCP's fraction).
    fn on_echo(&mut self, _window: &mut Window, _acked: u32, _ece: bool, _una: u32, _next: u32) {}
    /// The last reduction was spurious: restores what it had before (after RFC 4015; RFC 9438 section 4.9).
    /// The sender has already put back `cwnd` and `ssthresh`.
    fn on_spurious(&mut self, _window: &mut Window) {}
    /// A segment is transmitted; `idle` when nothing was outstanding.
    fn on_sent(&mut self, _now: Time, _idle: bool) {}
    /// Rate at which to pace, segments per second; none sends as soon as the window allows.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Whether it wants [`Acked::rate`].
    fn samples_rate(&self) -> bool {
        false
    }
    /// Whether it sets the window during recovery and after a timeout, too (BBR).
    fn controls_recovery(&self) -> bool {
        false
    }
    /// Whether [`Congestion::Loss`] sets the window, too, and each expiry of the timer counts, not only
    /// the first for a segment.
    fn halves_window(&self) -> bool {
        false
    }
    /// Whether each expiry of the timer counts, not only the first for a segment.
    fn hears_each_expiry(&self) -> bool {
        self.halves_window()
    }
    /// Whether it does its own reductions on ECE (DCTCP), so that the sender does none.
    fn handles_ecn(&self) -> bool {
        false
    }
    /// Whether a loss counts although an echo has reduced the window less than a window ago. For a
    /// control that echoes halve it does not: once per window (RFC 3168 section 6.1.2).
    fn loss_counts_after_echo(&self) -> bool {
        false
    }
    /// What happens below a window of one segment; none leaves it to the scenario (`ecn-floor`).
    fn back_off(&self) -> Option<BackOff> {
        None
    }
    /// Smallest time from one segment to the next, and of the retransmission timer, where less than
    /// one segment per round trip is wanted; zero for none.
    fn interval(&self) -> Dur {
        Dur::ZERO
    }
    /// The retransmission timer has expired after `rto`, also when it did before for the same
    /// segment; comes after [`CongestionControl::on_congestion`].
    fn on_expiry(&mut self, _rto: Dur) {}
    /// Whether it says which segments are marked, and is told of the losses of marked ones.
    fn marks(&self) -> bool {
        false
    }
    /// Whether the segment that is being sent is marked; `again` says whether it was when it was sent
    /// before, if it was.
    fn mark(&mut self, _now: Time, _again: Option<bool>) -> bool {
        true
    }
    /// A loss is about to be told of, that of a marked segment or that of an unmarked one.
    fn on_loss_of(&mut self, _marked: bool) {}
    /// Whether all that it needs is to be told of acknowledgements, echoes and congestion: what it says of pace,
    /// interval, rate, marks, recovery and ECN is always what is said by default, so that nobody need ask for each segment.
    fn is_plain(&self) -> bool {
        false
    }
    /// Shows its state for time series.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
}
