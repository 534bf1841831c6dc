//! Expiry of the retransmission timer, and F-RTO (RFC 5682).

use super::Sender;
use super::board::BoardUpdate;
use super::groups::{FRto, Urgent};
use super::state::State;
use crate::cc::{Congestion, CongestionControl, Timer};
use crate::params::{Recovery, SpuriousTimeout};
use crate::seq::before;
use tailback_units::Time;

impl Sender {
    /// Processes an expiry of the retransmission timer.
    pub(super) fn on_expiry(&mut self, now: Time) {
        if self.state == State::Opening {
            return self.on_lost_syn();
        }
        self.ecn.held = false;
        self.window.cwnd = self.window.cwnd.max(1.0);
        if self.seq.is_idle() {
            self.timers.expiry = Time::NEVER;
            return;
        }
        self.counts.timeouts += 1;
        let rto = self.rto();
        // RFC 5681 section 3.1: the threshold is reduced once for each segment, even if the segment times out again.
        let expired_before = self.counts.timeouts > 1 && self.repair.expired_at == self.seq.una;
        let again = self.state == State::Loss && self.repair.expired_at == self.seq.una;
        let reduces = (!again || self.profile.every_expiry) && !self.is_within_reduction();
        if reduces {
            self.reduce_for_timeout(now);
        }
        self.repair.expired_at = self.seq.una;
        self.control.on_timer(&mut self.window, now, Timer::Retransmission(rto));
        if !self.owns_recovery() {
            self.window.cwnd = self.least_window();
        }
        self.timers.rtt.back_off(&self.tcp.timers);
        self.watch_eifel();
        self.repair.f_rto = if self.uses_f_rto(again, expired_before) { FRto::Retransmitted } else { FRto::Off };
        self.state = State::Loss;
        self.seq.recover = self.seq.max;
        // As in ns-2, the next echo may reduce the window, since it is about segments sent from now on.
        self.ecn.reduced_for_loss(self.seq.una);
        self.repair.clear();
        let lost = self.go_back(now);
        self.count_expired(now, lost, true);
        if reduces && self.is_as_linux() {
            // `tcp_init_undo` comes after `tcp_timeout_mark_lost`: retransmissions that are lost again do not count.
            let outstanding = self.board.as_ref().map_or(0, |board| board.retransmitted);
            if let Some(watch) = self.cold.as_mut().and_then(|cold| cold.dsack_watch.as_mut()) {
                watch.unreported = outstanding;
            }
        }
        if let Some(board) = self.board.as_ref().filter(|_| self.is_as_linux() && !self.owns_recovery()) {
            self.window.cwnd = f64::from(board.pipe() + 1);
        }
        // `transmit` sets the timer again for the retransmission.
        let rto = self.rto();
        self.timers.expiry = if self.is_as_linux() { self.single_expiry(now, rto) } else { self.expiry(now, rto) };
    }

    /// Returns `true` if the window has been reduced for a loss or an echo, segments sent before that are still
    /// outstanding, and Linux's rules apply: the expiry then does not reduce the threshold (`tcp_enter_loss`).
    fn is_within_reduction(&self) -> bool {
        let (una, recover, reduced) = (self.seq.una, self.seq.recover, self.ecn.reduced_at);
        let repairs = self.state == State::Recovery && before(una, recover);
        (repairs || (self.ecn.is_gradual() && before(una, reduced))) && self.is_as_linux()
    }

    /// Reduces the window for a timeout.
    fn reduce_for_timeout(&mut self, now: Time) {
        // In Linux also for another segment during the repair (`tcp_enter_loss`).
        if self.state != State::Loss || self.is_as_linux() {
            self.save_window();
        }
        // FlightSize must not include the inflation: the segments that fast recovery sent beyond the window correspond
        // to segments that have left the network. With the inflation, a timeout in a recovery could double the
        // threshold.
        self.repair.inflation = 0;
        let flight = self.flight_size();
        let ssthresh = self.window.ssthresh;
        self.reduce(Congestion::Timeout, now, flight);
        if self.is_reduced_once() {
            // RFC 3168 section 6.1.2: no second reduction within a window.
            self.window.ssthresh = ssthresh;
        }
        self.ecn.cwr |= self.ecn_capable;
    }

    /// Returns `true` if F-RTO is used for this timeout: not if the timeout interrupts a recovery, unless the same
    /// segment times out `again` during F-RTO (RFC 5682 section 3). `before`: it has timed out before, in any state.
    fn uses_f_rto(&self, again: bool, before: bool) -> bool {
        let outside_recovery = !matches!(self.state, State::Loss | State::Recovery);
        // In Linux after any earlier timeout of the segment (`icsk_retransmits` in `tcp_enter_loss`).
        let repeated = if self.is_as_linux() { before } else { again && self.repair.f_rto == FRto::Retransmitted };
        self.tcp.spurious_timeout == SpuriousTimeout::FRto && (outside_recovery || repeated)
    }

    /// Prepares the retransmission of the outstanding segments; returns the number of segments newly considered lost.
    fn go_back(&mut self, now: Time) -> u32 {
        let lost = self.seq.used();
        self.seq.nxt = self.seq.una;
        self.timers.rtt.stop_timing();
        self.urgent = Urgent::First;
        self.stop_probe();
        let srtt = self.srtt();
        let Some(board) = &mut self.board else { return lost };
        self.seq.nxt = self.seq.max;
        if matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.forget) {
            board.forget();
        }
        board.mark_by_timeout(now, srtt);
        board.begin();
        board.expired = true;
        if let Some(rack) = &mut board.rack {
            rack.probe = None;
        }
        std::mem::take(&mut board.newly_lost)
    }

    /// Returns `true` if F-RTO allows a new segment to be sent; `None`: F-RTO is not in use. Unless this is a
    /// `preview`, the segment counts as sent.
    #[inline]
    pub(super) fn f_rto_allows(&mut self, preview: bool) -> Option<bool> {
        if self.state != State::Loss {
            return None;
        }
        match &mut self.repair.f_rto {
            FRto::Off => None,
            FRto::Retransmitted => Some(false),
            FRto::Probing(0) => Some(false),
            FRto::Probing(remaining) => {
                *remaining -= u8::from(!preview);
                Some(true)
            }
        }
    }

    /// Returns `true` if F-RTO of Linux sends a new segment next; `may`: there is one, and the window permits it. Unless
    /// this is a `preview`, the segment counts as sent.
    pub(super) fn f_rto_probes(&mut self, may: bool, preview: bool) -> bool {
        match &mut self.repair.f_rto {
            FRto::Probing(remaining @ 1..) if may && self.state == State::Loss => {
                *remaining -= u8::from(!preview);
                true
            }
            _ => false,
        }
    }

    /// Processes an acknowledgement that advances after a timeout, without SACK. `all`: it reaches the recovery point.
    pub(super) fn f_rto_advance(&mut self, now: Time, all: bool) {
        match self.repair.f_rto {
            FRto::Off => {}
            FRto::Retransmitted => self.f_rto_first(all),
            // Step 3b: the acknowledgement is for a segment that was not retransmitted.
            FRto::Probing(_) => self.undo(now),
        }
    }

    /// Processes a duplicate acknowledgement after a timeout, without SACK.
    pub(super) fn f_rto_duplicate(&mut self) {
        match self.repair.f_rto {
            FRto::Off => {}
            FRto::Retransmitted => self.repair.f_rto = FRto::Off,
            FRto::Probing(_) => self.f_rto_confirm_loss(),
        }
    }

    /// Processes an acknowledgement after a timeout, with SACK (RFC 5682 section 3.1). `all`: it reaches the recovery
    /// point.
    pub(super) fn f_rto_selective(&mut self, now: Time, update: &BoardUpdate, advanced: u32, all: bool) {
        if self.is_as_linux() {
            return self.f_rto_as_linux(now, update, advanced, all);
        }
        match self.repair.f_rto {
            FRto::Off => {}
            FRto::Retransmitted if advanced > 0 => self.f_rto_first(all),
            FRto::Retransmitted => {}
            FRto::Probing(_) if update.beyond && !update.original => self.f_rto_confirm_loss(),
            FRto::Probing(_) if update.original => self.undo(now),
            FRto::Probing(_) => {}
        }
    }

    /// Processes an acknowledgement after a timeout with Linux's rules (`tcp_process_loss`): each delivery of a segment
    /// sent before the timeout and never retransmitted shows that the timeout was spurious.
    fn f_rto_as_linux(&mut self, now: Time, update: &BoardUpdate, advanced: u32, all: bool) {
        match self.repair.f_rto {
            FRto::Off => {}
            _ if update.original => self.undo(now),
            FRto::Probing(_) if update.selective || advanced == 0 => self.repair.f_rto = FRto::Off,
            FRto::Probing(_) => self.end_probing(),
            FRto::Retransmitted if advanced > 0 => self.f_rto_first(all),
            FRto::Retransmitted => {}
        }
    }

    /// With Linux's rules, ends the transmission of new segments before those that are lost: it follows the acknowledgement
    /// at once, or not at all (`tcp_xmit_recovery`).
    pub(super) fn end_probing(&mut self) {
        if let FRto::Probing(_) = self.repair.f_rto
            && self.is_as_linux()
        {
            self.repair.f_rto = FRto::Probing(0);
        }
    }

    /// Performs step 2 at the acknowledgement of the retransmission: two new segments may be sent, or F-RTO ends if
    /// there are none or `all` is acknowledged.
    fn f_rto_first(&mut self, all: bool) {
        let has_new = self.seq.has_new(self.limit());
        if all || !has_new {
            self.repair.f_rto = FRto::Off;
            return;
        }
        self.repair.f_rto = FRto::Probing(2);
        self.seq.nxt = self.seq.max;
    }

    /// Ends F-RTO with the result that segments were lost (step 3a).
    fn f_rto_confirm_loss(&mut self) {
        self.repair.f_rto = FRto::Off;
        if !self.owns_recovery() {
            self.window.cwnd = self.window.cwnd.min(3.0);
        }
        if self.board.is_none() {
            self.seq.nxt = self.seq.una;
        }
    }
}
