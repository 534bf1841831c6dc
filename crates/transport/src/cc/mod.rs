//! Congestion control: how the window grows and shrinks.
//!
//! The sender detects and repairs losses in the same way for all controls. A congestion control reads what
//! was acknowledged and sets the [`Window`], in segments.
//!
//! A control is one file here: `Params` with [`Build`], and the state with [`CongestionControl`]; it is listed in
//! `registry.rs`. [`CongestionControl::on_ack`] and [`CongestionControl::on_congestion`] are required, all else has a
//! default.

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
    /// Headers of a segment, TCP and IP, bytes.
    pub header: u16,
    /// Window before the first acknowledgement, segments, at least 1.
    pub initial_window: u32,
    /// Slow-start threshold at the start, segments; `None`: infinite.
    pub initial_ssthresh: Option<u32>,
    /// Largest retransmission timeout.
    pub max_rto: Dur,
    /// `true` if the sender paces at a multiple of the window per round trip.
    pub pacing: bool,
    /// `true` if acknowledgements are selective, so that several losses per round trip are seen.
    pub selective: bool,
    /// The host's link and the idle path.
    pub line: Line,
}

impl Setup {
    /// Bytes of a full segment with its headers.
    pub(crate) fn full(&self) -> u32 {
        u32::from(self.payload) + u32::from(self.header)
    }
}

/// Parameters of a congestion control, from which its state is built.
pub trait Build {
    /// State of the control in one sender.
    type Control;
    /// Returns the state for a sender; `rng` is a stream of its own.
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
    /// Echo of congestion experienced.
    pub echo: EcnEcho,
    /// Minimum time between congestion notifications, which the receiver sends instead of echoes: it acknowledges a
    /// marked segment at once with ECE set, and no other segment. `None`: echoes.
    pub notification: Option<Dur>,
    /// `true` if switches write telemetry into the packets ([`Feedback::hops`]).
    pub telemetry: bool,
    /// `true` if the control works only with queues that mark.
    pub marks: bool,
    /// `true` if the control reads [`Setup::line`].
    pub line: bool,
    /// `true` if [`Line::base_rtt`] is the longest of the flow group's paths, `false` if that of the flow's own.
    pub shares_base_rtt: bool,
}

/// The window that a congestion control sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, segments, above 0. Its integer part, at least 1, may be outstanding.
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    pub ssthresh: f64,
}

/// Window of a control that limits by rate only: never reached.
pub(crate) const NO_WINDOW: f64 = 1e9;

/// Pacing set by a congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacing {
    /// Pacing rate, segments per second. `None`: segments leave as soon as the window allows.
    pub rate: Option<f64>,
    /// Minimum time from one segment to the next, and minimum retransmission timeout, at less than one segment per
    /// round trip; zero: no limit.
    pub interval: Dur,
    /// Instant of the next change of `rate` or `interval` by time alone, at which [`CongestionControl::on_timer`] is
    /// due; [`Time::NEVER`] if there is none.
    pub changes_at: Time,
}

impl Pacing {
    /// Pacing at `rate` segments per second, which only acknowledgements and congestion change.
    pub fn at(rate: f64) -> Pacing {
        Pacing { rate: Some(rate), ..Pacing::default() }
    }
}

impl Default for Pacing {
    /// No pacing.
    fn default() -> Pacing {
        Pacing { rate: None, interval: Dur::ZERO, changes_at: Time::NEVER }
    }
}

/// Capabilities of a congestion control. They are constant, and the sender reads them once, when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Profile {
    /// Owner of the window during loss recovery.
    pub recovery: RecoveryWindow,
    /// Response to an echo of congestion.
    pub echo: EchoResponse,
    /// Calls of [`CongestionControl::on_sent`].
    pub sent: SentCalls,
    /// `true` if each expiry of the retransmission timer is reported as congestion, `false` if only the first for a
    /// segment (RFC 5681 section 3.1).
    pub every_expiry: bool,
    /// `true` if the sender calls [`CongestionControl::pacing`].
    pub paces: bool,
    /// `true` if acknowledgements carry a delivery rate ([`Acked::rate`]).
    pub samples_rate: bool,
    /// Response to congestion at a window of one segment. `None`: the connection's `ecn-floor`.
    pub below_one: Option<BackOff>,
}

impl Profile {
    /// Returns `true` if the control is called for feedback, acknowledgements outside recovery and congestion only.
    pub(crate) fn is_plain(&self) -> bool {
        let calls = self.paces || self.samples_rate || self.sent != SentCalls::Never;
        !calls && self.recovery != RecoveryWindow::Control && self.echo != EchoResponse::Control
    }
}

/// Owner of the congestion window during loss recovery and after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RecoveryWindow {
    /// The sender: fast recovery or proportional rate reduction, and `ssthresh` at the end.
    #[default]
    Sender,
    /// The control at the loss, in [`CongestionControl::on_congestion`]; the sender keeps that window (ns-2). Without
    /// proportional rate reduction only.
    AtLoss,
    /// The control, which is then called for acknowledgements in recovery, too (BBR).
    Control,
}

/// Response to an echo of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EchoResponse {
    /// One reduction per window, for an echo or a loss (RFC 3168 section 6.1.2).
    #[default]
    OncePerWindow,
    /// One reduction per window by echoes, but a loss after an echo reduces the window once more
    /// (RFC 8257 section 3.5).
    ThenLoss,
    /// No reduction by the sender: the control responds by itself.
    Control,
}

/// Calls of [`CongestionControl::on_sent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SentCalls {
    /// No calls.
    #[default]
    Never,
    /// One for each segment.
    Each,
    /// One for each segment; the result decides if the segment is marked.
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

/// Content of an acknowledgement as it arrives, before losses are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Segments newly acknowledged, cumulatively; 0 for a duplicate.
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

/// Result of an acknowledgement that delivered at least one segment.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Arrival of the acknowledgement.
    pub now: Time,
    /// Segments newly acknowledged, cumulatively or selectively, at least 1.
    pub delivered: u32,
    /// Segments by which the cumulative acknowledgement advances; earlier acknowledgements may have counted some of
    /// them in `delivered`.
    pub advanced: u32,
    /// Sample of the round-trip time: of the newest segment acknowledged or, without a scoreboard, of the timestamp or
    /// the timed segment. `None`: no sample, such as for a segment that was sent more than once.
    pub rtt: Option<Dur>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Smallest round-trip time so far; zero before the first sample.
    pub min_rtt: Dur,
    /// Segments outstanding (sent, neither acknowledged nor considered lost) before the acknowledgement.
    pub in_flight_before: u32,
    /// Segments outstanding after the acknowledgement.
    pub in_flight: u32,
    /// `true` if the window, not the application or the receiver, limits the sender.
    pub window_limited: bool,
    /// `true` if the acknowledgement echoes congestion experienced.
    pub ece: bool,
    /// `true` during loss recovery (after this acknowledgement has been processed).
    pub recovering: bool,
    /// `true` if the acknowledgement ends a round trip: it covers a segment sent after the end of the last round trip.
    pub round: bool,
    /// Segments newly considered lost since the last call.
    pub lost: u32,
    /// Sample of the delivery rate; `None` without [`Profile::samples_rate`], or if the interval is too short.
    pub rate: Option<RateSample>,
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Segments delivered in `interval`.
    pub delivered: u32,
    /// The longer of the send and the acknowledgement interval.
    pub interval: Dur,
    /// Segments delivered since the start when the sampled segment was sent.
    pub prior_delivered: u64,
    /// Segments delivered since the start until now.
    pub total_delivered: u64,
    /// Segments outstanding when the sampled segment was sent, itself included.
    pub sent_in_flight: u32,
    /// Segments considered lost since the sampled segment was sent.
    pub lost: u32,
    /// `true` if the sampled segment was sent while the application had too little to send.
    pub app_limited: bool,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Loss, detected by duplicate or selective acknowledgements: recovery begins.
    Loss,
    /// An echo of congestion experienced, at most once per window.
    Ecn,
    /// Expiry of the retransmission timer, or a loss with "tahoe". Afterwards the sender sets the window to one
    /// segment.
    Timeout,
}

/// A sign of congestion, and the state of the sender at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionEvent {
    /// Kind of the sign.
    pub sign: Congestion,
    /// Time of the sign.
    pub now: Time,
    /// FlightSize of RFC 5681: segments outstanding, without those sent by limited transmit.
    pub in_flight: u32,
    /// `true` if the lost segment was marked; `false` without [`SentCalls::Marks`].
    pub marked: bool,
}

impl CongestionEvent {
    /// A sign at `now` with `in_flight` segments outstanding, not of a marked segment.
    pub fn new(sign: Congestion, now: Time, in_flight: u32) -> CongestionEvent {
        CongestionEvent { sign, now, in_flight, marked: false }
    }
}

/// A transmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Time of the transmission.
    pub now: Time,
    /// `true` if no segment was outstanding before the transmission.
    pub idle: bool,
    /// With [`SentCalls::Marks`], `true` if the segment was marked when it was sent before. `None`: it is sent for the
    /// first time.
    pub was_marked: Option<bool>,
}

/// A timer of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The timer of the control itself, at [`Pacing::changes_at`].
    Control,
    /// The retransmission timer, after this timeout: each expiry, after [`CongestionControl::on_congestion`].
    Retransmission(Dur),
}

/// A congestion control.
pub trait CongestionControl {
    /// Returns the capabilities, which are constant.
    fn profile(&self) -> Profile {
        Profile::default()
    }
    /// Processes the content of any acknowledgement, duplicates included, before the sender looks for losses and
    /// responds to the echo.
    fn on_feedback(&mut self, _window: &mut Window, _feedback: &Feedback<'_>) {}
    /// Processes an acknowledgement that delivered something, outside recovery, or with [`RecoveryWindow::Control`] at
    /// any time.
    fn on_ack(&mut self, window: &mut Window, acked: &Acked);
    /// Sets `window.ssthresh`; for [`Congestion::Ecn`] also `window.cwnd`.
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent);
    /// Restores the state before the last reduction, which was spurious (RFC 4015; RFC 9438 section 4.9). The sender
    /// has restored `cwnd` and `ssthresh` already.
    fn on_spurious(&mut self, _window: &mut Window) {}
    /// Processes a transmission, and returns `true` if the segment is to be marked ([`SentCalls`]).
    fn on_sent(&mut self, _sent: &Sent) -> bool {
        false
    }
    /// Processes the expiry of a timer.
    fn on_timer(&mut self, _now: Time, _timer: Timer) {}
    /// Returns the pacing as of the last call ([`Profile::paces`]).
    fn pacing(&self) -> Pacing {
        Pacing::default()
    }
    /// Calls `f` with each variable of the state, for time series.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
}
