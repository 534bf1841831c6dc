//! A network of one sender and one receiver for tests: a delay each way, a link of fixed rate whose queue has no limit,
//! and functions that decide the fate of each segment and each acknowledgement.
#![allow(dead_code, reason = "each test file uses only a part")]

#[path = "../../../diffserv/tests/common/seeded.rs"]
mod seeded;

pub use seeded::seeded;
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_random::Rng;
use tailback_transport::{Ack, Ecn, Receiver, Segment, Sender, Tcp};
use tailback_units::{Dur, Time};

/// Fate of a segment or an acknowledgement on the path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    pub lost: bool,
    pub marked: bool,
    /// Additional delay.
    pub later: Dur,
    /// `true` if a copy arrives 10 µs later.
    pub twice: bool,
}

enum Event {
    /// Arrival of a segment: the segment, the time of its transmission, and `true` if it is marked.
    Segment(Segment, Time, bool),
    /// Arrival of an acknowledgement.
    Ack(Ack),
}

/// The network, with the events that are pending.
pub struct Net<F: FnMut(Time, &Segment) -> Fate, G: FnMut(Time, &Ack) -> Fate> {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    /// Propagation delay of each direction.
    pub delay: Dur,
    /// Transmission time of a segment; 0: the link has infinite rate.
    pub per_segment: Dur,
    /// Decides the fate of a segment at its transmission.
    pub forward: F,
    /// Decides the fate of an acknowledgement at its transmission.
    pub backward: G,
    /// Time from which the link is idle.
    idle_from: Time,
    events: BTreeMap<(Time, u64), Event>,
    /// Number of events so far, which orders events of the same time.
    serial: u64,
    /// Time and segment of every transmission, while `keep_log` is `true`.
    pub log: Vec<(Time, Segment)>,
    pub keep_log: bool,
    /// `true` to check the sender's invariants at each transmission.
    pub strict: bool,
    /// Called for each transmission.
    pub check: fn(&Sender, &Segment),
}

/// Returns the fate of a segment on a path without losses.
pub fn deliver(_: Time, _: &Segment) -> Fate {
    Fate::default()
}
/// Returns the fate of an acknowledgement on a path without losses.
pub fn answer(_: Time, _: &Ack) -> Fate {
    Fate::default()
}

impl<F: FnMut(Time, &Segment) -> Fate, G: FnMut(Time, &Ack) -> Fate> Net<F, G> {
    /// Returns a network at time 0; panics if the parameters are invalid.
    pub fn new(tcp: Tcp, delay: Dur, forward: F, backward: G) -> Self {
        tcp.check().expect("the test's parameters make sense");
        Net::unchecked(tcp, delay, forward, backward)
    }

    /// Returns a network at time 0 whose parameters may be outside their ranges.
    pub fn unchecked(tcp: Tcp, delay: Dur, forward: F, backward: G) -> Self {
        let tcp = Arc::new(tcp);
        Net {
            sender: Sender::new(&tcp, Rng::named(1, "sender")),
            receiver: Receiver::new(&tcp),
            now: Time::ZERO,
            delay,
            per_segment: Dur::ZERO,
            forward,
            backward,
            idle_from: Time::ZERO,
            events: BTreeMap::new(),
            serial: 0,
            log: Vec::new(),
            keep_log: true,
            strict: false,
            check: |_, _| {},
        }
    }

    /// Schedules an event.
    fn schedule(&mut self, at: Time, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    /// Writes `bytes` now, and transmits the segments that may be sent.
    pub fn offer(&mut self, bytes: u64) {
        self.sender.offer(self.now, bytes);
        self.transmit_all();
    }

    /// Transmits all segments that the sender may send now.
    fn transmit_all(&mut self) {
        // More segments than any window of the tests holds.
        let mut remaining = 1_000_000u32;
        while let Some(segment) = self.sender.poll(self.now) {
            remaining =
                remaining.checked_sub(1).unwrap_or_else(|| panic!("the sender sends without end at {:?}", self.now));
            if self.keep_log {
                self.log.push((self.now, segment));
            }
            (self.check)(&self.sender, &segment);
            let fate = (self.forward)(self.now, &segment);
            if self.strict {
                self.sender.audit();
            }
            if fate.lost {
                continue;
            }
            self.idle_from = self.idle_from.max(self.now) + self.per_segment;
            let arrives = self.idle_from + self.delay + fate.later;
            self.schedule(arrives, Event::Segment(segment, self.now, fate.marked));
            if fate.twice {
                self.schedule(arrives + Dur::from_us(10), Event::Segment(segment, self.now, fate.marked));
            }
        }
        assert!(self.sender.deadline() >= self.now, "a deadline has passed at {:?}: {:?}", self.now, self.sender);
    }

    /// Transmits an acknowledgement, if there is one.
    fn transmit_ack(&mut self, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        let fate = (self.backward)(self.now, &ack);
        if !fate.lost {
            self.schedule(self.now + self.delay + fate.later, Event::Ack(ack));
            if fate.twice {
                self.schedule(self.now + self.delay + fate.later + Dur::from_us(10), Event::Ack(ack));
            }
        }
    }

    /// Runs all events up to `end`, and sets the time to `end`.
    pub fn run_until(&mut self, end: Time) {
        let (mut last, mut events_at_this_time) = (Time::NEVER, 0);
        loop {
            events_at_this_time = if self.now == last { events_at_this_time + 1 } else { 0 };
            last = self.now;
            assert!(events_at_this_time < 5_000_000, "time stands still at {:?}: {:?}", self.now, self.sender);
            let event = self.events.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let next = event.min(self.sender.deadline()).min(self.receiver.deadline());
            if next > end || next == Time::NEVER {
                self.now = end;
                return;
            }
            self.now = next;
            if event == next {
                match self.events.pop_first().expect("just seen").1 {
                    Event::Segment(s, sent, ce) => {
                        let ecn = if ce && s.ecn != Ecn::NotEct { Ecn::Ce } else { s.ecn };
                        let ack = self.receiver.on_segment(self.now, s.seq, s.payload, sent, ecn, s.cwr);
                        self.transmit_ack(ack);
                    }
                    Event::Ack(ack) => {
                        self.sender.on_ack(self.now, &ack, None);
                        self.transmit_all();
                    }
                }
            } else if self.sender.deadline() == next {
                self.sender.on_timer(self.now);
                self.transmit_all();
                assert!(self.sender.deadline() > self.now, "the timer does not stop: {:?}", self.sender);
            } else {
                let ack = self.receiver.on_timer(self.now);
                self.transmit_ack(ack);
            }
        }
    }

    pub fn run_for(&mut self, time: Dur) {
        self.run_until(self.now + time);
    }
}

/// Returns the parameters of a document; panics if they are invalid.
pub fn tcp(document: serde_json::Value) -> Tcp {
    let tcp: Tcp = tailback_document::decode(document).expect("the test's parameters decode");
    tcp.check().expect("the test's parameters make sense");
    tcp
}

pub const MS: fn(u64) -> Dur = Dur::from_ms;

/// Returns the time `ms` milliseconds after the start.
pub fn at(ms: u64) -> Time {
    Time::ZERO + MS(ms)
}
