//! A sender with a reservation (Feng, Kandlur, Saha and Shin, NOSSDAV 1997): which segments are
//! marked, when the timer lets them go, and which part of the window a loss reduces.

use super::send::Choice;
use super::{Sender, State};
use crate::cc::{Congestion, CongestionControl, CongestionEvent, Window};
use crate::params::{Reservation, ReservedWindow, Tcp, Timed, Transmission};
use crate::seq::before;
use crate::wire::Segment;
use std::collections::VecDeque;
use tailback_diffserv::TokenBucket;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Which outstanding segments were sent marked.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Of segments `first` on.
    sent: VecDeque<bool>,
    first: u32,
}

impl Marks {
    /// Segment `seq` is sent, or sent again; all before `una` has been acknowledged.
    pub fn set(&mut self, seq: u32, una: u32, marked: bool) {
        while self.first != una && !self.sent.is_empty() {
            self.sent.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        if self.sent.is_empty() {
            self.first = seq;
        }
        let place = seq.wrapping_sub(self.first) as usize;
        match self.sent.get_mut(place) {
            Some(mark) => *mark = marked,
            None => self.sent.push_back(marked),
        }
    }
    /// Whether segment `seq` was marked when it was last sent.
    pub fn get(&self, seq: u32) -> bool {
        self.sent.get(seq.wrapping_sub(self.first) as usize).copied().unwrap_or(false)
    }
}

/// The reservation at work.
#[derive(Debug)]
pub(super) struct Reserve {
    bucket: TokenBucket,
    /// Segments per second that it carries.
    rate: f64,
    /// Bytes of a full segment, headers included.
    full: u32,
    excess_only: bool,
    transmission: Transmission,
    /// The instant until which the next segment waits for tokens.
    held_until: Option<Time>,
    /// When the timer ticks next; [`Time::NEVER`] without one.
    tick: Time,
    /// Whether it has ticked and there have been tokens since.
    ticked: bool,
    rng: Rng,
}

impl Reserve {
    pub fn new(params: &Reservation, tcp: &Tcp, mut rng: Rng) -> Reserve {
        let full = tcp.segment.0 as u32 + tcp.header.0 as u32;
        let tick = match &params.transmission {
            Transmission::Timed(timed) => Time(rng.below(timed.tick.0)),
            _ => Time::NEVER,
        };
        Reserve {
            bucket: TokenBucket::new(params.rate, params.burst.0),
            rate: params.rate.0 as f64 / (8.0 * f64::from(full)),
            full,
            excess_only: params.window == ReservedWindow::Excess,
            transmission: params.transmission.clone(),
            held_until: None,
            tick,
            ticked: false,
            rng,
        }
    }

    /// Sees to a timer that has ticked by `now`.
    fn advance(&mut self, now: Time) {
        if let Transmission::Timed(Timed { tick }) = &self.transmission
            && self.tick <= now
        {
            self.ticked = true;
            self.tick += *tick * (now.since(self.tick).0 / tick.0 + 1);
        }
    }

    /// Whether a segment that the window allows has to wait for tokens, of which there are none.
    fn holds(&mut self, now: Time) -> bool {
        let Transmission::Delayed(delayed) = &self.transmission else { return false };
        let until = *self.held_until.get_or_insert_with(|| now + Dur(self.rng.below(delayed.most.0)));
        now < until
    }

    /// When a segment that waits may leave: at the end of its wait or when there are tokens for it.
    fn release(&self) -> Time {
        let tokens = self.bucket.ready_at(self.full).unwrap_or(Time::NEVER);
        self.held_until.map_or(tokens, |until| until.min(tokens))
    }
}

impl Sender {
    /// [`Sender::poll`] of an open connection with a reservation.
    pub(super) fn poll_reserved(&mut self, now: Time) -> Option<Segment> {
        let mut reserve = self.rare().reserve.take().expect("the sender has a reservation");
        reserve.bucket.fill(now);
        reserve.advance(now);
        let choice = self.choose_reserved(now, &mut reserve);
        if choice.is_none() {
            self.wait_reserved(&reserve);
        }
        self.rare().reserve = Some(reserve);
        choice.map(|choice| self.transmit(now, choice))
    }

    fn choose_reserved(&mut self, now: Time, reserve: &mut Reserve) -> Option<Choice> {
        let conforms = reserve.bucket.holds(reserve.full);
        if reserve.ticked {
            let quiet = matches!(self.state, State::Open | State::Recovery) && !self.force && !self.force_probe;
            let new = self.left > 0 && self.nxt == self.max && before(self.max, self.limit());
            if conforms && quiet && new && !self.held {
                return Some(Choice::New);
            }
            reserve.ticked &= conforms && new;
        }
        let urgent = self.force || self.force_probe;
        if !urgent && self.choose(true).is_none() {
            // What has waited may have been taken back: the window has shrunk.
            reserve.held_until = None;
            return None;
        }
        if !conforms && !urgent && reserve.holds(now) {
            return None;
        }
        reserve.held_until = None;
        self.choose(false)
    }

    /// Arms the timer of what waits for tokens or a tick.
    fn wait_reserved(&mut self, reserve: &Reserve) {
        let at = match &reserve.transmission {
            Transmission::Acknowledgement(_) => return,
            Transmission::Delayed(_) if reserve.held_until.is_none() => return,
            Transmission::Delayed(_) => reserve.release(),
            Transmission::Timed(_) if self.left == 0 => return,
            Transmission::Timed(_) => reserve.tick,
        };
        let pace = self.pace.get_or_insert_default();
        (pace.release, pace.holds) = (at, true);
    }

    /// Takes the tokens of a segment; returns `true` if there are enough, so that it is marked.
    pub(super) fn take_tokens(&mut self, now: Time, payload: u16) -> bool {
        let length = u32::from(payload) + self.tcp.header.0 as u32;
        let Some(reserve) = &mut self.rare().reserve else { return false };
        reserve.bucket.fill(now);
        reserve.bucket.take(length)
    }

    /// Segments that the reservation carries in a round trip, where only the rest of the window is
    /// reduced; else 0.
    pub(super) fn reserved_window(&self) -> f64 {
        match self.reserve() {
            Some(reserve) if reserve.excess_only => reserve.rate * self.rtt.srtt(&self.tcp.timers).as_secs(),
            _ => 0.0,
        }
    }

    /// The window after a timeout, and the least at any time.
    pub(super) fn least_window(&self) -> f64 {
        if self.marking { self.reserved_window().max(1.0) } else { 1.0 }
    }

    /// Tells the congestion control of congestion: of all the window, or of what is above the
    /// reservation if an unmarked segment was lost.
    pub(super) fn reduce(&mut self, why: Congestion, now: Time, flight: u32) {
        let marked = self.marking && why != Congestion::Ecn && self.was_marked(self.una);
        let event = CongestionEvent { marked, ..CongestionEvent::new(why, now, flight) };
        let reserved = if marked || !self.marking { 0.0 } else { self.reserved_window() };
        if reserved == 0.0 {
            return self.control.on_congestion(&mut self.window, &event);
        }
        let mut excess = Window { cwnd: f64::max(0.0, self.window.cwnd - reserved), ssthresh: self.window.ssthresh };
        let above = f64::max(0.0, f64::from(flight) - reserved);
        self.control.on_congestion(&mut excess, &CongestionEvent { in_flight: above as u32, ..event });
        // ssthresh = rwnd + (cwnd − rwnd)/2, without the rounding of the control's whole segments.
        self.window.ssthresh =
            reserved + if why == Congestion::Ecn { excess.ssthresh } else { f64::max(above / 2.0, 1.0) };
        if why == Congestion::Ecn {
            self.window.cwnd = reserved + excess.cwnd;
        }
    }
}
