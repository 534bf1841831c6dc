//! Congestion controls: the window and the pacing rate of a connection.

use crate::answer::{finite, wake_up};
use core::fmt::Debug;
use tailback_random::Rng;
use tailback_units::Time;

/// Event that a congestion control is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CongestionEvent {
    /// The connection opens, before its first segment. Every control is called.
    Start = 0,
    /// An acknowledgement has delivered at least one segment, outside loss recovery or, with
    /// [`CongestionOptions::OWNS_RECOVERY`], at any time.
    Acknowledged = 1,
    /// Duplicate or selective acknowledgements indicate a loss, and recovery begins.
    Lost = 2,
    /// The receiver echoes a mark "congestion experienced"; at most once per window. Never with
    /// [`CongestionOptions::HANDLES_ECHOES`].
    Marked = 3,
    /// The retransmission timer has expired for a segment for the first time.
    Timeout = 4,
    /// A segment is transmitted.
    Sent = 5,
    /// The time of the wake-up has come.
    Timer = 6,
    /// The last reduction was spurious, and the sender has restored the window before it.
    Spurious = 7,
}

impl CongestionEvent {
    /// All events, in the order of their numbers.
    pub const ALL: [CongestionEvent; 8] = [
        CongestionEvent::Start,
        CongestionEvent::Acknowledged,
        CongestionEvent::Lost,
        CongestionEvent::Marked,
        CongestionEvent::Timeout,
        CongestionEvent::Sent,
        CongestionEvent::Timer,
        CongestionEvent::Spurious,
    ];
    /// Returns the bit of the event in a set of events.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
    /// Returns the name of the method that handles the event.
    pub const fn name(self) -> &'static str {
        match self {
            CongestionEvent::Start => "start",
            CongestionEvent::Acknowledged => "acknowledged",
            CongestionEvent::Lost => "lost",
            CongestionEvent::Marked => "marked",
            CongestionEvent::Timeout => "timeout",
            CongestionEvent::Sent => "sent",
            CongestionEvent::Timer => "timer",
            CongestionEvent::Spurious => "spurious",
        }
    }
}

/// Properties that a congestion control declares, a bit each in [`crate::Loaded::options`].
#[derive(Clone, Copy, Debug)]
pub struct CongestionOptions;

impl CongestionOptions {
    /// The control sets a pacing rate.
    pub const PACES: u32 = 1;
    /// The control sets the window in loss recovery and after a timeout, too; otherwise the sender does, from the
    /// threshold.
    pub const OWNS_RECOVERY: u32 = 2;
    /// The control responds to echoes of congestion by itself ([`CongestionCall::ece`]).
    pub const HANDLES_ECHOES: u32 = 4;
    /// Acknowledgements carry samples of the delivery rate ([`CongestionCall::delivery_rate`]).
    pub const SAMPLES_RATE: u32 = 8;
}

/// Arguments of a call of a congestion control: what has happened, and the state of the sender.
///
/// Fields that an event does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct CongestionCall {
    /// Current time, picoseconds since the start of the run.
    pub now_ps: u64,
    /// Sample of the round-trip time, picoseconds; `u64::MAX`: no sample.
    pub rtt_ps: u64,
    /// Smoothed round-trip time, picoseconds (RFC 6298); 0 before the first acknowledgement.
    pub srtt_ps: u64,
    /// Minimum round-trip time of the connection, picoseconds; 0 before the first acknowledgement.
    pub min_rtt_ps: u64,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow-start threshold, segments; infinite before the first congestion unless one is set.
    pub ssthresh: f64,
    /// Sample of the delivery rate, segments per second; 0: no sample.
    pub delivery_rate: f64,
    /// Number of the event: see [`CongestionEvent`].
    pub event: u32,
    /// Number of segments newly acknowledged, cumulatively or selectively.
    pub delivered: u32,
    /// Number of segments by which the cumulative acknowledgement advances.
    pub advanced: u32,
    /// Number of segments outstanding before the acknowledgement.
    pub in_flight_before: u32,
    /// Number of segments outstanding after the acknowledgement; for a loss, a mark and a timeout FlightSize (RFC 5681).
    pub in_flight: u32,
    /// Number of segments newly considered lost since the last acknowledgement that was reported.
    pub lost: u32,
    /// Payload of a full segment, bytes.
    pub payload: u32,
    /// 1 if the window, not the application or the receiver, limits the sender; else 0.
    pub window_limited: u8,
    /// 1 if the acknowledgement echoes a mark; else 0.
    pub ece: u8,
    /// 1 if the sender is in loss recovery; else 0.
    pub recovering: u8,
    /// 1 if the acknowledgement ends a round trip; else 0.
    pub round: u8,
    /// 1 if the application limited the sample of the delivery rate; else 0.
    pub app_limited: u8,
    /// 1 if no segment was outstanding before the transmission; else 0.
    pub idle: u8,
    /// Zero, so that the record has no bytes without a value.
    pub reserved: [u8; 6],
}

/// Answer of a congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct CongestionAnswer {
    /// Congestion window, segments, 1 to 1e9.
    pub cwnd: f64,
    /// Slow-start threshold, segments, 1 or more, or infinite.
    pub ssthresh: f64,
    /// Pacing rate, segments per second; 0: segments leave as soon as the window allows.
    pub rate: f64,
    /// Time of the next wake-up, picoseconds since the start of the run; `u64::MAX`: none. A new answer replaces it.
    pub wake_ps: u64,
}

impl CongestionAnswer {
    /// Maximum window, segments.
    pub const MAX_WINDOW: f64 = 1e9;
    /// Range of the pacing rate other than 0, segments per second.
    pub const RATES: [f64; 2] = [1e-3, 1e12];

    /// Checks the answer to a call; returns the time of the next wake-up.
    ///
    /// # Errors
    /// If a number is not in its range, or if the wake-up is before now or, after the timer itself, not after now.
    pub fn checked(&self, call: &CongestionCall) -> Result<Time, String> {
        finite("the window", self.cwnd, 1.0, CongestionAnswer::MAX_WINDOW, "segments")?;
        if self.ssthresh.is_nan() || self.ssthresh < 1.0 {
            return Err(format!("the threshold is {} segments; it must be 1 or more, or infinite", self.ssthresh));
        }
        if self.rate != 0.0 {
            let [low, high] = CongestionAnswer::RATES;
            finite("the rate", self.rate, low, high, "segments/s")?;
        }
        wake_up(self.wake_ps, call.now_ps, call.event == CongestionEvent::Timer as u32)
    }
}

/// An instance of a congestion control, for one connection.
pub trait CongestionLaw: Debug + Send + Sync {
    /// Notes the name of the instance and its place, as in [`crate::Fault::component`], before the first call.
    fn placed(&mut self, _name: &str) {}

    /// Answers a call. `last` has the window, the rate and the wake-up before the call, which a control returns if it does
    /// not change them. `rng` is the random stream of the connection.
    ///
    /// # Errors
    /// If the control fails; the message describes the failure.
    fn answer(
        &mut self,
        call: &CongestionCall,
        last: &CongestionAnswer,
        rng: &mut Rng,
    ) -> Result<CongestionAnswer, String>;

    /// Returns to the state of a new instance, for a new connection of the same flow.
    ///
    /// # Errors
    /// If the control fails; the message describes the failure.
    fn renew(&mut self) -> Result<(), String>;

    /// Passes state variables to `f` for time series: a name, which contains the unit, and a value.
    ///
    /// # Errors
    /// If the control fails; the message describes the failure.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        Ok(())
    }
}
