//! Opening: SYN, SYN-ACK, and whether both ends can do ECN.

use super::{Sender, State};
use crate::params::EcnMode;
use crate::wire::{Ack, Ecn, Segment};
use tailback_units::Time;

/// The number that a SYN carries.
const SYN: u32 = u32::MAX;

impl Sender {
    /// The first offer.
    pub(super) fn open(&mut self, _now: Time) {
        if self.tcp.handshake {
            self.state = State::Opening;
            self.force = true;
        } else {
            self.state = State::Open;
            self.ecn = self.tcp.ecn != EcnMode::Off;
        }
    }

    /// The SYN, if it is due.
    pub(super) fn poll_syn(&mut self, now: Time) -> Option<Segment> {
        if !self.force {
            return None;
        }
        self.force = false;
        let retransmission = self.syns > 0;
        self.syns = self.syns.saturating_add(1);
        self.expiry = now + self.rtt.rto(&self.tcp.timers);
        let cwr = self.tcp.ecn != EcnMode::Off;
        Some(Segment { seq: SYN, payload: 0, ecn: Ecn::NotEct, cwr, retransmission, marked: None })
    }

    /// The timer has expired before the SYN was answered.
    pub(super) fn on_lost_syn(&mut self) {
        self.rtt.back_off(&self.tcp.timers);
        self.expiry = Time::NEVER;
        self.force = true;
    }

    /// An acknowledgement while opening.
    pub(super) fn on_syn_ack(&mut self, now: Time, ack: &Ack) {
        if !ack.syn {
            return;
        }
        self.state = State::Open;
        self.force = false;
        self.expiry = Time::NEVER;
        self.ecn = self.tcp.ecn != EcnMode::Off && ack.ece;
        let lost = self.syns > 1;
        if lost {
            // RFC 5681 section 3.1: a lost SYN is a sign of congestion.
            self.window.cwnd = 1.0;
        }
        if self.tcp.timestamps || !lost {
            self.rtt.sample(now, ack.echo, self.tcp.timestamps, &self.tcp.timers);
        } else {
            self.rtt.after_lost_syn(&self.tcp.timers);
        }
        self.rtt.reset_back_off();
    }
}
