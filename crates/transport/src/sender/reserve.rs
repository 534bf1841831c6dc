//! State of a reservation: token bucket, timer, and marks of outstanding segments.

use crate::params::{Reservation, ReservedWindow, Tcp, Timed, Transmission};
use std::collections::VecDeque;
use tailback_diffserv::TokenBucket;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Marks of the outstanding segments: `true` if the segment was marked when it was last sent.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Marks of consecutive segments from `first` on.
    sent: VecDeque<bool>,
    /// Segment of the first mark.
    first: u32,
}

impl Marks {
    /// Records the mark of a transmission or retransmission of segment `seq`; all segments before `una` are
    /// acknowledged.
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
    /// Returns `true` if segment `seq` was marked when it was last sent; `false` also if it is not outstanding.
    pub fn get(&self, seq: u32) -> bool {
        self.sent.get(seq.wrapping_sub(self.first) as usize).copied().unwrap_or(false)
    }
}

/// State of a reservation.
#[derive(Debug)]
pub(super) struct Reserve {
    /// Token bucket of the reserved rate, in bytes.
    pub bucket: TokenBucket,
    /// Reserved rate, segments per second.
    pub rate: f64,
    /// Length of a full segment, bytes, headers included.
    pub full: u32,
    /// `true` if losses reduce only the window above the reservation.
    pub excess_only: bool,
    /// Trigger of transmissions.
    pub transmission: Transmission,
    /// Latest time until which the next segment waits for tokens. `None`: no segment waits.
    pub held_until: Option<Time>,
    /// Next tick of the timer; [`Time::NEVER`]: the trigger is not "timed".
    pub tick: Time,
    /// `true` from a tick of the timer until there are no tokens or no new segments left.
    pub ticked: bool,
    rng: Rng,
}

impl Reserve {
    /// Returns the state of a reservation of a connection of `tcp`.
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

    /// Processes the ticks of the timer up to `now`.
    pub fn advance(&mut self, now: Time) {
        if let Transmission::Timed(Timed { tick }) = &self.transmission
            && self.tick <= now
        {
            self.ticked = true;
            self.tick += *tick * (now.since(self.tick).0 / tick.0 + 1);
        }
    }

    /// Returns `true` if a segment that the window allows, but for which there are no tokens, has to wait. At the first
    /// call for a segment the time of its wait is drawn at random.
    pub fn holds(&mut self, now: Time) -> bool {
        let Transmission::Delayed(delayed) = &self.transmission else { return false };
        let until = *self.held_until.get_or_insert_with(|| now + Dur(self.rng.below(delayed.most.0)));
        now < until
    }

    /// Returns the time at which a waiting segment may be sent: the end of its wait or the time at which there are
    /// tokens for it, whichever is earlier.
    pub fn release(&self) -> Time {
        let tokens = self.bucket.ready_at(self.full).unwrap_or(Time::NEVER);
        self.held_until.map_or(tokens, |until| until.min(tokens))
    }
}
