//! PI, REM and AVQ compared packet by packet with transcriptions of ns-2.35.

use crate::common::*;
use std::collections::VecDeque;
use tailback_qdisc::law::red::Count;
use tailback_qdisc::law::{avq, pi, rem};
use tailback_qdisc::{Reason, Spec};
use tailback_random::{Rng, maths};
use tailback_units::{Amount, Dur, Fraction, Rate, Size, Time};

/// Limit of the queue, packets.
const LIMIT: usize = 150;

fn traffic() -> Traffic {
    let loads = &[0.3, 0.9, 1.1, 1.6, 3.0];
    Traffic { sizes: &[1000, 1000, 300], loads, phase: Dur::from_secs(2), ..Traffic::default() }
}

/// Fails unless the discipline and the reference decide the same about each packet; returns the number of packets of
/// each fate.
fn compare(spec: Spec, reference: &mut impl Queue, rng: Rng, seed: u64) -> [usize; 5] {
    let rate = Rate::mbit(10);
    let arrivals = traffic().draw(seed);
    let mut ours = Rig::new(&spec, &places(LIMIT as u64, rate), rng);
    let log = serve(&mut ours, rate, &arrivals, |_, _| {});
    assert_same(&log, &serve(reference, rate, &arrivals, |_, _| {}));
    tally(&log)
}

/// Removes the oldest packet, logs that it is sent, and returns its buffer bytes.
fn leave(q: &mut VecDeque<Held>, log: &mut Log) -> Option<u16> {
    let packet = q.pop_front()?;
    log.push((packet.seq, packet.sent()));
    Some(packet.size)
}

/// `Queue/PI` of ns-2.35, with the queue in packets, or in bytes divided by the mean packet of 500 B.
struct NsPi {
    rng: Rng,
    q: VecDeque<Held>,
    in_bytes: bool,
    ecn: bool,
    a: f64,
    b: f64,
    qref: f64,
    period: Dur,
    v_prob: f64,
    qold: f64,
    due: Time,
}

impl Queue for NsPi {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let mut packet = Held::new(arrival);
        if self.q.len() >= LIMIT {
            log.push((packet.seq, Fate::Dropped(Reason::BufferFull)));
            return;
        }
        let mut p = self.v_prob;
        if self.in_bytes {
            p = (p * f64::from(packet.size) / 500.0).min(1.0);
        }
        if self.rng.uniform() < p {
            if self.ecn && packet.ect {
                packet.marked = true;
            } else {
                log.push((packet.seq, Fate::Dropped(Reason::Early)));
                return;
            }
        }
        self.q.push_back(packet);
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        leave(&mut self.q, log)
    }
    fn wake_at(&self) -> Option<Time> {
        Some(self.due)
    }
    fn wake(&mut self, now: Time, _log: &mut Log) {
        let bytes: u64 = self.q.iter().map(|h| u64::from(h.size)).sum();
        let qlen = if self.in_bytes { bytes as f64 / 500.0 } else { self.q.len() as f64 };
        let p = self.a * (qlen - self.qref) - self.b * (self.qold - self.qref) + self.v_prob;
        self.v_prob = p.clamp(0.0, 1.0);
        self.qold = qlen;
        self.due = now + self.period;
    }
}

#[test]
fn pi_gives_each_of_120_000_packets_its_fate_in_ns() {
    // Ten times the default gains, so that the probability leaves the neighbourhood of 0.
    for (seed, in_bytes, ecn) in [(1, false, true), (2, true, false)] {
        let rng = Rng::named(seed, "port");
        let params = pi::Params {
            a: 1.822e-4,
            b: 1.816e-4,
            count: if in_bytes { Count::Bytes } else { Count::Packets },
            byte_mode: in_bytes,
            ecn,
            ..pi::Params::default()
        };
        let mut reference = NsPi {
            rng: rng.clone(),
            q: VecDeque::new(),
            in_bytes,
            ecn,
            a: params.a,
            b: params.b,
            qref: 50.0,
            period: Dur::from_secs_f64(1.0 / 170.0),
            v_prob: 0.0,
            qold: 0.0,
            due: Time::ZERO,
        };
        let tally = compare(Spec::Pi(params), &mut reference, rng, seed);
        assert!(tally[fate::EARLY] > 100 && (!ecn || tally[fate::MARKED] > 100), "{tally:?}");
    }
}

/// `Queue/REM` of ns-2.35, without marks. Its queue holds `LIMIT` packets here; in ns-2.35 it holds one packet less.
struct NsRem {
    rng: Rng,
    q: VecDeque<Held>,
    count: f64,
    ave: f64,
    pl: f64,
    prob: f64,
    inw: f64,
    due: Time,
}

impl Queue for NsRem {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        self.count += 1.0;
        self.q.push_back(Held::new(arrival));
        if self.q.len() > LIMIT {
            log.push((self.q.pop_back().unwrap().seq, Fate::Dropped(Reason::BufferFull)));
        } else if self.rng.uniform() < self.prob {
            log.push((self.q.pop_back().unwrap().seq, Fate::Dropped(Reason::Early)));
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        leave(&mut self.q, log)
    }
    fn wake_at(&self) -> Option<Time> {
        Some(self.due)
    }
    fn wake(&mut self, now: Time, _log: &mut Log) {
        let in_avg = self.ave * (1.0 - self.inw) + self.inw * self.count;
        let c = 0.002 * 10e6 / 8000.0;
        self.pl += 0.001 * (in_avg + 0.1 * (self.q.len() as f64 - 20.0) - c);
        if self.pl < 0.0 {
            self.pl = 0.0;
        }
        self.prob = 1.0 - maths::pow(1.001, -self.pl);
        self.count = 0.0;
        self.ave = in_avg;
        self.due = now + Dur::from_ms(2);
    }
}

#[test]
fn rem_gives_each_of_120_000_packets_its_fate_in_ns() {
    for (seed, inw) in [(1, 1.0), (2, 0.1)] {
        let rng = Rng::named(seed, "port");
        let due = Time::ZERO + Dur::from_ms(2);
        let mut reference =
            NsRem { rng: rng.clone(), q: VecDeque::new(), count: 0.0, ave: 0.0, pl: 0.0, prob: 0.0, inw, due };
        let params = rem::Params { weight: inw, ..rem::Params::default() };
        let tally = compare(Spec::Rem(params), &mut reference, rng, seed);
        assert!(tally[fate::EARLY] > 100 && tally[fate::FULL] > 100, "{tally:?}");
    }
}

/// `Queue/Vq` of ns-2.35 in bytes. A packet that is not ECN-capable is dropped, as ns-2.35 drops every packet if
/// marking is disabled.
struct NsVq {
    q: VecDeque<Held>,
    ecn: bool,
    c: f64,
    ctilde: f64,
    vq_len: f64,
    prev: Option<(f64, f64)>,
}

impl Queue for NsVq {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let now = arrival.at.as_secs();
        let mut packet = Held::new(arrival);
        let size = f64::from(packet.size);
        let (prev_time, vqprev_time) = self.prev.unwrap_or((now, now));
        self.vq_len -= self.ctilde * (now - vqprev_time);
        if self.vq_len < 0.0 {
            self.vq_len = 0.0;
        }
        self.vq_len += size;
        self.prev = Some((prev_time, now));
        if self.vq_len > (LIMIT * 1000) as f64 {
            self.vq_len -= size;
            if self.ecn && packet.ect {
                packet.marked = true;
            } else {
                log.push((packet.seq, Fate::Dropped(Reason::Early)));
                return;
            }
        }
        self.ctilde += 0.15 * 0.98 * self.c * (now - prev_time) - 0.15 * size;
        self.ctilde = self.ctilde.clamp(0.0, self.c);
        self.prev = Some((now, now));
        self.q.push_back(packet);
        if self.q.len() > LIMIT {
            log.push((self.q.pop_back().unwrap().seq, Fate::Dropped(Reason::BufferFull)));
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        leave(&mut self.q, log)
    }
}

#[test]
fn avq_gives_each_of_120_000_packets_its_fate_in_ns() {
    for (seed, ecn) in [(1, false), (2, true)] {
        let c = 10e6 / 8.0;
        let mut reference = NsVq { q: VecDeque::new(), ecn, c, ctilde: 0.8 * c, vq_len: 0.0, prev: None };
        let params = avq::Params { ecn, ..avq::Params::default() };
        let tally = compare(Spec::Avq(params), &mut reference, Rng::named(seed, "port"), seed);
        assert!(tally[fate::EARLY] > 100 && (!ecn || tally[fate::MARKED] > 100), "{tally:?}");
    }
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    assert_eq!(pi::Params { b: 1.0, ..pi::Params::default() }.check().unwrap_err().path, "b");
    assert_eq!(pi::Params { frequency: 0.0, ..pi::Params::default() }.check().unwrap_err().path, "frequency");
    assert_eq!(rem::Params { phi: 1.0, ..rem::Params::default() }.check().unwrap_err().path, "phi");
    assert_eq!(rem::Params { update: Dur::ZERO, ..rem::Params::default() }.check().unwrap_err().path, "update");
    assert_eq!(avq::Params { gamma: Fraction(0.0), ..avq::Params::default() }.check().unwrap_err().path, "gamma");
    let huge = pi::Params { reference: Amount::Bytes(u64::MAX), mean_packet: Size(1), ..pi::Params::default() };
    assert!(huge.check().is_ok());
}
