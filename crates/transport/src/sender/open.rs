//! Opening of a connection: SYN, SYN-ACK and the negotiation of ECN.

use super::Sender;
use super::groups::Urgent;
use super::state::State;
use crate::params::EcnMode;
use crate::wire::{Ack, Segment};
use tailback_units::{Dur, Time};

/// Segment number of a SYN, outside the numbers of data at the start.
const SYN: u32 = u32::MAX;

impl Sender {
    /// Opens the connection, at the first offer; without a handshake it is open at once.
    pub(super) fn open(&mut self) {
        if self.tcp.handshake {
            self.state = State::Opening;
            self.urgent = Urgent::First;
        } else {
            self.state = State::Open;
            self.ecn_capable = self.tcp.ecn != EcnMode::Off;
        }
    }

    /// Returns the SYN if it is due, and starts the retransmission timer; `None`: it is not due.
    pub(super) fn poll_syn(&mut self, now: Time) -> Option<Segment> {
        if self.urgent == Urgent::No {
            return None;
        }
        self.urgent = Urgent::No;
        self.timers.expiry = self.expiry(now, self.plain_rto());
        // The timeout is doubled only if a SYN was lost before.
        let retransmission = self.timers.rtt.is_backed_off();
        let cwr = self.tcp.ecn != EcnMode::Off && !(self.tcp.ecn_fallback && retransmission);
        // A SYN without the flags is still ECN-capable (`tcp_ecn_clear_syn` changes nothing else).
        let ecn = self.tcp.control_ecn();
        Some(Segment { seq: SYN, payload: 0, ecn, cwr, retransmission, marked: None })
    }

    /// Processes an expiry of the retransmission timer before the SYN is acknowledged.
    pub(super) fn on_lost_syn(&mut self) {
        self.cold().counts.syn_timeouts += 1;
        self.timers.rtt.back_off(&self.tcp.timers);
        self.timers.expiry = Time::NEVER;
        self.urgent = Urgent::First;
    }

    /// Processes an acknowledgement while the connection is opening.
    pub(super) fn on_syn_ack(&mut self, now: Time, ack: &Ack) {
        if !ack.syn {
            return;
        }
        self.state = State::Open;
        self.urgent = Urgent::No;
        self.timers.expiry = Time::NEVER;
        if ack.window != Ack::UNLIMITED {
            self.take_window(ack.next, ack.window);
        }
        self.ecn_capable = self.tcp.ecn != EcnMode::Off && ack.ece;
        let as_linux = self.is_as_linux();
        let rtt = &mut self.timers.rtt;
        let lost = rtt.is_backed_off();
        if lost && (rtt.doublings() > 1 || !as_linux) {
            // RFC 5681 section 3.1: a lost SYN is a sign of congestion; in Linux the second one (`tcp_init_transfer`).
            self.window.cwnd = 1.0;
        }
        if self.tcp.timestamps || !lost {
            // In Linux the round-trip time of a SYN that was sent again is that of the timestamps, in ms
            // (`tcp_ack_update_rtt`).
            let ms = |time: Time| time.0 / Dur::from_ms(1).0;
            let echoed = Dur::from_ms(ms(now).saturating_sub(ms(ack.echo)).max(1));
            let sent = if lost && as_linux { Time(now.0.saturating_sub(echoed.0)) } else { ack.echo };
            self.measure(now, sent);
            let min = self.timers.rtt.min();
            if let Some(rack) = self.board.as_mut().and_then(|board| board.rack.as_mut()) {
                rack.opened(min);
            }
        } else {
            rtt.after_lost_syn(&self.tcp.timers);
        }
        self.timers.rtt.reset_back_off();
        if as_linux {
            self.limit_by_application();
        }
    }

    /// Records in Linux that the application limits the rate, since it writes when nothing waits
    /// (`tcp_rate_check_app_limited`): at the first write, the first segments.
    pub(super) fn limit_by_application(&mut self) {
        let (in_flight, allowed) = (self.in_flight(), self.allowed());
        let repaired = self.board.as_ref().is_none_or(|board| board.due == 0);
        if in_flight < allowed
            && repaired
            && let Some(sampler) = self.sampler()
        {
            sampler.app_limited(in_flight);
        }
    }
}
