//! Processing of acknowledgements.

use super::Sender;
use super::groups::{Flavour, Urgent};
use super::state::State;
use crate::cc::{Acked, CongestionControl, EchoResponse, Feedback};
use crate::line::Hop;
use crate::params::{Form, WindowValidation};
use crate::seq::{before, later};
use crate::wire::{Ack, Block};
use tailback_units::{Dur, Time};

impl Sender {
    /// Processes an acknowledgement that arrives at `now`. `hops`: telemetry that switches wrote into segment `ack.next
    /// - 1`, in the order of the path; `None`: the flow collects no telemetry, or the acknowledgement is a duplicate.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, hops: Option<&[Hop]>) {
        if self.state == State::Opening {
            return self.on_syn_ack(now, ack);
        }
        let outside = before(ack.next, self.seq.una) || before(self.seq.max, ack.next);
        if ack.syn || outside || self.state == State::Closed {
            return self.on_late_ack(now, ack);
        }
        if ack.window != Ack::UNLIMITED {
            self.take_window(ack.next, ack.window);
        }
        if self.plain {
            self.process_ack::<true>(now, ack, None);
        } else if let Some(cold) = self.cold.as_mut().filter(|cold| !cold.early.is_empty()) {
            let echo = cold.stamp(now, ack.echo);
            self.process_ack::<false>(now, &Ack { echo, ..*ack }, hops);
        } else {
            self.process_ack::<false>(now, ack, hops);
        }
    }

    /// Processes an acknowledgement that a later one has overtaken. Its blocks of outstanding segments still count (RFC
    /// 6675 section 5: "any ACK containing SACK information"); everything else in it is out of date. An acknowledgement
    /// of an earlier connection has no such blocks.
    #[cold]
    fn on_late_ack(&mut self, now: Time, ack: &Ack) {
        let una = self.seq.una;
        if ack.syn || self.board.is_none() || self.state == State::Closed || !before(ack.next, una) {
            return;
        }
        let mut sack = [Block::default(); 3];
        let ahead = ack.sack.iter().filter(|block| block.start != block.end && before(una, block.end));
        for (slot, block) in sack.iter_mut().zip(ahead) {
            *slot = Block { start: later(block.start, una), end: block.end };
        }
        let known = Ack { next: una, ece: false, sack, ..*ack };
        if known.has_sack() {
            self.process_ack::<false>(now, &known, None);
        }
    }

    /// Processes an acknowledgement of the current connection; `PLAIN`: the sender is `plain` ([`Sender`]).
    #[inline(always)]
    fn process_ack<const PLAIN: bool>(&mut self, now: Time, ack: &Ack, hops: Option<&[Hop]>) {
        let old_una = self.seq.una;
        let advanced = ack.next.wrapping_sub(old_una);
        let in_flight_before = if PLAIN { self.plain_in_flight() } else { self.in_flight() };
        let used = if PLAIN { in_flight_before } else { self.used(in_flight_before) };
        let window_limited = before(old_una, self.seq.full_at)
            || (self.window.cwnd < self.window.ssthresh && self.window.cwnd < 2.0 * f64::from(used));
        if ack.delay != Dur::ZERO {
            self.control.on_delay(now, ack.delay);
        }
        let feedback = Feedback { advanced, ece: ack.ece, una: ack.next, next: self.seq.max, hops };
        self.control.on_feedback(&mut self.window, &feedback);
        let delivery = match self.repair.flavour {
            Flavour::Sack if !PLAIN => self.process_with_sack(now, ack, advanced),
            _ => self.process_without_sack(now, ack, advanced),
        };
        let una = self.seq.una;
        if !PLAIN && let Some(sampler) = self.sampler() {
            sampler.advance(una);
        }
        if !PLAIN && self.ecn.is_gradual() {
            self.end_gradual();
        }
        // As in ns-2, the echo is processed before the round-trip time is sampled: the sample ends the doubling of the
        // timeout, except while echoes continue.
        let waits = ack.ece && self.ecn_capable && self.on_echo(now);
        if !PLAIN && self.ecn.is_gradual() && self.state == State::Open && delivery.delivered > 0 {
            self.set_window_by_prr(delivery.delivered, advanced > 0);
        }
        let rtt = match &self.board {
            Some(_) if !PLAIN && self.tcp.timers.form == Form::Linux => delivery.rtt,
            board => {
                let scoreboard = !PLAIN && board.is_some();
                let rtt = if advanced > 0 { self.sample_rtt(now, ack) } else { None };
                if scoreboard { delivery.newest.map(|sent| now.since(sent)) } else { rtt }
            }
        };
        let round = advanced > 0 && before(self.seq.round_end, self.seq.una);
        if round {
            self.seq.round_end = self.seq.max;
        }
        let acked = Acked {
            now,
            delivered: delivery.delivered,
            advanced,
            rtt,
            srtt: self.timers.rtt.srtt(&self.tcp.timers),
            min_rtt: self.timers.rtt.min(),
            in_flight_before,
            in_flight: if PLAIN { self.plain_in_flight() } else { self.in_flight() },
            window_limited,
            ece: ack.ece,
            recovering: self.state == State::Recovery,
            round,
            lost: self.repair.lost,
            rate: None,
        };
        self.report_delivery::<PLAIN>(acked, delivery.ended);
        if waits {
            self.timers.expiry = self.expiry(now, self.rto());
        } else if !PLAIN && self.is_as_linux() {
            self.restart_single_timer(now, &delivery, advanced);
        } else if advanced > 0 {
            self.restart_timer::<PLAIN>(now, delivery.keep_timer);
        }
        self.ecn.at_floor &= ack.ece || advanced == 0;
    }

    /// Takes a sample of the round-trip time, by the echoed timestamp (RFC 7323 section 4.1) or by the timed segment
    /// (RFC 6298 section 3). `None`: without timestamps, no timed segment is acknowledged.
    fn sample_rtt(&mut self, now: Time, ack: &Ack) -> Option<Dur> {
        let rtt = &mut self.timers.rtt;
        let sent = if self.tcp.timestamps { ack.echo } else { rtt.take_timed(ack.next)? };
        self.measure(now, sent);
        if !(self.ecn.at_floor && ack.ece) {
            self.timers.rtt.reset_back_off();
        }
        Some(now.since(sent))
    }

    /// Updates the round-trip time and the timeout with a segment that was sent at `sent`.
    #[inline]
    pub(super) fn measure(&mut self, now: Time, sent: Time) {
        if self.tcp.timers.form == Form::Rfc {
            self.timers.rtt.sample(now, sent, self.tcp.timestamps, &self.tcp.timers);
        } else {
            let rtt = now.since(sent).max(Dur(1));
            self.sample_by_round(Some((rtt, rtt)));
        }
    }

    /// Updates them with `timers.form = "linux"`, by the round-trip times for the timeout and for the congestion
    /// control; returns the latter.
    pub(super) fn sample_by_round(&mut self, round_trips: Option<(Dur, Dur)>) -> Option<Dur> {
        let (rtt, newest) = round_trips?;
        let range = (self.seq.una, self.seq.max);
        let cold = self.cold.get_or_insert_default();
        self.timers.rtt.sample_by_round(rtt, newest, &mut cold.rounds, range, &self.tcp.timers);
        self.timers.rtt.reset_back_off();
        let min = self.timers.rtt.min();
        if let Some(rack) = self.board.as_mut().and_then(|board| board.rack.as_mut()) {
            rack.observe(min);
        }
        Some(newest)
    }

    /// Reports deliveries to the congestion control: outside recovery or, if the control sets the window in recovery,
    /// always. `ended`: this acknowledgement ended a recovery or undid a reduction.
    #[inline]
    fn report_delivery<const PLAIN: bool>(&mut self, mut acked: Acked, ended: bool) {
        // As in ns-2, an acknowledgement with an echo does not open the window.
        let echoes = acked.ece && self.ecn_capable && (PLAIN || self.profile.echo != EchoResponse::Control);
        // In Linux only the reduction that an echo starts keeps the window (`tcp_cong_control`).
        let echoes = echoes && (PLAIN || !self.is_as_linux());
        let control_owns = !PLAIN && self.owns_recovery();
        if acked.delivered == 0
            || (!control_owns && (acked.recovering || ended || echoes || (!PLAIN && self.ecn.is_gradual())))
        {
            return;
        }
        self.repair.lost = 0;
        if !PLAIN && let Some(sampler) = self.sampler() {
            acked.rate = sampler.sample(acked.min_rtt);
        }
        self.control.on_ack(&mut self.window, &acked);
        if !PLAIN && self.is_marking() {
            self.window.cwnd = self.window.cwnd.max(self.least_window());
        }
    }

    /// Restarts or stops the retransmission timer (RFC 6298 sections 5.2 and 5.3).
    #[inline]
    fn restart_timer<const PLAIN: bool>(&mut self, now: Time, keep: bool) {
        let expiry = || if PLAIN { now + self.plain_rto() } else { self.expiry(now, self.rto()) };
        if self.seq.is_idle() {
            // A sender that waits for its timer at a window of one segment continues to wait.
            if self.window.cwnd < 1.0 {
                self.timers.expiry = expiry();
            } else if !self.ecn.held {
                self.timers.expiry = Time::NEVER;
            }
        } else if !keep && !self.ecn.held {
            self.timers.expiry = expiry();
        }
        if !PLAIN {
            self.arm_probe(now);
        }
    }

    /// Processes the cumulative acknowledgement; returns `true` if all segments sent before recovery are acknowledged.
    #[inline]
    pub(super) fn advance(&mut self, next: u32) -> bool {
        // An urgent transmission that has not been sent yet is no longer needed.
        self.urgent = Urgent::No;
        self.ecn.advance(next);
        self.seq.advance(next)
    }

    /// Returns the number of segments by which slow start decides whether the window limits the sender
    /// (`window-validation`), with `in_flight` segments outstanding.
    #[inline]
    fn used(&self, in_flight: u32) -> u32 {
        match (self.tcp.window_validation, &self.cold) {
            (WindowValidation::Round, Some(cold)) => cold.window_use.flight,
            _ => in_flight,
        }
    }
}
