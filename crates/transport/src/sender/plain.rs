//! Loss detection and recovery without selective acknowledgements.

use super::Sender;
use super::groups::{Delivery, Flavour, Urgent};
use super::state::State;
use crate::params::{Exit, NewReno, Recovery, Reno};
use crate::seq::before;
use crate::wire::Ack;
use tailback_units::Time;

impl Sender {
    /// Processes an acknowledgement that advances by `advanced` segments; 0: a duplicate.
    #[inline]
    pub(super) fn process_without_sack(&mut self, now: Time, ack: &Ack, advanced: u32) -> Delivery {
        if advanced == 0 {
            return self.process_duplicate(now);
        }
        // Each duplicate has counted as a delivery already.
        let delivered = advanced - self.repair.dupacks.min(advanced - 1);
        let mut delivery = Delivery { delivered, ..Delivery::default() };
        let una = self.seq.una;
        if let Some(sampler) = self.sampler() {
            for i in 0..advanced {
                sampler.delivered(una.wrapping_add(i), now);
            }
        }
        let all = self.advance(ack.next);
        if self.check_eifel(now, ack) {
            delivery.ended = true;
        }
        match self.state {
            State::Recovery if all || self.repair.flavour == Flavour::Reno => self.leave_recovery(&mut delivery),
            State::Recovery => self.process_partial(advanced, &mut delivery),
            State::Loss => {
                self.repair.dupacks = 0;
                self.f_rto_advance(now, all);
                if all && self.state == State::Loss {
                    self.state = State::Open;
                }
            }
            _ => self.repair.dupacks = 0,
        }
        delivery
    }

    /// Processes a duplicate acknowledgement.
    #[inline(never)]
    fn process_duplicate(&mut self, now: Time) -> Delivery {
        if self.seq.is_idle() {
            return Delivery::default();
        }
        self.repair.dupacks += 1;
        match self.state {
            State::Recovery => self.repair.inflation += 1,
            State::Loss => {
                // After a timeout, duplicates are caused by needless retransmissions. They are not counted, except for
                // limited transmit "always".
                if !self.tcp.limited_transmit.after_timeout() {
                    self.repair.dupacks = 0;
                }
                self.f_rto_duplicate();
            }
            // RFC 6582 section 3.2 step 2: duplicates for segments sent before the last recovery do not indicate a
            // loss.
            _ if self.repair.dupacks == self.tcp.dup_thresh && before(self.seq.recover, self.seq.una) => {
                self.fast_retransmit(now);
            }
            _ => {}
        }
        Delivery { delivered: 1, ..Delivery::default() }
    }

    /// Starts recovery. The first outstanding segment is retransmitted at the next poll.
    fn fast_retransmit(&mut self, now: Time) {
        self.begin_recovery(now);
        self.count_lost(1);
        self.urgent = Urgent::First;
        if self.repair.flavour == Flavour::Tahoe {
            // All segments from the lost one on are sent again, in slow start.
            self.state = State::Loss;
            self.seq.nxt = self.seq.una;
            self.repair.dupacks = 0;
            if !self.owns_recovery() {
                self.window.cwnd = self.least_window();
            }
            return;
        }
        self.repair.inflation = self.tcp.dup_thresh as i32;
    }

    /// Processes a partial acknowledgement (RFC 6582 section 3.2 step 3).
    fn process_partial(&mut self, advanced: u32, delivery: &mut Delivery) {
        let Recovery::NewReno(NewReno { impatient, deflation, exit }) = self.tcp.recovery else { return };
        self.urgent = Urgent::First;
        self.count_lost(1);
        // One of the acknowledged segments was the retransmission; the others were counted as duplicates.
        self.repair.dupacks = self.repair.dupacks.saturating_sub(advanced - 1);
        delivery.keep_timer = impatient && self.repair.partial;
        self.repair.partial = true;
        if deflation && exit == Exit::Open {
            self.deflate(advanced as i32);
        } else if deflation {
            let total = self.window.cwnd as i32 + self.repair.inflation;
            let deflated = (total - advanced as i32 + 1).max(1);
            self.repair.inflation = deflated - self.window.cwnd as i32;
        }
    }

    /// Deflates by `advanced` segments as in ns-2: first the inflation is reduced, then the window itself, permanently.
    fn deflate(&mut self, advanced: i32) {
        let inflation = self.repair.inflation;
        if inflation > advanced {
            self.repair.inflation -= advanced - 1;
        } else {
            self.window.cwnd = (self.window.cwnd - f64::from(advanced - inflation)).max(1.0);
            self.repair.inflation = 1;
        }
    }

    /// Ends recovery and sets the window by the rule `exit`.
    fn leave_recovery(&mut self, delivery: &mut Delivery) {
        let exit = match self.tcp.recovery {
            Recovery::NewReno(NewReno { exit, .. }) => exit,
            _ => Exit::Ssthresh,
        };
        delivery.ended = exit != Exit::Open;
        self.state = State::Open;
        self.repair.clear();
        if let Recovery::Reno(Reno { careful: false }) = self.tcp.recovery {
            self.seq.recover = self.seq.una.wrapping_sub(1);
        }
        if self.owns_recovery() {
            return;
        }
        if exit != Exit::Open {
            self.set_window_to_threshold();
        }
        if exit == Exit::Flight {
            // RFC 6582 section 3.2 step 3, choice 1, avoids a burst when few segments are outstanding.
            let flight = self.seq.outstanding().max(1) + 1;
            self.window.cwnd = self.window.cwnd.min(f64::from(flight));
        }
    }
}
