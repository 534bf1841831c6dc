//! Groups of a sender's state: recovery, ECN and timers. The sequence space is in `sequence`, the scoreboard in
//! `board`.

use super::board::Spans;
use crate::params::Timers as Params;
use crate::rtt::Rtt;
use crate::seq::{before, later};
use tailback_units::{Dur, Time};

/// State of loss detection and recovery without a scoreboard, and of the recovery after timeouts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    /// Number of duplicate acknowledgements since the last one that advanced.
    pub dupacks: u32,
    /// Number of segments considered lost since the last report to the congestion control.
    pub lost: u32,
    /// Inflation of the window by fast recovery, segments; negative after a deflation.
    pub inflation: i32,
    /// First segment not acknowledged at the last expiry of the retransmission timer; before any expiry, the number
    /// before the first segment.
    pub expired_at: u32,
    /// State of F-RTO.
    pub f_rto: FRto,
    /// `true` after a partial acknowledgement in this recovery.
    pub partial: bool,
    /// Kind of loss detection and recovery.
    pub flavour: Flavour,
}

impl Repair {
    /// Returns the state of a connection whose first segment is `start`.
    pub fn starting_at(start: u32, flavour: Flavour) -> Repair {
        let expired_at = start.wrapping_sub(1);
        Repair { dupacks: 0, lost: 0, inflation: 0, expired_at, f_rto: FRto::Off, partial: false, flavour }
    }

    /// Resets inflation and duplicate count, at the end of fast recovery.
    pub fn clear(&mut self) {
        self.inflation = 0;
        self.dupacks = 0;
    }
}

/// Kind of loss detection and recovery; "go-back-n" is [`Flavour::Tahoe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    Tahoe,
    Reno,
    NewReno,
    Sack,
}

/// State of F-RTO (RFC 5682) since a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FRto {
    /// Not in use, or the timeout has been judged.
    #[default]
    Off,
    /// The first segment was retransmitted, and the sender waits for its acknowledgement (step 2).
    Retransmitted,
    /// The retransmission is acknowledged. This number of new segments may still be sent, and the next acknowledgement
    /// decides whether the timeout was spurious (step 3).
    Probing(u8),
}

/// State of the response to echoes of congestion (RFC 3168 section 6.1.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Echoes {
    /// First segment that had not been transmitted at the last reduction.
    pub reduced_at: u32,
    /// Reason and form of the last reduction.
    pub last: Reduction,
    /// `true` if the next new segment must carry CWR.
    pub cwr: bool,
    /// `true` if the next segment waits for the retransmission timer.
    pub held: bool,
    /// `true` if the last echo arrived at a window of one segment, and the next one at such a window doubles the
    /// timeout ("backoff" and "ns-2").
    pub at_floor: bool,
}

/// Reason and form of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    /// For a loss, or there was none.
    Loss,
    /// For an echo, at once.
    Echo,
    /// For an echo, in proportion to the acknowledgements since then (Linux's state CWR).
    Gradual,
}

impl Echoes {
    /// Returns the state of a connection whose first segment is `start`.
    pub fn starting_at(start: u32) -> Echoes {
        let reduced_at = start.wrapping_sub(1);
        Echoes { reduced_at, last: Reduction::Loss, cwr: false, held: false, at_floor: false }
    }

    /// Returns `true` if the last reduction was for an echo, and segment `una` was sent before it.
    #[inline]
    pub fn is_reduced(&self, una: u32) -> bool {
        self.last != Reduction::Loss && before(una, self.reduced_at)
    }

    /// Records a reduction for a loss; `max` is the first segment never transmitted.
    pub fn reduced_for_loss(&mut self, max: u32) {
        self.reduced_at = max;
        self.last = Reduction::Loss;
    }

    /// Returns `true` while the window is reduced in proportion to the acknowledgements since an echo.
    #[inline]
    pub fn is_gradual(&self) -> bool {
        self.last == Reduction::Gradual
    }

    /// Processes a cumulative acknowledgement of all segments before `next`.
    #[inline]
    pub fn advance(&mut self, next: u32) {
        // An older position is raised to the last acknowledged segment, so that it never is 2^31 or more behind and
        // comparisons survive the wrap of segment numbers.
        self.reduced_at = later(self.reduced_at, next.wrapping_sub(1));
    }
}

/// Retransmission timer and round-trip time.
#[derive(Debug)]
pub(super) struct Timers {
    pub rtt: Rtt,
    /// Expiry of the retransmission timer; [`Time::NEVER`]: it is stopped.
    pub expiry: Time,
    /// Time of the last transmission.
    pub last_sent: Time,
}

impl Timers {
    /// Returns the state before the first transmission.
    pub fn new(params: &Params) -> Timers {
        Timers { rtt: Rtt::new(params), expiry: Time::NEVER, last_sent: Time::ZERO }
    }
}

/// Pending transmission that does not wait for the window or for pacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgent {
    /// No such transmission.
    No,
    /// The first segment not acknowledged, or the SYN.
    First,
    /// A tail loss probe (RFC 8985 section 7).
    Probe,
}

/// Segment to transmit.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    /// The next new segment.
    New,
    /// This segment, as a retransmission.
    Retransmit(u32),
}

/// Segments that an acknowledgement delivered, and its effect on the recovery.
#[derive(Clone, Copy, Default)]
pub(super) struct Delivery {
    /// Number of segments newly acknowledged, cumulatively or selectively.
    pub delivered: u32,
    /// Transmission time of the delivered segment that was sent last. `None`: that segment was sent more than once, no
    /// segment was delivered, or there is no scoreboard.
    pub newest: Option<Time>,
    /// Transmission times that Linux measures.
    pub spans: Spans,
    /// Round-trip time for the congestion control, with `timers.form = "linux"`. `None`: there is none, or another form.
    pub rtt: Option<Dur>,
    /// `true` if the acknowledgement ended a recovery or undid a reduction, which set the window.
    pub ended: bool,
    /// `true` if Linux's rules have started a wait for reordered segments.
    pub waits: bool,
    /// `true` if the retransmission timer must not be restarted.
    pub keep_timer: bool,
}
