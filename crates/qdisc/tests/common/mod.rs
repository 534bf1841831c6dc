//! A link that serves a queue, and random traffic. A discipline and the transcription of its reference
//! get the same traffic on the same link, so that the fate of each packet can be compared.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod rfc8033;
#[path = "../../../diffserv/tests/common/seeded.rs"]
mod seeded;
mod wire;

pub use seeded::seeded;

use tailback_qdisc::{Colour, Cx, Discipline, Dropped, Ecn, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};
pub use wire::wire;

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Sent { marked: bool },
    Dropped(Reason),
}

/// A packet's number and its fate, in the order in which fates are decided.
pub type Log = Vec<(u32, Fate)>;

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Time,
    pub seq: u32,
    pub flow: u32,
    /// Buffer bytes; on the link the packet is [`wire`] bytes long.
    pub size: u16,
    pub ecn: Ecn,
    pub colour: Colour,
}

/// A packet in the queue of a transcription.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub seq: u32,
    pub flow: u32,
    /// Buffer bytes.
    pub size: u16,
    /// `true` if the packet is ECN-capable.
    pub ect: bool,
    /// `true` if the packet arrived with ECT(1) or CE.
    pub l4s: bool,
    pub colour: Colour,
    /// `true` if the queue has marked the packet.
    pub marked: bool,
    /// Time of arrival.
    pub at: Time,
}

impl Held {
    pub fn new(arrival: &Arrival) -> Held {
        Held {
            seq: arrival.seq,
            flow: arrival.flow,
            size: arrival.size,
            ect: arrival.ecn != Ecn::NotEct,
            l4s: matches!(arrival.ecn, Ecn::Ect1 | Ecn::Ce),
            colour: arrival.colour,
            marked: false,
            at: arrival.at,
        }
    }
    /// Returns the fate of this packet if it is sent.
    pub fn sent(&self) -> Fate {
        Fate::Sent { marked: self.marked }
    }
}

/// A queue that a link serves.
pub trait Queue {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log);
    /// Takes the next packet for the link and returns its buffer bytes (on the link it is [`wire`] bytes long); `None`
    /// if there is no packet to send.
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16>;
    fn idle(&mut self, _now: Time, _log: &mut Log) {}
    fn wake_at(&self) -> Option<Time> {
        None
    }
    fn wake(&mut self, _now: Time, _log: &mut Log) {}
}

/// A discipline with its random stream, its gate, and its drops and marks.
pub struct Rig {
    pub q: Discipline,
    pub rng: Rng,
    pub dropped: Vec<Dropped>,
    pub marked: u64,
    gate: Gate,
}

impl Rig {
    pub fn new(spec: &Spec, site: &Site, rng: Rng) -> Rig {
        spec.check().expect("the parameters make sense");
        Rig { q: spec.build(site), rng, dropped: Vec::new(), marked: 0, gate: Gate::default() }
    }
    /// Calls `f` with the discipline and its context, and adds the drops to `log`.
    fn with<T>(&mut self, log: &mut Log, f: impl FnOnce(&mut Discipline, &Gate, &mut Cx<'_>) -> T) -> T {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        let out = f(&mut self.q, &self.gate, cx);
        log.extend(self.dropped.drain(..).map(|d| (d.packet.seq, Fate::Dropped(d.why))));
        out
    }
    /// Returns the value of the discipline's variable `name` in its probe; NaN if it has no such variable.
    pub fn state(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.q.probe(&mut |n, value| {
            if n == name {
                found = value;
            }
        });
        found
    }
    /// Returns the buffer bytes of the waiting packets.
    pub fn bytes(&self) -> u64 {
        let mut bytes = 0;
        self.q.visit(&mut |packet| bytes += u64::from(packet.size));
        bytes
    }
}

/// Returns the packet of an arrival.
pub fn packet(arrival: &Arrival) -> Packet {
    let mut packet = Packet::new(arrival.flow, Traits::data(0, true).with_ecn(arrival.ecn), arrival.at, arrival.seq, 1);
    packet.set_colour(arrival.colour);
    packet.set_lengths(u32::from(arrival.size), u32::from(wire(arrival.size)));
    packet
}

impl Queue for Rig {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        self.with(log, |q, _, cx| q.enqueue(arrival.at, packet(arrival), cx));
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        let packet = self.with(log, |q, gate, cx| q.dequeue(now, gate, cx))?;
        log.push((packet.seq, Fate::Sent { marked: packet.ecn() == Ecn::Ce }));
        Some(packet.size)
    }
    fn idle(&mut self, now: Time, log: &mut Log) {
        if self.q.watches_idle() {
            self.with(log, |q, _, cx| q.idle(now, cx));
        }
    }
    fn wake_at(&self) -> Option<Time> {
        self.q.next_wakeup()
    }
    fn wake(&mut self, now: Time, log: &mut Log) {
        self.with(log, |q, _, cx| q.wake(now, cx));
    }
}

/// Bound on the steps of a loop that ends only if the law under test works: a broken law fails the test with a message
/// within a second, even if proptest repeats it, instead of running for ever.
pub struct Steps(u64);

impl Steps {
    pub fn at_most(steps: u64) -> Steps {
        Steps(steps)
    }
    /// Counts a step; panics with `failure`, a description of what the law does not do, after the last permitted step.
    #[track_caller]
    pub fn step(&mut self, failure: &str) {
        self.0 = self.0.checked_sub(1).unwrap_or_else(|| panic!("too many steps: {failure}"));
    }
}

/// More steps than any of the tests takes.
pub const MAX_STEPS: u64 = 20_000_000;
/// More wakes than any discipline needs at one instant.
pub const MAX_WAKES: u64 = 20_000;

/// Runs `traffic` through a queue onto a link of `rate` until all packets have left, and returns their fates; calls
/// `look` with the queue and the time after each arrival.
pub fn serve<Q: Queue>(queue: &mut Q, rate: Rate, traffic: &[Arrival], mut look: impl FnMut(&Q, Time)) -> Log {
    let clock = rate.clock();
    let mut log = Log::new();
    // The end of the transmission; `None`: the link is free.
    let mut free_at: Option<Time> = None;
    let mut steps = Steps::at_most(MAX_STEPS);
    let (mut woken, mut wakes) = (Time::NEVER, Steps::at_most(MAX_WAKES));
    let mut arrivals = traffic.iter().peekable();
    queue.idle(Time::ZERO, &mut log);
    loop {
        steps.step("the queue is never empty");
        let arrival = arrivals.peek().map_or(Time::NEVER, |a| a.at);
        let free = free_at.unwrap_or(Time::NEVER);
        if arrival == Time::NEVER && free == Time::NEVER {
            return log;
        }
        let wake = queue.wake_at().unwrap_or(Time::NEVER);
        if wake <= arrival.min(free) {
            if woken != wake {
                (woken, wakes) = (wake, Steps::at_most(MAX_WAKES));
            }
            wakes.step("the queue sets its timer to the present without end");
            queue.wake(wake, &mut log);
            continue;
        }
        let now = arrival.min(free);
        if free <= arrival {
            free_at = None;
        } else if let Some(arrival) = arrivals.next() {
            queue.arrive(arrival, &mut log);
            look(queue, now);
        }
        if free_at.is_none() {
            match queue.leave(now, &mut log) {
                Some(size) => free_at = Some(now + clock.tx_time(u32::from(wire(size)))),
                None => queue.idle(now, &mut log),
            }
        }
    }
}

/// Time at which the transmission of a packet begins, and the packet's number.
pub type Departure = (Time, u32);

/// Runs the arrivals through a queue that may hold packets back, onto a link, and returns the departures. `step(now,
/// arrival)` enqueues the arrival or, without one, dequeues; it returns the sequence number and size of the packet that
/// leaves, and the time at which it must be called again.
pub fn drive(
    rate: Rate,
    arrivals: &[Arrival],
    mut step: impl FnMut(Time, Option<&Arrival>) -> (Option<(u32, u16)>, Time),
) -> Vec<Departure> {
    let (clock, mut log, mut next) = (rate.clock(), Vec::new(), arrivals.iter().peekable());
    let (mut free, mut wake) = (Time::ZERO, Time::NEVER);
    for _ in 0..20 * arrivals.len() + 1_000 {
        let arrival = next.peek().map_or(Time::NEVER, |a| a.at);
        let now = arrival.min(wake.max(free));
        if now == Time::NEVER {
            return log;
        }
        let comes = if arrival == now { next.next() } else { None };
        if let Some(a) = comes {
            step(now, Some(a));
            wake = now;
        }
        if free <= now && next.peek().is_none_or(|a| a.at > now) {
            let (sent, again) = step(now, None);
            wake = again;
            if let Some((seq, size)) = sent {
                log.push((now, seq));
                free = now + clock.tx_time(u32::from(wire(size)));
                wake = free;
            }
        }
    }
    panic!("packets wait and none leaves");
}

/// Returns the departures of a discipline that may hold packets back, on a link of `rate` (see [`drive`]).
pub fn departures(q: &mut Discipline, rate: Rate, arrivals: &[Arrival]) -> Vec<Departure> {
    let (mut rng, mut dropped, mut marked, gate) = (Rng::named(1, "port"), Vec::new(), 0, Gate::default());
    drive(rate, arrivals, |now, arrival| {
        let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
        if let Some(a) = arrival {
            q.enqueue(now, packet(a), cx);
            return (None, now);
        }
        if q.next_wakeup().is_some_and(|at| at <= now) {
            q.wake(now, cx);
        }
        let sent = q.dequeue(now, &gate, cx).map(|p| (p.seq, p.size));
        (sent, if q.packets() > 0 { q.next_wakeup().unwrap_or(Time::NEVER) } else { Time::NEVER })
    })
}

/// Poisson traffic whose load changes at random, so that the link is overloaded, underused and nearly idle in turn.
pub struct Traffic {
    pub rate: Rate,
    pub packets: u32,
    pub flows: u64,
    pub sizes: &'static [u16],
    /// Share of ECN-capable packets.
    pub ect: f64,
    /// Share of ECN-capable packets that are ECT(1); the others are ECT(0).
    pub l4s: f64,
    /// Colours: flow `f` has the one at index `f` modulo their number.
    pub colours: &'static [Colour],
    /// Offered loads, as multiples of `rate`; each phase has one of them at random.
    pub loads: &'static [f64],
    /// Mean length of a phase.
    pub phase: Dur,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic {
            rate: Rate::mbit(10),
            packets: 120_000,
            flows: 50,
            sizes: &[1000],
            ect: 0.5,
            l4s: 0.0,
            colours: &[Colour::Green],
            loads: &[0.3, 0.9, 1.1, 1.6, 0.01],
            phase: Dur::from_ms(400),
        }
    }
}

impl Traffic {
    /// Returns random arrivals in order of time.
    pub fn draw(&self, seed: u64) -> Vec<Arrival> {
        let rng = &mut Rng::named(seed, "traffic");
        let mut at = Time::ZERO;
        let mut change = Time::ZERO;
        let mut load = 1.0;
        (0..self.packets)
            .map(|seq| {
                if at >= change {
                    load = self.loads[rng.below(self.loads.len() as u64) as usize];
                    change = at + Dur::from_secs_f64(rng.exponential(self.phase.as_secs()));
                }
                let size = self.sizes[rng.below(self.sizes.len() as u64) as usize];
                at += Dur::from_secs_f64(rng.exponential(f64::from(size) * 8.0 / (load * self.rate.0 as f64)));
                let ecn = if !rng.chance(self.ect) {
                    Ecn::NotEct
                } else if rng.chance(self.l4s) {
                    Ecn::Ect1
                } else {
                    Ecn::Ect0
                };
                let flow = rng.below(self.flows) as u32;
                let colour = self.colours[flow as usize % self.colours.len()];
                Arrival { at, seq, flow, size, ecn, colour }
            })
            .collect()
    }
}

/// Fails at the first packet whose fate differs.
pub fn assert_same<T: PartialEq + core::fmt::Debug>(ours: &[T], reference: &[T]) {
    for (i, (a, b)) in ours.iter().zip(reference).enumerate() {
        assert_eq!(a, b, "event {i} of {}: ours, then the reference's", ours.len());
    }
    assert_eq!(ours.len(), reference.len());
}

/// Indices of the fates in [`tally`].
pub mod fate {
    /// Sent without a mark.
    pub const UNMARKED: usize = 0;
    /// Sent with a mark.
    pub const MARKED: usize = 1;
    /// Dropped early.
    pub const EARLY: usize = 2;
    /// Dropped because the buffer was full.
    pub const FULL: usize = 3;
    /// Dropped as unresponsive.
    pub const UNRESPONSIVE: usize = 4;
}

/// Returns the number of packets of each fate, at the index of [`fate`].
pub fn tally(log: &Log) -> [usize; 5] {
    let count = |f: &dyn Fn(&Fate) -> bool| log.iter().filter(|(_, fate)| f(fate)).count();
    [
        count(&|f| *f == Fate::Sent { marked: false }),
        count(&|f| *f == Fate::Sent { marked: true }),
        count(&|f| *f == Fate::Dropped(Reason::Early)),
        count(&|f| *f == Fate::Dropped(Reason::BufferFull)),
        count(&|f| *f == Fate::Dropped(Reason::Unresponsive)),
    ]
}

/// Returns a site with a limit of `packets` packets, at a link of `rate`.
pub fn places(packets: u64, rate: Rate) -> Site {
    Site { bytes: u64::MAX, packets, rate }
}
