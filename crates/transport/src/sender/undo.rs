//! Spurious reductions: detection by Eifel, and the undo of the reduction.

use super::Sender;
use super::groups::{FRto, Reduction, Urgent};
use super::state::State;
use crate::cc::CongestionControl;
use crate::params::SpuriousTimeout;
use crate::wire::Ack;
use tailback_units::{Dur, Time};

impl Sender {
    /// Starts the Eifel detection, which waits for the first acknowledgement after a retransmission (RFC 3522 section
    /// 3.2 step 1).
    pub(super) fn watch_eifel(&mut self) {
        let as_linux = self.is_as_linux() && self.tcp.timestamps;
        match self.tcp.spurious_timeout {
            SpuriousTimeout::FRto if !as_linux => {}
            SpuriousTimeout::Off => {}
            SpuriousTimeout::FRto | SpuriousTimeout::Eifel => {
                self.cold().eifel.get_or_insert(Time::NEVER);
            }
        }
    }

    /// Returns `true` if Linux's rules find the reduction spurious: the acknowledgement echoes a time before the first
    /// retransmission, in ms, and no retransmission of a recovery is outstanding (`tcp_packet_delayed`,
    /// `tcp_try_undo_loss`, `tcp_try_undo_partial`). Each acknowledgement up to the end of the recovery is checked.
    fn is_spurious_as_linux(&self, ack: &Ack) -> bool {
        let first = self.cold.as_ref().and_then(|cold| cold.eifel);
        let in_ms = |time: Time| time.0 / Dur::from_ms(1).0;
        let outstanding = self.board.as_ref().is_some_and(|board| board.retransmitted > 0);
        let waits = self.state == State::Recovery && outstanding;
        !waits && first.is_some_and(|sent| sent != Time::NEVER && in_ms(ack.echo) < in_ms(sent))
    }

    /// Undoes the reduction and returns `true` if the acknowledgement echoes the original, not the retransmission (RFC
    /// 3522 section 3.2 steps 4 and 5).
    pub(super) fn check_eifel(&mut self, now: Time, ack: &Ack) -> bool {
        if self.is_as_linux() && self.tcp.spurious_timeout != SpuriousTimeout::Eifel {
            let spurious = self.is_spurious_as_linux(ack);
            if spurious {
                self.undo(now);
            }
            return spurious;
        }
        match self.cold.as_mut().and_then(|cold| cold.eifel.take()) {
            Some(sent) if sent != Time::NEVER && ack.echo < sent => {
                self.undo(now);
                true
            }
            _ => false,
        }
    }

    /// Undoes the last reduction, which was spurious: window and threshold are restored, as in Linux. RFC 4015 restores
    /// the threshold, too, but sets the window only to FlightSize plus the segments newly acknowledged, of which at
    /// most an initial window counts.
    pub(super) fn undo(&mut self, now: Time) {
        self.cold().counts.spurious += 1;
        self.state = State::Open;
        if self.ecn.is_gradual() {
            self.ecn.last = Reduction::Loss;
        }
        self.repair.f_rto = FRto::Off;
        self.repair.clear();
        self.seq.nxt = self.seq.max;
        if self.urgent == Urgent::First {
            self.urgent = Urgent::No;
        }
        self.timers.rtt.reset_back_off();
        if let Some(board) = &mut self.board {
            board.unmark();
            if let Some(rack) = &mut board.rack {
                rack.advanced = true;
            }
        }
        let Some(cold) = &mut self.cold else { return };
        cold.dsack_watch = None;
        cold.eifel = None;
        let Some(prior) = cold.prior.take() else { return };
        if !self.owns_recovery() {
            self.window.cwnd = self.window.cwnd.max(prior.cwnd);
            self.window.ssthresh = prior.ssthresh;
        }
        self.control.on_spurious(&mut self.window, now);
    }
}
