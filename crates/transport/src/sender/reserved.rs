//! Transmission of a sender with a reservation (Feng, Kandlur, Saha and Shin, NOSSDAV 1997).

use super::Sender;
use super::groups::{Choice, Urgent};
use super::reserve::Reserve;
use super::state::State;
use crate::params::Transmission;
use crate::wire::Segment;
use tailback_units::Time;

impl Sender {
    /// Returns a segment to transmit now for a sender with a reservation; `None`: no segment may be sent
    /// ([`Sender::poll`]).
    pub(super) fn poll_reserved(&mut self, now: Time) -> Option<Segment> {
        let mut reserve = self.cold().reserve.take().expect("the sender has a reservation");
        reserve.bucket.fill(now);
        reserve.advance(now);
        let choice = self.choose_reserved(now, &mut reserve);
        if choice.is_none() {
            self.wait_reserved(&reserve);
        }
        self.cold().reserve = Some(reserve);
        choice.map(|choice| self.transmit(now, choice))
    }

    /// Returns the segment that the window, the tokens and the timer allow; `None`: no segment may be sent.
    fn choose_reserved(&mut self, now: Time, reserve: &mut Reserve) -> Option<Choice> {
        let conforms = reserve.bucket.holds(reserve.full);
        let urgent = self.urgent != Urgent::No;
        if reserve.ticked {
            let undisturbed = matches!(self.state, State::Open | State::Recovery) && !urgent;
            let new = self.seq.nxt == self.seq.max && self.seq.has_new(self.limit());
            if conforms && undisturbed && new && !self.ecn.held {
                return Some(Choice::New);
            }
            reserve.ticked &= conforms && new;
        }
        if !urgent && self.choose(true).is_none() {
            // The window may have shrunk so that it no longer allows the segment that waited.
            reserve.held_until = None;
            return None;
        }
        if !conforms && !urgent && reserve.holds(now) {
            return None;
        }
        reserve.held_until = None;
        self.choose(false)
    }

    /// Sets the deadline of a segment that waits for tokens or for a tick of the timer.
    fn wait_reserved(&mut self, reserve: &Reserve) {
        let at = match &reserve.transmission {
            Transmission::Acknowledgement(_) => return,
            Transmission::Delayed(_) if reserve.held_until.is_none() => return,
            Transmission::Delayed(_) => reserve.release(),
            Transmission::Timed(_) if self.seq.unsent == 0 => return,
            Transmission::Timed(_) => reserve.tick,
        };
        let pace = self.pace.get_or_insert_default();
        (pace.release, pace.holds) = (at, true);
    }

    /// Removes the tokens for a segment with `payload` bytes from the bucket. Returns `true` if there were enough, so
    /// that the segment is marked.
    pub(super) fn take_tokens(&mut self, now: Time, payload: u16) -> bool {
        let length = u32::from(payload) + self.tcp.header.0 as u32;
        let Some(reserve) = &mut self.cold().reserve else { return false };
        reserve.bucket.fill(now);
        reserve.bucket.take(length)
    }

    /// Returns `true` if segment `seq`, which is outstanding, was marked when it was last sent.
    pub(super) fn was_marked(&self, seq: u32) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.marks.get(seq))
    }

    /// Returns the part of the window that losses do not reduce, segments: with `window = "excess"` the number of
    /// segments that the reserved rate carries per round trip, otherwise 0.
    pub(super) fn reserved_window(&self) -> f64 {
        match self.cold.as_ref().and_then(|cold| cold.reserve.as_deref()) {
            Some(reserve) if reserve.excess_only => reserve.rate * self.srtt().as_secs(),
            _ => 0.0,
        }
    }

    /// Returns the window after a timeout, which is also the lower bound of the window at any time, segments, at least
    /// 1.
    pub(super) fn least_window(&self) -> f64 {
        if self.is_marking() { self.reserved_window().max(1.0) } else { 1.0 }
    }
}
