//! The retransmission timer: what its expiry does, and how it is found to have been too early.

use super::board::Taken;
use super::{Sender, State};
use crate::cc::{Congestion, CongestionControl, EchoResponse, Timer};
use crate::params::{Recovery, SpuriousTimeout};
use crate::seq::before;
use crate::wire::Ack;
use tailback_units::Time;

/// F-RTO (RFC 5682): what has been seen since the timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FRto {
    /// It is not in question whether the timeout was right.
    #[default]
    Off,
    /// The first segment was retransmitted; its acknowledgement is awaited (step 2).
    Retransmitted,
    /// That came; so many new segments may yet be sent, and the next acknowledgement decides (step 3).
    Probing(u8),
}

impl Sender {
    /// The retransmission timer has expired.
    pub(super) fn on_expiry(&mut self, now: Time) {
        if self.state == State::Opening {
            return self.on_lost_syn();
        }
        self.held = false;
        self.window.cwnd = self.window.cwnd.max(1.0);
        if self.una == self.max {
            self.expiry = Time::NEVER;
            return;
        }
        self.counts.timeouts += 1;
        let rto = self.rto();
        let own = self.owns_recovery();
        // RFC 5681 section 3.1: once for each segment, however often it times out.
        let again = self.state == State::Loss && self.expired_at == self.una;
        if !again || self.profile.every_expiry {
            if self.state != State::Loss {
                self.keep_window();
            }
            // What fast recovery had let out beyond the window has been answered by duplicates: it is
            // not outstanding. Else each timeout in a recovery would double the threshold.
            self.inflation = 0;
            let flight = self.flight_size();
            let ssthresh = self.window.ssthresh;
            self.reduce(Congestion::Timeout, now, flight);
            if self.is_reduced() && self.profile.echo != EchoResponse::ThenLoss {
                // RFC 3168 section 6.1.2: not again within a window.
                self.window.ssthresh = ssthresh;
            }
            self.cwr |= self.ecn;
        }
        self.expired_at = self.una;
        self.control.on_timer(now, Timer::Retransmission(rto));
        if !own {
            self.window.cwnd = self.least_window();
        }
        self.rtt.back_off(&self.tcp.timers);
        self.watch_eifel();
        // RFC 5682 section 3: not when the timeout interrupts a repair, unless it is only that of the
        // same segment that has timed out again.
        let fresh = !matches!(self.state, State::Loss | State::Recovery);
        let same = again && self.f_rto == FRto::Retransmitted;
        let watch = self.watches(SpuriousTimeout::FRto) && (fresh || same);
        self.f_rto = if watch { FRto::Retransmitted } else { FRto::Off };
        self.state = State::Loss;
        self.recover = self.max;
        // An echo that follows answers what is sent from now on, so that it counts, as in ns-2.
        self.reduced_at = self.una;
        self.by_echo = false;
        self.dupacks = 0;
        self.inflation = 0;
        let lost = self.nxt.wrapping_sub(self.una);
        self.nxt = self.una;
        self.timing = false;
        self.force = true;
        self.force_probe = false;
        self.stop_probe();
        let srtt = self.rtt.srtt(&self.tcp.timers);
        let lost = match &mut self.board {
            None => lost,
            Some(board) => {
                self.nxt = self.max;
                if matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.forget) {
                    board.forget();
                }
                board.mark_by_timeout(now, srtt);
                board.begin();
                if let Some(rack) = &mut board.rack {
                    rack.probe = None;
                }
                std::mem::take(&mut board.newly_lost)
            }
        };
        self.count_lost(lost);
        // `transmit` sets it again for the retransmission.
        self.expiry = now + self.rto();
    }

    /// Whether F-RTO decides what may be sent, and if so whether a segment may. `dry` only asks.
    #[inline]
    pub(super) fn f_rto_allows(&mut self, dry: bool) -> Option<bool> {
        if self.state != State::Loss {
            return None;
        }
        match &mut self.f_rto {
            FRto::Off => None,
            FRto::Retransmitted => Some(false),
            FRto::Probing(0) => Some(false),
            FRto::Probing(left) => {
                *left -= u8::from(!dry);
                Some(true)
            }
        }
    }

    pub(super) fn f_rto_waits(&self) -> bool {
        self.f_rto != FRto::Off
    }

    /// Without SACK: an acknowledgement advances in the state of loss; `all` that was outstanding.
    pub(super) fn f_rto_advance(&mut self, _now: Time, all: bool) {
        match self.f_rto {
            FRto::Off => {}
            FRto::Retransmitted => self.f_rto_first(all),
            // Step 3b: it acknowledges what was not retransmitted.
            FRto::Probing(_) => self.undo(),
        }
    }

    /// Without SACK: a duplicate acknowledgement in the state of loss.
    pub(super) fn f_rto_duplicate(&mut self) {
        match self.f_rto {
            FRto::Off => {}
            FRto::Retransmitted => self.f_rto = FRto::Off,
            FRto::Probing(_) => self.f_rto_real(),
        }
    }

    /// With SACK (RFC 5682 section 3.1).
    pub(super) fn f_rto_selective(&mut self, _now: Time, taken: &Taken, advanced: u32, all: bool) {
        match self.f_rto {
            FRto::Off => {}
            FRto::Retransmitted if advanced > 0 => self.f_rto_first(all),
            FRto::Retransmitted => {}
            FRto::Probing(_) if taken.beyond && !taken.original => self.f_rto_real(),
            FRto::Probing(_) if taken.original => self.undo(),
            FRto::Probing(_) => {}
        }
    }

    /// Step 2: the retransmission is acknowledged. Two new segments find out whether more is.
    fn f_rto_first(&mut self, all: bool) {
        let possible = self.left > 0 && before(self.max, self.limit());
        if all || !possible {
            self.f_rto = FRto::Off;
            return;
        }
        self.f_rto = FRto::Probing(2);
        self.nxt = self.max;
    }

    /// Step 3a: segments were lost indeed.
    fn f_rto_real(&mut self) {
        self.f_rto = FRto::Off;
        if !self.owns_recovery() {
            self.window.cwnd = self.window.cwnd.min(3.0);
        }
        if self.board.is_none() {
            self.nxt = self.una;
        }
    }

    /// Puts a watch on the first acknowledgement after a retransmission (RFC 3522 section 3.2 step 1).
    pub(super) fn watch_eifel(&mut self) {
        if self.watches(SpuriousTimeout::Eifel) {
            self.rare().eifel.get_or_insert(Time::NEVER);
        }
    }

    /// RFC 3522 section 3.2 steps 4 and 5: whether the acknowledgement answers the original. Undoes
    /// the reduction if so.
    pub(super) fn check_eifel(&mut self, ack: &Ack) -> bool {
        match self.rare.as_mut().and_then(|rare| rare.eifel.take()) {
            Some(sent) if sent != Time::NEVER && ack.echo < sent => {
                self.undo();
                true
            }
            _ => false,
        }
    }

    /// The reduction had no reason: back to where it was, as in Linux. RFC 4015 restores the threshold, too, but of the
    /// window only FlightSize and what is newly acknowledged, at most an initial window of that.
    pub(super) fn undo(&mut self) {
        self.f_rto = FRto::Off;
        self.rare().counts.spurious += 1;
        self.state = State::Open;
        self.inflation = 0;
        self.dupacks = 0;
        self.nxt = self.max;
        self.force = false;
        self.rtt.reset_back_off();
        if let Some(board) = &mut self.board {
            board.unmark();
        }
        let Some(rare) = &mut self.rare else { return };
        rare.doubt = None;
        let Some(prior) = rare.prior.take() else { return };
        if !self.owns_recovery() {
            self.window.cwnd = self.window.cwnd.max(prior.cwnd);
            self.window.ssthresh = prior.ssthresh;
        }
        self.control.on_spurious(&mut self.window);
    }
}
