//! A link that serves a discipline, with a log of all that a caller can observe.

use crate::common::{Arrival, Steps, packet};
use serde_json::Value;
use std::collections::BTreeSet;
use tailback_document::{Checked, decode};
use tailback_qdisc::{Colour, Cx, Discipline, Dropped, Ecn, Gate, Qdisc, Reason, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Rate of the link.
pub const RATE: Rate = Rate::mbit(10);

/// An event that a caller can observe.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Sent {
        at: Time,
        seq: u32,
        marked: bool,
    },
    Dropped {
        at: Time,
        seq: u32,
        why: Reason,
    },
    /// State after a call: next wake-up, bytes of state, and the bits of the probed values.
    Seen {
        at: Time,
        wake: Option<Time>,
        state: usize,
        probes: Vec<u64>,
    },
}

/// Returns the parameters of a document; panics if they are invalid.
pub fn spec(document: &Value) -> Spec {
    let spec: Spec = decode(document.clone()).unwrap_or_else(|e| panic!("{document}: {e}"));
    Checked::check(&spec).unwrap_or_else(|e| panic!("{document}: {e}"));
    spec
}

/// Returns a site for 60 kB and 30 packets, at the link of [`RATE`].
pub fn site() -> Site {
    Site { bytes: 60_000, packets: 30, rate: RATE }
}

/// Returns packets of six flows in phases in which they offer less or more than the link can send. The flow determines
/// the code point, the colour and the ECN codepoint.
pub fn traffic(seed: u64, packets: u32) -> Vec<Arrival> {
    let rng = &mut Rng::named(seed, "traffic");
    let (mut at, mut load, mut change) = (Time::ZERO, 1.0, Time::ZERO);
    (0..packets)
        .map(|seq| {
            if at >= change {
                load = [0.3, 0.9, 1.2, 2.5, 0.05][rng.below(5) as usize];
                change = at + Dur::from_secs_f64(rng.exponential(0.02));
            }
            let size = if rng.chance(0.3) { 1500 } else { rng.between(40, 1500) as u16 };
            at += Dur::from_secs_f64(rng.exponential(f64::from(size) * 8.0 / (load * RATE.0 as f64)));
            // The minimum makes flows with smaller numbers send more.
            let flow = rng.below(6).min(rng.below(7)) as u32;
            let ecn = [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1][flow as usize % 3];
            let colour = [Colour::Green, Colour::Yellow, Colour::Red][flow as usize / 2];
            Arrival { at, seq, flow, size, ecn, colour }
        })
        .collect()
}

/// Code point of each flow.
const CODES: [u8; 6] = [0, 46, 44, 34, 26, 8];

/// A discipline that a link serves, and the log of its events.
pub struct Ride {
    pub q: Discipline,
    pub log: Vec<Event>,
    rng: Rng,
    dropped: Vec<Dropped>,
    marked: u64,
}

impl Ride {
    pub fn new(spec: &Spec, site: &Site, seed: u64) -> Ride {
        let rng = Rng::named(seed, "port");
        Ride { q: spec.build(site), log: Vec::new(), rng, dropped: Vec::new(), marked: 0 }
    }
    /// Calls `f` with the discipline and its context, and logs the drops.
    fn call<T>(&mut self, at: Time, f: impl FnOnce(&mut Discipline, &mut Cx<'_>) -> T) -> T {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        let out = f(&mut self.q, cx);
        let drops = self.dropped.drain(..).map(|d| Event::Dropped { at, seq: d.packet.seq, why: d.why });
        self.log.extend(drops);
        out
    }
    /// Returns the state that a caller can observe.
    pub fn seen(&self, at: Time) -> Event {
        let mut probes = Vec::new();
        self.q.probe(&mut |_, value| probes.push(value.to_bits()));
        Event::Seen { at, wake: self.q.next_wakeup(), state: self.q.state_bytes(), probes }
    }
    /// Returns the value of the probed variable `name`; NaN if there is none.
    pub fn probe(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.q.probe(&mut |n, value| {
            if n == name {
                found = value;
            }
        });
        found
    }
    /// Serves the traffic until all packets have left, at most 10 s after the last arrival; calls `between` before each
    /// event. Checks that no packet is lost or sent twice.
    pub fn serve(&mut self, traffic: &[Arrival], mut between: impl FnMut(&mut Ride, Time)) {
        let (clock, gate) = (RATE.clock(), Gate::default());
        let end = traffic.last().map_or(Time::ZERO, |last| last.at) + Dur::from_secs(10);
        let mut arrivals = traffic.iter().peekable();
        let mut free_at: Option<Time> = None;
        let mut now = Time::ZERO;
        let mut steps = Steps::at_most(1_000_000);
        loop {
            steps.step("the discipline does not come to an end");
            let arrival = arrivals.peek().map_or(Time::NEVER, |a| a.at);
            if self.q.packets() == 0 && arrival == Time::NEVER && free_at.is_none() {
                break;
            }
            let next = |ride: &Ride, now: Time| {
                let wake = ride.q.next_wakeup().unwrap_or(Time::NEVER).max(now);
                arrival.min(free_at.unwrap_or(Time::NEVER)).min(wake)
            };
            let event = next(self, now);
            if event > end {
                break;
            }
            // `between` may change parameters, half-way between two events, and so set the timer to an earlier time.
            now = Time(now.0 + (event.0 - now.0) / 2);
            between(self, now);
            now = next(self, now);
            if free_at == Some(now) {
                free_at = None;
            } else if arrival == now
                && let Some(arrival) = arrivals.next()
            {
                let mut packet = packet(arrival);
                packet.code = CODES[arrival.flow as usize % 6];
                packet.payload = arrival.size;
                self.call(now, |q, cx| q.enqueue(now, packet, cx));
            } else {
                self.call(now, |q, cx| q.wake(now, cx));
            }
            if free_at.is_none() {
                if let Some(packet) = self.call(now, |q, cx| q.dequeue(now, &gate, cx)) {
                    free_at = Some(now + clock.tx_time(u32::from(packet.wire())));
                    self.log.push(Event::Sent { at: now, seq: packet.seq, marked: packet.ecn() == Ecn::Ce });
                } else if self.q.watches_idle() && self.q.packets() == 0 {
                    self.call(now, |q, cx| q.idle(now, cx));
                }
            }
            let seen = self.seen(now);
            self.log.push(seen);
        }
        self.assert_conserved(traffic.len() as u32 - arrivals.count() as u32);
    }
    /// Checks that each of the first `arrived` packets was sent, was dropped or waits, exactly one of these.
    pub fn assert_conserved(&self, arrived: u32) {
        let mut counted = BTreeSet::new();
        for event in &self.log {
            if let Event::Sent { seq, .. } | Event::Dropped { seq, .. } = event {
                assert!(counted.insert(*seq), "{seq} twice");
            }
        }
        let mut waiting = 0;
        self.q.visit(&mut |packet| {
            waiting += 1;
            assert!(counted.insert(packet.seq), "{} waits although it was sent or dropped", packet.seq);
        });
        assert_eq!(waiting, self.q.packets());
        assert_eq!(counted.len() as u32, arrived);
    }
    /// Returns the events of packets sent and dropped, without the states.
    pub fn fates(&self) -> Vec<&Event> {
        self.log.iter().filter(|event| !matches!(event, Event::Seen { .. })).collect()
    }
}

/// Fails at the first event that differs.
#[track_caller]
pub fn assert_equal(a: &[Event], b: &[Event], context: &str) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(a == b, "{context}: event {i}\n{a:?}\n{b:?}");
    }
    assert_eq!(a.len(), b.len(), "{context}");
}
