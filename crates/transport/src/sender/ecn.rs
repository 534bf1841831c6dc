//! The answer to echoes of congestion experienced (RFC 3168 section 6.1.2).

use super::{Sender, State};
use crate::cc::{BackOff, Congestion, EchoResponse};
use crate::seq::before;
use crate::wire::EcnEcho;
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
        // As long as the receiver has not been sent CWR it goes on echoing what has been answered.
        if self.cwr && self.tcp.echo() == EcnEcho::Classic {
            return false;
        }
        self.cwr = true;
        self.reduced_at = self.max;
        if self.profile.echo == EchoResponse::Control {
            return false;
        }
        self.by_echo = true;
        self.rare().counts.ecn_reductions += 1;
        let at_floor = self.window.cwnd <= 1.0;
        let flight = self.flight_size();
        let before = self.window.cwnd;
        self.reduce(Congestion::Ecn, now, flight);
        if let Some(rare) = &mut self.rare {
            rare.prior = None;
            rare.doubt = None;
        }
        let back_off = self.back_off();
        // Each further echo in a row at a window of one doubles the wait: as in ns-2, but not in RFC 3168's section.
        let slower = at_floor && matches!(back_off, BackOff::Backoff | BackOff::Ns2);
        if slower && self.floored {
            self.rtt.back_off(&self.tcp.timers);
        }
        self.floored = slower;
        let wait = at_floor && matches!(back_off, BackOff::Rfc3168 | BackOff::Backoff);
        if wait {
            self.held = true;
        } else if back_off == BackOff::Ns2 && before < 2.0 {
            self.window.cwnd = before / 2.0;
        }
        if self.waits() {
            self.stop_probe();
        }
        wait
    }
}
