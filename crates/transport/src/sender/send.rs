//! What to transmit, and when.

use super::state::{Awaits, Probe};
use super::{Flavour, Sender, State};
use crate::cc::{CongestionControl, Sent, SentCalls, Timer};
use crate::params::{Recovery, SpuriousTimeout, WindowValidation};
use crate::seq::before;
use crate::wire::{Ecn, Segment};
use tailback_units::{Dur, Time};

/// What may be transmitted.
#[derive(Clone, Copy)]
pub(super) enum Choice {
    New,
    Again(u32),
}

impl Sender {
    /// A segment to transmit now, if there is one; call until there is none.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let under_way = matches!(self.state, State::Open | State::Recovery) && self.una != self.max;
        if self.plain && under_way && !(self.held || self.force) {
            let new = self.left > 0 && before(self.max, self.limit());
            let choice = self.choose_plain(self.allowed(), new)?;
            return Some(self.transmit_as::<true>(now, choice));
        }
        self.poll_any(now)
    }

    /// A segment of any sender.
    fn poll_any(&mut self, now: Time) -> Option<Segment> {
        self.hold_for_pace(false);
        match self.state {
            State::Closed => return None,
            State::Opening => return self.poll_syn(now),
            _ => {}
        }
        if self.una == self.max {
            if self.left == 0 {
                return None;
            }
            self.restart_after_idle(now);
        }
        if self.marking && self.reserve().is_some() {
            return self.poll_reserved(now);
        }
        // The first repair of a loss leaves at once; all else waits for its time.
        if !(self.force || self.force_probe) {
            let pacing = self.pacing();
            if pacing.interval > Dur::ZERO {
                let pace = self.pace.get_or_insert_default();
                pace.release = pace.release.max(self.last_sent + pacing.interval);
            }
            if now < self.release() && pacing.changes_at <= now {
                self.control.on_timer(now, Timer::Control);
                self.pace.get_or_insert_default().release = self.last_sent;
                self.space(self.last_sent);
            }
            if now < self.release() {
                let holds = self.choose(true).is_some();
                self.hold_for_pace(holds);
                return None;
            }
        }
        let choice = self.choose(false)?;
        Some(self.transmit(now, choice))
    }

    /// RFC 5681 section 4.1.
    fn restart_after_idle(&mut self, now: Time) {
        let idle = self.tcp.slow_start_restart && now.since(self.last_sent) > self.rto();
        if idle && !self.held && !self.owns_recovery() {
            let restart = f64::from(self.tcp.initial_window()).max(self.least_window());
            self.window.cwnd = self.window.cwnd.min(restart);
        }
    }

    /// What may be transmitted; `dry` only asks.
    pub(super) fn choose(&mut self, dry: bool) -> Option<Choice> {
        if self.held {
            return None;
        }
        if self.force {
            self.force &= dry;
            return Some(Choice::Again(self.una));
        }
        let new = self.left > 0 && before(self.max, self.limit());
        if self.force_probe {
            self.force_probe &= dry;
            return Some(if new { Choice::New } else { Choice::Again(self.max.wrapping_sub(1)) });
        }
        if let Some(may) = self.f_rto_allows(dry) {
            return (may && new).then_some(Choice::New);
        }
        let allowed = self.allowed();
        match self.flavour {
            Flavour::Sack => self.choose_selective(allowed, new, dry),
            _ => self.choose_plain(allowed, new),
        }
    }

    #[inline]
    fn choose_plain(&mut self, allowed: u32, new: bool) -> Option<Choice> {
        let used = self.nxt.wrapping_sub(self.una);
        let limited = match self.state {
            State::Open => self.tcp.limited_transmit.when_open(),
            State::Loss => self.tcp.limited_transmit.after_timeout(),
            _ => false,
        };
        let extra = if limited { self.dupacks.min(2) } else { 0 };
        if used >= allowed {
            self.full_at = self.max;
            if used >= allowed.saturating_add(extra) {
                return None;
            }
        }
        if before(self.nxt, self.max) {
            return before(self.nxt, self.limit()).then_some(Choice::Again(self.nxt));
        }
        self.choose_new(new, used)
    }

    fn choose_selective(&mut self, allowed: u32, new: bool, dry: bool) -> Option<Choice> {
        // Before a loss is certain the pipe makes room for limited transmit (RFC 6675 section 5 step 3).
        let limited = self.state == State::Loss && self.tcp.limited_transmit.after_timeout();
        let extra = if limited { self.dupacks.min(2) } else { 0 };
        let board = self.board.as_mut()?;
        let pipe = board.counted.map_or(board.pipe(), |counted| counted.max(0) as u32);
        if pipe >= allowed {
            self.full_at = self.max;
            if pipe >= allowed.saturating_add(extra) {
                return None;
            }
        }
        if board.counted.is_some() {
            if let Some(seq) = board.next_hole() {
                return Some(Choice::Again(seq));
            }
            return self.choose_new(new, pipe);
        }
        if let Some(seq) = board.next_lost() {
            return Some(Choice::Again(seq));
        }
        let outstanding = self.max.wrapping_sub(self.una);
        if self.state == State::Open && !self.tcp.limited_transmit.when_open() && outstanding >= allowed {
            return None;
        }
        if !new && self.state == State::Recovery && !dry {
            let by_count = matches!(&self.tcp.recovery, Recovery::Sack(sack) if !sack.rack);
            if by_count {
                return board.next_doubtful().map(Choice::Again);
            }
        }
        self.choose_new(new, pipe)
    }

    fn choose_new(&mut self, new: bool, in_flight: u32) -> Option<Choice> {
        if self.left == 0
            && let Some(sampler) = self.sampler()
        {
            sampler.app_limited(in_flight);
        }
        new.then_some(Choice::New)
    }

    pub(super) fn transmit(&mut self, now: Time, choice: Choice) -> Segment {
        self.transmit_as::<false>(now, choice)
    }

    /// Transmits; `PLAIN` says that the sender is `plain`.
    #[inline(always)]
    fn transmit_as<const PLAIN: bool>(&mut self, now: Time, choice: Choice) -> Segment {
        let idle = self.una == self.max;
        let (seq, retransmission) = match choice {
            Choice::New => (self.max, false),
            Choice::Again(seq) => (seq, true),
        };
        if !PLAIN && self.pace.is_some() {
            let in_flight = self.in_flight();
            if let Some(sampler) = self.sampler() {
                sampler.sent(seq, now, in_flight);
            }
        }
        let payload = self.payload(seq);
        self.counts.sent += 1;
        if retransmission {
            self.again(now, seq);
        } else {
            self.left -= 1;
            self.max = seq.wrapping_add(1);
            self.nxt = self.max;
            if !PLAIN && let Some(board) = &mut self.board {
                board.push(now);
            }
            if !PLAIN && self.tcp.window_validation == WindowValidation::Round {
                self.note_flight();
            }
            if !self.tcp.timestamps && !self.timing {
                self.timing = true;
                self.timed = seq;
                self.timed_at = now;
            }
        }
        if !PLAIN && let Some(board) = &mut self.board {
            board.prr.out += 1;
            if let Some(counted) = &mut board.counted {
                *counted += 1;
            }
        }
        // RFC 6298 section 5.1; a retransmission of the first outstanding segment starts it again,
        // as in BSD, ns-2 and Linux.
        let patient = self.flavour == Flavour::NewReno && self.state == State::Recovery && self.partial;
        if self.expiry == Time::NEVER || (retransmission && seq == self.una && !patient) {
            self.expiry = now + if PLAIN { self.plain_rto() } else { self.rto() };
        }
        self.last_sent = now;
        if !PLAIN {
            self.space(now);
            if !retransmission {
                self.arm_probe(now);
            }
        }
        let capable = self.ecn && (!retransmission || self.tcp.ecn_retransmissions);
        let cwr = self.cwr && (!retransmission || self.tcp.ecn_retransmissions);
        self.cwr &= !cwr;
        let ecn = if capable { self.tcp.ect.codepoint() } else { Ecn::NotEct };
        let marked = if PLAIN { None } else { self.note_sent(now, idle, seq, payload, retransmission) };
        Segment { seq, payload, ecn, cwr, retransmission, marked }
    }

    /// Tells the control, and the reservation, of a segment; whether it is marked.
    fn note_sent(&mut self, now: Time, idle: bool, seq: u32, payload: u16, again: bool) -> Option<bool> {
        let marks = self.profile.sent == SentCalls::Marks;
        let own = if self.profile.sent == SentCalls::Never {
            false
        } else {
            let was_marked = (marks && again).then(|| self.was_marked(seq));
            self.control.on_sent(&Sent { now, idle, was_marked })
        };
        let marked = if self.marking && !marks { self.take_tokens(now, payload) } else { own };
        if !self.marking {
            return None;
        }
        let una = self.una;
        self.rare().marks.set(seq, una, marked);
        Some(marked)
    }

    #[cold]
    fn again(&mut self, now: Time, seq: u32) {
        self.counts.retransmissions += 1;
        if let Some(doubt) = self.rare.as_mut().and_then(|rare| rare.doubt.as_mut()) {
            doubt.unreported += 1;
        }
        // Karn: what is sent twice is not timed; another one still is (RFC 6298 section 3).
        self.timing &= seq != self.timed;
        if self.watches(SpuriousTimeout::Eifel)
            && let Some(eifel) = self.rare.as_mut().and_then(|rare| rare.eifel.as_mut())
            && *eifel == Time::NEVER
        {
            *eifel = now;
        }
        match &mut self.board {
            Some(board) => board.retransmit(seq, now),
            None if seq == self.nxt => self.nxt = seq.wrapping_add(1),
            None => {}
        }
    }

    /// Payload of segment `seq`, which is outstanding or the next new one.
    fn payload(&mut self, seq: u32) -> u16 {
        let full = self.tcp.payload();
        if self.rare.as_ref().is_none_or(|rare| rare.short.is_empty()) {
            return full;
        }
        let first_new = self.transmitted_once();
        let index = |seq: u32| first_new - u64::from(self.max.wrapping_sub(seq));
        let (index, una) = (index(seq), index(self.una));
        let short = &mut self.rare().short;
        while short.front().is_some_and(|(i, _)| *i < una) {
            short.pop_front();
        }
        let at = short.binary_search_by_key(&index, |(i, _)| *i);
        at.map_or(full, |at| short[at].1)
    }

    /// Sets when the next segment may leave.
    fn space(&mut self, now: Time) {
        let gap = match self.pacing().rate {
            Some(rate) => Dur::from_secs_f64(1.0 / rate),
            None if self.tcp.pacing => {
                let factor = if self.window.cwnd < self.window.ssthresh { 2.0 } else { 1.2 };
                let srtt = self.rtt.srtt(&self.tcp.timers);
                Dur((srtt.0 as f64 / (factor * self.window.cwnd.max(1.0))) as u64)
            }
            None => return,
        };
        let pace = self.pace.get_or_insert_default();
        pace.release = pace.release.max(now) + gap;
    }

    /// RFC 8985 section 7.2: when to probe for a lost tail.
    pub(super) fn arm_probe(&mut self, now: Time) {
        let Some(board) = &self.board else { return };
        let Some(rack) = &board.rack else { return };
        let wanted = matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.tlp);
        if !wanted || rack.probe.is_some() || self.state != State::Open || board.probe.awaits == Awaits::Reordering {
            return;
        }
        self.stop_probe();
        let Some(board) = &self.board else { return };
        if board.sacked() > 0 || self.una == self.max || self.waits() {
            return;
        }
        let srtt = self.rtt.srtt(&self.tcp.timers);
        let mut wait = if srtt > Dur::ZERO { srtt * 2 } else { Dur::from_secs(1) };
        if board.pipe() == 1 {
            // The receiver may hold back the acknowledgement of a lone segment.
            wait += self.tcp.delayed_ack.timeout;
        }
        let at = (now + wait).min(self.expiry);
        if let Some(board) = &mut self.board {
            board.probe = Probe { at, awaits: Awaits::Tail };
        }
    }
}
