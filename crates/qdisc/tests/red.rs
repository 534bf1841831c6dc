//! RED: gaps between drops, the average, adaptation of max_p, default thresholds, and marks or drops above `max`.

use crate::common::Steps;
use tailback_qdisc::law::red::{AboveMax, Adaptive, Count, Feng, Floyd, Idle, Params, Red};
use tailback_qdisc::law::{Backlog, Decision};
use tailback_random::Rng;
use tailback_units::{Amount, Dur, Fraction, Rate, Size, Time};

/// Returns the parameters of the experiments of 1993, in packets of 1000 B, with thresholds of 5 and 15.
fn thesis() -> Params {
    Params {
        min: Some(Amount::packets(5)),
        max: Some(Amount::packets(15)),
        weight: Some(0.002),
        gentle: false,
        wait: false,
        byte_mode: false,
        count: Count::Packets,
        mean_packet: Size(1000),
        ..Params::default()
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Returns a backlog of packets of 1000 B.
fn backlog(packets: u64) -> Backlog {
    Backlog { packets, bytes: packets * 1000 }
}

/// Returns `n` gaps between drops, in packets, at a constant average of 10 packets.
fn gaps(params: Params, n: usize) -> Vec<u64> {
    let mut law = Red::new(&Params { weight: Some(1.0), ..params }, Rate::mbit(10));
    let rng = &mut Rng::named(1, "gaps");
    let mut gaps = Vec::new();
    let mut gap = 0;
    let mut steps = Steps::at_most(100_000_000);
    while gaps.len() <= n {
        steps.step("the law drops too little");
        gap += 1;
        if law.arrive(at(0), backlog(10), 1000, rng) != Decision::Pass {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps.remove(0);
    gaps
}

/// Returns χ² of the gaps against the uniform distribution on `low` to `high`. Panics at a gap outside.
fn chi_square_of_uniform(gaps: &[u64], low: u64, high: u64) -> f64 {
    let mut counts = vec![0u32; (high - low + 1) as usize];
    for gap in gaps {
        assert!((low..=high).contains(gap), "a gap of {gap} outside {low} to {high}");
        counts[(gap - low) as usize] += 1;
    }
    let expected = gaps.len() as f64 / counts.len() as f64;
    counts.iter().map(|n| (f64::from(*n) - expected) * (f64::from(*n) - expected) / expected).sum()
}

/// Returns parameters with p_b = 0.1, so that k = 10: the average of 10 is in the middle of 5 to 15, and max_p is 0.2.
/// With 9 degrees of freedom χ² exceeds 27.9 once in a thousand seeds, with 8 degrees 26.1.
fn half_way() -> Params {
    Params { max_p: Fraction(0.2), ..thesis() }
}

/// The text of the paper of 1993 says 1 to k. Its pseudo-code, like ns, counts a packet before it decides about it,
/// which gives 1 to k − 1.
#[test]
fn without_wait_gaps_are_uniform_on_1_to_k_minus_1() {
    assert!(chi_square_of_uniform(&gaps(half_way(), 20_000), 1, 9) < 26.1);
}

#[test]
fn independent_drops_have_geometric_gaps() {
    let gaps = gaps(Params { independent: true, ..half_way() }, 20_000);
    let n = gaps.len() as f64;
    // At p_b = 0.1: mean 10, standard deviation 9.5; one gap in ten is 1, of those above 1 again one in ten is 2.
    let mean = gaps.iter().sum::<u64>() as f64 / n;
    assert!((mean - 10.0).abs() < 4.0 * 9.5 / n.sqrt(), "{mean}");
    for (gap, expected) in [(1, 0.1), (2, 0.09), (3, 0.081)] {
        let observed = gaps.iter().filter(|g| **g == gap).count() as f64 / n;
        assert!((observed - expected).abs() < 4.0 * (expected / n).sqrt(), "{observed} of gaps are {gap}");
    }
}

#[test]
fn with_wait_gaps_are_uniform_on_k_to_2k_minus_1() {
    assert!(chi_square_of_uniform(&gaps(Params { wait: true, ..half_way() }, 20_000), 10, 19) < 27.9);
}

#[test]
fn in_byte_mode_a_packet_of_half_the_size_is_dropped_half_as_often() {
    // At each arrival the count is 0 (fewer bytes than a mean packet), so p_a = p_b·size/mean: the
    // first gap after a drop is geometric as long as it lies within the first mean packet.
    let mut law = Red::new(
        &Params { byte_mode: true, weight: Some(1.0), mean_packet: Size(60_000), ..half_way() },
        Rate::mbit(10),
    );
    let rng = &mut Rng::named(3, "bytes");
    let mut drops = [0u32; 2];
    for (i, size) in [500u16, 1000].into_iter().enumerate() {
        for _ in 0..400_000 {
            law.forced();
            drops[i] += u32::from(law.arrive(at(0), backlog(10), size, rng) == Decision::Early);
        }
    }
    // 400 000 · 0.1 / 120 = 333 and 667; three standard deviations of the ratio are 0.5.
    let ratio = f64::from(drops[1]) / f64::from(drops[0]);
    assert!((1.6..2.5).contains(&ratio), "{drops:?}");
}

#[test]
fn a_burst_raises_the_average_as_in_the_closed_form() {
    // RED paper, section 5: after L arrivals to a growing queue, L + 1 + ((1−w)^(L+1) − 1)/w.
    let mut law = Red::new(&thesis(), Rate::mbit(10));
    let rng = &mut Rng::named(1, "burst");
    let w: f64 = 0.002;
    let mut power = 1.0 - w;
    let mut passed = 0;
    law.arrive(at(0), backlog(0), 1000, rng);
    for l in 1..=80u32 {
        law.arrive(at(0), backlog(u64::from(l)), 1000, rng);
        power *= 1.0 - w;
        let expected = f64::from(l) + 1.0 + (power - 1.0) / w;
        assert!((law.average() - expected).abs() < 1e-9, "{l}: {} {expected}", law.average());
        passed += u32::from(law.average() < 5.0);
    }
    assert_eq!(passed, 71, "a burst of 71 stays below 5 packets on average");
}

#[test]
fn an_idle_link_ages_the_average_by_the_packets_it_could_have_sent() {
    for (idle, kept) in [(Idle::Ns, 101), (Idle::Original, 100)] {
        let mut law = Red::new(&Params { weight: Some(0.01), idle, ..thesis() }, Rate::mbit(10));
        let rng = &mut Rng::named(1, "idle");
        for _ in 0..500 {
            law.arrive(at(0), backlog(4), 1000, rng);
        }
        let before = law.average();
        law.idle(at(1000));
        law.idle(at(1050));
        // 80.3 ms are 100 packets of 0.8 ms.
        law.arrive(Time::ZERO + Dur::from_us(1_080_300), backlog(0), 1000, rng);
        let expected = (0..kept).fold(before, |average, _| average * 0.99);
        assert!((law.average() / expected - 1.0).abs() < 1e-12, "{idle:?}");
    }
}

#[test]
fn fengs_max_p_is_divided_by_3_or_doubled_once_per_crossing() {
    let params = Params { weight: Some(1.0), adaptive: Some(Adaptive::Feng(Feng::default())), ..thesis() };
    let mut law = Red::new(&params, Rate::mbit(10));
    let rng = &mut Rng::named(1, "feng");
    let mut seen = Vec::new();
    for packets in [0, 0, 10, 20, 20, 20, 10, 20, 3, 3, 20] {
        law.arrive(at(0), backlog(packets), 1000, rng);
        seen.push(law.max_p() * 30.0);
    }
    let expected = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 4.0, 4.0 / 3.0, 4.0 / 3.0, 8.0 / 3.0];
    assert!(seen.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{seen:?}");
}

/// `crossings` rises of the average from below `max` to above it, without a fall below `min`, double max_p (0.1) each.
#[test]
fn fengs_max_p_is_unbounded_unless_top_is_set() {
    let after = |top: Option<f64>, crossings: u32| {
        let adaptive = Some(Adaptive::Feng(Feng { top, ..Feng::default() }));
        let mut law = Red::new(&Params { weight: Some(1.0), adaptive, ..thesis() }, Rate::mbit(10));
        let rng = &mut Rng::named(1, "top");
        for _ in 0..crossings {
            law.arrive(at(0), backlog(10), 1000, rng);
            law.arrive(at(0), backlog(20), 1000, rng);
        }
        // Halfway between 5 and 15 packets p_b is half of max_p, and no probability is above 1.
        law.arrive(at(0), backlog(10), 1000, rng);
        (law.max_p(), law.probability())
    };
    assert_eq!(after(None, 2), (0.4, 0.2));
    assert_eq!(after(None, 6), (6.4, 1.0));
    assert_eq!(after(Some(1.0), 6), (1.0, 0.5));
    // After 2000 crossings max_p is the largest finite number.
    assert_eq!(after(None, 2_000), (f64::MAX, 1.0));
    let feng = |top| Params { adaptive: Some(Adaptive::Feng(Feng { top: Some(top), ..Feng::default() })), ..thesis() };
    for top in [1e-5, 1_001.0, f64::NAN] {
        assert_eq!(feng(top).check().unwrap_err().path, "adaptive.top");
    }
}

/// Feng's pseudo-code compares strictly: an average at a threshold is on neither side of it and does not change the
/// status.
#[test]
fn an_average_at_a_threshold_of_fengs_changes_nothing() {
    let params = Params { weight: Some(1.0), adaptive: Some(Adaptive::Feng(Feng::default())), ..thesis() };
    let mut law = Red::new(&params, Rate::mbit(10));
    let rng = &mut Rng::named(1, "feng");
    let mut seen = Vec::new();
    for packets in [20, 15, 20, 10, 20, 5, 20, 4, 5, 4, 15, 4] {
        law.arrive(at(0), backlog(packets), 1000, rng);
        seen.push(law.max_p() * 10.0);
    }
    let after_fall = 4.0 / 3.0;
    let expected = [2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0, after_fall, after_fall, after_fall, after_fall, after_fall];
    assert!(seen.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{seen:?}");
}

/// `updateMaxP` of ns-2.35: more than the interval must have passed, and an average at the edge of the middle fifth is
/// in it.
#[test]
fn floyds_max_p_does_not_change_within_the_interval_or_at_the_edges_of_the_middle_fifth() {
    let floyd = Floyd { bottom: Some(Fraction(0.01)), ..Floyd::default() };
    let params = Params { weight: Some(1.0), adaptive: Some(Adaptive::Floyd(floyd)), ..thesis() };
    let max_p = |average: u64, now: Time| {
        let mut law = Red::new(&params, Rate::mbit(10));
        law.arrive(now, backlog(average), 1000, &mut Rng::named(1, "floyd"));
        law.max_p()
    };
    let (due, later) = (at(500), Time(at(500).0 + 1));
    // Between 5 and 15 the middle fifth is from 9 to 11; 0.1 falls by a tenth or rises by 0.01, 0.02 by a quarter.
    let start = max_p(10, later);
    assert_eq!(max_p(20, due), start);
    assert_eq!(max_p(0, due), start);
    assert_eq!(max_p(9, later), start);
    assert_eq!(max_p(11, later), start);
    assert!((max_p(8, later) - 0.9 * start).abs() < 1e-12);
    assert!((max_p(12, later) - 0.11).abs() < 1e-12);
    // At `bottom` max_p does not fall, at `top` it does not rise.
    let at_bounds = |max_p: f64, average: u64| {
        let floyd = Floyd { bottom: Some(Fraction(0.01)), ..Floyd::default() };
        let max_p = Fraction(max_p);
        let params = Params { weight: Some(1.0), max_p, adaptive: Some(Adaptive::Floyd(floyd)), ..thesis() };
        let mut law = Red::new(&params, Rate::mbit(10));
        law.arrive(later, backlog(average), 1000, &mut Rng::named(1, "floyd"));
        law.max_p()
    };
    assert_eq!(at_bounds(0.01, 0), 0.01);
    assert_eq!(at_bounds(0.5, 20), 0.5);
    assert!((at_bounds(0.2, 20) - 0.21).abs() < 1e-12);
    assert!((at_bounds(0.02, 20) - 0.025).abs() < 1e-12);
}

#[test]
fn fengs_max_p_does_not_change_during_the_freeze_time() {
    let feng = Feng { freeze: Dur::from_ms(100), ..Feng::default() };
    let params = Params { weight: Some(1.0), adaptive: Some(Adaptive::Feng(feng)), ..thesis() };
    let mut law = Red::new(&params, Rate::mbit(10));
    let rng = &mut Rng::named(1, "freeze");
    let mut max_p = |ms, packets| {
        law.arrive(at(ms), backlog(packets), 1000, rng);
        law.max_p()
    };
    assert_eq!(max_p(100, 20), 0.2);
    assert_eq!(max_p(150, 0), 0.2);
    assert_eq!(max_p(200, 0), 0.2 / 3.0);
}

#[test]
fn the_defaults_follow_the_link_as_in_ns() {
    // 10 Mbit/s of 500 B packets is 2500/s: min is half of the 12.5 packets of 5 ms, 6.25 packets, max three times
    // that, and the weight 1 − exp(−1/2500). At 64 kbit/s min has its lower bound of 5 packets.
    let law = Red::new(&Params::default(), Rate::mbit(10));
    assert_eq!(law.thresholds(), (3125.0, 9375.0));
    assert!((law.weight() - 0.000_399_920_01).abs() < 1e-12, "{}", law.weight());
    let slow = Red::new(&Params::default(), Rate(64_000));
    assert_eq!(slow.thresholds(), (2500.0, 7500.0));
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    let refuse = |params: Params, path: &str| assert_eq!(params.check().unwrap_err().path, path);
    refuse(Params { max: Some(Amount::packets(4)), ..thesis() }, "max");
    refuse(Params { min: None, ..thesis() }, "min");
    refuse(Params { max_p: Fraction(0.0), ..thesis() }, "max-p");
    refuse(Params { weight: Some(f64::NAN), ..thesis() }, "weight");
    refuse(Params { weight: Some(0.0), ..thesis() }, "weight");
    refuse(Params { mean_packet: Size(0), ..thesis() }, "mean-packet");
    let feng = Feng { alpha: 1.0, ..Feng::default() };
    refuse(Params { adaptive: Some(Adaptive::Feng(feng)), ..thesis() }, "adaptive.alpha");
    assert!(thesis().check().is_ok() && Params::default().check().is_ok());
}

/// RFC 3168 section 7.1: persistent congestion is signalled by drops.
#[test]
fn above_max_packets_are_dropped_or_marked_as_configured() {
    for (above_max, expected) in [(AboveMax::Drop, Decision::Forced), (AboveMax::Mark, Decision::Early)] {
        let mut law = Red::new(&Params { weight: Some(1.0), above_max, ..thesis() }, Rate::mbit(10));
        let rng = &mut Rng::named(1, "above");
        assert_eq!(law.arrive(at(0), backlog(15), 1000, rng), expected);
        assert!(law.may_mark());
    }
}
