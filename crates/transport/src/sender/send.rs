//! Selection and transmission of segments.

use super::Sender;
use super::board::{Awaits, Probe};
use super::groups::{Choice, Flavour, Urgent};
use super::state::State;
use crate::cc::{CongestionControl, Sent, SentCalls, Timer};
use crate::params::{Recovery, WindowValidation};
use crate::seq::before;
use crate::wire::Segment;
use tailback_diffserv::Ecn;
use tailback_units::{Dur, Time};

/// Number of the segment of a connection after which Linux paces: no gap follows the nine before it
/// (`tcp_update_skb_after_send`).
const UNPACED: u64 = 10;

impl Sender {
    /// Returns a segment to transmit now; `None`: no segment may be sent now. To be called until it returns `None`.
    #[inline(always)]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let under_way = matches!(self.state, State::Open | State::Recovery) && !self.seq.is_idle();
        if self.plain && under_way && !self.ecn.held && self.urgent == Urgent::No {
            let new = self.seq.has_new(self.limit());
            let choice = self.choose_plain(self.allowed(), new)?;
            return Some(self.transmit_as::<true>(now, choice));
        }
        self.poll_any(now)
    }

    /// Returns a segment to transmit now, for a sender or a state to which the fast path of [`Sender::poll`] does not
    /// apply.
    #[inline(always)]
    fn poll_any(&mut self, now: Time) -> Option<Segment> {
        self.hold_for_pace(false);
        match self.state {
            State::Closed => return None,
            State::Opening => return self.poll_syn(now),
            _ => {}
        }
        if self.seq.is_idle() {
            if self.seq.unsent == 0 {
                return None;
            }
            self.restart_after_idle(now);
        }
        if self.tcp.reservation.is_some() {
            return self.poll_reserved(now);
        }
        // The first repair of a loss and probes are sent at once; all other segments are paced.
        if self.urgent == Urgent::No && self.is_paced(now) {
            self.end_probing();
            let holds = self.choose(true).is_some();
            self.hold_for_pace(holds);
            return None;
        }
        let choice = self.choose(false)?;
        Some(self.transmit(now, choice))
    }

    /// Returns `true` if pacing does not allow a segment to be sent at `now`.
    #[inline(always)]
    fn is_paced(&mut self, now: Time) -> bool {
        let pacing = self.pacing();
        if pacing.interval > Dur::ZERO {
            let earliest = self.timers.last_sent + pacing.interval;
            let pace = self.pace.get_or_insert_default();
            pace.release = pace.release.max(earliest);
        }
        if now < self.release() && pacing.changes_at <= now {
            self.control.on_timer(&mut self.window, now, Timer::Control);
            self.pace.get_or_insert_default().release = self.timers.last_sent;
            self.set_release(self.timers.last_sent);
        }
        now < self.release()
    }

    /// Returns the earliest time at which pacing allows the next segment.
    #[inline]
    pub(super) fn release(&self) -> Time {
        self.pace.as_ref().map_or(Time::ZERO, |pace| pace.release)
    }

    /// Reduces the window to at most the initial window after an idle time longer than the retransmission timeout (RFC
    /// 5681 section 4.1).
    fn restart_after_idle(&mut self, now: Time) {
        let restarts = self.tcp.slow_start_restart && now.since(self.timers.last_sent) > self.rto();
        if restarts && !self.ecn.held && !self.owns_recovery() {
            let restart = f64::from(self.tcp.initial_window()).max(self.least_window());
            self.window.cwnd = self.window.cwnd.min(restart);
        }
    }

    /// Returns the segment that may be sent, whatever the pacing; `None`: no segment may be sent. With `preview` the
    /// segment is not sent: an urgent transmission, F-RTO's allowance and the rescue retransmission stay pending.
    pub(super) fn choose(&mut self, preview: bool) -> Option<Choice> {
        if self.ecn.held {
            return None;
        }
        let new = self.seq.has_new(self.limit());
        let urgent = self.urgent;
        if urgent != Urgent::No {
            if !preview {
                self.urgent = Urgent::No;
            }
            return Some(match urgent {
                Urgent::Probe if new => Choice::New,
                Urgent::Probe => Choice::Retransmit(self.seq.max.wrapping_sub(1)),
                _ => Choice::Retransmit(self.seq.una),
            });
        }
        let allowed = self.allowed();
        if self.is_as_linux() {
            // Linux sends new segments first, as the window permits (`tcp_xmit_recovery`), and then what is lost.
            let pipe = self.board.as_ref().map_or(0, |board| board.pipe());
            if self.f_rto_probes(new && pipe < allowed, preview) {
                return Some(Choice::New);
            }
        } else if let Some(allowed) = self.f_rto_allows(preview) {
            return (allowed && new).then_some(Choice::New);
        }
        match self.repair.flavour {
            Flavour::Sack => self.choose_selective(allowed, new, preview),
            _ => self.choose_plain(allowed, new),
        }
    }

    /// Returns the segment that a window of `allowed` segments permits, without a scoreboard; `None`: no segment.
    /// `new`: there is a new segment to send.
    #[inline]
    fn choose_plain(&mut self, allowed: u32, new: bool) -> Option<Choice> {
        let used = self.seq.used();
        let limited = match self.state {
            State::Open => self.tcp.limited_transmit.when_open(),
            State::Loss => self.tcp.limited_transmit.after_timeout(),
            _ => false,
        };
        let extra = if limited { self.repair.dupacks.min(2) } else { 0 };
        if used >= allowed {
            self.seq.full_at = self.seq.max;
            if used >= allowed.saturating_add(extra) {
                return None;
            }
        }
        if before(self.seq.nxt, self.seq.max) {
            return before(self.seq.nxt, self.limit()).then_some(Choice::Retransmit(self.seq.nxt));
        }
        self.choose_new(new, used)
    }

    /// Returns the segment that a window of `allowed` segments permits, with a scoreboard; `None`: no segment. `new`:
    /// there is a new segment to send.
    fn choose_selective(&mut self, allowed: u32, new: bool, preview: bool) -> Option<Choice> {
        // Before a loss is detected no extra segments are needed for limited transmit: SACKed segments leave the pipe,
        // which makes room (RFC 6675 section 5 step 3).
        let limited = self.state == State::Loss && self.tcp.limited_transmit.after_timeout();
        let extra = if limited { self.repair.dupacks.min(2) } else { 0 };
        let board = self.board.as_mut()?;
        let pipe = board.counted.map_or(board.pipe(), |counted| counted.max(0) as u32);
        if pipe >= allowed {
            self.seq.full_at = self.seq.max;
            if pipe >= allowed.saturating_add(extra) {
                return None;
            }
        }
        if board.counted.is_some() {
            if let Some(seq) = board.next_hole() {
                return Some(Choice::Retransmit(seq));
            }
            return self.choose_new(new, pipe);
        }
        if let Some(seq) = board.next_lost() {
            return Some(Choice::Retransmit(seq));
        }
        let full = self.seq.outstanding() >= allowed;
        if self.state == State::Open && !self.tcp.limited_transmit.when_open() && full {
            return None;
        }
        if !new && self.state == State::Recovery && !preview {
            let by_count = matches!(&self.tcp.recovery, Recovery::Sack(sack) if !sack.rack);
            if by_count {
                return board.next_doubtful().map(Choice::Retransmit);
            }
        }
        self.choose_new(new, pipe)
    }

    /// Returns the next new segment if there is one (`new`). If the application has no more data, the sampler records
    /// that the application limits the rate.
    fn choose_new(&mut self, new: bool, in_flight: u32) -> Option<Choice> {
        if self.seq.unsent == 0
            && !self.is_as_linux()
            && let Some(sampler) = self.sampler()
        {
            sampler.app_limited(in_flight);
        }
        new.then_some(Choice::New)
    }

    /// Transmits a segment of any sender.
    pub(super) fn transmit(&mut self, now: Time, choice: Choice) -> Segment {
        self.transmit_as::<false>(now, choice)
    }

    /// Transmits a segment; `PLAIN`: the sender is `plain` ([`Sender`]).
    #[inline(always)]
    fn transmit_as<const PLAIN: bool>(&mut self, now: Time, choice: Choice) -> Segment {
        let idle = self.seq.is_idle();
        let (seq, retransmission) = match choice {
            Choice::New => (self.seq.max, false),
            Choice::Retransmit(seq) => (seq, true),
        };
        let single = !PLAIN && self.is_as_linux();
        // The timestamp of Linux is that of the earliest departure (`tcp_wstamp_ns` in `__tcp_transmit_skb`), which is
        // later than now for a transmission that is not paced.
        let stamp = if single { now.max(self.release()) } else { now };
        if stamp > now {
            self.cold().early.push_back((now, stamp));
        }
        if !PLAIN && self.pace.is_some() {
            let in_flight = self.in_flight();
            if let Some(sampler) = self.sampler() {
                // In Linux no segment may be outstanding, lost or not (`tcp_rate_skb_sent`).
                let starts = if single { idle } else { in_flight == 0 };
                sampler.sent(seq, stamp, in_flight, starts);
            }
        }
        let payload = self.payload(seq);
        self.counts.sent += 1;
        if retransmission {
            self.record_retransmission(stamp, seq);
        } else {
            self.record_new::<PLAIN>(stamp);
        }
        if !PLAIN && let Some(board) = &mut self.board {
            board.count();
        }
        // RFC 6298 section 5.1; a retransmission of the first outstanding segment restarts the timer,
        // as in BSD, ns-2 and Linux.
        let recovering = self.repair.flavour == Flavour::NewReno && self.state == State::Recovery;
        let patient = recovering && self.repair.partial;
        if !PLAIN {
            self.set_release(now);
        }
        if single {
            self.set_single_timer(now, seq, retransmission, idle);
        } else if self.timers.expiry == Time::NEVER || (retransmission && seq == self.seq.una && !patient) {
            self.timers.expiry = if PLAIN { now + self.plain_rto() } else { self.expiry(now, self.rto()) };
        }
        self.timers.last_sent = now;
        if !PLAIN && !retransmission && !single {
            self.arm_probe(now);
        }
        let capable = self.ecn_capable && (!retransmission || self.tcp.ecn_retransmissions);
        let cwr = self.ecn.cwr && (!retransmission || self.tcp.ecn_retransmissions);
        self.ecn.cwr &= !cwr;
        let ecn = if capable { self.tcp.ect.codepoint() } else { Ecn::NotEct };
        let marked = if PLAIN { None } else { self.report_sent(now, idle, seq, payload, retransmission) };
        Segment { seq, payload, ecn, cwr, retransmission, marked }
    }

    /// Records the first transmission of the next new segment; without timestamps, starts timing it if no other segment
    /// is timed.
    #[inline(always)]
    fn record_new<const PLAIN: bool>(&mut self, now: Time) {
        let seq = self.seq.max;
        self.seq.take_new();
        if !PLAIN && let Some(board) = &mut self.board {
            board.push(now);
        }
        if !PLAIN && self.tcp.window_validation == WindowValidation::Round {
            let (una, max) = (self.seq.una, self.seq.max);
            self.cold().window_use.record(una, max);
        }
        if !self.tcp.timestamps {
            self.timers.rtt.time(seq, now);
        }
    }

    /// Records a retransmission of segment `seq`.
    #[cold]
    fn record_retransmission(&mut self, now: Time, seq: u32) {
        self.counts.retransmissions += 1;
        if let Some(cold) = &mut self.cold {
            if let Some(dsack_watch) = &mut cold.dsack_watch {
                dsack_watch.unreported += 1;
            }
            if let Some(eifel) = &mut cold.eifel
                && *eifel == Time::NEVER
            {
                *eifel = now;
            }
        }
        // Karn's algorithm excludes only segments sent more than once: the timing of another segment continues (RFC
        // 6298 section 3).
        self.timers.rtt.stop_timing_of(seq);
        match &mut self.board {
            Some(board) => board.retransmit(seq, now),
            None if seq == self.seq.nxt => self.seq.nxt = seq.wrapping_add(1),
            None => {}
        }
    }

    /// Reports a transmission to the congestion control and to the reservation. Returns `true` if the segment is
    /// marked, `false` if not; `None`: the sender does not mark. `idle`: no segment was outstanding; `again`: it is a
    /// retransmission.
    fn report_sent(&mut self, now: Time, idle: bool, seq: u32, payload: u16, again: bool) -> Option<bool> {
        let calls = self.profile.sent;
        let marks = calls == SentCalls::Marks;
        let mut marked = false;
        if calls != SentCalls::Never {
            let was_marked = (marks && again).then(|| self.was_marked(seq));
            let (release, srtt, in_flight) = (self.release(), self.srtt(), self.in_flight());
            let app_limited = self.sampler().is_some_and(|sampler| sampler.is_app_limited());
            let sent = Sent { now, idle, was_marked, release, srtt, in_flight, app_limited };
            marked = self.control.on_sent(&mut self.window, &sent);
        }
        if !self.is_marking() {
            return None;
        }
        if !marks {
            marked = self.take_tokens(now, payload);
        }
        let una = self.seq.una;
        self.cold().marks.set(seq, una, marked);
        Some(marked)
    }

    /// Returns the payload, bytes, of segment `seq`, which is outstanding or the next new one.
    fn payload(&mut self, seq: u32) -> u16 {
        let full = self.tcp.payload();
        let Some(cold) = self.cold.as_mut().filter(|cold| !cold.short.is_empty()) else { return full };
        let first_new = self.counts.transmitted_once();
        let max = self.seq.max;
        let index = |seq: u32| first_new - u64::from(max.wrapping_sub(seq));
        let (index, una) = (index(seq), index(self.seq.una));
        while cold.short.front().is_some_and(|(i, _)| *i < una) {
            cold.short.pop_front();
        }
        let at = cold.short.binary_search_by_key(&index, |(i, _)| *i);
        at.map_or(full, |at| {
            let (_, payload) = cold.short[at];
            payload
        })
    }

    /// Sets the earliest time of the next segment by the pacing rate of the congestion control or, without one, of the
    /// connection.
    fn set_release(&mut self, now: Time) {
        let gap = match self.pacing().rate {
            Some(rate) => Dur::from_secs_f64(1.0 / rate),
            None if self.tcp.pacing => {
                let factor = if self.window.cwnd < self.window.ssthresh { 2.0 } else { 1.2 };
                Dur((self.srtt().0 as f64 / (factor * self.window.cwnd.max(1.0))) as u64)
            }
            None => return,
        };
        let as_linux = self.is_as_linux();
        let pace = self.pace.get_or_insert_default();
        pace.sent += 1;
        // Linux does not pace the first segments, and takes back up to half of a gap after a late one
        // (`tcp_update_skb_after_send`).
        let gap = match as_linux {
            true if pace.sent < UNPACED => Dur::ZERO,
            true => gap - now.since(pace.release.min(now)).min(gap / 2),
            false => gap,
        };
        pace.release = pace.release.max(now) + gap;
    }

    /// Sets the timer of the tail loss probe (RFC 8985 section 7.2).
    pub(super) fn arm_probe(&mut self, now: Time) {
        let Some(board) = &self.board else { return };
        let Some(rack) = &board.rack else { return };
        let enabled = matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.tlp);
        if !enabled || rack.probe.is_some() || self.state != State::Open || board.probe.awaits == Awaits::Reordering {
            return;
        }
        self.stop_probe();
        let Some(board) = &self.board else { return };
        if board.sacked() > 0 || self.seq.is_idle() || self.waits() {
            return;
        }
        let srtt = self.srtt();
        let mut wait = if srtt > Dur::ZERO { srtt * 2 } else { Dur::from_secs(1) };
        if board.pipe() == 1 {
            // The receiver may delay the acknowledgement of a single segment.
            wait += self.tcp.delayed_ack.timeout;
        }
        let at = self.expiry(now, wait).min(self.timers.expiry);
        if let Some(board) = &mut self.board {
            board.probe = Probe { at, awaits: Awaits::Tail };
        }
    }
}
