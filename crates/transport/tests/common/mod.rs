//! A toy network between a sender and a receiver: a delay each way, a link of fixed rate without a
//! limit on its queue, and a hook that decides the fate of each segment.
#![allow(dead_code, reason = "each test file uses its part")]

#[path = "../../../diffserv/tests/common/seeded.rs"]
mod seeded;

pub use seeded::seeded;
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_random::Rng;
use tailback_transport::{Ack, Receiver, Segment, Sender, Tcp};
use tailback_units::{Dur, Time};

/// Fate of a segment on the path.
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
    /// Arrival of a segment: the segment, time of its transmission, `true` if it is marked.
    Segment(Segment, Time, bool),
    Ack(Ack),
}

pub struct Net<F: FnMut(Time, &Segment) -> Fate, G: FnMut(Time, &Ack) -> Fate> {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    pub delay: Dur,
    /// Transmission time of a segment; 0: the link has no limit.
    pub per_segment: Dur,
    pub forward: F,
    pub backward: G,
    free: Time,
    events: BTreeMap<(Time, u64), Event>,
    serial: u64,
    /// Every transmission.
    pub log: Vec<(Time, Segment)>,
    pub keep_log: bool,
    /// `true` to check the sender's invariants at each transmission.
    pub strict: bool,
    pub check: fn(&Sender, &Segment),
}

/// Fate of a segment on a path without losses.
pub fn deliver(_: Time, _: &Segment) -> Fate {
    Fate::default()
}
/// Fate of an acknowledgement on a path without losses.
pub fn answer(_: Time, _: &Ack) -> Fate {
    Fate::default()
}

impl<F: FnMut(Time, &Segment) -> Fate, G: FnMut(Time, &Ack) -> Fate> Net<F, G> {
    pub fn new(tcp: Tcp, delay: Dur, forward: F, backward: G) -> Self {
        tcp.check().expect("the test's parameters make sense");
        Net::unchecked(tcp, delay, forward, backward)
    }

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
            free: Time::ZERO,
            events: BTreeMap::new(),
            serial: 0,
            log: Vec::new(),
            keep_log: true,
            strict: false,
            check: |_, _| {},
        }
    }

    fn at(&mut self, at: Time, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    pub fn offer(&mut self, bytes: u64) {
        self.sender.offer(self.now, bytes);
        self.pump();
    }

    fn pump(&mut self) {
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
            self.free = self.free.max(self.now) + self.per_segment;
            let arrives = self.free + self.delay + fate.later;
            self.at(arrives, Event::Segment(segment, self.now, fate.marked));
            if fate.twice {
                self.at(arrives + Dur::from_us(10), Event::Segment(segment, self.now, fate.marked));
            }
        }
        assert!(self.sender.deadline() >= self.now, "a deadline has passed at {:?}: {:?}", self.now, self.sender);
    }

    fn answer(&mut self, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        let fate = (self.backward)(self.now, &ack);
        if !fate.lost {
            self.at(self.now + self.delay + fate.later, Event::Ack(ack));
            if fate.twice {
                self.at(self.now + self.delay + fate.later + Dur::from_us(10), Event::Ack(ack));
            }
        }
    }

    /// Runs all events up to `end`; the time is `end` then.
    pub fn run_until(&mut self, end: Time) {
        let (mut before, mut idle) = (Time::NEVER, 0);
        loop {
            idle = if self.now == before { idle + 1 } else { 0 };
            before = self.now;
            assert!(idle < 5_000_000, "time stands still at {:?}: {:?}", self.now, self.sender);
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
                        let ce = ce && s.ecn != tailback_transport::Ecn::NotEct;
                        let ack = self.receiver.on_segment(self.now, s.seq, s.payload, sent, ce, s.cwr);
                        self.answer(ack);
                    }
                    Event::Ack(ack) => {
                        self.sender.on_ack(self.now, &ack, None);
                        self.pump();
                    }
                }
            } else if self.sender.deadline() == next {
                self.sender.on_timer(self.now);
                self.pump();
                assert!(self.sender.deadline() > self.now, "the timer does not stop: {:?}", self.sender);
            } else {
                let ack = self.receiver.on_timer(self.now);
                self.answer(ack);
            }
        }
    }

    pub fn run_for(&mut self, time: Dur) {
        self.run_until(self.now + time);
    }
}

/// Parameters of a document; panics if they are invalid.
pub fn tcp(document: serde_json::Value) -> Tcp {
    let tcp: Tcp = tailback_document::decode(document).expect("the test's parameters decode");
    tcp.check().expect("the test's parameters make sense");
    tcp
}

pub const MS: fn(u64) -> Dur = Dur::from_ms;

pub fn at(ms: u64) -> Time {
    Time::ZERO + MS(ms)
}
