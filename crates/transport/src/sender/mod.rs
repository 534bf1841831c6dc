//! The sending end of a connection.
//!
//! State is grouped by concern: `sequence`, `groups`, `board`, `state`, and `cold` for state that few senders need. The
//! methods are spread over files: `open`, `close` and `reopen` open, stop and restart connections, `send` selects and
//! transmits segments, `ack` processes acknowledgements, `plain` and `selective` detect and repair losses without and
//! with SACK (with `mark`, `rack` and `prr`), `timeout` handles the retransmission timer, with F-RTO, `undo` reverses
//! spurious reductions, `ecn` responds to echoes, `reduce` reports congestion to the congestion control, `sampler`
//! samples the delivery rate, `reserve` and `reserved` implement reservations, and `show` has the public read access to
//! the state.
//!
//! ```text
//! Closed ─offer─▶ Opening ─SYN-ACK─▶ Open ◀──────────────┐
//!                                    ├─ECE───▶ Reduced ──┤ a window later
//!                                    ├─loss──▶ Recovery ─┤ all acknowledged
//!                                    └─timer─▶ Loss ─────┘ that was sent before
//! ```

mod ack;
mod board;
mod close;
mod cold;
mod ecn;
mod groups;
mod mark;
mod open;
mod plain;
mod prr;
mod rack;
mod reduce;
mod reopen;
mod reserve;
mod reserved;
mod sampler;
mod selective;
mod send;
mod sequence;
mod show;
mod single;
mod state;
#[cfg(test)]
mod tests;
mod timeout;
mod undo;
mod user;

use crate::cc::{CongestionControl, Pacing, Profile, RecoveryWindow, SentCalls, Timer, Window};
use crate::params::{Form, Recovery, Tcp, WindowValidation};
use crate::registry::Control;
use crate::tick;
use board::{Board, Probe};
use cold::{ColdState, Pace};
use groups::{Echoes, Flavour, Repair, Timers, Urgent};
use rack::Rack;
use reserve::Reserve;
use sampler::Sampler;
use sequence::Sequence;
use state::Counts;
pub use state::{Scoreboard, State, Statistics};
use std::sync::Arc;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Largest window, segments: that of a receiver that offers none.
const LARGEST_WINDOW: u32 = 1 << 30;

/// The sending end of a connection.
///
/// After each call of [`Sender::offer`], [`Sender::on_ack`] or [`Sender::on_timer`], the caller calls [`Sender::poll`]
/// until it returns `None`, and then sets one timer to [`Sender::deadline`].
#[derive(Debug)]
pub struct Sender {
    window: Window,
    seq: Sequence,
    repair: Repair,
    ecn: Echoes,
    state: State,
    /// `true` if the connection uses ECN, as negotiated at its opening.
    ecn_capable: bool,
    urgent: Urgent,
    /// `true` for the fast path: no scoreboard, no delivery rate, no marks, no pacing, a plain control ([`Profile`]).
    plain: bool,
    profile: Profile,
    timers: Timers,
    counts: Counts,
    control: Control,
    tcp: Arc<Tcp>,
    /// Scoreboard of selective acknowledgements; `None` without SACK.
    board: Option<Box<Board>>,
    /// Pacing and delivery rate; `None` until the sender uses one of them.
    pace: Option<Box<Pace>>,
    /// Cold state, allocated at first use.
    cold: Option<Box<ColdState>>,
}

impl Sender {
    /// Returns the sending end of a connection of `tcp`, which has passed `check`; `rng` is the random stream of the
    /// congestion control and of the reservation.
    pub fn new(tcp: &Arc<Tcp>, rng: Rng) -> Sender {
        let as_linux = matches!(&tcp.recovery, Recovery::Sack(sack) if sack.form == Form::Linux);
        let (flavour, board) = match &tcp.recovery {
            Recovery::Tahoe(_) | Recovery::GoBackN(_) => (Flavour::Tahoe, None),
            Recovery::Reno(_) => (Flavour::Reno, None),
            Recovery::NewReno(_) => (Flavour::NewReno, None),
            Recovery::Sack(sack) => {
                (Flavour::Sack, Some(Box::new(Board::new(tcp.dup_thresh, sack.rack.then(|| Rack::new(as_linux))))))
            }
        };
        let reserve = tcp.reservation.as_ref().map(|params| Box::new(Reserve::new(params, tcp, rng.clone())));
        let setup = tcp.setup();
        let control = tcp.congestion_control.build(&setup, rng);
        let profile = control.profile();
        debug_assert!(profile.paces || control.pacing() == Pacing::default(), "the profile excludes pacing");
        let ssthresh = tcp.initial_ssthresh.map_or(f64::INFINITY, f64::from);
        let by_flight = tcp.window_validation == WindowValidation::Flight;
        let exact = tcp.timers.tick.is_none();
        let plain = profile.is_plain() && board.is_none() && reserve.is_none() && !tcp.pacing && by_flight && exact;
        Sender {
            window: Window { cwnd: tcp.congestion_control.initial_window(&setup), ssthresh },
            seq: Sequence::starting_at(0),
            repair: Repair::starting_at(0, flavour),
            ecn: Echoes::starting_at(0),
            state: State::Closed,
            ecn_capable: false,
            urgent: Urgent::No,
            plain,
            profile,
            timers: Timers::new(&tcp.timers),
            counts: Counts::default(),
            pace: Pace::new(&profile, as_linux, tcp.handshake).map(Box::new),
            control,
            board,
            cold: reserve.map(|reserve| Box::new(ColdState { reserve: Some(reserve), ..ColdState::default() })),
            tcp: Arc::clone(tcp),
        }
    }

    /// Adds `bytes` that the application writes, and opens the connection if it is closed; `u64::MAX` is an endless
    /// write. All segments of a write are full except the last one, to which later writes add nothing. `now` is the time at
    /// which a user-defined congestion control starts.
    pub fn offer(&mut self, now: Time, bytes: u64) {
        let full = u64::from(self.tcp.payload());
        let (segments, rest) = if bytes == u64::MAX { (u64::MAX, 0) } else { (bytes.div_ceil(full), bytes % full) };
        if segments == 0 {
            return;
        }
        if self.seq.unsent == 0 && !matches!(self.state, State::Closed | State::Opening) && self.is_as_linux() {
            self.limit_by_application();
        }
        self.seq.unsent = self.seq.unsent.saturating_add(segments);
        if rest > 0 {
            let last = self.counts.transmitted_once().saturating_add(self.seq.unsent) - 1;
            self.cold().short.push_back((last, rest as u16));
        }
        if self.state == State::Closed {
            self.control.on_open(&mut self.window, now);
            self.open();
        }
    }

    /// Returns the time at which [`Sender::on_timer`] must be called next; [`Time::NEVER`]: no timer is set. Any call
    /// of a method may change this time, to an earlier or a later one.
    #[inline]
    pub fn deadline(&self) -> Time {
        let expiry = self.timers.expiry;
        let timers = self.board.as_ref().map_or(expiry, |board| expiry.min(board.probe.at));
        match &self.pace {
            Some(pace) => timers.min(self.paced_deadline(pace)),
            None => timers,
        }
    }

    /// Returns the earlier one of the control's wake-up and the time at which a segment that waits for pacing may leave, or
    /// the pacing changes; [`Time::NEVER`]: none.
    #[inline]
    fn paced_deadline(&self, pace: &Pace) -> Time {
        let wake = if self.profile.wakes { self.control.wake() } else { Time::NEVER };
        if pace.holds { wake.min(pace.release).min(self.pacing().changes_at) } else { wake }
    }

    /// Processes the timers that have expired by `now`.
    pub fn on_timer(&mut self, now: Time) {
        if self.profile.wakes && now >= self.control.wake() {
            self.control.on_timer(&mut self.window, now, Timer::Control);
        }
        if self.board.as_ref().is_some_and(|board| now >= board.probe.at) {
            self.on_probe(now);
        }
        if now >= self.timers.expiry {
            self.on_expiry(now);
        }
    }

    /// To be called instead of [`Sender::poll`] while the host has no room for a segment. Pacing then sets no deadline
    /// until the next call of [`Sender::poll`].
    pub fn wait_for_turn(&mut self) {
        self.hold_for_pace(false);
    }

    /// Returns the pacing that the congestion control sets.
    #[inline]
    fn pacing(&self) -> Pacing {
        if self.profile.paces { self.control.pacing() } else { Pacing::default() }
    }
    /// Returns `true` if the congestion control, not the sender, sets the window in recovery and after timeouts.
    #[inline]
    fn owns_recovery(&self) -> bool {
        self.profile.recovery == RecoveryWindow::Control
    }
    /// Returns `true` if segments are marked, by a reservation or by the congestion control.
    #[inline]
    fn is_marking(&self) -> bool {
        !self.plain && (self.profile.sent == SentCalls::Marks || self.tcp.reservation.is_some())
    }
    /// Returns the cold state, which is allocated at the first call.
    fn cold(&mut self) -> &mut ColdState {
        self.cold.get_or_insert_default()
    }
    /// Returns the sampler of the delivery rate; `None`: the control does not use one.
    #[inline]
    fn sampler(&mut self) -> Option<&mut Sampler> {
        self.pace.as_mut()?.sampler.as_deref_mut()
    }
    /// Records whether a segment waits only for pacing (`holds`), so that its release time is a deadline.
    #[inline]
    fn hold_for_pace(&mut self, holds: bool) {
        if let Some(pace) = &mut self.pace {
            pace.holds = holds;
        }
    }
    /// Stops the timer of tail loss probes and of reordering.
    fn stop_probe(&mut self) {
        if let Some(board) = &mut self.board {
            board.probe = Probe::default();
        }
    }
    /// Returns the retransmission timeout, without the lower bound by the control's pacing interval.
    #[inline]
    fn plain_rto(&self) -> Dur {
        self.timers.rtt.rto(&self.tcp.timers)
    }
    /// Returns the expiry of a timer that is set to `wait` at `now`.
    #[inline]
    fn expiry(&self, now: Time, wait: Dur) -> Time {
        tick::expiry(now, wait, self.tcp.timers.tick)
    }
    /// Returns the number of segments outstanding for a sender without a scoreboard.
    #[inline]
    fn plain_in_flight(&self) -> u32 {
        self.seq.used().saturating_sub(self.repair.dupacks)
    }
    /// Returns the number of segments that the window allows to be outstanding: its integer part plus the inflation,
    /// and at least 1 unless echoes of congestion have reduced the window below one segment (`ecn-floor = "ns-2"`).
    #[inline]
    fn allowed(&self) -> u32 {
        let minimum = u32::from(self.window.cwnd >= 1.0);
        (self.window.cwnd as u32).saturating_add_signed(self.repair.inflation).max(minimum)
    }
    /// Returns the segment after the last one that the receive window allows.
    #[inline]
    fn limit(&self) -> u32 {
        let offered = self.board.as_ref().and_then(|board| board.offered).or(self.tcp.receive_window);
        self.seq.una.wrapping_add(offered.unwrap_or(LARGEST_WINDOW))
    }
    /// Processes the window of an acknowledgement of all segments before `next`, which is not before the first one that is
    /// not acknowledged (RFC 9293 section 3.10.7.4, `tcp_may_update_window`).
    ///
    /// Without an open window one segment may be outstanding, in place of the probes of RFC 9293 section 3.8.6.1.
    fn take_window(&mut self, next: u32, window: u32) {
        let una = self.seq.una;
        if let Some(board) = &mut self.board {
            let window = window.clamp(1, LARGEST_WINDOW);
            let larger = board.offered.is_none_or(|offered| offered < window);
            if next != una || larger {
                board.offered = Some(window);
            }
        }
    }
    /// Returns `true` if no new segment may be sent before the timer expires or the window opens.
    #[inline]
    fn waits(&self) -> bool {
        self.ecn.held || self.window.cwnd < 1.0
    }
}
