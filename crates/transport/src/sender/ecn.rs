//! Response to echoes of congestion experienced (RFC 3168 section 6.1.2).

use super::Sender;
use super::groups::Reduction;
use super::prr::Prr;
use super::state::State;
use crate::cc::{BackOff, Congestion, EchoResponse};
use crate::seq::before;
use crate::wire::EcnEcho;
use tailback_units::Time;

impl Sender {
    /// Responds to an echo of congestion, at most once per window and not in recovery; with Linux's rules not after a
    /// timeout either (`tcp_fastretrans_alert`). Returns `true` if the next
    /// segment has to wait for the retransmission timer.
    pub(super) fn on_echo(&mut self, now: Time) -> bool {
        let as_linux = self.is_as_linux();
        let repairs = self.state == State::Recovery || (self.state == State::Loss && as_linux);
        // In Linux also the acknowledgement that ends a recovery starts a reduction (`tcp_try_to_open`).
        let reduces = if as_linux { self.ecn.is_gradual() } else { !before(self.ecn.reduced_at, self.seq.una) };
        if repairs || reduces {
            return false;
        }
        // Until CWR is sent, the receiver repeats an echo to which the sender has already responded.
        if self.ecn.cwr && self.tcp.echo() == EcnEcho::Classic && !as_linux {
            return false;
        }
        self.ecn.cwr = true;
        self.ecn.reduced_at = self.seq.max;
        if self.profile.echo == EchoResponse::Control {
            // Such controls respond to `Acked::ece`, or do not respond.
            return false;
        }
        self.ecn.last = Reduction::Echo;
        self.cold().counts.ecn_reductions += 1;
        let prior = self.window.cwnd;
        let flight = self.flight_size();
        self.reduce(Congestion::Ecn, now, flight);
        if let Some(cold) = &mut self.cold {
            cold.prior = None;
            cold.dsack_watch = None;
        }
        if as_linux && !self.owns_recovery() {
            self.begin_gradual(prior);
        }
        self.respond_at_floor(prior)
    }

    /// Starts a reduction from a window of `prior` segments in proportion to the acknowledgements
    /// (`tcp_init_cwnd_reduction`).
    fn begin_gradual(&mut self, prior: f64) {
        self.window.cwnd = prior;
        self.ecn.last = Reduction::Gradual;
        if let Some(board) = &mut self.board {
            board.prr = Prr::begin(prior as u32);
            board.forget_probe();
        }
    }

    /// Ends a reduction by proportion once a segment that was sent after its start is acknowledged
    /// (`tcp_fastretrans_alert`, `tcp_end_cwnd_reduction`).
    pub(super) fn end_gradual(&mut self) {
        if self.ecn.is_gradual() && before(self.ecn.reduced_at, self.seq.una) {
            self.ecn.last = Reduction::Echo;
            self.set_window_to_threshold();
        }
    }

    /// Responds to an echo at a window of `prior` segments if that window is too small to be halved. Returns `true` if
    /// the next segment has to wait for the retransmission timer.
    fn respond_at_floor(&mut self, prior: f64) -> bool {
        let at_floor = prior <= 1.0;
        let back_off = self.profile.below_one.unwrap_or(self.tcp.ecn_floor.back_off());
        // Each consecutive echo at a window of one segment doubles the timeout, as in ns-2; RFC 3168 does not require
        // it.
        let doubles = at_floor && matches!(back_off, BackOff::Backoff | BackOff::Ns2);
        if doubles && self.ecn.at_floor {
            self.timers.rtt.back_off(&self.tcp.timers);
        }
        self.ecn.at_floor = doubles;
        let wait = at_floor && matches!(back_off, BackOff::Rfc3168 | BackOff::Backoff);
        if wait {
            self.ecn.held = true;
        } else if back_off == BackOff::Ns2 && prior < 2.0 {
            self.window.cwnd = prior / 2.0;
        }
        if self.waits() {
            self.stop_probe();
        }
        wait
    }
}
