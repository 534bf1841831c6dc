//! Loss detection and recovery with selective acknowledgements (RFC 6675, RFC 8985).

use super::Sender;
use super::board::{Awaits, Board, Probe};
use super::groups::{Delivery, FRto, Urgent};
use super::prr::Prr;
use super::single::LEAST;
use super::state::State;
use crate::cc::{Congestion, CongestionControl};
use crate::params::{Form, Pipe, Recovery};
use crate::seq::before;
use crate::tick;
use crate::wire::Ack;
use tailback_units::Time;

impl Sender {
    /// Returns the scoreboard of a sender with SACK.
    fn board(&mut self) -> &mut Board {
        self.board.as_mut().expect("the sender has a scoreboard")
    }

    /// Processes an acknowledgement that advances by `advanced` segments: updates the scoreboard, detects losses and
    /// drives the recovery.
    pub(super) fn process_with_sack(&mut self, now: Time, ack: &Ack, advanced: u32) -> Delivery {
        let mut board = self.board.take().expect("the sender has a scoreboard");
        (board.probing, board.expired) = (false, false);
        let dubious = self.state != State::Open || board.disordered || self.ecn.is_gradual();
        // Without timestamps, deliveries of the original and of the retransmission cannot be distinguished.
        let echo = if self.tcp.timestamps { ack.echo } else { Time::NEVER };
        let forget = matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.forget);
        let sack = if forget && self.state == State::Loss { Default::default() } else { ack.sack };
        let known = Ack { echo, sack, ..*ack };
        let (recover, pipe) = (self.seq.recover, board.pipe());
        let mut update = board.on_ack(now, &known, recover, self.sampler());
        if let Some(block) = update.duplicate.filter(|_| self.is_as_linux()) {
            // In Linux a retransmission that was not needed is a delivery, too, unless more are reported than were sent
            // (`tcp_dsack_seen`).
            let duplicates = block.end.wrapping_sub(block.start);
            board.duplicates += u64::from(duplicates);
            if board.duplicates <= self.counts.retransmissions {
                update.delivered += duplicates;
                if let Some(sampler) = self.sampler() {
                    sampler.delivered_again(duplicates, now);
                }
            }
        }
        let made_room = board.pipe() < pipe;
        let mut all = if advanced > 0 { self.advance(ack.next) } else { false };
        // In Linux a recovery that begins within a reduction for an echo has the end of that reduction, which may be
        // reached already (`tcp_enter_recovery`, `tcp_fastretrans_alert`).
        all |= self.is_as_linux() && self.state == State::Recovery && !before(self.seq.una, recover);
        board.uncount(advanced > 0);
        if let (Some(block), Some(rack)) = (update.duplicate, &mut board.rack)
            && rack.may_widen(block.end)
        {
            rack.widen(self.seq.una, self.seq.max);
        }
        let mut delivery =
            Delivery { delivered: update.delivered, newest: update.newest, spans: update.spans, ..Delivery::default() };
        self.board = Some(board);
        if self.tcp.timers.form == Form::Linux {
            // `tcp_clean_rtx_queue`, before losses are detected.
            let echo = (advanced > 0 && self.tcp.timestamps).then_some(ack.echo);
            delivery.rtt = self.sample_by_round(update.spans.round_trips(now, echo));
            if let Some(rtt) = delivery.rtt {
                self.control.on_round_trip(&mut self.window, now, rtt);
            }
        }
        if advanced > 0 && self.check_eifel(now, ack) {
            delivery.ended = true;
        }
        if update
            .duplicate
            .is_some_and(|block| self.cold.as_mut().is_some_and(|cold| cold.all_retransmissions_duplicated(block)))
        {
            self.undo(now);
            delivery.ended = true;
        }
        if self.tcp.limited_transmit.after_timeout() {
            self.count_after_timeout(ack, advanced, made_room);
        }
        self.check_probe(now, ack, update.duplicate.is_some(), advanced);
        match self.state {
            State::Recovery if all => {
                self.state = State::Open;
                self.board().counted = None;
                self.set_window_to_threshold();
                self.recovered();
                delivery.ended = true;
            }
            State::Loss => {
                self.f_rto_selective(now, &update, advanced, all);
                if all && self.state == State::Loss {
                    self.state = State::Open;
                    if self.is_as_linux() {
                        // Segments that are still lost begin a recovery now (`tcp_time_to_recover`).
                        self.repair.f_rto = FRto::Off;
                    }
                    self.recovered();
                }
            }
            _ => {}
        }
        delivery.waits = self.repair_losses(now, advanced, update.delivered);
        if self.is_as_linux() {
            self.record_disorder(dubious || ack.ece || advanced == 0 || update.selective || update.duplicate.is_some());
        }
        // In Linux the acknowledgement that ends a recovery or undoes a reduction opens the window, too
        // (`tcp_cong_control`).
        delivery.ended &= !self.is_as_linux();
        delivery
    }

    /// Detects losses, enters recovery if there are any, and sets the window by proportional rate reduction. Returns
    /// `true` if Linux's rules have set the timer for reordered segments.
    fn repair_losses(&mut self, now: Time, advanced: u32, delivered: u32) -> bool {
        let retransmitted = self.board().retransmitted;
        let waits = self.detect_losses(now, false);
        let lost = std::mem::take(&mut self.board().newly_lost);
        self.count_lost(lost);
        // Linux leaves the state after a timeout when a retransmission is lost (`tcp_fastretrans_alert`).
        let lost_again = self.state == State::Loss && self.board().retransmitted < retransmitted && self.is_as_linux();
        if lost_again {
            self.repair.f_rto = FRto::Off;
        }
        if lost_again || (self.state == State::Open && self.board().lost() > 0 && self.repair.f_rto == FRto::Off) {
            self.enter_recovery(now, delivered);
        }
        if self.state == State::Recovery && delivered > 0 && self.uses_prr() {
            self.set_window_by_prr(delivered, advanced > 0 && lost == 0);
        }
        waits
    }

    /// Sets the window by proportional rate reduction for an acknowledgement that delivered `delivered` segments;
    /// `safe`: safeACK of RFC 9937 section 6.2.
    pub(super) fn set_window_by_prr(&mut self, delivered: u32, safe: bool) {
        let ssthresh = (self.window.ssthresh as u32).max(1);
        let board = self.board();
        let pipe = board.pipe();
        let count = board.prr.send_count(delivered, pipe, ssthresh, safe);
        self.window.cwnd = f64::from(pipe + count);
    }

    /// Counts the duplicates on which limited transmit sends after a timeout, as ns-2's `Sack1` with `singledup_`. Only
    /// duplicates whose blocks contain new information count, and only after the first new acknowledgement since the
    /// timeout. If the acknowledgement has `made_room` in the pipe for a segment already, the duplicate does not count.
    fn count_after_timeout(&mut self, ack: &Ack, advanced: u32, made_room: bool) {
        let (state, una, expired_at) = (self.state, self.seq.una, self.repair.expired_at);
        let board = self.board();
        if advanced > 0 || state != State::Loss {
            board.last_blocks = Default::default();
            self.repair.dupacks = 0;
        } else if una != expired_at && board.adds_information(ack) && !made_room {
            self.repair.dupacks += 1;
        }
    }

    /// Marks the segments that are lost now. With RACK it also sets the reordering timer for segments that may be
    /// considered lost later; returns `true` if Linux's rules have set it. `expired`: that timer has expired.
    pub(super) fn detect_losses(&mut self, now: Time, expired: bool) -> bool {
        let srtt = self.srtt();
        let recovering = matches!(self.state, State::Recovery | State::Loss);
        let (as_linux, tick) = (self.is_as_linux(), self.tcp.timers.tick);
        let board = self.board();
        if board.rack.is_none() {
            board.mark_by_count();
            return false;
        }
        if as_linux && !expired && !board.rack.as_mut().is_some_and(|rack| std::mem::take(&mut rack.advanced)) {
            return false;
        }
        let wait = board.mark_by_time(now, srtt, recovering);
        if wait.0 > 0 && as_linux && !expired {
            let at = board.timer.set(now, wait + LEAST, tick);
            board.probe = Probe { at, awaits: Awaits::Reordering };
            self.timers.expiry = Time::NEVER;
            return true;
        }
        if as_linux {
            return false;
        }
        if wait.0 > 0 {
            board.probe = Probe { at: tick::expiry(now, wait, tick), awaits: Awaits::Reordering };
        } else if board.probe.awaits == Awaits::Reordering || board.sacked() > 0 {
            board.probe = Probe::default();
        }
        false
    }

    /// Enters recovery; `delivered` segments have just been delivered.
    fn enter_recovery(&mut self, now: Time, delivered: u32) {
        let gradual = self.ecn.is_gradual();
        self.begin_recovery(now);
        let cwnd = self.window.cwnd as u32;
        let as_linux = self.is_as_linux();
        let (outstanding, una, proportional) = (self.seq.outstanding(), self.seq.una, self.uses_prr());
        let board = self.board();
        board.begin();
        if !as_linux {
            board.probe = Probe::default();
        }
        // RFC 9937 section 6.1: RecoverFS excludes the segments SACKed earlier, since they will not be delivered again.
        let base = if as_linux { cwnd } else { (outstanding + delivered).saturating_sub(board.sacked()) };
        if !gradual {
            board.prr = Prr::begin(base);
            if as_linux {
                board.forget_probe();
            }
        }
        // RFC 6675 section 5 step 4.3: the first repair is sent whatever the pipe is. Linux paces it
        // (`tcp_xmit_retransmit_queue`).
        let first = !proportional && !as_linux && board.next_lost() == Some(una);
        if first {
            self.urgent = Urgent::First;
        } else if self.urgent == Urgent::First {
            self.urgent = Urgent::No;
        }
        if matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.pipe == Pipe::Count) {
            // Minus one for the first repair: it replaces the segment that it repairs, and its transmission will be
            // counted.
            let counted = (outstanding as i32 - self.tcp.dup_thresh as i32) - i32::from(first);
            self.board().counted = Some(counted);
        }
    }

    /// Notifies RACK of the end of a recovery.
    fn recovered(&mut self) {
        if let Some(rack) = &mut self.board().rack {
            rack.recovered();
        }
        // `tcp_try_to_open` clears the time of the first retransmission.
        if self.is_as_linux()
            && let Some(cold) = &mut self.cold
        {
            cold.eifel = None;
        }
    }

    /// Processes an expiry of the reordering timer or of the timer of the tail loss probe.
    pub(super) fn on_probe(&mut self, now: Time) {
        let awaits = self.board().probe.awaits;
        if self.is_as_linux() {
            // Also without a loss or a probe the wait for an acknowledgement goes on.
            self.rearm(now);
        }
        self.stop_probe();
        match awaits {
            Awaits::Nothing => {}
            Awaits::Reordering => {
                self.detect_losses(now, true);
                let lost = std::mem::take(&mut self.board().newly_lost);
                self.count_expired(now, lost, false);
                // Linux does so after a timeout, too, and counts a segment as delivered (`tcp_rack_reo_timeout`).
                let as_linux = self.is_as_linux();
                if lost > 0 && (self.state == State::Open || (self.state == State::Loss && as_linux)) {
                    self.repair.f_rto = FRto::Off;
                    self.enter_recovery(now, 0);
                    if self.uses_prr() {
                        self.set_window_by_prr(u32::from(as_linux), false);
                    }
                }
            }
            Awaits::Tail => self.send_probe(now),
        }
    }

    /// Sends a tail loss probe (RFC 8985 section 7.3).
    fn send_probe(&mut self, now: Time) {
        let as_linux = self.is_as_linux();
        if self.seq.is_idle() || (self.state != State::Open && !as_linux) {
            return;
        }
        if as_linux && !self.may_probe() {
            return;
        }
        let has_new = self.seq.has_new(self.limit());
        let end = if has_new { self.seq.max.wrapping_add(1) } else { self.seq.max };
        let board = self.board();
        board.probing = true;
        if let Some(rack) = &mut board.rack {
            rack.probe = Some((end, !has_new));
        }
        self.cold().counts.probes += 1;
        self.urgent = Urgent::Probe;
        if !as_linux {
            // With Linux's rules the transmission sets the timer.
            self.timers.expiry = self.expiry(now, self.rto());
        }
    }

    /// Checks whether the acknowledgement ends the wait for the outstanding tail loss probe, and reduces the window if
    /// the probe has repaired a loss that was not detected otherwise (RFC 8985 section 7.4).
    fn check_probe(&mut self, now: Time, ack: &Ack, duplicate: bool, advanced: u32) {
        let Some(rack) = &mut self.board().rack else { return };
        let Some((end, retransmitted)) = rack.probe else { return };
        let repaired = before(end, ack.next);
        let arrived_twice = duplicate || (advanced == 0 && !ack.has_sack());
        if before(ack.next, end) || (retransmitted && !repaired && !arrived_twice) {
            return;
        }
        rack.probe = None;
        let reduces = self.is_as_linux() || (self.state == State::Open && !self.is_reduced_once());
        if retransmitted && !duplicate && repaired && reduces {
            let flight = self.flight_size();
            self.reduce(Congestion::Loss, now, flight);
            self.ecn.reduced_for_loss(self.seq.max);
            self.set_window_to_threshold();
        }
    }
}
