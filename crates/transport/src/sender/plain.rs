//! Finding and repairing losses without selective acknowledgements.

use super::ack::News;
use super::{Flavour, Sender, State};
use crate::cc::{Congestion, EchoResponse, RecoveryWindow};
use crate::params::{Exit, NewReno, Recovery, Reno};
use crate::seq::before;
use crate::wire::Ack;
use tailback_units::Time;

impl Sender {
    #[inline]
    pub(super) fn take_plain(&mut self, now: Time, ack: &Ack, advanced: u32) -> News {
        if advanced == 0 {
            return self.take_duplicate(now);
        }
        // Duplicates have told of deliveries already.
        let mut news = News { delivered: advanced - self.dupacks.min(advanced - 1), ..News::default() };
        let una = self.una;
        if let Some(sampler) = self.sampler() {
            for i in 0..advanced {
                sampler.delivered(una.wrapping_add(i), now);
            }
        }
        let all = self.advance(ack.next);
        if self.check_eifel(ack) {
            news.ended = true;
        }
        match self.state {
            State::Recovery if all || self.flavour == Flavour::Reno => self.leave_recovery(&mut news),
            State::Recovery => self.take_partial(advanced, &mut news),
            State::Loss => {
                self.dupacks = 0;
                self.f_rto_advance(now, all);
                if all && self.state == State::Loss {
                    self.state = State::Open;
                }
            }
            _ => self.dupacks = 0,
        }
        news
    }

    #[inline(never)]
    fn take_duplicate(&mut self, now: Time) -> News {
        if self.una == self.max {
            return News::default();
        }
        self.dupacks += 1;
        let news = News { delivered: 1, ..News::default() };
        match self.state {
            State::Recovery => self.inflation += 1,
            State::Loss => {
                // What goes back has no duplicates: they answer segments that need not be sent. With
                // limited transmit "always" they are counted, for it alone.
                if !self.tcp.limited_transmit.after_timeout() {
                    self.dupacks = 0;
                }
                self.f_rto_duplicate();
            }
            // RFC 6582 section 3.2 step 2: duplicates of what was sent before the last recovery say nothing.
            _ if self.dupacks == self.tcp.dup_thresh && before(self.recover, self.una) => self.fast_retransmit(now),
            _ => {}
        }
        news
    }

    fn fast_retransmit(&mut self, now: Time) {
        self.begin_recovery(now);
        self.count_lost(1);
        self.force = true;
        if self.flavour == Flavour::Tahoe {
            // Everything is sent again from the lost segment on, in slow start.
            self.state = State::Loss;
            self.nxt = self.una;
            self.dupacks = 0;
            if !self.owns_recovery() {
                self.window.cwnd = self.least_window();
            }
            return;
        }
        self.inflation = self.tcp.dup_thresh as i32;
    }

    /// Enters recovery: one reduction, unless an echo has just made it.
    pub(super) fn begin_recovery(&mut self, now: Time) {
        self.counts.fast_retransmits += 1;
        self.partial = false;
        self.watch_eifel();
        let flight = self.flight_size();
        let own = self.sets_window();
        if self.is_reduced() && self.profile.echo != EchoResponse::ThenLoss {
            if !own {
                self.window.ssthresh = self.window.cwnd;
            }
        } else {
            self.keep_window();
            let tahoe = self.flavour == Flavour::Tahoe;
            let why = if tahoe { Congestion::Timeout } else { Congestion::Loss };
            self.reduce(why, now, flight);
            // RFC 3168 section 6.1.2: CWR tells of a reduction for any reason.
            self.cwr |= self.ecn;
        }
        self.state = State::Recovery;
        // What was sent before would time the repair.
        self.timing = false;
        self.recover = self.max;
        self.reduced_at = self.max;
        self.by_echo = false;
        if !self.owns_recovery() && !self.reduces_proportionally() && !own {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Whether the congestion control has set the window of recovery, which is kept at its end.
    pub(super) fn sets_window(&self) -> bool {
        self.profile.recovery == RecoveryWindow::AtLoss && !self.reduces_proportionally()
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgement.
    fn take_partial(&mut self, advanced: u32, news: &mut News) {
        let Recovery::NewReno(NewReno { impatient, deflation, exit }) = self.tcp.recovery else { return };
        self.force = true;
        self.count_lost(1);
        // One was the retransmission; the others had been counted as duplicates.
        self.dupacks = self.dupacks.saturating_sub(advanced - 1);
        news.keep_timer = impatient && self.partial;
        self.partial = true;
        if deflation && exit == Exit::Open {
            self.deflate(advanced as i32);
        } else if deflation {
            let total = self.window.cwnd as i32 + self.inflation;
            let deflated = (total - advanced as i32 + 1).max(1);
            self.inflation = deflated - self.window.cwnd as i32;
        }
    }

    /// ns-2's deflation: first what inflation has added, then the window itself, for good.
    fn deflate(&mut self, advanced: i32) {
        if self.inflation > advanced {
            self.inflation -= advanced - 1;
        } else {
            self.window.cwnd = (self.window.cwnd - f64::from(advanced - self.inflation)).max(1.0);
            self.inflation = 1;
        }
    }

    fn leave_recovery(&mut self, news: &mut News) {
        let exit = match self.tcp.recovery {
            Recovery::NewReno(NewReno { exit, .. }) => exit,
            _ => Exit::Ssthresh,
        };
        news.ended = exit != Exit::Open;
        self.state = State::Open;
        self.inflation = 0;
        self.dupacks = 0;
        if let Recovery::Reno(Reno { careful: false }) = self.tcp.recovery {
            self.recover = self.una.wrapping_sub(1);
        }
        if self.owns_recovery() {
            return;
        }
        if !self.sets_window() && exit != Exit::Open {
            self.window.cwnd = self.window.ssthresh;
        }
        if exit == Exit::Flight {
            // RFC 6582 section 3.2 step 3, first choice: no burst when little is outstanding.
            let flight = self.max.wrapping_sub(self.una).max(1) + 1;
            self.window.cwnd = self.window.cwnd.min(f64::from(flight));
        }
    }
}
