//! The sending end of a connection.
//!
//! One struct, its verbs spread over files by what they deal with: `send` chooses and transmits,
//! `ack` takes in acknowledgements, `plain` and `selective` find and repair losses without and
//! with SACK, `timeout` is the retransmission timer and its undoing, `ecn` the answer to echoes.
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
mod ecn;
mod mark;
mod open;
mod plain;
mod prr;
mod rack;
mod rare;
mod reopen;
mod reserve;
mod sampler;
mod selective;
mod send;
mod state;
#[cfg(test)]
mod tests;
mod timeout;

use crate::cc::{BackOff, CongestionControl, Pacing, Profile, RecoveryWindow, SentCalls, Window};
use crate::params::{Recovery, SpuriousTimeout, Tcp, WindowValidation};
use crate::registry::Control;
use crate::rtt::Rtt;
use board::Board;
use rack::Rack;
use rare::{Pace, Rare};
use reserve::Reserve;
use sampler::Sampler;
use state::{Counts, Flavour, Probe, RareCounts};
pub use state::{State, Statistics};
use std::sync::Arc;
use tailback_random::Rng;
use tailback_units::{Dur, Time};
use timeout::FRto;

/// The sending end of a connection: told what to send, what is acknowledged and that time has
/// passed; asked what to transmit.
///
/// After every call of [`Sender::offer`], [`Sender::on_ack`] and [`Sender::on_timer`] call
/// [`Sender::poll`] until it answers none, then arm one timer for [`Sender::deadline`].
#[derive(Debug)]
pub struct Sender {
    window: Window,
    /// First segment not acknowledged, next to transmit (before `max` when going back), first never
    /// transmitted.
    una: u32,
    nxt: u32,
    max: u32,
    /// Recovery ends when all before it is acknowledged.
    recover: u32,
    /// Segments offered and not yet transmitted.
    left: u64,
    /// `max` at the last reduction.
    reduced_at: u32,
    /// `max` when the window was full for the last time.
    full_at: u32,
    /// A round trip ends when this one is acknowledged.
    round_end: u32,
    dupacks: u32,
    /// Segments taken for lost since the congestion control was last told.
    lost: u32,
    /// Fast recovery's inflation of the window, segments.
    inflation: i32,
    state: State,
    flavour: Flavour,
    /// Transmit `una` again whatever the window says.
    force: bool,
    /// Transmit a tail loss probe whatever the window says.
    force_probe: bool,
    /// Wait for the timer before the next segment (RFC 3168 section 6.1.2).
    held: bool,
    /// The last echo came at a window of one segment and counts towards doubling the timeout.
    floored: bool,
    /// Whether the last reduction answered an echo.
    by_echo: bool,
    /// Set CWR on the next new segment.
    cwr: bool,
    ecn: bool,
    /// Whether it marks its segments: it has a reservation, or its control marks.
    marking: bool,
    /// Whether it has no scoreboard, samples no rate, marks nothing and paces nothing, and its control is plain. So
    /// most senders are, and what handles each of their segments and acknowledgements leaves out all that.
    plain: bool,
    profile: Profile,
    /// Whether segment `timed` is being timed.
    timing: bool,
    /// Whether a partial acknowledgement has come in this recovery.
    partial: bool,
    /// SYNs sent; so many that the rest do not matter are the most.
    syns: u8,
    f_rto: FRto,
    /// First unacknowledged segment at the last expiry; one before the first segment if there was none.
    expired_at: u32,
    timed: u32,
    timed_at: Time,
    rtt: Rtt,
    /// Of the retransmission timer.
    expiry: Time,
    last_sent: Time,
    counts: Counts,
    control: Control,
    tcp: Arc<Tcp>,
    board: Option<Box<Board>>,
    /// Of senders that space their segments or sample their rate, from the first on.
    pace: Option<Box<Pace>>,
    /// What many senders never need.
    rare: Option<Box<Rare>>,
}

impl Sender {
    /// The sending end of a connection of `tcp`, which has passed `check`; `rng` is for the
    /// congestion control.
    pub fn new(tcp: &Arc<Tcp>, rng: Rng) -> Sender {
        let (flavour, board) = match &tcp.recovery {
            Recovery::Tahoe(_) | Recovery::GoBackN(_) => (Flavour::Tahoe, None),
            Recovery::Reno(_) => (Flavour::Reno, None),
            Recovery::NewReno(_) => (Flavour::NewReno, None),
            Recovery::Sack(sack) => {
                (Flavour::Sack, Some(Box::new(Board::new(tcp.dup_thresh, sack.rack.then(Rack::new)))))
            }
        };
        let reserve = tcp.reservation.as_ref().map(|params| Box::new(Reserve::new(params, tcp, rng.clone())));
        let setup = tcp.setup();
        let control = tcp.congestion_control.build(&setup, rng);
        let profile = control.profile();
        debug_assert!(profile.paces || control.pacing() == Pacing::default(), "the profile excludes pacing");
        let ssthresh = tcp.initial_ssthresh.map_or(f64::INFINITY, f64::from);
        let window = Window { cwnd: tcp.congestion_control.initial_window(&setup), ssthresh };
        let marking = reserve.is_some() || profile.sent == SentCalls::Marks;
        let by_flight = tcp.window_validation == WindowValidation::Flight;
        let plain = profile.is_plain() && board.is_none() && !marking && !tcp.pacing && by_flight;
        Sender {
            window,
            una: 0,
            nxt: 0,
            max: 0,
            // One before the first: a first loss may always be repaired.
            recover: u32::MAX,
            left: 0,
            reduced_at: u32::MAX,
            full_at: u32::MAX,
            round_end: 0,
            dupacks: 0,
            lost: 0,
            inflation: 0,
            state: State::Closed,
            flavour,
            force: false,
            force_probe: false,
            held: false,
            floored: false,
            by_echo: false,
            cwr: false,
            ecn: false,
            marking,
            plain,
            profile,
            timing: false,
            partial: false,
            syns: 0,
            f_rto: FRto::Off,
            expired_at: u32::MAX,
            timed: 0,
            timed_at: Time::ZERO,
            rtt: Rtt::new(&tcp.timers),
            expiry: Time::NEVER,
            last_sent: Time::ZERO,
            counts: Counts::default(),
            pace: (profile.samples_rate).then(|| Box::new(Pace { sampler: Some(Box::default()), ..Pace::default() })),
            control,
            board,
            rare: reserve.map(|reserve| Box::new(Rare { reserve: Some(reserve), ..Rare::default() })),
            tcp: Arc::clone(tcp),
        }
    }

    /// The application writes `bytes` more; `u64::MAX` is without end. All segments of a write are
    /// full but the last, and what one write leaves over is not filled up by the next.
    pub fn offer(&mut self, now: Time, bytes: u64) {
        let full = u64::from(self.tcp.payload());
        let (segments, rest) = if bytes == u64::MAX { (u64::MAX, 0) } else { (bytes.div_ceil(full), bytes % full) };
        if segments == 0 {
            return;
        }
        self.left = self.left.saturating_add(segments);
        if rest > 0 {
            let last = self.transmitted_once().saturating_add(self.left) - 1;
            self.rare().short.push_back((last, rest as u16));
        }
        if self.state == State::Closed {
            self.open(now);
        }
    }

    /// When to call [`Sender::on_timer`] next; [`Time::NEVER`] if nothing is awaited. It may move
    /// either way with each call.
    #[inline]
    pub fn deadline(&self) -> Time {
        let timers = self.board.as_ref().map_or(self.expiry, |board| self.expiry.min(board.probe.at));
        match &self.pace {
            Some(pace) if pace.holds => timers.min(pace.release).min(self.pacing().changes_at),
            _ => timers,
        }
    }

    /// A deadline has come, or has not: then nothing happens.
    pub fn on_timer(&mut self, now: Time) {
        if self.board.as_ref().is_some_and(|board| now >= board.probe.at) {
            self.on_probe(now);
        }
        if now >= self.expiry {
            self.on_expiry(now);
        }
    }

    /// In place of [`Sender::poll`], when the host has no room for a segment: what was to leave at a time of
    /// its own now waits for the host to ask again.
    pub fn wait_for_turn(&mut self) {
        self.hold_for_pace(false);
    }

    /// Congestion window, segments; fast recovery's inflation is not part of it.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }
    /// Slow-start threshold, segments; infinite before the first congestion if none was set.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Dur {
        self.rtt.srtt(&self.tcp.timers)
    }
    /// Smallest round-trip time so far; zero before the first sample.
    pub fn min_rtt(&self) -> Dur {
        self.rtt.min()
    }
    /// Retransmission timeout, doublings included.
    pub fn rto(&self) -> Dur {
        let interval = self.pacing().interval;
        if interval > Dur::ZERO {
            // The interval has the doublings in it already.
            return self.rtt.base().max(interval).min(self.tcp.timers.max_rto);
        }
        self.plain_rto()
    }
    /// The same with a control that has no interval.
    #[inline]
    fn plain_rto(&self) -> Dur {
        self.rtt.rto(&self.tcp.timers)
    }
    /// Segments outstanding: sent, neither acknowledged nor taken for lost.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        match &self.board {
            Some(board) => board.pipe(),
            None => self.plain_in_flight(),
        }
    }
    /// The same without a scoreboard.
    #[inline]
    fn plain_in_flight(&self) -> u32 {
        self.nxt.wrapping_sub(self.una).saturating_sub(self.dupacks)
    }
    /// First segment not acknowledged.
    pub fn una(&self) -> u32 {
        self.una
    }
    /// First segment never transmitted.
    pub fn next(&self) -> u32 {
        self.max
    }
    /// What it is doing.
    pub fn state(&self) -> State {
        match self.state {
            State::Open if self.is_reduced() => State::Reduced,
            state => state,
        }
    }
    /// Whether all that was offered is acknowledged.
    pub fn done(&self) -> bool {
        self.left == 0 && self.una == self.max
    }
    /// Whether its segments say whether they are marked.
    pub fn marks(&self) -> bool {
        self.marking
    }
    /// Whether ECN is in use on this connection.
    pub fn ecn(&self) -> bool {
        self.ecn
    }
    /// Counts since the start.
    pub fn statistics(&self) -> Statistics {
        self.counts.statistics(self.rare.as_ref().map_or_else(RareCounts::default, |rare| rare.counts))
    }
    /// Shows the congestion control's own state.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.control.probe(f);
    }

    /// Panics if its books do not balance; tests call it, at a cost that grows with the window.
    pub fn audit(&self) {
        let [used, outstanding] = [self.nxt, self.max].map(|seq| seq.wrapping_sub(self.una));
        assert!(used <= outstanding && outstanding < 1 << 31, "segments {} {} {}", self.una, self.nxt, self.max);
        assert!(self.window.cwnd > 0.0 && self.window.ssthresh >= 1.0, "{:?}", self.window);
        assert!(self.una == self.max || self.expiry != Time::NEVER, "something is outstanding and no timer runs");
        if let Some(board) = &self.board {
            board.audit();
        }
    }

    /// The samples of the delivery rate, of a sender whose control asks for them.
    #[inline]
    fn sampler(&mut self) -> Option<&mut Sampler> {
        self.pace.as_mut()?.sampler.as_deref_mut()
    }
    /// When the next segment may leave.
    #[inline]
    fn release(&self) -> Time {
        self.pace.as_ref().map_or(Time::ZERO, |pace| pace.release)
    }
    /// Whether it is only the pace that keeps a segment back.
    #[inline]
    fn hold_for_pace(&mut self, holds: bool) {
        if let Some(pace) = &mut self.pace {
            pace.holds = holds;
        }
    }
    /// Neither a probe nor the end of RACK's patience is awaited any more.
    fn stop_probe(&mut self) {
        if let Some(board) = &mut self.board {
            board.probe = Probe::default();
        }
    }
    fn reserve(&self) -> Option<&Reserve> {
        self.rare.as_ref()?.reserve.as_deref()
    }
    /// Whether segment `seq` was marked when it was last sent.
    fn was_marked(&self, seq: u32) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.marks.get(seq))
    }
    /// Segments that the window allows: its integer part, at least 1 unless echoes of congestion have
    /// taken it below (`ecn-floor = "ns-2"`).
    #[inline]
    fn allowed(&self) -> u32 {
        let least = u32::from(self.window.cwnd >= 1.0);
        (self.window.cwnd as u32).saturating_add_signed(self.inflation).max(least)
    }
    /// Whether nothing new may be sent before the timer expires or the window opens.
    #[inline]
    fn waits(&self) -> bool {
        self.held || self.window.cwnd < 1.0
    }
    /// One past the last segment that the receiver allows.
    #[inline]
    fn limit(&self) -> u32 {
        self.una.wrapping_add(self.tcp.receive_window.unwrap_or(1 << 30))
    }
    /// What happens below a window of one segment.
    fn back_off(&self) -> BackOff {
        self.profile.below_one.unwrap_or(self.tcp.ecn_floor.back_off())
    }
    /// Pacing by the congestion control.
    #[inline]
    fn pacing(&self) -> Pacing {
        if self.profile.paces { self.control.pacing() } else { Pacing::default() }
    }
    fn owns_recovery(&self) -> bool {
        self.profile.recovery == RecoveryWindow::Control
    }
    /// New segments transmitted since the start. Unlike `max` it does not wrap.
    fn transmitted_once(&self) -> u64 {
        self.counts.sent - self.counts.retransmissions
    }
    fn watches(&self, how: SpuriousTimeout) -> bool {
        self.tcp.spurious_timeout == how
    }
    /// FlightSize for a reduction (RFC 5681): without what limited transmit added.
    fn flight_size(&self) -> u32 {
        self.max.wrapping_sub(self.una).min(self.allowed())
    }
}
