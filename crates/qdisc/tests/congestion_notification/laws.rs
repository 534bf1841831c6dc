//! Laws of congestion points and reaction points, one step at a time.

use super::*;
use tailback_qdisc::congestion_notification::rp::aimd::{Aimd, Constants, Drift};
use tailback_qdisc::signals::Length;
use tailback_units::Size;

fn us(n: u64) -> Time {
    Time::ZERO + Dur::from_us(n)
}

/// The default thresholds of BCN above the equilibrium of 16 frames are 74/4 frames apart: 34.5, 53, 71.5 and 90; those
/// below it are 4 apart.
#[test]
fn the_default_thresholds_of_bcn_are_evenly_spaced() {
    let p = bcn::Params { derivative: false, ..bcn::Params::default() };
    for (low, high, expected) in [
        (91, 95, STOP),
        (72, 90, change(-4)),
        (54, 71, change(-3)),
        (35, 53, change(-2)),
        (17, 34, change(-1)),
        (16, 16, None),
        (12, 15, change(1)),
        (8, 11, change(2)),
        (4, 7, change(3)),
        (0, 3, change(4)),
    ] {
        for length in [low, high] {
            assert_eq!(message(&p, 0, length, Some(false)), expected, "{length} frames");
        }
    }
    let frames = |frame| bcn::Params { frame, ..bcn::Params::default() }.thresholds();
    assert_eq!(frames(None), [("equilibrium", Length::Packets(16.0)), ("full", Length::Packets(90.0))]);
    assert_eq!(
        frames(Some(Size(1500))),
        [("equilibrium", Length::Bytes(24_000.0)), ("full", Length::Bytes(135_000.0))]
    );
}

/// A queue of half a frame, 500 B of 1000 B, has grown from 0 and is above the thresholds 0.25 and 0.4125.
#[test]
fn bcn_s_first_sample_counts_as_growth_from_no_byte() {
    let params = bcn::Params {
        sampling: Fraction(1.0),
        equilibrium: 0.25,
        full: 0.9,
        frame: Some(Size(1000)),
        ..bcn::Params::default()
    };
    let arrival = Arrival { queued: Backlog { packets: 1, bytes: 500 }, size: 500, limited: None };
    assert_eq!(params.build().judge(&arrival, &mut rng()).feedback, change(-2));
}

#[test]
fn a_soliciting_frame_above_the_equilibrium_is_not_answered_unsampled() {
    let params = bcn::Params { sampling: Fraction(1e-12), equilibrium: 0.5, ..bcn::Params::default() };
    // One frame counts as shrinking.
    assert_eq!(params.build().judge(&arrival(1, Some(true)), &mut rng()).feedback, None);
}

#[test]
fn a_frame_that_is_neither_sampled_nor_solicits_is_not_answered_even_if_the_queue_is_empty() {
    let mut point = bcn::Params { sampling: Fraction(1e-12), ..bcn::Params::default() }.build();
    for limited in [Some(false), None] {
        for length in [0, 1, 91] {
            assert_eq!(point.judge(&arrival(length, limited), &mut rng()), Answer::default(), "{length} {limited:?}");
        }
    }
}

/// QCN with Qeq = 21 B and w = 1: |Fb| = Q − 21 + (Q − Qold), of at most 63, in 63 steps of one byte.
#[test]
fn qcn_s_feedback_is_the_excess_with_its_growth_and_zero_below_the_equilibrium() {
    let params = qcn::Params { equilibrium: Size(21), weight: 1.0, sample: Size(1), ..qcn::Params::default() };
    let mut point = params.build();
    let mut feedback = |bytes| {
        let arrival = Arrival { queued: Backlog { packets: 1, bytes }, size: 100, limited: None };
        point.judge(&arrival, &mut rng()).feedback
    };
    // 22 − 21 + 22; 23 − 21 + 1; 22 − 21 − 1; 20 − 21 − 2; 42 − 21 + 22.
    assert_eq!([22, 23, 22, 20, 42].map(&mut feedback), [change(-23), change(-3), None, None, change(-43)]);
}

#[test]
fn qcn_samples_the_frame_with_the_last_byte_of_the_distance() {
    for (sample, expected) in [(100, [true, true]), (101, [false, true])] {
        let mut point = qcn::Params { sample: Size(sample), jitter: Fraction(0.0), ..qcn::Params::default() }.build();
        let arrival = Arrival { queued: Backlog::default(), size: 100, limited: None };
        assert_eq!([(); 2].map(|()| point.judge(&arrival, &mut rng()).sampled), expected, "{sample}");
    }
}

/// The distance between two samples is 150 kB, varied by up to 15 % with one uniform random number per sample.
#[test]
fn qcn_varies_the_distance_between_samples_uniformly_to_either_side() {
    for seed in 0..8 {
        let mut point = qcn::Params::default().build();
        let mut rng = Rng::named(seed, "distance");
        let mut twin = rng.clone();
        let frame = Arrival { queued: Backlog::default(), size: 1000, limited: None };
        let mut distance = |rng: &mut Rng| (1..1_000u32).find(|_| point.judge(&frame, rng).sampled).expect("a sample");
        // The first sample is after exactly 150 kB.
        assert_eq!(distance(&mut rng), 150);
        let expected = 150.0 * (1.0 + 0.15 * (2.0 * twin.uniform() - 1.0));
        assert_eq!(f64::from(distance(&mut rng)), expected.ceil(), "{seed}");
    }
}

/// The same for the cycles of a reaction point's byte counter, of 10,000 B, and of its timer, of 15 ms.
#[test]
fn qcn_varies_its_cycles_uniformly_to_either_side() {
    let params = rp::qcn::Params { bytes: Size(10_000), ..rp::qcn::Params::default() };
    for seed in 0..8 {
        let mut law = params.build(LINE, Time::ZERO);
        let mut rng = Rng::named(seed, "cycle");
        let mut twin = rng.clone();
        let mut factor = || 1.0 + 0.15 * (2.0 * twin.uniform() - 1.0);
        law.hear(Time::ZERO, 1, Feedback::Change(-64.0), &mut rng);
        let (bytes, time) = ((10_000.0 * factor()).ceil() as u16, (15e9 * factor()) as u64);
        law.sent(Time::ZERO, bytes - 1, &mut rng);
        law.advance(Time(time - 1), &mut rng);
        assert_eq!(law.rate(), 5e9, "{seed}");
        law.sent(Time::ZERO, 1, &mut rng);
        assert_eq!(law.rate(), 7.5e9, "{seed}");
        law.advance(Time(time), &mut rng);
        assert_eq!(law.rate(), 8.75e9, "{seed}");
    }
}

#[test]
fn qcn_is_not_at_the_line_rate_while_exactly_a_thousandth_is_missing() {
    let params = rp::qcn::Params { decrease: Fraction(0.002), floor: Rate(1), bytes: Size(1_000), ..steady() };
    let mut law = params.build(Rate(1_000), Time::ZERO);
    law.hear(Time::ZERO, 1, Feedback::Change(-1.0), &mut rng());
    assert_eq!(law.rate(), 998.0);
    law.sent(Time::ZERO, 1_000, &mut rng());
    assert_eq!((law.rate(), law.is_over()), (999.0, false));
    law.sent(Time::ZERO, 1_000, &mut rng());
    assert_eq!((law.rate(), law.is_over()), (1_000.0, true));
    assert!(!LawSpec::Qcn(params).build(LINE, Time::ZERO).solicits(), "QCN has no Solicit bit");
}

/// At a rate of 100 Mbit/s and a new line rate of 2 Gbit/s the target is 2 Gbit/s, more than ten times the rate, so that
/// the first cycle divides it by eight.
#[test]
fn a_slower_line_bounds_the_target_of_qcn_at_once() {
    let spec = LawSpec::Qcn(rp::qcn::Params { floor: Rate::mbit(100), bytes: Size(1_000), ..steady() });
    let mut law = spec.build(LINE, Time::ZERO);
    (0..8).for_each(|_| _ = law.hear(Time::ZERO, 1, Feedback::Change(-64.0), &mut rng()));
    assert_eq!(law.rate(), 1e8);
    law.retune(Time::ZERO, &spec, Rate::mbit(2_000));
    law.sent(Time::ZERO, 1_000, &mut rng());
    assert_eq!(law.rate(), 0.5 * (1e8 + 2.5e8));
}

/// Rates in Mbit/s here: a line of 1000, steps of the drift of 10 every millisecond.
fn constants() -> Constants {
    Constants {
        decrease: 0.125,
        most: 0.5,
        increase: 1e6,
        floor: 1e6,
        restart: 64e6,
        halve: true,
        stop: Dur::from_us(10),
        solicit: 250e6,
        drift: None,
    }
}

fn aimd(constants: Constants) -> Aimd {
    Aimd::new(constants, Rate::mbit(1_000), Time::ZERO)
}

#[test]
fn the_drift_adds_each_of_its_steps_once_and_before_a_message_is_obeyed() {
    let drift = Some(Drift { step: Rate::mbit(10), every: Dur::from_ms(1) });
    let mut law = aimd(Constants { drift, ..constants() });
    assert_eq!(law.point(), 0, "no congestion point has slowed the limiter");
    law.hear(Time::ZERO, 7, Feedback::Change(-4.0), &mut rng());
    assert_eq!((law.rate(), law.point()), (5e8, 7));
    for (at, rate) in [(999, 5e8), (2_500, 5.2e8), (2_999, 5.2e8), (3_000, 5.3e8), (3_001, 5.3e8)] {
        law.advance(us(at), &mut rng());
        assert_eq!(law.rate(), rate, "{at}");
    }
    // Two steps, and then a decrease of an eighth of 550 Mbit/s.
    law.hear(us(5_000), 7, Feedback::Change(-1.0), &mut rng());
    assert_eq!(law.rate(), 5.5e8 * 0.875);
}

/// The duration of a stop is a uniform random number times 10 us, which doubles with each further stop; the rate after
/// it is 64 Mbit/s, which each further stop halves.
#[test]
fn each_further_stop_doubles_the_longest_duration_and_halves_the_rate_after_it() {
    for halve in [true, false] {
        let mut law = aimd(Constants { halve, ..constants() });
        let (mut rng, mut twin) = (rng(), rng());
        let mut now = Time::ZERO;
        let mut longest = 10e6;
        for n in 0..12 {
            // Both stay at 1024 after ten.
            let power = f64::from(1u32 << n.min(10));
            assert!(law.hear(now, 1, Feedback::Stop, &mut rng));
            assert_eq!(law.rate(), if halve { f64::max(1e6, 64e6 / power) } else { 64e6 }, "{n}");
            assert_eq!(law.stopped_until(), now + Dur((twin.uniform() * longest) as u64), "{n}");
            longest = 10e6 * f64::from(1u32 << (n + 1).min(10));
            now = law.stopped_until();
        }
        // An increase ends the sequence.
        law.hear(now, 1, Feedback::Change(1.0), &mut rng);
        assert!(law.hear(now, 1, Feedback::Stop, &mut rng));
        assert_eq!(law.stopped_until(), now + Dur((twin.uniform() * 10e6) as u64));
        assert_eq!(law.rate(), 64e6);
    }
}

#[test]
fn a_limiter_solicits_below_a_rate_and_not_at_it() {
    let mut law = aimd(constants());
    law.hear(Time::ZERO, 1, Feedback::Change(-4.0), &mut rng());
    law.hear(Time::ZERO, 1, Feedback::Change(-4.0), &mut rng());
    assert_eq!((law.rate(), law.solicits()), (2.5e8, false));
    law.hear(Time::ZERO, 1, Feedback::Change(-1.0), &mut rng());
    assert!(law.solicits());
}

/// 100 frames of ECM's feedback are 100/160 of the rate.
#[test]
fn one_message_of_ecm_takes_at_most_half_of_the_rate() {
    let mut law = rp::ecm::Params::default().build(LINE, Time::ZERO);
    law.hear(Time::ZERO, 1, Feedback::Change(-100.0), &mut rng());
    assert_eq!(law.rate(), 5e9);
    assert!(!law.solicits());
}

/// With 50 destinations per queue on average, a queue without any has a probability of e^-50.
#[test]
fn hashed_destinations_share_all_queues_and_no_more() {
    for queues in [1, 2, 5, 8] {
        let spec = LimitersSpec { queues: Some(queues), ..limiters(Filter::Destination, None, Spec::default()) };
        let mut bench = bench_with(spec);
        for destination in 0..50 * queues as u16 {
            let frame = Frame { flow: 0, destination, class: 0 };
            bench.limiters.hear(Time::ZERO, frame, 3, Feedback::Change(-1.0));
        }
        assert_eq!(bench.limiters.active() as u64, u64::from(queues));
    }
}
