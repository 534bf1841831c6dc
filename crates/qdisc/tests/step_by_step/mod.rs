//! Schedulers step by step, by hand: order, limits, virtual times and timers after each packet.

mod classes;
mod flows;
mod lengths_and_delays;

use crate::common::places;
use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Cx, Discipline, Dropped, Ecn, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

pub const LINK: Rate = Rate::mbit(10);

pub fn us(n: u64) -> Time {
    Time::ZERO + Dur::from_us(n)
}

pub fn spec(document: &Value) -> Spec {
    let spec: Spec = decode(document.clone()).unwrap_or_else(|e| panic!("{document}: {e}"));
    Checked::check(&spec).unwrap_or_else(|e| panic!("{document}: {e}"));
    spec
}

/// A discipline, with the sequence numbers of dropped packets.
pub struct Bench {
    pub q: Discipline,
    pub rng: Rng,
    pub dropped: Vec<Dropped>,
    pub marked: u64,
    pub seq: u32,
}

impl Bench {
    pub fn new(document: &Value, site: &Site) -> Bench {
        let (q, rng) = (spec(document).build(site), Rng::named(1, "port"));
        Bench { q, rng, dropped: Vec::new(), marked: 0, seq: 0 }
    }
    pub fn unlimited(document: &Value) -> Bench {
        Bench::new(document, &places(u64::MAX, LINK))
    }
    pub fn with<T>(&mut self, f: impl FnOnce(&mut Discipline, &mut Cx<'_>) -> T) -> T {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        f(&mut self.q, cx)
    }
    /// Enqueues a packet of `size` buffer and wire bytes to the destination `flow`; returns its sequence number.
    pub fn put_as(&mut self, at: Time, flow: u32, size: u32, code: u8, ecn: Ecn) -> u32 {
        let mut packet = Packet::new(flow, Traits::data(0, true).with_ecn(ecn), at, self.seq, flow as u16);
        packet.set_lengths(size, size);
        packet.code = code;
        self.seq += 1;
        self.with(|q, cx| q.enqueue(at, packet, cx));
        self.seq - 1
    }
    pub fn put(&mut self, at: Time, flow: u32, size: u32) -> u32 {
        self.put_as(at, flow, size, 0, Ecn::NotEct)
    }
    /// Enqueues packets of 1000 B of these flows.
    pub fn put_all(&mut self, at: Time, flows: &[u32]) {
        for flow in flows {
            self.put(at, *flow, 1000);
        }
    }
    pub fn take(&mut self, at: Time) -> Option<Packet> {
        self.with(|q, cx| q.dequeue(at, &Gate::default(), cx))
    }
    /// Returns the flows of the next `n` packets that leave at `at`.
    pub fn flows(&mut self, at: Time, n: usize) -> Vec<u32> {
        (0..n).map_while(|_| self.take(at)).map(|packet| packet.flow()).collect()
    }
    /// Returns the sequence numbers of all packets that leave at `at`.
    pub fn rest(&mut self, at: Time) -> Vec<u32> {
        (0..10_000).map_while(|_| self.take(at)).map(|packet| packet.seq).collect()
    }
    pub fn wake(&mut self, at: Time) {
        self.with(|q, cx| q.wake(at, cx));
    }
    pub fn retune(&mut self, at: Time, document: &Value, site: &Site) {
        self.q.retune(at, &spec(document), site);
    }
    pub fn drops(&self) -> Vec<u32> {
        self.dropped.iter().map(|d| d.packet.seq).collect()
    }
    pub fn probe(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.q.probe(&mut |n, value| {
            if n == name {
                found = value;
            }
        });
        found
    }
    pub fn visited(&self) -> Vec<u32> {
        let mut seen = Vec::new();
        self.q.visit(&mut |packet| seen.push(packet.seq));
        seen.sort_unstable();
        seen
    }
}

/// Returns a site for this number of buffer bytes.
pub fn bytes(bytes: u64) -> Site {
    Site { bytes, packets: u64::MAX, rate: LINK }
}

pub const PER_FLOW: [&str; 9] =
    ["drr", "sfq", "fq-codel", "fq-pie", "wfq", "wf2q-plus", "virtual-clock", "scfq", "stfq"];

pub fn per_flow(kind: &str) -> Value {
    json!({ "kind": kind, "buckets": "per-flow" })
}
