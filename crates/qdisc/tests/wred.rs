//! Weighted RED compared with a transcription, packet by packet, and with its equilibrium; drops of nonconforming
//! packets and at the upper threshold.

use crate::common::*;
use serde_json::json;
use std::collections::VecDeque;
use tailback_qdisc::law::wred::{Profile, Wred};
use tailback_qdisc::law::{Backlog, Decision};
use tailback_qdisc::{Colour, Cx, Ecn, Qdisc, Reason, Spec};
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

/// With a weight of 1 the average is the queue.
#[test]
fn the_probability_of_a_profile_rises_from_min_to_the_inverse_denominator_and_is_one_from_max_on() {
    let profiles = [Profile::new(2, 6, 4), Profile::default()];
    let mut law = Wred::new(&profiles, 0, false, false, 1500, RATE);
    let rng = &mut Rng::named(1, "profile");
    let mut seen = |profile, packets| {
        let decision = law.arrive(Time(1), profile, Backlog { packets, bytes: 0 }, rng);
        (law.probability(), law.average(), decision == Decision::Forced)
    };
    for (packets, p, forced) in [(1, 0.0, false), (2, 0.0, false), (4, 0.125, false), (6, 1.0, true), (0, 0.0, false)] {
        assert_eq!(seen(0, packets), (p, packets as f64, forced), "{packets}");
    }
    // Omitted fields count as 1.
    assert_eq!([seen(1, 0), seen(1, 1)], [(0.0, 0.0, false), (1.0, 1.0, true)]);
}

/// Enqueues a packet with this code point.
fn arrive(rig: &mut Rig, seq: u32, code: u8) {
    let (at, ecn, colour) = (Time(1), Ecn::NotEct, Colour::Green);
    let mut packet = packet(&Arrival { at, seq, flow: 0, size: SIZE, ecn, colour });
    packet.code = code;
    let cx = &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked };
    rig.q.enqueue(at, packet, cx);
}

fn rig(document: serde_json::Value) -> Rig {
    let spec: Spec = tailback_document::decode(document).expect("it decodes");
    Rig::new(&spec, &places(1000, RATE), Rng::named(1, "port"))
}

#[test]
fn the_average_of_a_profile_counts_its_waiting_packets() {
    let profiles = json!({ "0": { "min": 4000, "max": 4000 }, "5": { "min": 4000, "max": 4000 } });
    let mut rig = rig(json!({ "kind": "wred", "exponent": 1, "average": "profile", "profiles": profiles }));
    (0..3).for_each(|seq| arrive(&mut rig, seq, 0));
    // 0; half of one; half of 0.5 and of 2.
    assert_eq!(rig.state("average_packets"), 1.25);
    // Packets of another profile.
    (3..5).for_each(|seq| arrive(&mut rig, seq, 40));
    assert_eq!(rig.state("average_packets"), 1.25);
    assert!(rig.leave(Time(2), &mut Log::new()).is_some());
    arrive(&mut rig, 5, 0);
    assert_eq!(rig.state("average_packets"), 0.625 + 1.0);
}

#[test]
fn a_new_sample_has_by_default_a_weight_of_1_in_512() {
    let mut rig = rig(json!({ "kind": "wred" }));
    (0..2).for_each(|seq| arrive(&mut rig, seq, 0));
    assert_eq!(rig.state("average_packets"), 1.0 / 512.0);
}

/// Documentation of `profiles`: assured forwarding of drop precedence 1: 33, 2: 28, 3: 24, "ef" and "va": 36, others: 20 +
/// 2 · precedence; `max` 40, and 1/10 below it. The probability of a packet at a known average gives `min`.
#[test]
fn the_default_minimum_of_each_code_point_is_the_documented_one() {
    let assured = |class: u8, drop: u8| 8 * class + 2 * drop;
    for code in 0..64 {
        let drop_precedence = (1..=4).flat_map(|class| (1..=3).map(move |drop| (class, drop)));
        let assured =
            drop_precedence.filter(|(class, drop)| assured(*class, *drop) == code).map(|(_, drop)| drop).next_back();
        let expected = match (code, assured) {
            (44 | 46, _) => 36,
            (_, Some(drop)) => [33, 28, 24][usize::from(drop) - 1],
            (_, None) => 20 + 2 * u32::from(code / 8),
        };
        // Packets of CS7, or of CS6, fill the queue without drops.
        let (filler, name) = if code == 56 { (48, "cs6") } else { (56, "cs7") };
        let profiles = json!({ name: { "min": 4000, "max": 4000 } });
        let mut rig = rig(json!({ "kind": "wred", "by": "dscp", "exponent": 1, "profiles": profiles }));
        (0..40).for_each(|seq| arrive(&mut rig, seq, filler));
        // The average is now about 38; with one packet more it is about 39.
        arrive(&mut rig, 40, code);
        let (average, p) = (rig.state("average_packets"), rig.state("probability"));
        assert!((38.0..40.0).contains(&average), "{average}");
        let min = (0.1 * average - 40.0 * p) / (0.1 - p);
        assert!((min - f64::from(expected)).abs() < 1e-6, "{code}: {min} instead of {expected}");
    }
}

#[test]
fn precedences_are_0_to_7_and_code_points_0_to_63() {
    let check = |by: &str, key: &str| {
        let spec: Spec =
            tailback_document::decode(json!({ "kind": "wred", "by": by, "profiles": { key: { "max": 50 } } })).unwrap();
        spec.check().map_err(|e| e.path)
    };
    assert_eq!(check("precedence", "7"), Ok(()));
    assert_eq!(check("precedence", "8"), Err("profiles.8".to_owned()));
    // One average, an optional time, and the backlog of each of 64 profiles.
    let state = |by: &str| rig(json!({ "kind": "wred", "by": by, "average": "profile" })).q.state_bytes();
    let profile = 8 + 16 + 16;
    assert_eq!(
        [state("precedence"), state("dscp"), state("colour")],
        [24 + 8 * profile, 24 + 64 * profile, 24 + 3 * profile]
    );
}
