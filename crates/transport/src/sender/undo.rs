//! Spurious reductions: detection by Eifel, and the undo of the reduction.

use super::Sender;
use super::groups::{FRto, Reduction, Urgent};
use super::state::State;
use crate::cc::CongestionControl;
use crate::params::SpuriousTimeout;
use crate::wire::Ack;
use tailback_units::Time;

impl Sender {
    /// Starts the Eifel detection, which waits for the first acknowledgement after a retransmission (RFC 3522 section
    /// 3.2 step 1).
    pub(super) fn watch_eifel(&mut self) {
        if self.tcp.spurious_timeout == SpuriousTimeout::Eifel {
            self.cold().eifel.get_or_insert(Time::NEVER);
        }
    }

    /// Undoes the reduction and returns `true` if the acknowledgement echoes the original, not the retransmission (RFC
    /// 3522 section 3.2 steps 4 and 5).
    pub(super) fn check_eifel(&mut self, now: Time, ack: &Ack) -> bool {
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
        }
        let Some(cold) = &mut self.cold else { return };
        cold.dsack_watch = None;
        let Some(prior) = cold.prior.take() else { return };
        if !self.owns_recovery() {
            self.window.cwnd = self.window.cwnd.max(prior.cwnd);
            self.window.ssthresh = prior.ssthresh;
        }
        self.control.on_spurious(&mut self.window, now);
    }
}
