//! The answer to echoes of congestion experienced (RFC 3168 section 6.1.2).

use super::{Probe, Sender, State};
use crate::cc::{BackOff, Congestion, CongestionControl};
use crate::seq::before;
use tailback_units::Time;

impl Sender {
    /// Whether the first outstanding segment was sent before the window was reduced for an echo.
    #[inline]
    pub(super) fn is_reduced(&self) -> bool {
        self.by_echo && before(self.una, self.reduced_at)
    }

    /// An acknowledgement echoes congestion: one reduction per window, and none in recovery. Whether
    /// the next segment has to wait for the timer from now on.
    pub(super) fn on_echo(&mut self, now: Time) -> bool {
        if self.state == State::Recovery || !before(self.reduced_at, self.una) {
            return false;
        }
        self.cwr = true;
        self.reduced_at = self.max;
        if self.control.handles_ecn() {
            return false;
        }
        self.by_echo = true;
        self.cold.statistics.ecn_reductions += 1;
        let at_floor = self.window.cwnd <= 1.0;
        let flight = self.flight_size();
        self.reduce(Congestion::Ecn, now, flight);
        self.cold.prior = None;
        let wait = at_floor && self.back_off() == BackOff::Floor;
        if wait {
            // As in ns-2: each further echo in a row doubles the wait.
            if self.floored {
                self.rtt.back_off();
            }
            self.held = true;
            self.probe = Time::NEVER;
            self.probe_for = Probe::Off;
        }
        self.floored = wait;
        wait
    }
}
