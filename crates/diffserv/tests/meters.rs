//! Properties of meters, buckets, windows and DSCPs.

#[path = "common/seeded.rs"]
mod seeded;

use proptest::prelude::*;
use seeded::seeded;
use serde_json::json;
use tailback_diffserv::{
    Actions, Colour, Conditioner, Dscp, Marker, Meter, Outcome, Shaper, ShaperParams, SlidingWindow, TokenBucket,
};
use tailback_document::{Checked, decode};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// Returns the meter that a document describes, in its initial state.
fn meter(document: serde_json::Value) -> Marker {
    let meter: Meter = decode(document).unwrap();
    meter.check().unwrap();
    meter.build()
}

fn rng() -> Rng {
    Rng::named(1, "meter")
}

/// Packets, each with the gap before it in ps (0 to 0.3 s) and its size in bytes: bursts, idle periods and gaps between
/// them.
fn stream() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0u64), 1u64..2_000_000_000, 1u64..300_000_000_000];
    prop::collection::vec((gap, 1u32..3000), 1..300)
}

/// Returns the arrival times and sizes of the packets of a stream.
fn timed(stream: &[(u64, u32)]) -> Vec<(Time, u32)> {
    let mut at = Time::ZERO;
    stream
        .iter()
        .map(|(gap, bytes)| {
            at += Dur(*gap);
            (at, *bytes)
        })
        .collect()
}

/// Checks that at most `burst` + `rate`·t bytes pass in every interval that begins and ends with a packet. `rate` is in
/// bit/s; the comparison is exact.
fn assert_within(passed: &[(Time, u32)], rate: u64, burst: u64) -> Result<(), TestCaseError> {
    for first in 0..passed.len() {
        let mut sum = 0u128;
        for (at, bytes) in &passed[first..] {
            sum += u128::from(*bytes);
            let bound =
                u128::from(burst) * 8_000_000_000_000 + u128::from(rate) * u128::from(at.since(passed[first].0).0);
            prop_assert!(sum * 8_000_000_000_000 <= bound, "{sum} bytes since {:?}", passed[first].0);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(seeded(100))]

    #[test]
    fn bytes_that_conform_in_any_interval_are_at_most_b_plus_r_t(stream in stream(), rate in 1u64..200_000_000, burst in 1u64..20_000) {
        let mut bucket = TokenBucket::new(Rate(rate), burst);
        let passed: Vec<_> = timed(&stream).into_iter().filter(|(at, bytes)| { bucket.fill(*at); bucket.take(*bytes) }).collect();
        assert_within(&passed, rate, burst)?;
    }

    #[test]
    fn an_empty_bucket_fills_with_r_t_up_to_b(rate in 1u64..200_000_000, burst in 1u64..20_000, after in 0u64..10_000_000_000_000) {
        // The bucket is emptied at the start; it then holds the whole bytes of r·t, at most b.
        let mut bucket = TokenBucket::new(Rate(rate), burst);
        prop_assert!(bucket.take(burst as u32));
        bucket.fill(Time(after));
        let expected = (u128::from(rate) * u128::from(after) / 8_000_000_000_000).min(u128::from(burst)) as u64;
        prop_assert_eq!(bucket.bytes(), expected);
    }

    #[test]
    fn a_shaper_releases_in_order_as_soon_as_the_stream_conforms(stream in stream(), rate in 1_000u64..200_000_000, burst in 3_000u64..20_000) {
        let mut shaper = Shaper::new(&ShaperParams { rate: Rate(rate), burst: Size(burst) });
        let mut departed: Vec<(Time, u32)> = Vec::new();
        for (at, bytes) in timed(&stream) {
            let release = shaper.release(at, bytes).unwrap();
            prop_assert!(release >= at && departed.last().is_none_or(|(before, _)| *before <= release));
            if release > at && departed.last().is_none_or(|(before, _)| *before < release) {
                // A picosecond earlier it would not have conformed.
                let mut bucket = TokenBucket::new(Rate(rate), burst);
                for (at, bytes) in &departed {
                    bucket.fill(*at);
                    prop_assert!(bucket.take(*bytes));
                }
                bucket.fill(Time(release.0 - 1));
                prop_assert!(!bucket.holds(bytes));
            }
            departed.push((release, bytes));
        }
        assert_within(&departed, rate, burst)?;
    }

    // RFC 2697 section 3.
    #[test]
    fn sr_tcm_colours_as_rfc_2697_does(stream in stream(), cbs in 0u32..9_000, ebs in 1u32..9_000, aware in any::<bool>(), colours in any::<u64>()) {
        // A token is a byte. At 8 Mbit/s one token arrives each microsecond, as in section 3 of the RFC.
        let mut marker = meter(json!({ "kind": "sr-tcm", "cir": "8Mbit/s", "cbs": format!("{cbs}B"), "ebs": format!("{ebs}B"), "colour-aware": aware }));
        let (mut tc, mut te, mut tick) = (cbs, ebs, 0);
        for (i, (at, bytes)) in timed(&stream).into_iter().enumerate() {
            // At whole microseconds, whole tokens are exact.
            let at = Time(at.0 / 1_000_000 * 1_000_000);
            while tick < at.0 / 1_000_000 {
                tick += 1;
                if tc < cbs { tc += 1 } else if te < ebs { te += 1 }
                if tc == cbs && te == ebs { tick = at.0 / 1_000_000 }
            }
            let before = Colour::ALL[((colours >> (i % 60)) % 3) as usize];
            let effective = if aware { before } else { Colour::Green };
            let expected = if effective == Colour::Green && tc >= bytes {
                tc -= bytes;
                Colour::Green
            } else if (effective == Colour::Green || effective == Colour::Yellow) && te >= bytes {
                te -= bytes;
                Colour::Yellow
            } else {
                Colour::Red
            };
            prop_assert_eq!(marker.mark(at, bytes, before, &mut rng()), expected, "packet {}", i);
        }
    }

    // RFC 2698 section 3.
    #[test]
    fn tr_tcm_colours_as_rfc_2698_does(stream in stream(), cbs in 1u32..9_000, pbs in 1u32..9_000, aware in any::<bool>(), colours in any::<u64>()) {
        // 8 and 16 Mbit/s: one and two tokens each microsecond.
        let mut marker = meter(json!({ "kind": "tr-tcm", "cir": "8Mbit/s", "cbs": format!("{cbs}B"), "pir": "16Mbit/s", "pbs": format!("{pbs}B"), "colour-aware": aware }));
        let (mut tc, mut tp, mut tick) = (cbs, pbs, 0);
        for (i, (at, bytes)) in timed(&stream).into_iter().enumerate() {
            let at = Time(at.0 / 1_000_000 * 1_000_000);
            while tick < at.0 / 1_000_000 {
                tick += 1;
                tc = (tc + 1).min(cbs);
                tp = (tp + 2).min(pbs);
                if tc == cbs && tp == pbs { tick = at.0 / 1_000_000 }
            }
            let before = Colour::ALL[((colours >> (i % 60)) % 3) as usize];
            let effective = if aware { before } else { Colour::Green };
            let expected = if effective == Colour::Red || tp < bytes {
                Colour::Red
            } else if effective == Colour::Yellow || tc < bytes {
                tp -= bytes;
                Colour::Yellow
            } else {
                tp -= bytes;
                tc -= bytes;
                Colour::Green
            };
            prop_assert_eq!(marker.mark(at, bytes, before, &mut rng()), expected, "packet {}", i);
        }
    }

    #[test]
    fn colour_aware_markers_never_improve_a_colour(stream in stream(), colours in any::<u64>()) {
        for document in [
            json!({ "kind": "sr-tcm", "cir": "1Mbit/s", "cbs": "5kB", "ebs": "5kB", "colour-aware": true }),
            json!({ "kind": "tr-tcm", "cir": "1Mbit/s", "cbs": "5kB", "pir": "3Mbit/s", "pbs": "5kB", "colour-aware": true }),
        ] {
            let mut marker = meter(document);
            for (i, (at, bytes)) in timed(&stream).into_iter().enumerate() {
                let before = Colour::ALL[((colours >> (i % 60)) % 3) as usize];
                prop_assert!(marker.mark(at, bytes, before, &mut rng()) >= before);
            }
        }
    }
}

// RFC 2859 section 3.
#[test]
fn a_sliding_window_converges_to_a_constant_rate_with_its_length_as_time_constant() {
    // A packet of 1000 B each millisecond is 1 MB/s; the window has 1 s.
    let mut window = SlidingWindow::new(Dur::from_secs(1), Rate(0));
    let mut rates = Vec::new();
    for k in 1..=12_000u64 {
        rates.push(window.arrive(Time::ZERO + Dur::from_ms(k), 1000) / 1e6);
    }
    assert!((rates[11_999] - 1.0).abs() < 1e-4, "{}", rates[11_999]);
    let after = |n: f64| 1.0 - tailback_random::maths::exp(-n);
    for (k, n) in [(500, 0.5), (1_000, 1.0), (3_000, 3.0)] {
        assert!((rates[k - 1] - after(n)).abs() < 2e-3, "after {n} T: {} for {}", rates[k - 1], after(n));
    }
    // After an idle second, T / (T + 1 s) = 1/2 of the estimate is left.
    let end = Time::ZERO + Dur::from_ms(12_000);
    assert!((window.at(end + Dur::from_secs(1)) / window.at(end) - 0.5).abs() < 1e-9);
}

/// Returns the fractions of green, yellow and red packets in a stream of 1000 B packets at a constant `rate`, without
/// the first tenth of its 100,000 packets.
fn fractions(document: serde_json::Value, rate: Rate) -> [f64; 3] {
    let mut marker = meter(document);
    let mut rng = rng();
    let mut counts = [0.0; 3];
    let n = 100_000u64;
    for k in 1..=n {
        let at = Time((u128::from(k) * 8_000_000_000_000_000 / u128::from(rate.0)) as u64);
        let colour = marker.mark(at, 1000, Colour::Green, &mut rng);
        if k > n / 10 {
            counts[colour as usize] += 1.0 / (n as f64 * 0.9);
        }
    }
    counts
}

// RFC 2859 section 4.
#[test]
fn tsw_markers_colour_the_part_beyond_each_rate() {
    let assert_close = |found: [f64; 3], wanted: [f64; 3]| {
        assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 0.01), "{found:?}, not {wanted:?}");
    };
    let three = json!({ "kind": "tsw3cm", "cir": "2Mbit/s", "pir": "5Mbit/s" });
    assert_close(fractions(three.clone(), Rate::mbit(1)), [1.0, 0.0, 0.0]);
    assert_close(fractions(three.clone(), Rate::mbit(4)), [0.5, 0.5, 0.0]);
    assert_close(fractions(three, Rate::mbit(10)), [0.2, 0.3, 0.5]);
    let two = json!({ "kind": "tsw2cm", "cir": "2Mbit/s" });
    assert_close(fractions(two.clone(), Rate::mbit(1)), [1.0, 0.0, 0.0]);
    assert_close(fractions(two, Rate::mbit(8)), [0.25, 0.75, 0.0]);
}

#[test]
fn bucket_meters_colour_the_part_of_a_constant_stream_beyond_each_rate() {
    let assert_close = |found: [f64; 3], wanted: [f64; 3]| {
        assert!(found.iter().zip(wanted).all(|(f, w)| (f - w).abs() < 0.001), "{found:?}, not {wanted:?}");
    };
    let one = json!({ "kind": "token-bucket", "rate": "3Mbit/s", "burst": "3kB" });
    assert_close(fractions(one, Rate::mbit(4)), [0.75, 0.0, 0.25]);
    let single = json!({ "kind": "sr-tcm", "cir": "3Mbit/s", "cbs": "3kB", "ebs": "3kB" });
    assert_close(fractions(single, Rate::mbit(4)), [0.75, 0.0, 0.25]);
    let two = json!({ "kind": "tr-tcm", "cir": "2Mbit/s", "cbs": "3kB", "pir": "3Mbit/s", "pbs": "3kB" });
    assert_close(fractions(two, Rate::mbit(4)), [0.5, 0.25, 0.25]);
}

/// Runs the marking engine for `secs` seconds on a connection whose rate in bit/s is `best_effort` plus `marked` times
/// the fraction of marked packets, which is smoothed with a weight of 0.02 per packet. Returns the mean rate in bit/s
/// and the fraction of marked packets in the last third.
fn engine(target: &str, best_effort: f64, marked: f64, secs: u64) -> (f64, f64) {
    let mut marker = meter(json!({ "kind": "adaptive", "target": target }));
    let mut rng = rng();
    let (mut at, mut fraction) = (Time::ZERO, 0.0);
    let (mut bits, mut green, mut packets) = (0.0, 0.0, 0.0);
    while at < Time::ZERO + Dur::from_secs(secs) {
        let gap = Dur::from_secs_f64(8_000.0 / (best_effort + marked * fraction));
        assert!(gap > Dur::ZERO, "a rate without bound: {fraction} of the packets are marked");
        at += gap;
        let is_green = marker.mark(at, 1000, Colour::Yellow, &mut rng) == Colour::Green;
        fraction += 0.02 * (f64::from(u8::from(is_green)) - fraction);
        if at > Time::ZERO + Dur::from_secs(secs * 2 / 3) {
            (bits, green, packets) = (bits + 8_000.0, green + f64::from(u8::from(is_green)), packets + 1.0);
        }
    }
    (bits / (secs as f64 / 3.0), green / packets)
}

#[test]
fn the_marking_engine_marks_the_fraction_that_the_target_needs() {
    // 1 + 8·3/8 = 4 Mbit/s.
    let (rate, fraction) = engine("4Mbit/s", 1e6, 8e6, 300);
    assert!((rate / 4e6 - 1.0).abs() < 0.05, "{rate}");
    assert!((fraction - 3.0 / 8.0).abs() < 0.05, "{fraction}");
    let (_, fraction) = engine("4Mbit/s", 5e6, 8e6, 120);
    assert!(fraction < 0.01, "best effort is enough: {fraction}");
    let (rate, fraction) = engine("4Mbit/s", 1e6, 2e6, 300);
    assert!(
        fraction > 0.99 && rate < 3.1e6,
        "the target is out of reach, so all packets are marked: {fraction} {rate}"
    );
}

#[test]
fn the_marking_engine_moves_by_the_relative_shortfall_each_interval() {
    let params =
        decode(json!({ "target": "1Mbit/s", "interval": "100ms", "increment": 0.02, "window": "1ms" })).unwrap();
    let mut engine = tailback_diffserv::meter::adaptive::Adaptive::new(&params);
    // A single packet: the observed rate is 0 at every later change, so each adds the whole increment.
    engine.mark(Time::ZERO, 1, Colour::Green, &mut rng());
    engine.mark(Time::ZERO + Dur::from_ms(1_050), 1, Colour::Green, &mut rng());
    assert!((engine.probability() - 10.0 * 0.02).abs() < 1e-3, "{}", engine.probability());
    engine.mark(Time::ZERO + Dur::from_secs(100_000), 1, Colour::Green, &mut rng());
    assert_eq!(engine.probability(), 1.0);
}

// RFC 2474 section 4.2.2, RFC 2597 section 6, RFC 3246.
#[test]
fn dscps_have_the_values_and_names_of_the_rfcs() {
    let all = ["default", "af11", "af12", "af13", "af21", "af32", "af43", "ef", "cs1", "cs7"];
    let values = all.map(|name| name.parse::<Dscp>().unwrap().codepoint());
    assert_eq!(values, [0, 10, 12, 14, 18, 28, 38, 46, 8, 56]);
    for codepoint in 0..64 {
        let dscp = Dscp::new(codepoint).unwrap();
        assert_eq!(dscp.to_string().parse::<Dscp>().unwrap(), dscp);
        assert_eq!(decode::<Dscp>(json!(codepoint)).unwrap(), dscp);
    }
    for wrong in ["af14", "af51", "cs8", "64", "ef1", ""] {
        assert!(wrong.parse::<Dscp>().is_err(), "{wrong}");
    }
    assert_eq!(Dscp::af(2, 1).unwrap().coloured(Colour::Red), Dscp::af(2, 3).unwrap());
    assert_eq!(Dscp::EF.coloured(Colour::Red), Dscp::EF);
}

#[test]
fn a_conditioner_polices_and_remarks_by_colour() {
    let actions: Actions = decode(json!({
        "meter": { "kind": "sr-tcm", "cir": "8kbit/s", "cbs": "1000B", "ebs": "1000B", "colour-aware": true },
        "green": { "mark": "af11" }, "red": "drop",
    }))
    .unwrap();
    actions.check().unwrap();
    let mut conditioner: Conditioner = actions.build();
    let mut outcome = |dscp: &str| conditioner.condition(Time::ZERO, 1000, dscp.parse().unwrap(), &mut rng());
    let af = |n| Dscp::af(1, n).unwrap();
    assert_eq!(outcome("default"), Outcome::Pass(Colour::Green, af(1)));
    assert_eq!(outcome("af11"), Outcome::Pass(Colour::Yellow, af(2)));
    assert_eq!(outcome("af11"), Outcome::Drop(Colour::Red));
    assert_eq!(serde_json::to_value(&actions).unwrap()["green"], json!({ "mark": "af11" }));
}

// RFC 2697 section 2: one burst is above 0; RFC 2698 section 2: the peak rate is at least the committed one.
#[test]
fn invalid_parameters_are_refused_by_name() {
    let refused = |document: serde_json::Value, field: &str| {
        let meter: Meter = decode(document.clone()).unwrap();
        assert_eq!(meter.check().expect_err(&document.to_string()).path, field, "{document}");
    };
    refused(json!({ "kind": "token-bucket", "rate": "1Mbit/s", "burst": "0B" }), "burst");
    refused(json!({ "kind": "sr-tcm", "cir": "1Mbit/s", "cbs": "0B" }), "ebs");
    refused(json!({ "kind": "tr-tcm", "cir": "2Mbit/s", "cbs": "1kB", "pir": "1Mbit/s", "pbs": "1kB" }), "pir");
    refused(json!({ "kind": "tsw2cm", "cir": "1Mbit/s", "window": "0s" }), "window");
    refused(json!({ "kind": "tsw3cm", "cir": "2Mbit/s", "pir": "1Mbit/s" }), "pir");
    refused(json!({ "kind": "adaptive", "target": "1Mbit/s", "increment": 0.0 }), "increment");
}
