//! Weighted RED compared with a transcription, packet by packet, and with its equilibrium; drops of nonconforming
//! packets and at the upper threshold.

use crate::common::*;
use serde_json::json;
use std::collections::VecDeque;
use tailback_qdisc::{Colour, Ecn, Reason, Spec};
use tailback_random::{Rng, maths};
use tailback_units::{Rate, Time};

const RATE: Rate = Rate(10_000_000);
const SIZE: u16 = 1000;

/// The law of the vendor's documents and of Floyd and Jacobson, with the idle time counted in packets of 1500 B:
/// `average = old · (1 − 2^−n) + queue · 2^−n`. Between the thresholds of its profile a packet is dropped at random,
/// with probability 1 / denominator at the upper threshold.
struct Transcription {
    n: u32,
    limit: usize,
    /// Minimum and maximum in packets, and denominator, of each colour.
    profiles: [(f64, f64, f64); 3],
    spread: bool,
    average: f64,
    /// Packets of each colour since the last drop of one.
    count: [u64; 3],
    idle_since: Option<Time>,
    queue: VecDeque<Held>,
    rng: Rng,
}

impl Queue for Transcription {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let w = 1.0 / f64::from(1u32 << self.n);
        let queue = self.queue.len() as f64;
        if let Some(since) = self.idle_since.take() {
            let m = (arrival.at.since(since).as_secs() * RATE.0 as f64 / 12_000.0).floor();
            self.average = self.average * maths::pow(1.0 - w, m + 1.0) + w * queue;
        } else {
            self.average = self.average * (1.0 - w) + w * queue;
        }
        let colour = arrival.colour as usize;
        let (min, max, denominator) = self.profiles[colour];
        let held = Held::new(arrival);
        let fate = if self.average < min {
            self.count[colour] = 0;
            None
        } else if self.average >= max {
            self.count[colour] = 0;
            Some(Fate::Dropped(Reason::Early))
        } else {
            let mut p = (1.0 / denominator) * (self.average - min) / (max - min);
            if p > 0.0 {
                if self.spread {
                    let accumulated = p * self.count[colour] as f64;
                    self.count[colour] += 1;
                    p = if accumulated < 1.0 { p / (1.0 - accumulated) } else { 1.0 };
                }
                if self.rng.uniform() < p {
                    self.count[colour] = 0;
                    Some(Fate::Dropped(Reason::Early))
                } else {
                    None
                }
            } else {
                None
            }
        };
        if self.queue.len() >= self.limit {
            log.push((held.seq, Fate::Dropped(Reason::BufferFull)));
        } else if let Some(fate) = fate {
            log.push((held.seq, fate));
        } else {
            self.queue.push_back(held);
        }
    }
    fn leave(&mut self, _now: Time, log: &mut Log) -> Option<u16> {
        let held = self.queue.pop_front()?;
        log.push((held.seq, held.sent()));
        Some(held.size)
    }
    fn idle(&mut self, now: Time, _log: &mut Log) {
        self.idle_since.get_or_insert(now);
    }
}

#[test]
fn wred_gives_each_packet_its_fate_in_the_transcription() {
    let colours: &'static [Colour] = &[Colour::Green, Colour::Yellow, Colour::Red];
    for (seed, n, spread, limit) in [(1, 9, false, 64), (2, 1, false, 30), (3, 6, true, 64), (4, 9, true, 38)] {
        let document = json!({ "kind": "wred", "by": "colour", "exponent": n, "spread": spread, "profiles": {
            "green": { "min": 26, "max": 42 }, "yellow": { "min": 20, "max": 40, "denominator": 4 },
            "red": { "min": 1, "max": 35, "denominator": 1 },
        } });
        let spec: Spec = tailback_document::decode(document).unwrap();
        let traffic = Traffic { colours, packets: 200_000, ..Traffic::default() }.draw(seed);
        let mut rig = Rig::new(&spec, &places(limit, RATE), Rng::named(seed, "port"));
        let ours = serve(&mut rig, RATE, &traffic, |_, _| {});
        let mut transcription = Transcription {
            n,
            limit: limit as usize,
            profiles: [(26.0, 42.0, 10.0), (20.0, 40.0, 4.0), (1.0, 35.0, 1.0)],
            spread,
            average: 0.0,
            count: [0; 3],
            idle_since: None,
            queue: VecDeque::new(),
            rng: Rng::named(seed, "port"),
        };
        let reference = serve(&mut transcription, RATE, &traffic, |_, _| {});
        assert_same(&ours, &reference);
        let [sent, _, early, ..] = tally(&ours);
        assert!(sent > 100_000 && early > 10_000, "packets are sent and dropped early: {:?}", tally(&ours));
    }
}

/// Runs a constant overload of which the share `excess` must be dropped. Returns the mean, over the second half, of the
/// law's average in packets, and the share of packets that are dropped early.
fn equilibrium(excess: f64) -> (f64, f64) {
    let document = json!({ "kind": "wred", "by": "precedence", "profiles": { "0": { "min": 24, "max": 42 } } });
    let spec: Spec = tailback_document::decode(document).unwrap();
    let gap = f64::from(wire(SIZE)) * 8.0 / RATE.0 as f64 * (1.0 - excess);
    let packet = |seq: u32| Arrival {
        at: Time((f64::from(seq) * gap * 1e12) as u64),
        seq,
        flow: 0,
        size: SIZE,
        ecn: tailback_qdisc::Ecn::NotEct,
        colour: Colour::Green,
    };
    let traffic: Vec<Arrival> = (0..200_000).map(packet).collect();
    let mut rig = Rig::new(&spec, &places(64, RATE), Rng::named(1, "port"));
    let (mut sum, mut samples) = (0.0, 0u32);
    let half = traffic[100_000].at;
    let log = serve(&mut rig, RATE, &traffic, |rig, now| {
        if now >= half {
            sum += rig.state("average_packets");
            samples += 1;
        }
    });
    let early = tally(&log)[fate::EARLY] as f64 / 200_000.0;
    (sum / f64::from(samples), early)
}

#[test]
fn the_average_settles_where_the_drop_probability_is_the_excess() {
    // An excess below 1/10 is dropped on the slope, at min + excess · 10 · (max − min).
    for excess in [0.02, 0.05, 0.08] {
        let (average, lost) = equilibrium(excess);
        let expected = 24.0 + excess * 10.0 * 18.0;
        assert!((average - expected).abs() < 1.0, "{excess}: {average}, expected {expected}");
        assert!((lost - excess).abs() < 0.003, "{excess}: {lost} lost");
    }
    // A larger excess can only be dropped at the end of the slope: the average stays at max.
    for excess in [0.217, 0.413] {
        let (average, lost) = equilibrium(excess);
        assert!((average - 42.0).abs() < 1.0, "{excess}: {average}");
        assert!((lost - excess).abs() < 0.003, "{excess}: {lost} lost");
    }
}

#[test]
fn nonconforming_packets_are_dropped_first() {
    let document = json!({ "kind": "wred", "by": "dscp", "nonconforming": { "min": 5, "max": 15 } });
    let spec: Spec = tailback_document::decode(document).unwrap();
    let colours: &'static [Colour] = &[Colour::Green, Colour::Red];
    // Half of a load of 1.3 conforms, less than the link can send; 0.3 / 1.3 of 50 000 packets, 11 500, must be
    // dropped.
    let traffic = Traffic { colours, loads: &[1.3], packets: 50_000, ..Traffic::default() }.draw(5);
    let mut rig = Rig::new(&spec, &places(64, RATE), Rng::named(1, "port"));
    let log = serve(&mut rig, RATE, &traffic, |_, _| {});
    let lost = |colour| {
        let dropped = log.iter().filter(|(_, fate)| matches!(fate, Fate::Dropped(_)));
        dropped.filter(|(seq, _)| traffic[*seq as usize].colour == colour).count()
    };
    assert!(
        lost(Colour::Red) > 8_000 && lost(Colour::Green) < 100,
        "{} and {}",
        lost(Colour::Red),
        lost(Colour::Green)
    );
}

/// Sixty arrivals find one packet waiting: with a weight of 1/2 the average is 1 − 2^−n after the nth of them, and 1
/// once a `f64` cannot represent the difference.
#[test]
fn at_the_upper_threshold_itself_even_ecn_capable_packets_are_dropped() {
    let spec: Spec = tailback_document::decode(json!({ "kind": "wred", "exponent": 1, "ecn": true, "by": "colour",
        "profiles": { "green": { "min": 1, "max": 1, "denominator": 1 } } }))
    .expect("it decodes");
    let mut rig = Rig::new(&spec, &places(40, RATE), Rng::named(1, "port"));
    let mut log = Log::new();
    let mut fates = Vec::new();
    for seq in 0..60 {
        let at = Time(u64::from(seq) * 1_000_000);
        let arrival = Arrival { at, seq, flow: 0, size: SIZE, ecn: Ecn::Ect0, colour: Colour::Green };
        log.clear();
        rig.arrive(&arrival, &mut log);
        fates.extend(log.iter().copied());
        if seq > 0 && log.is_empty() {
            rig.leave(at, &mut log);
            assert!(matches!(log.last(), Some((_, Fate::Sent { marked: false }))));
        }
    }
    // The first packet finds an empty queue; at the 54th after it the average is 1.
    let dropped: Vec<u32> = fates.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(dropped, (54..60).collect::<Vec<_>>());
    assert!(fates.iter().all(|(_, fate)| *fate == Fate::Dropped(Reason::Early)));
}
