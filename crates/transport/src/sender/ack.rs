//! What an acknowledgement does.

use super::{Flavour, Sender, State};
use crate::cc::{Acked, CongestionControl, EchoResponse, Feedback};
use crate::line::Hop;
use crate::params::Recovery;
use crate::seq::{before, later};
use crate::wire::{Ack, Block};
use tailback_units::{Dur, Time};

/// What an acknowledgement delivered, as far as the congestion control and the timers care.
#[derive(Clone, Copy, Default)]
pub(super) struct News {
    /// Segments newly acknowledged, cumulatively or selectively.
    pub delivered: u32,
    /// When the newest of them was sent, if only once.
    pub newest: Option<Time>,
    /// Whether this acknowledgement has ended a recovery, which has set the window.
    pub ended: bool,
    /// Whether the retransmission timer stays as it is although something was acknowledged.
    pub keep_timer: bool,
}

impl Sender {
    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, hops: Option<&[Hop]>) {
        if self.state == State::Opening {
            return self.on_syn_ack(now, ack);
        }
        if ack.syn || before(ack.next, self.una) || before(self.max, ack.next) || self.state == State::Closed {
            return self.on_late_ack(now, ack);
        }
        if self.plain { self.take_in::<true>(now, ack, None) } else { self.take_in::<false>(now, ack, hops) }
    }

    /// An acknowledgement that a later one has overtaken: what its blocks say of outstanding segments still counts (RFC
    /// 6675 section 5: "any ACK containing SACK information"), all else is out of date. One of an earlier connection
    /// says nothing of them.
    #[cold]
    fn on_late_ack(&mut self, now: Time, ack: &Ack) {
        if ack.syn || self.board.is_none() || self.state == State::Closed || !before(ack.next, self.una) {
            return;
        }
        let mut sack = [Block::default(); 3];
        let ahead = ack.sack.iter().filter(|block| block.start != block.end && before(self.una, block.end));
        for (slot, block) in sack.iter_mut().zip(ahead) {
            *slot = Block { start: later(block.start, self.una), end: block.end };
        }
        let known = Ack { next: self.una, ece: false, sack, ..*ack };
        if known.has_sack() {
            self.take_in::<false>(now, &known, None);
        }
    }

    /// Takes an acknowledgement in; `PLAIN` says that the sender is `plain`.
    #[inline(always)]
    fn take_in<const PLAIN: bool>(&mut self, now: Time, ack: &Ack, hops: Option<&[Hop]>) {
        let old = self.una;
        let advanced = ack.next.wrapping_sub(old);
        let in_flight_before = if PLAIN { self.plain_in_flight() } else { self.in_flight() };
        let used = if PLAIN { in_flight_before } else { self.used(in_flight_before) };
        let window_limited = before(old, self.full_at)
            || (self.window.cwnd < self.window.ssthresh && self.window.cwnd < 2.0 * f64::from(used));
        let feedback = Feedback { advanced, ece: ack.ece, una: ack.next, next: self.max, hops };
        self.control.on_feedback(&mut self.window, &feedback);
        let news = match self.flavour {
            Flavour::Sack if !PLAIN => self.take_selective(now, ack, advanced),
            _ => self.take_plain(now, ack, advanced),
        };
        let una = self.una;
        if !PLAIN && let Some(sampler) = self.sampler() {
            sampler.advance(una);
        }
        // Before the sample is taken, as in ns-2: it ends the doubling, but not while echoes go on.
        let waits = ack.ece && self.ecn && self.on_echo(now);
        let rtt = if advanced > 0 { self.measure(now, ack) } else { None };
        let rtt = if !PLAIN && self.board.is_some() { news.newest.map(|sent| now.since(sent)) } else { rtt };
        let round = advanced > 0 && before(self.round_end, self.una);
        if round {
            self.round_end = self.max;
        }
        let acked = Acked {
            now,
            delivered: news.delivered,
            advanced,
            rtt,
            srtt: self.rtt.srtt(&self.tcp.timers),
            min_rtt: self.rtt.min(),
            in_flight_before,
            in_flight: if PLAIN { self.plain_in_flight() } else { self.in_flight() },
            window_limited,
            ece: ack.ece,
            recovering: self.state == State::Recovery,
            round,
            lost: self.lost,
            rate: None,
        };
        self.grow::<PLAIN>(acked, news.ended);
        if waits {
            self.expiry = now + self.rto();
        } else if advanced > 0 {
            self.restart_timer::<PLAIN>(now, news.keep_timer);
            self.floored &= ack.ece;
        }
    }

    /// Takes a sample of the round-trip time (RFC 7323 section 4.1, or RFC 6298 section 3).
    fn measure(&mut self, now: Time, ack: &Ack) -> Option<Dur> {
        let sent = if self.tcp.timestamps {
            ack.echo
        } else if self.timing && before(self.timed, ack.next) {
            self.timing = false;
            self.timed_at
        } else {
            return None;
        };
        self.rtt.sample(now, sent, self.tcp.timestamps, &self.tcp.timers);
        if !(self.floored && ack.ece) {
            self.rtt.reset_back_off();
        }
        Some(now.since(sent))
    }

    /// Tells the congestion control, where it is to be asked.
    #[inline]
    fn grow<const PLAIN: bool>(&mut self, mut acked: Acked, ended: bool) {
        // As in ns-2, an acknowledgement that asks for less does not open the window.
        let asks_less = acked.ece && self.ecn && (PLAIN || self.profile.echo != EchoResponse::Control);
        let own = !PLAIN && self.owns_recovery();
        if acked.delivered == 0 || (!own && (acked.recovering || ended || asks_less)) {
            return;
        }
        self.lost = 0;
        if !PLAIN && let Some(sampler) = self.sampler() {
            acked.rate = sampler.sample(acked.min_rtt);
        }
        self.control.on_ack(&mut self.window, &acked);
        if !PLAIN && self.marking {
            self.window.cwnd = self.window.cwnd.max(self.least_window());
        }
    }

    /// RFC 6298 sections 5.2 and 5.3.
    #[inline]
    fn restart_timer<const PLAIN: bool>(&mut self, now: Time, keep: bool) {
        let rto = || if PLAIN { self.plain_rto() } else { self.rto() };
        if self.una == self.max {
            // A sender that waits for its timer at a window of one goes on waiting.
            if self.window.cwnd < 1.0 {
                self.expiry = now + rto();
            } else if !self.held {
                self.expiry = Time::NEVER;
            }
        } else if !keep && !self.held {
            self.expiry = now + rto();
        }
        if !PLAIN {
            self.arm_probe(now);
        }
    }

    /// Takes the cumulative acknowledgement in; true if all that was sent before recovery is
    /// acknowledged.
    pub(super) fn advance(&mut self, next: u32) -> bool {
        self.una = next;
        self.nxt = later(self.nxt, next);
        // A repair that a hold has kept back is no longer wanted.
        self.force = false;
        self.force_probe = false;
        // Marks that lie behind stay just behind, so that comparing them survives the wrap.
        let last = next.wrapping_sub(1);
        let all = !before(next, self.recover);
        for mark in [&mut self.recover, &mut self.reduced_at, &mut self.full_at] {
            *mark = later(*mark, last);
        }
        all
    }

    /// Whether proportional rate reduction sets the window in recovery.
    pub(super) fn reduces_proportionally(&self) -> bool {
        matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.prr) && !self.owns_recovery()
    }
}
