//! Congestion control: how the window grows and shrinks.
//!
//! Loss detection and repair are part of the sender and the same for all controls. A congestion control is notified of
//! acknowledgements and signs of congestion, and sets the [`Window`], in segments.
//!
//! A control is one file in this folder and one line in `registry.rs`. Its `Params` implement [`Build`], and its state
//! implements [`CongestionControl`]. Only [`CongestionControl::on_ack`] and [`CongestionControl::on_congestion`] are
//! required; the other methods have defaults.

pub mod bbr;
pub mod bbr3;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod fixed;
pub mod hpcc;
mod hystart;
pub mod ledbat;
mod model;
pub mod packet_marking;
pub mod reno;
pub mod subtcp;
pub mod swift;
pub mod timely;
pub mod user;
mod whole;

use crate::line::{Hop, Line};
use crate::wire::EcnEcho;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// The parameters of a connection that congestion controls read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// Payload of a full segment, bytes, 1 to 65535.
    pub payload: u16,
    /// Headers of a segment, TCP and IP, bytes, 0 to 1000.
    pub header: u16,
    /// Window before the first acknowledgement, segments, at least 1.
    pub initial_window: u32,
    /// Initial slow-start threshold, segments; `None`: infinite.
    pub initial_ssthresh: Option<u32>,
    /// Maximum retransmission timeout.
    pub max_rto: Dur,
    /// Length of a tick of the system's clock; `None`: timers are exact.
    pub tick: Option<Dur>,
    /// `true` if the sender paces segments at a multiple of the window per round trip, whatever the control.
    pub pacing: bool,
    /// `true` if acknowledgements are selective, so that several losses per round trip are detected.
    pub selective: bool,
    /// The host's link and the idle path.
    pub line: Line,
}

impl Setup {
    /// Returns the length of a full segment with its headers, bytes.
    pub(crate) fn full(&self) -> u32 {
        u32::from(self.payload) + u32::from(self.header)
    }
}

/// Parameters of a congestion control, from which its state is built.
pub trait Build {
    /// State of the control in one sender.
    type Control;
    /// Returns the state for a sender. `rng` is a random stream that only this state uses.
    fn build(&self, setup: &Setup, rng: Rng) -> Self::Control;
    /// Returns the window before the first acknowledgement, segments, above 0.
    fn initial_window(&self, setup: &Setup) -> f64 {
        setup.initial_window.into()
    }
    /// Returns the requirements on the receiver, the host and the switches.
    fn needs(&self) -> Needs {
        Needs::default()
    }
}

/// Requirements of a congestion control on the receiver, the host and the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Form of the receiver's echo of congestion experienced, unless the connection sets one.
    pub echo: EcnEcho,
    /// Minimum time between congestion notifications, which the receiver sends instead of echoes. A notification is an
    /// acknowledgement with ECE set, sent at once when a marked segment arrives; other acknowledgements have no ECE.
    /// `None`: echoes.
    pub notification: Option<Dur>,
    /// `true` if acknowledgements carry one-way delays ([`CongestionControl::on_delay`]).
    pub delay: bool,
    /// `true` if switches write telemetry into the packets ([`Feedback::hops`]).
    pub telemetry: bool,
    /// `true` if the control works only with queues that mark.
    pub marks: bool,
    /// `true` if the control reads [`Setup::line`].
    pub line: bool,
    /// `true` if [`Line::base_rtt`] is that of the longest path of the flow group, `false` if it is that of the flow's
    /// own path.
    pub shares_base_rtt: bool,
}

/// The window that a congestion control sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, segments, above 0. As many segments as its integer part, but at least 1, may be outstanding.
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    pub ssthresh: f64,
}

/// Window of a control that limits only the rate, segments; so large that the sender never reaches it.
pub(crate) const NO_WINDOW: f64 = 1e9;

/// Pacing that a congestion control sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// Pacing rate, segments per second. `None`: segments leave as soon as the window allows.
    pub rate: Option<f64>,
    /// Minimum time from one segment to the next, for less than one segment per round trip; it is also a lower bound of
    /// the retransmission timeout. Zero: no limit.
    pub interval: Dur,
    /// Time at which the sender must call [`CongestionControl::on_timer`], because `rate` or `interval` changes without
    /// an acknowledgement; [`Time::NEVER`]: no such change is due.
    pub changes_at: Time,
}

impl Pacing {
    /// Returns pacing at `rate` segments per second, which does not change by time alone.
    pub fn at(rate: f64) -> Pacing {
        Pacing { rate: Some(rate), ..Pacing::default() }
    }
}

impl Default for Pacing {
    /// Returns no pacing.
    fn default() -> Pacing {
        Pacing { rate: None, interval: Dur::ZERO, changes_at: Time::NEVER }
    }
}

/// Constant properties of a congestion control. The sender reads them once, when it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Profile {
    /// Part that sets the window during loss recovery.
    pub recovery: RecoveryWindow,
    /// Response to an echo of congestion.
    pub echo: EchoResponse,
    /// Calls of [`CongestionControl::on_sent`].
    pub sent: SentCalls,
    /// `true` if every expiry of the retransmission timer is reported as congestion, `false` if only the first expiry
    /// for a segment is (RFC 5681 section 3.1).
    pub every_expiry: bool,
    /// `true` if the sender calls [`CongestionControl::pacing`].
    pub paces: bool,
    /// `true` if acknowledgements carry a delivery rate ([`Acked::rate`]).
    pub samples_rate: bool,
    /// `true` if the control has a timer of its own ([`CongestionControl::wake`]).
    pub wakes: bool,
    /// Response to congestion at a window of one segment. `None`: the connection's `ecn-floor`.
    pub below_one: Option<BackOff>,
}

impl Profile {
    /// Returns `true` if the sender calls the control only for feedback, for acknowledgements outside recovery and for
    /// congestion.
    pub(crate) fn is_plain(&self) -> bool {
        let calls = self.paces || self.samples_rate || self.sent != SentCalls::Never;
        !calls && self.recovery != RecoveryWindow::Control && self.echo != EchoResponse::Control
    }
}

/// Part that sets the congestion window during loss recovery and after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RecoveryWindow {
    /// The sender, by fast recovery or proportional rate reduction; at the end the window is `ssthresh`.
    #[default]
    Sender,
    /// The control, once, in [`CongestionControl::on_congestion`] at the loss; the sender keeps that window (ns-2). Not
    /// with proportional rate reduction.
    AtLoss,
    /// The control, which is called for acknowledgements in recovery, too (BBR).
    Control,
}

/// Response to an echo of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EchoResponse {
    /// At most one reduction per window, whether by echoes or by losses (RFC 3168 section 6.1.2).
    #[default]
    OncePerWindow,
    /// At most one reduction per window by echoes; a loss after an echo reduces the window once more (RFC 8257 section
    /// 3.5).
    ThenLoss,
    /// No report to [`CongestionControl::on_congestion`]: the control responds to the echoes in its other methods.
    Control,
}

/// Calls of [`CongestionControl::on_sent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SentCalls {
    /// No calls.
    #[default]
    Never,
    /// One call for each segment sent.
    Each,
    /// One call for each segment sent; its result decides whether the segment is marked.
    Marks,
}

/// Response of a sender to congestion at a window of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackOff {
    /// No response: one segment per round trip is the lower bound.
    None,
    /// An echo at a window of one segment restarts the retransmission timer and holds the next segment until it
    /// expires (RFC 3168 section 6.1.2).
    #[serde(rename = "rfc3168")]
    Rfc3168,
    /// As "rfc3168", and each consecutive echo doubles the timeout.
    #[serde(rename = "backoff")]
    Backoff,
    /// As "backoff", for windows below two segments (ns-2.35).
    #[serde(rename = "ns-2")]
    Ns2,
    /// The congestion control spaces segments further apart than a round trip.
    #[default]
    Interval,
}

/// Content of an acknowledgement as it arrives, before loss detection.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Number of segments newly acknowledged cumulatively; 0 for a duplicate.
    pub advanced: u32,
    /// `true` if the acknowledgement echoes congestion experienced.
    pub ece: bool,
    /// First segment not acknowledged after this acknowledgement.
    pub una: u32,
    /// First segment never transmitted.
    pub next: u32,
    /// Telemetry that switches wrote into segment `una - 1`. `None`: the flow collects no telemetry, or the
    /// acknowledgement is a duplicate.
    pub hops: Option<&'a [Hop]>,
}

/// State after an acknowledgement that delivered at least one segment.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Arrival of the acknowledgement.
    pub now: Time,
    /// Number of segments newly acknowledged, cumulatively or selectively, at least 1.
    pub delivered: u32,
    /// Number of segments by which the cumulative acknowledgement advances. Some of them may have been acknowledged
    /// selectively before, and counted in `delivered` then.
    pub advanced: u32,
    /// Sample of the round-trip time. With a scoreboard (SACK) it is that of the newest segment acknowledged; without
    /// one it is measured by the echoed timestamp or by the timed segment. `None`: no sample, for example because the
    /// segment was sent more than once.
    pub rtt: Option<Dur>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Minimum round-trip time so far; zero before the first sample.
    pub min_rtt: Dur,
    /// Number of segments outstanding (sent, neither acknowledged nor considered lost) before the acknowledgement.
    pub in_flight_before: u32,
    /// Number of segments outstanding after the acknowledgement.
    pub in_flight: u32,
    /// `true` if the window, not the application or the receiver, limits the sender.
    pub window_limited: bool,
    /// `true` if the acknowledgement echoes congestion experienced.
    pub ece: bool,
    /// `true` if the sender is in loss recovery after this acknowledgement.
    pub recovering: bool,
    /// `true` if the acknowledgement ends a round trip, that is, acknowledges a segment sent after the end of the last
    /// round trip.
    pub round: bool,
    /// Number of segments newly considered lost since the last call of [`CongestionControl::on_ack`].
    pub lost: u32,
    /// Sample of the delivery rate; `None` without [`Profile::samples_rate`], or if the interval is too short.
    pub rate: Option<RateSample>,
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Number of segments delivered in `interval`.
    pub delivered: u32,
    /// The longer one of the send interval and the acknowledgement interval.
    pub interval: Dur,
    /// Number of segments delivered from the start of the connection until the sampled segment was sent.
    pub prior_delivered: u64,
    /// Number of segments delivered from the start of the connection until now.
    pub total_delivered: u64,
    /// Number of segments outstanding when the sampled segment was sent, itself included.
    pub sent_in_flight: u32,
    /// Number of segments considered lost since the sampled segment was sent.
    pub lost: u32,
    /// `true` if the sampled segment was sent while the application had too little to send.
    pub app_limited: bool,
}

/// Kind of a sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Loss, detected by duplicate or selective acknowledgements: recovery begins.
    Loss,
    /// Echo of congestion experienced, reported at most once per window.
    Ecn,
    /// Expiry of the retransmission timer, or a loss with recovery "tahoe". The sender sets the window to one segment
    /// after the call, unless the control owns the window ([`RecoveryWindow::Control`]).
    Timeout,
}

/// A sign of congestion, and the state of the sender at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionEvent {
    /// Kind of the sign.
    pub sign: Congestion,
    /// Time of the sign.
    pub now: Time,
    /// FlightSize of RFC 5681: number of segments outstanding, without those sent by limited transmit.
    pub in_flight: u32,
    /// `true` if the lost segment was marked; `false` without [`SentCalls::Marks`].
    pub marked: bool,
}

impl CongestionEvent {
    /// Returns the event of a sign at `now` with `in_flight` segments outstanding; `marked` is `false`.
    pub fn new(sign: Congestion, now: Time, in_flight: u32) -> CongestionEvent {
        CongestionEvent { sign, now, in_flight, marked: false }
    }
}

/// A transmission of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Time of the transmission.
    pub now: Time,
    /// `true` if no segment was outstanding before the transmission.
    pub idle: bool,
    /// With [`SentCalls::Marks`], `true` if the segment was marked when it was last sent. `None`: it is sent for the
    /// first time.
    pub was_marked: Option<bool>,
    /// Earliest time of the next segment, if segments are paced; otherwise earlier than `now`.
    pub release: Time,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Number of segments outstanding that are not considered lost, with this one.
    pub in_flight: u32,
    /// `true` while the application limits the samples of the delivery rate; `false` without samples.
    pub app_limited: bool,
}

/// Segments that an expiry of a timer considers lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Time of the expiry.
    pub now: Time,
    /// Number of segments newly considered lost.
    pub lost: u32,
    /// Number of segments outstanding that are not considered lost.
    pub in_flight: u32,
    /// `true` for the retransmission timer, `false` for the timer of reordered segments.
    pub timeout: bool,
}

/// Timer of the sender that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The control's own timer, which expires at [`Pacing::changes_at`] or at [`CongestionControl::wake`].
    Control,
    /// The retransmission timer, which had this timeout. Reported at each expiry, after the call of
    /// [`CongestionControl::on_congestion`].
    Retransmission(Dur),
}

/// A congestion control.
pub trait CongestionControl {
    /// Returns the properties of the control, which are constant.
    fn profile(&self) -> Profile {
        Profile::default()
    }
    /// Prepares for a connection that opens at `now`, before its first segment.
    fn on_open(&mut self, _window: &mut Window, _now: Time) {}
    /// Processes the content of every acknowledgement, duplicates included, before the sender detects losses and
    /// responds to the echo.
    fn on_feedback(&mut self, _window: &mut Window, _feedback: &Feedback<'_>) {}
    /// Processes the one-way delay of the last segment that arrived before the receiver sent an acknowledgement, which
    /// arrives at `now`; called for every acknowledgement, duplicates included, before
    /// [`CongestionControl::on_feedback`]. Only with [`Needs::delay`].
    fn on_delay(&mut self, _now: Time, _delay: Dur) {}
    /// Processes the round-trip time of an acknowledgement, in recovery too, before losses are detected and before
    /// [`CongestionControl::on_ack`]; only with `timers.form = "linux"` (`pkts_acked` of `tcp_congestion_ops`).
    fn on_round_trip(&mut self, _window: &mut Window, _now: Time, _rtt: Dur) {}
    /// Processes an acknowledgement that delivered at least one segment. Called outside loss recovery only or, with
    /// [`RecoveryWindow::Control`], always.
    fn on_ack(&mut self, window: &mut Window, acked: &Acked);
    /// Responds to a sign of congestion: sets `window.ssthresh` and, for [`Congestion::Ecn`], `window.cwnd`. With
    /// [`RecoveryWindow::AtLoss`] or [`RecoveryWindow::Control`] it may set `window.cwnd` for a loss, too.
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent);
    /// Restores the state before the last reduction, which was spurious (RFC 4015; RFC 9438 section 4.9). The sender
    /// has restored `cwnd` and `ssthresh` already.
    fn on_spurious(&mut self, _window: &mut Window, _now: Time) {}
    /// Processes the transmission of a segment. Returns `true` if the segment is to be marked. Called as
    /// [`Profile::sent`] says.
    fn on_sent(&mut self, _window: &mut Window, _sent: &Sent) -> bool {
        false
    }
    /// Returns the time at which the sender must call [`CongestionControl::on_timer`] with [`Timer::Control`], whether
    /// segments wait or not; [`Time::NEVER`]: none. Called only if [`Profile::wakes`] is `true`.
    fn wake(&self) -> Time {
        Time::NEVER
    }
    /// Processes the expiry of a timer.
    fn on_timer(&mut self, _window: &mut Window, _now: Time, _timer: Timer) {}
    /// Processes losses that an expiry of a timer has found, after the call of [`CongestionControl::on_congestion`].
    /// Returns `true` if they are not to count in [`Acked::lost`] of the next acknowledgement.
    fn on_expired(&mut self, _window: &mut Window, _expired: &Expired) -> bool {
        false
    }
    /// Returns the pacing after the last call of another method. Called only if [`Profile::paces`] is `true`.
    fn pacing(&self) -> Pacing {
        Pacing::default()
    }
    /// Calls `f` with name and value of each variable of the state, for time series.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
}
