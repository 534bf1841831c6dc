//! A discipline on a link: arrivals in, departures and drops out.
#![allow(dead_code, reason = "each test file uses a part of it")]

use crate::common::{MAX_STEPS, MAX_WAKES, Steps};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Cx, Discipline, Dropped, Ecn, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Time,
    pub flow: u32,
    /// Bytes on the wire; in a buffer the packet takes [`buffer`] bytes.
    pub bytes: u16,
    pub ecn: Ecn,
}

/// Returns the buffer bytes of a packet of `wire` wire bytes: 4 to 40 fewer (at least 1), not in proportion, so that a
/// discipline that counts the wrong length serves in another order and has another limit. A packet of 1000 B on the
/// wire takes 1000 − (4 + 125 mod 37) = 982 B in a buffer.
pub fn buffer(wire: u16) -> u16 {
    wire.saturating_sub(4 + wire / 8 % 37).max(1)
}

/// A packet that has departed.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Index of its arrival.
    pub arrival: usize,
    pub flow: u32,
    /// Bytes on the wire.
    pub bytes: u16,
    /// Start of the transmission.
    pub start: Time,
    /// End of the transmission.
    pub end: Time,
    pub marked: bool,
}

/// A packet that was dropped.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Index of its arrival.
    pub arrival: usize,
    pub flow: u32,
    pub reason: Reason,
}

/// Outcomes of the arrivals.
#[derive(Debug, Default)]
pub struct Log {
    pub departed: Vec<Departure>,
    pub dropped: Vec<Loss>,
    pub marked: u64,
    /// Maximum number of buffer bytes that waited after an event.
    pub peak_bytes: u64,
    /// Packets waiting at the end.
    pub waiting: u64,
}

impl Log {
    /// Returns the wire bytes of a flow's departed packets.
    pub fn bytes_of(&self, flow: u32) -> u64 {
        self.departed.iter().filter(|d| d.flow == flow).map(|d| u64::from(d.bytes)).sum()
    }
}

/// Returns the discipline of a document; panics if its parameters are invalid.
pub fn build(document: serde_json::Value, site: &Site) -> Discipline {
    let spec: Spec = decode(document).unwrap();
    Checked::check(&spec).unwrap();
    spec.build(site)
}

/// Returns the packet of an arrival, with `index` as its sequence number.
pub fn packet(arrival: &Arrival, index: usize) -> Packet {
    let traits = Traits::data(0, true).with_ecn(arrival.ecn);
    let mut packet = Packet::new(arrival.flow, traits, arrival.at, index as u32, 0);
    packet.set_lengths(u32::from(buffer(arrival.bytes)), u32::from(arrival.bytes));
    packet
}

/// Sends the arrivals, in order of time, through the discipline onto a link; stops before the first event after
/// `until`.
pub fn run(q: &mut Discipline, arrivals: &[Arrival], rate: Rate, seed: u64, until: Time) -> Log {
    let mut rng = Rng::named(seed, "port");
    let mut log = Log::default();
    let mut dropped: Vec<Dropped> = Vec::new();
    let (gate, clock) = (Gate::default(), rate.clock());
    let mut free = Time::ZERO;
    let mut busy = false;
    let mut next = 0;
    let (mut packets, mut bytes) = (0u64, 0u64);
    let mut steps = Steps::at_most(MAX_STEPS);
    let (mut woken, mut wakes) = (Time::NEVER, Steps::at_most(MAX_WAKES));
    loop {
        steps.step("the discipline is never empty");
        let arrival = arrivals.get(next).map_or(Time::NEVER, |a| a.at);
        let end = if busy { free } else { Time::NEVER };
        let wake = q.next_wakeup().unwrap_or(Time::NEVER);
        let now = arrival.min(end).min(wake);
        if now > until || now == Time::NEVER {
            break;
        }
        let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut log.marked };
        if arrival == now {
            let a = &arrivals[next];
            (packets, bytes) = (packets + 1, bytes + u64::from(buffer(a.bytes)));
            q.enqueue(now, packet(a, next), cx);
            next += 1;
        } else if end == now {
            busy = false;
        } else {
            if woken != now {
                (woken, wakes) = (now, Steps::at_most(MAX_WAKES));
            }
            wakes.step("the discipline sets its timer to the present without end");
            q.wake(now, cx);
        }
        // The link takes a packet only after all arrivals of the instant.
        if !busy && arrivals.get(next).is_none_or(|a| a.at > now) {
            if let Some(p) = q.dequeue(now, &gate, cx) {
                let end = now + clock.tx_time(u32::from(p.wire()));
                (packets, bytes) = (packets - 1, bytes - u64::from(p.size));
                log.departed.push(Departure {
                    arrival: p.seq as usize,
                    flow: p.flow(),
                    bytes: p.wire(),
                    start: now,
                    end,
                    marked: p.ecn() == Ecn::Ce,
                });
                (free, busy) = (end, true);
            } else if q.watches_idle() && q.packets() == 0 {
                q.idle(now, cx);
            }
        }
        for d in dropped.drain(..) {
            (packets, bytes) = (packets - 1, bytes - u64::from(d.packet.size));
            log.dropped.push(Loss { arrival: d.packet.seq as usize, flow: d.packet.flow(), reason: d.why });
        }
        assert_eq!(packets, q.packets(), "the discipline and the link agree on the number of waiting packets");
        log.peak_bytes = log.peak_bytes.max(bytes);
    }
    log.waiting = q.packets();
    log
}

/// Returns packets of `bytes` wire bytes at equal intervals, at `rate` on the wire, from `from` until before `until`.
pub fn constant(flow: u32, bytes: u16, rate: Rate, from: Time, until: Time) -> Vec<Arrival> {
    let gap = Dur((u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.0)) as u64);
    let mut at = from;
    let mut all = Vec::new();
    while at < until {
        all.push(Arrival { at, flow, bytes, ecn: Ecn::NotEct });
        at += gap;
    }
    all
}

/// Returns the arrivals of all sources in order of time; at equal times those of the earlier source come first.
pub fn merged(sources: Vec<Vec<Arrival>>) -> Vec<Arrival> {
    let mut all: Vec<Arrival> = sources.into_iter().flatten().collect();
    all.sort_by_key(|a| a.at);
    all
}

/// Returns at least `n` packets in bursts of random length from random flows, which offer `load` times the link's
/// `rate`; flows with even numbers are ECN-capable.
pub fn random(seed: u64, flows: u32, n: usize, rate: Rate, load: f64) -> Vec<Arrival> {
    let mut rng = Rng::named(seed, "arrivals");
    let mut at = Time::ZERO;
    let mut all = Vec::with_capacity(n);
    while all.len() < n {
        let (flow, burst) = (rng.below(u64::from(flows)) as u32, rng.between(1, 8));
        for _ in 0..burst {
            let bytes = if rng.chance(0.3) { 1500 } else { rng.between(40, 1500) as u16 };
            let ecn = if flow.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
            all.push(Arrival { at, flow, bytes, ecn });
            at += Dur::from_secs_f64(rng.exponential(f64::from(bytes) * 8.0 / (rate.0 as f64 * load)));
        }
    }
    all
}
