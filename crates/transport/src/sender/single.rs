//! The timer of Linux's TCP (`recovery.form = "linux"`): a connection has one, which waits for an acknowledgement, for
//! the time of a tail loss probe, or for reordered segments (`icsk_pending`). Functions are those of Linux 6.1,
//! `net/ipv4/tcp_input.c`, `tcp_output.c` and `tcp_recovery.c`.

use super::Sender;
use super::board::{Awaits, Probe, SACKED};
use super::groups::Delivery;
use super::state::State;
use crate::params::Recovery;
use tailback_units::{Dur, Time};

/// Time that is added to a wait for reordered segments, and to one for the acknowledgements of several segments
/// (`TCP_TIMEOUT_MIN_US`).
pub(super) const LEAST: Dur = Dur::from_ms(2);
/// Time that is added to a wait for the acknowledgement of one segment (`tcp_rto_min`).
const SINGLE: Dur = Dur::from_ms(200);
/// Wait for a probe before the first round-trip time (`TCP_TIMEOUT_INIT`).
const INITIAL: Dur = Dur::from_secs(1);

impl Sender {
    /// Returns what the timer waits for, apart from an acknowledgement.
    fn awaits(&self) -> Awaits {
        self.board.as_ref().map_or(Awaits::Nothing, |board| board.probe.awaits)
    }

    /// Starts the wait for an acknowledgement, or stops the timer if no segment is outstanding (`tcp_rearm_rto`). After
    /// a wait for something else the time since the last transmission of the first segment counts.
    pub(super) fn rearm(&mut self, now: Time) {
        let wait =
            if self.awaits() == Awaits::Nothing { self.rto() } else { self.left(now).unwrap_or(Dur::from_us(1)) };
        self.stop_probe();
        self.timers.expiry = if self.seq.is_idle() { Time::NEVER } else { self.paced_expiry(now, wait) };
    }

    /// Returns the expiry of the connection's timer, which is set to `wait` at `now` (`sk_reset_timer`).
    pub(super) fn single_expiry(&mut self, now: Time, wait: Dur) -> Time {
        let tick = self.tcp.timers.tick;
        self.board.as_mut().map_or(now + wait, |board| board.timer.set(now, wait, tick))
    }

    /// Returns the expiry of a timer that is set to `wait` at `now`, and to the whole ticks for which pacing delays the
    /// next segment (`tcp_reset_xmit_timer`, `tcp_pacing_delay`).
    fn paced_expiry(&mut self, now: Time, wait: Dur) -> Time {
        let delay = self.release().since(now);
        let whole = self.tcp.timers.tick.map_or(delay, |tick| Dur(delay.0 - delay.0 % tick.0));
        self.single_expiry(now, wait + whole)
    }

    /// Returns the time from `now` until the retransmission timeout of the first segment (`tcp_rto_delta_us`). `None`: it
    /// has passed.
    fn left(&self, now: Time) -> Option<Dur> {
        let us = |time: Time| Time(time.0 - time.0 % Dur::from_us(1).0);
        let first = self.board.as_ref().and_then(|board| board.slots.front());
        let (now, end) = (us(now), us(first.map_or(now, |slot| slot.sent)) + self.rto());
        (end > now).then(|| end.since(now))
    }

    /// Starts the wait for a tail loss probe unless a loss is being repaired; returns `true` if it has
    /// (`tcp_schedule_loss_probe`). `acknowledged`: an acknowledgement restarts the timer; otherwise a transmission.
    fn schedule_probe(&mut self, now: Time, acknowledged: bool) -> bool {
        let enabled = matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.tlp);
        let Some(board) = self.board.as_ref().filter(|_| enabled) else { return false };
        let open = self.state == State::Open && (self.ecn.is_gradual() || !board.disordered);
        if !open || self.seq.is_idle() || self.waits() {
            return false;
        }
        let srtt = self.srtt();
        let wait = match self.seq.outstanding() {
            _ if srtt == Dur::ZERO => INITIAL,
            1 => srtt * 2 + SINGLE,
            _ => srtt * 2 + LEAST,
        };
        // A timeout that has passed does not limit the wait.
        let left = if acknowledged { Some(self.rto()) } else { self.left(now) };
        let at = self.paced_expiry(now, left.map_or(wait, |left| wait.min(left)));
        if let Some(board) = &mut self.board {
            board.probe = Probe { at, awaits: Awaits::Tail };
        }
        self.timers.expiry = Time::NEVER;
        true
    }

    /// Restarts the timer at an acknowledgement that advances by `advanced` segments, or that reports segments sent
    /// before the last transmission of the first outstanding one (`tcp_clean_rtx_queue`, `tcp_set_xmit_timer`), unless
    /// it has started a wait for reordered segments.
    pub(super) fn restart_single_timer(&mut self, now: Time, delivery: &Delivery, advanced: u32) {
        let first = self.board.as_ref().and_then(|board| board.slots.front()).map(|slot| slot.sent);
        let earlier = delivery.spans.sacked.is_some_and(|[sacked, _]| first.is_some_and(|first| sacked.1 < first));
        if (advanced > 0 || earlier) && !delivery.waits && !self.schedule_probe(now, true) {
            self.rearm(now);
        }
    }

    /// Sets the timer at the transmission of segment `seq` (`tcp_event_new_data_sent`, `tcp_write_xmit`,
    /// `tcp_xmit_retransmit_queue`). `idle`: no segment was outstanding.
    pub(super) fn set_single_timer(&mut self, now: Time, seq: u32, retransmission: bool, idle: bool) {
        let taken = |flag: &mut bool| std::mem::take(flag);
        if self.board.as_mut().is_some_and(|board| taken(&mut board.expired)) {
            // `tcp_retransmit_timer` has set it.
            return;
        }
        let probes = self.board.as_mut().is_some_and(|board| taken(&mut board.probing));
        if probes {
            self.stop_probe();
            self.rearm(now);
        } else if !retransmission {
            if idle || self.awaits() == Awaits::Tail {
                self.rearm(now);
            }
            self.schedule_probe(now, false);
        } else if seq == self.seq.una && self.awaits() != Awaits::Reordering {
            self.stop_probe();
            self.rearm(now);
        }
    }

    /// Returns `true` if a probe may be sent: no probe is outstanding, and the last segment was not received
    /// (`tcp_send_loss_probe`).
    pub(super) fn may_probe(&self) -> bool {
        let Some(board) = &self.board else { return false };
        let received = board.slots.back().is_some_and(|slot| slot.has(SACKED));
        board.rack.as_ref().is_some_and(|rack| rack.probe.is_none()) && (!received || self.seq.has_new(self.limit()))
    }

    /// Records after an acknowledgement that is `dubious` (`tcp_ack_is_dubious`) whether segments are missing or were
    /// retransmitted (`TCP_CA_Disorder`, `tcp_try_keep_open`).
    pub(super) fn record_disorder(&mut self, dubious: bool) {
        let open = self.state == State::Open;
        if let Some(board) = self.board.as_mut().filter(|_| dubious) {
            board.disordered = open && board.is_disordered();
        }
    }
}
