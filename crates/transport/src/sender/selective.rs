//! Finding and repairing losses with selective acknowledgements (RFC 6675, RFC 8985).

use super::ack::News;
use super::prr::Prr;
use super::state::{Awaits, Probe};
use super::{Sender, State};
use crate::cc::{Congestion, EchoResponse};
use crate::params::{Pipe, Recovery};
use crate::seq::before;
use crate::wire::Ack;
use tailback_units::Time;

impl Sender {
    pub(super) fn take_selective(&mut self, now: Time, ack: &Ack, advanced: u32) -> News {
        let mut board = self.board.take().expect("the sender has a scoreboard");
        // Without timestamps nothing tells an original from its retransmission.
        let echo = if self.tcp.timestamps { ack.echo } else { Time::NEVER };
        let forgets = matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.forget);
        let sack = if forgets && self.state == State::Loss { Default::default() } else { ack.sack };
        let known = Ack { echo, sack, ..*ack };
        let (recover, pipe) = (self.recover, board.pipe());
        let taken = board.take(now, &known, recover, self.sampler());
        let made_room = board.pipe() < pipe;
        let all = if advanced > 0 { self.advance(ack.next) } else { false };
        board.uncount(advanced > 0);
        if let (Some(_), Some(rack)) = (taken.duplicate, &mut board.rack) {
            rack.widen(self.una, self.max);
        }
        let mut news = News { delivered: taken.delivered, newest: taken.newest, ..News::default() };
        self.board = Some(board);
        if advanced > 0 && self.check_eifel(ack) {
            news.ended = true;
        }
        if taken.duplicate.is_some_and(|block| self.was_needless(block)) {
            self.undo();
            news.ended = true;
        }
        if self.tcp.limited_transmit.after_timeout() {
            self.count_after_timeout(ack, advanced, made_room);
        }
        self.check_probe(now, ack, taken.duplicate.is_some(), advanced);
        match self.state {
            State::Recovery if all => {
                self.state = State::Open;
                self.board.as_mut().expect("put back above").counted = None;
                self.window_after_recovery();
                news.ended = true;
            }
            State::Loss => {
                self.f_rto_selective(now, &taken, advanced, all);
                if all && self.state == State::Loss {
                    self.state = State::Open;
                    self.recovered();
                }
            }
            _ => {}
        }
        self.find_losses(now);
        let board = self.board.as_mut().expect("put back above");
        let lost = std::mem::take(&mut board.newly_lost);
        self.count_lost(lost);
        if self.state == State::Open && self.board.as_ref().is_some_and(|board| board.lost() > 0) && !self.f_rto_waits()
        {
            self.enter(now, taken.delivered);
        }
        if self.state == State::Recovery && taken.delivered > 0 && self.reduces_proportionally() {
            let board = self.board.as_mut().expect("put back above");
            let pipe = board.pipe();
            let ssthresh = (self.window.ssthresh as u32).max(1);
            let safe = advanced > 0 && lost == 0;
            let count = board.prr.send_count(taken.delivered, pipe, ssthresh, safe);
            self.window.cwnd = f64::from(pipe + count);
        }
        news
    }

    /// Counts the duplicates that let a segment out after a timeout, as ns-2's `Sack1` with `singledup_` does: those
    /// whose blocks tell something new since the last new acknowledgement, of which there must have been one. Where the
    /// pipe has `made_room` for a segment already, none more may leave.
    fn count_after_timeout(&mut self, ack: &Ack, advanced: u32, made_room: bool) {
        let board = self.board.as_mut().expect("the sender has a scoreboard");
        if advanced > 0 || self.state != State::Loss {
            self.dupacks = 0;
            board.told = Default::default();
        } else if self.una != self.expired_at && board.tells_more(ack) && !made_room {
            self.dupacks += 1;
        }
    }

    /// Marks what is lost by now and sets the timer of what may be soon.
    pub(super) fn find_losses(&mut self, now: Time) {
        let board = self.board.as_mut().expect("the sender has a scoreboard");
        if board.rack.is_none() {
            board.mark_by_count();
            return;
        }
        let recovering = matches!(self.state, State::Recovery | State::Loss);
        let wait = board.mark_by_time(now, self.rtt.srtt(&self.tcp.timers), recovering);
        if wait.0 > 0 {
            board.probe = Probe { at: now + wait, awaits: Awaits::Reordering };
        } else if board.probe.awaits == Awaits::Reordering || board.sacked() > 0 {
            board.probe = Probe::default();
        }
    }

    /// Begins recovery, `delivered` segments having just been delivered.
    fn enter(&mut self, now: Time, delivered: u32) {
        self.begin_recovery(now);
        let proportional = self.reduces_proportionally();
        let board = self.board.as_mut().expect("the sender has a scoreboard");
        board.begin();
        board.probe = Probe::default();
        // RFC 9937 section 6.1: what was SACKed earlier will not be delivered again.
        let outstanding = self.max.wrapping_sub(self.una);
        board.prr = Prr::begin((outstanding + delivered).saturating_sub(board.sacked()));
        // RFC 6675 section 5 step 4.3: the first segment is sent whatever the pipe.
        self.force = !proportional && board.next_lost() == Some(self.una);
        if matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.pipe == Pipe::Count) {
            // The first repair, which transmission counts, takes the place of the segment that it repairs.
            board.counted = Some((outstanding as i32 - self.tcp.dup_thresh as i32) - i32::from(self.force));
        }
    }

    fn window_after_recovery(&mut self) {
        if !self.owns_recovery() && !self.sets_window() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.recovered();
    }

    fn recovered(&mut self) {
        if let Some(rack) = self.board.as_mut().and_then(|board| board.rack.as_mut()) {
            rack.recovered();
        }
    }

    /// The timer of RACK or of the tail loss probe has expired.
    pub(super) fn on_probe(&mut self, now: Time) {
        let Some(board) = &mut self.board else { return };
        match std::mem::take(&mut board.probe).awaits {
            Awaits::Nothing => {}
            Awaits::Reordering => {
                self.find_losses(now);
                let board = self.board.as_mut().expect("the sender has a scoreboard");
                let lost = std::mem::take(&mut board.newly_lost);
                self.count_lost(lost);
                if self.state == State::Open && lost > 0 {
                    self.enter(now, 0);
                    if self.reduces_proportionally() {
                        let board = self.board.as_mut().expect("the sender has a scoreboard");
                        let ssthresh = (self.window.ssthresh as u32).max(1);
                        let pipe = board.pipe();
                        let count = board.prr.send_count(0, pipe, ssthresh, false);
                        self.window.cwnd = f64::from(pipe + count);
                    }
                }
            }
            Awaits::Tail => self.send_probe(now),
        }
    }

    /// RFC 8985 section 7.3.
    fn send_probe(&mut self, now: Time) {
        if self.una == self.max || self.state != State::Open {
            return;
        }
        let new = self.left > 0 && before(self.max, self.limit());
        let end = if new { self.max.wrapping_add(1) } else { self.max };
        if let Some(rack) = self.board.as_mut().and_then(|board| board.rack.as_mut()) {
            rack.probe = Some((end, !new));
        }
        self.rare().counts.probes += 1;
        self.force_probe = true;
        self.expiry = now + self.rto();
    }

    /// RFC 8985 section 7.4: whether the probe repaired a loss that nothing else has shown.
    fn check_probe(&mut self, now: Time, ack: &Ack, duplicate: bool, advanced: u32) {
        let Some(rack) = self.board.as_mut().and_then(|board| board.rack.as_mut()) else { return };
        let Some((end, again)) = rack.probe else { return };
        let repaired = before(end, ack.next);
        let arrived_twice = duplicate || (advanced == 0 && !ack.has_sack());
        if before(ack.next, end) || (again && !repaired && !arrived_twice) {
            return;
        }
        rack.probe = None;
        if again
            && !duplicate
            && repaired
            && self.state == State::Open
            && (!self.is_reduced() || self.profile.echo == EchoResponse::ThenLoss)
        {
            let flight = self.flight_size();
            self.reduce(Congestion::Loss, now, flight);
            self.reduced_at = self.max;
            self.by_echo = false;
            if !self.owns_recovery() && !self.sets_window() {
                self.window.cwnd = self.window.ssthresh;
            }
        }
    }

    pub(super) fn count_lost(&mut self, lost: u32) {
        self.lost += lost;
        if let Some(sampler) = self.sampler() {
            sampler.lost(lost);
        }
    }
}
