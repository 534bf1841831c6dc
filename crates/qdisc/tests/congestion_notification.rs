//! Congestion notification: messages of congestion points (BCN, ECM, QCN), reaction points, and queues of rate
//! limiters.

mod counters;
mod laws;
mod limiters;

use crate::common::Steps;
use std::sync::Arc;
use tailback_qdisc::congestion_notification::cp::{Answer, Arrival, Watch, bcn, ecm, qcn};
use tailback_qdisc::congestion_notification::rp::{React, Spec as LawSpec};
use tailback_qdisc::congestion_notification::{
    Aqm, Feedback, Filter, Frame, Heard, Limiters, LimitersSpec, Memory, Origin, Simple, Tag, rp,
};
use tailback_qdisc::law::Backlog;
use tailback_qdisc::{Cx, Dropped, Ecn, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

fn rng() -> Rng {
    Rng::named(1, "test")
}

/// Returns the arrival of a frame of 1500 B that finds `packets` such frames; `limited` is the Solicit bit of its tag.
fn arrival(packets: u64, limited: Option<bool>) -> Arrival {
    Arrival { queued: Backlog { packets, bytes: 1500 * packets }, size: 1500, limited }
}

/// Returns the feedback for a queue of `to` frames that was `from` frames long at the previous sample.
fn message(params: &bcn::Params, from: u64, to: u64, limited: Option<bool>) -> Option<Feedback> {
    let mut point = bcn::Params { sampling: Fraction(1.0), ..params.clone() }.build();
    point.judge(&arrival(from, None), &mut rng());
    point.judge(&arrival(to, limited), &mut rng()).feedback
}

const STOP: Option<Feedback> = Some(Feedback::Stop);
/// Returns the feedback of this level.
#[expect(clippy::unnecessary_wraps, reason = "the type of a congestion point's feedback")]
fn change(level: i32) -> Option<Feedback> {
    Some(Feedback::Change(f64::from(level)))
}

#[test]
fn the_table_of_messages_is_that_of_the_slides() {
    // Thresholds in frames, T−4 to T+4: 80, 70, 60, 50, 40, 30, 20, 10, 0.
    let p = bcn::Params {
        equilibrium: 40.0,
        full: 80.0,
        above: Some([50.0, 60.0, 70.0]),
        below: Some([30.0, 20.0, 10.0]),
        derivative: false,
        ..bcn::Params::default()
    };
    let regions: [(u64, u64, Option<Feedback>); 10] = [
        (81, 100, STOP),
        (71, 80, change(-4)),
        (61, 70, change(-3)),
        (51, 60, change(-2)),
        (41, 50, change(-1)),
        (40, 40, None),
        (30, 39, change(1)),
        (20, 29, change(2)),
        (10, 19, change(3)),
        (0, 9, change(4)),
    ];
    for (low, high, expected) in regions {
        for length in [low, high] {
            assert_eq!(message(&p, 0, length, Some(false)), expected, "limited, {length} frames");
            let unlimited = expected.filter(|m| !matches!(m, Feedback::Change(x) if *x > 0.0));
            assert_eq!(message(&p, 0, length, None), unlimited, "not limited, {length} frames");
        }
    }
}

#[test]
fn sources_are_slowed_while_the_queue_grows_and_sped_up_while_it_shrinks() {
    // Default thresholds in frames, T−4 to T+3: 90, 71.5, 53, 34.5, 16, 12, 8, 4.
    let p = bcn::Params::default();
    for (from, to, expected) in [
        (20, 30, change(-1)),
        (40, 30, None),
        (30, 30, None),
        (4, 9, None),
        (12, 9, change(2)),
        (9, 9, None),
        (95, 91, STOP),
    ] {
        assert_eq!(message(&p, from, to, Some(false)), expected, "{from} to {to} frames");
    }
}

#[test]
fn a_queue_of_at_most_one_frame_counts_as_shrinking() {
    let p = bcn::Params::default();
    assert_eq!(message(&p, 0, 0, Some(false)), change(4));
    assert_eq!(message(&p, 0, 1, Some(false)), change(4));
    assert_eq!(message(&p, 0, 2, Some(false)), None);
}

#[test]
fn a_soliciting_frame_is_answered_unsampled_if_the_queue_is_far_below_equilibrium() {
    let mut point = bcn::Params { sampling: Fraction(1e-12), ..bcn::Params::default() }.build();
    let mut judge = |queued, limited| point.judge(&arrival(queued, limited), &mut rng());
    // No frame was sampled: the queue counts as grown from 0 frames. T+3, the bound for a growing queue, is 4 frames.
    for (queued, limited, expected) in [
        (3, Some(true), change(4)),
        (4, Some(true), change(3)),
        (5, Some(true), None),
        (17, Some(true), None),
        (91, Some(true), None),
        (3, Some(false), None),
        (3, None, None),
    ] {
        let answer = judge(queued, limited);
        assert_eq!(answer, Answer { sampled: false, feedback: expected }, "{queued} frames, {limited:?}");
    }
    let mut without_solicit =
        bcn::Params { sampling: Fraction(1e-12), solicit: false, ..bcn::Params::default() }.build();
    assert_eq!(without_solicit.judge(&arrival(3, Some(true)), &mut rng()).feedback, None);
}

#[test]
fn sampled_frames_are_binomial() {
    let mut point = bcn::Params::default().build();
    let mut rng = rng();
    let frames = 1_000_000;
    let sampled = (0..frames).filter(|_| point.judge(&arrival(16, None), &mut rng).sampled).count() as f64;
    let (mean, sd) = (f64::from(frames) * 0.01, (f64::from(frames) * 0.01 * 0.99).sqrt());
    // A normal variable is further than 3.3 standard deviations from its mean once in a thousand.
    assert!((sampled - mean).abs() < 3.3 * sd, "{sampled} of {frames}");
}

#[test]
fn ecm_feeds_back_the_offset_minus_the_weighted_growth_within_its_bounds() {
    // Fb = (16 − Q) − 2 ΔQ, with 16 − Q clamped to ±16 and ΔQ to ±32.
    let feedback = |from, to, limited| {
        let p = ecm::Params { sampling: Fraction(1.0), severe: Some(90.0), ..ecm::Params::default() };
        let mut point = p.build();
        point.judge(&arrival(from, None), &mut rng());
        point.judge(&arrival(to, limited), &mut rng()).feedback
    };
    assert_eq!(feedback(16, 20, None), change(-12));
    assert_eq!(feedback(20, 18, Some(false)), change(2));
    assert_eq!(feedback(20, 18, None), None);
    assert_eq!(feedback(0, 80, None), change(-80), "|Fb| is at most (1 + 2w) Qeq");
    assert_eq!(feedback(80, 0, Some(false)), change(80));
    assert_eq!(feedback(0, 91, None), STOP);
}

/// Returns BCN's law of a new limiter at a link of 10 Gbit/s.
fn law() -> rp::Reaction {
    LawSpec::Bcn(rp::bcn::Params::default()).build(Rate::mbit(10_000), Time::ZERO)
}

#[test]
fn a_limiter_steps_by_level_and_obeys_only_increases_of_the_point_that_slowed_it_last() {
    let (mut law, mut rng) = (law(), rng());
    // Levels −4 and −1 multiply the rate by 0.75 and 0.9375; level 2 adds 100 Mbit/s; the minimum rate is 10 Mbit/s.
    let mut notify = |point, level: f64| {
        let obeyed = law.hear(Time(1), point, Feedback::Change(level), &mut rng);
        (obeyed, law.rate() / 1e6)
    };
    assert_eq!(notify(7, -4.0), (true, 7500.0));
    assert_eq!(notify(8, 2.0), (false, 7500.0));
    assert_eq!(notify(7, 2.0), (true, 7600.0));
    assert_eq!(notify(8, -1.0), (true, 7125.0));
    assert_eq!(notify(7, 2.0), (false, 7125.0));
    for _ in 0..100 {
        notify(8, -4.0);
    }
    assert_eq!(notify(8, -4.0), (true, 10.0));
}

#[test]
fn the_bound_of_a_stop_s_random_length_doubles_until_the_next_increase() {
    let mut rng = rng();
    let mut longest = [Dur::ZERO; 3];
    for _ in 0..400 {
        let mut law = law();
        let mut now = Time(1_000);
        for most in &mut longest {
            assert!(law.hear(now, 1, Feedback::Stop, &mut rng));
            assert!(!law.hear(now, 1, Feedback::Stop, &mut rng), "one stop at a time");
            *most = (*most).max(law.stopped_until().since(now));
            assert!(law.solicits() && law.rate() == 1e7);
            now = law.stopped_until() + Dur(1);
        }
        law.hear(now, 1, Feedback::Change(1.0), &mut rng);
        law.hear(now, 1, Feedback::Stop, &mut rng);
        assert!(law.stopped_until().since(now) <= Dur::from_us(10));
    }
    // The maximum of 400 uniform draws is above nine tenths of their bound.
    for (most, bound) in longest.into_iter().zip([10, 20, 40]) {
        assert!(most <= Dur::from_us(bound) && most > Dur::from_us(bound * 9 / 10), "{most:?} of {bound} us");
    }
}

#[test]
fn a_limiter_that_gets_no_messages_drifts_to_the_line_rate_and_ends() {
    let params = rp::bcn::Params {
        drift: Some(rp::aimd::Drift { step: Rate::mbit(1), every: Dur::from_us(1) }),
        ..rp::bcn::Params::default()
    };
    let mut law = LawSpec::Bcn(params).build(Rate::mbit(10_000), Time::ZERO);
    law.hear(Time::ZERO, 1, Feedback::Change(-4.0), &mut rng());
    // From 7.5 to 10 Gbit/s the drift takes 2500 steps of 1 Mbit/s, one per microsecond.
    law.advance(Time(Dur::from_us(2_499).0), &mut rng());
    assert!(!law.is_over());
    law.advance(Time(Dur::from_us(2_500).0), &mut rng());
    assert!(law.is_over());
}

/// A reaction point with its drops and marks; flows 0 to 9 are TCP, flows 10 to 19 are not.
struct Bench {
    limiters: Limiters,
    dropped: Vec<Dropped>,
    rng: Rng,
    marked: u64,
    seq: u32,
}

const LINE: Rate = Rate::mbit(10_000);

/// Returns the parameters of a reaction point with BCN's law and a memory of its own of 150 kB.
fn limiters(filter: Filter, aqm: Option<Simple>, discipline: Spec) -> LimitersSpec {
    LimitersSpec {
        filter,
        queues: None,
        law: LawSpec::Bcn(rp::bcn::Params::default()),
        aqm: aqm.map(Aqm::Simple),
        discipline,
        buffer: 150_000,
        memory: Memory::Own,
        tag_bytes: 0,
    }
}

fn bench(filter: Filter, aqm: Option<Simple>, discipline: Spec) -> Bench {
    bench_with(limiters(filter, aqm, discipline))
}

fn bench_with(spec: LimitersSpec) -> Bench {
    let origins: Arc<[Origin]> = (0..20).map(|f| Origin { source: f as u16 % 4, tcp: f < 10 }).collect();
    let site = Site { rate: LINE, ..Site::default() };
    let limiters = Limiters::new(spec, &Spec::default(), &site, origins, Rng::named(1, "limiters"));
    Bench { limiters, dropped: Vec::new(), rng: rng(), marked: 0, seq: 0 }
}

impl Bench {
    /// Enqueues a frame of 1500 buffer bytes and 1520 wire bytes.
    fn put(&mut self, now: Time, flow: u32, dst: u16) {
        let mut packet = Packet::new(flow, Traits::data(0, true).with_ecn(Ecn::Ect0), now, self.seq, dst);
        self.seq += 1;
        packet.set_lengths(1500, 1520);
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        self.limiters.enqueue(now, packet, cx);
    }
    fn take(&mut self, now: Time) -> Option<Packet> {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        self.limiters.dequeue(now, &Gate::default(), cx)
    }
    /// Passes `times` messages BCN−4 of congestion point 3, each of which multiplies the limiter's rate by 0.75.
    fn slow(&mut self, flow: u32, destination: u16, times: usize) {
        for _ in 0..times {
            let frame = Frame { flow, destination, class: 0 };
            assert_eq!(self.limiters.hear(Time::ZERO, frame, 3, Feedback::Change(-4.0)), Heard::Obeyed);
        }
    }
}

#[test]
fn a_limiter_sends_at_its_rate_with_its_tag_and_does_not_delay_the_default_path() {
    let mut bench = bench(Filter::Destination, None, Spec::default());
    bench.slow(0, 5, 12);
    let rate = bench.limiters.rates().next().expect("a limiter").1;
    let expected = (0..12).fold(1e10, |rate, _| rate * 0.75);
    assert_eq!(rate, expected);
    for _ in 0..40 {
        bench.put(Time::ZERO, 0, 5);
        bench.put(Time::ZERO, 1, 6);
    }
    let (mut now, mut sent) = (Time::ZERO, [0u32; 2]);
    let end = Time(Dur::from_us(1000).0);
    let mut steps = Steps::at_most(100_000);
    while now < end {
        steps.step("the limiter sets its timer to the present");
        match bench.take(now) {
            Some(p) => {
                let limited = p.dst == 5;
                sent[usize::from(limited)] += 1;
                assert_eq!(p.tag(), limited.then_some(Tag { point: 3, solicit: false }));
                now += LINE.clock().tx_time(u32::from(p.wire()));
            }
            None => now = bench.limiters.next_wakeup().expect("frames wait"),
        }
    }
    let expected = rate * 1e-3 / (1520.0 * 8.0);
    assert_eq!(sent[0], 40);
    assert!((f64::from(sent[1]) - expected).abs() <= 2.0, "{sent:?}, {expected}");
}

#[test]
fn frames_that_came_before_their_limiter_leave_before_those_that_came_after() {
    let mut bench = bench(Filter::Destination, None, Spec::default());
    for _ in 0..5 {
        bench.put(Time::ZERO, 0, 5);
    }
    bench.slow(0, 5, 1);
    for _ in 0..5 {
        bench.put(Time::ZERO, 0, 5);
    }
    let mut order = Vec::new();
    let mut now = Time::ZERO;
    let mut steps = Steps::at_most(1_000);
    while bench.limiters.packets() > 0 {
        steps.step("frames wait and none leaves");
        match bench.take(now) {
            Some(p) => order.push(p.seq),
            None => now = bench.limiters.next_wakeup().expect("frames wait"),
        }
    }
    assert_eq!(order, (0..10).collect::<Vec<u32>>());
}

#[test]
fn filters_distinguish_frames_by_destination_pair_or_flow() {
    for (filter, limiters) in [(Filter::Destination, 2), (Filter::Pair, 3), (Filter::Flow, 4)] {
        let mut bench = bench(filter, None, Spec::default());
        // Flows 0, 4 and 8 have one source, flow 1 another.
        for (flow, destination) in [(0, 5), (4, 5), (1, 5), (8, 6)] {
            bench.slow(flow, destination, 1);
        }
        assert_eq!(bench.limiters.active(), limiters, "{filter:?}");
    }
}

#[test]
fn above_the_threshold_one_per_cent_of_tcp_is_signalled_and_at_most_eleven_udp_frames_wait() {
    for ecn in [false, true] {
        let mut bench = bench(Filter::Destination, Some(Simple { ecn, ..Simple::default() }), Spec::default());
        bench.slow(0, 5, 30);
        let mut now = Time::ZERO;
        for _ in 0..40_000 {
            bench.put(now, 0, 5);
            bench.put(now, 15, 5);
            if bench.limiters.packets() > 60 {
                now = bench.limiters.next_wakeup().map_or(now, |at| at.max(now));
                let mut steps = Steps::at_most(1_000);
                while bench.limiters.packets() > 40 {
                    steps.step("frames wait and none leaves");
                    if bench.take(now).is_none() {
                        now = bench.limiters.next_wakeup().expect("frames wait");
                    }
                }
            }
        }
        let counters = bench.limiters.counters(now);
        let (above, signalled) = (counters.tcp_above as f64, counters.tcp_signalled);
        let (mean, sd) = (above * 0.01, (above * 0.01 * 0.99).sqrt());
        assert!(above > 30_000.0 && (signalled as f64 - mean).abs() < 3.3 * sd, "{counters:?}");
        assert!(counters.most_udp == 11 && counters.udp_refused > 10_000, "{counters:?}");
        let early = bench.dropped.iter().filter(|d| d.why == Reason::Early).count() as u64;
        assert_eq!((early, bench.marked), if ecn { (0, signalled) } else { (signalled, 0) });
        assert!(bench.dropped.iter().all(|d| d.why != Reason::Unresponsive || d.packet.flow() == 15));
    }
}

#[test]
fn a_limiter_that_is_at_the_line_rate_and_empty_ends() {
    let mut bench = bench(Filter::Destination, None, Spec::default());
    bench.slow(0, 5, 1);
    bench.put(Time::ZERO, 0, 5);
    let frame = Frame { flow: 0, destination: 5, class: 0 };
    for _ in 0..100 {
        bench.limiters.hear(Time::ZERO, frame, 3, Feedback::Change(4.0));
    }
    assert_eq!(bench.limiters.active(), 1, "the limiter still holds a frame");
    assert!(bench.take(Time::ZERO).is_some_and(|p| p.tag().is_some()));
    assert_eq!(bench.limiters.active(), 0);
    bench.put(Time(1), 0, 5);
    assert!(bench.take(Time(1)).is_some_and(|p| p.tag().is_none()));
    assert_eq!(
        bench.limiters.hear(Time(1), frame, 3, Feedback::Change(4.0)),
        Heard::Ignored,
        "no limiter, no increase"
    );
}

#[test]
fn frames_that_a_limiter_s_discipline_drops_are_not_counted_as_waiting() {
    let red = serde_json::from_str::<Spec>(r#"{"kind": "red", "min": "3kB", "max": "9kB", "weight": 0.5}"#);
    for discipline in [red.expect("a discipline"), Spec::default()] {
        let mut bench = bench(Filter::Destination, None, discipline);
        bench.slow(0, 5, 20);
        for k in 0..2_000 {
            bench.put(Time(k), 0, 5);
        }
        let waiting = bench.limiters.packets();
        assert_eq!(waiting + bench.dropped.len() as u64, 2_000);
        assert_eq!(bench.limiters.limited_bytes(), 1500 * waiting);
        assert!(bench.limiters.limited_bytes() <= 150_000);
        let mut seen = 0;
        bench.limiters.visit(&mut |_| seen += 1);
        assert_eq!(seen, waiting);
    }
}

/// Returns the feedback of the first and of the seventh sample of a congestion point whose queue stays at `packets`
/// frames of 1500 B, and the number of samples among 100,000 frames.
fn qcn_samples(params: &qcn::Params, packets: u64) -> (Option<Feedback>, Option<Feedback>, usize) {
    let mut point = qcn::Params { jitter: Fraction(0.0), ..params.clone() }.build();
    let mut answers = (0..100_000).map(|_| point.judge(&arrival(packets, None), &mut rng()));
    let first = answers.find(|a| a.sampled).expect("a sample");
    let later: Vec<Answer> = answers.filter(|a| a.sampled).collect();
    (first.feedback, later[5].feedback, later.len() + 1)
}

#[test]
fn qcn_quantises_to_six_bits() {
    let p = qcn::Params::default();
    // |Fb| = (Q − 26 kB + 2 ΔQ) · 63 / 130 kB, rounded down. A constant queue of 15 kB, below the equilibrium of 26 kB, causes
    // no message. In the first sample the growth from an empty queue counts, too: (15 − 26 + 30) · 63/130 = 9.2.
    let (first, later, _) = qcn_samples(&p, 10);
    assert_eq!((first, later), (change(-9), None));
    // A queue of 30 kB, 4 kB above the equilibrium: (4 + 60) · 63/130 = 31.0, later 4 · 63/130 = 1.9.
    let (first, later, _) = qcn_samples(&p, 20);
    assert_eq!((first, later), (change(-31), change(-1)));
    // Far above: the largest feedback.
    let (first, later, _) = qcn_samples(&p, 200);
    assert_eq!((first, later), (change(-63), change(-63)));
}

#[test]
fn qcn_samples_by_the_table_of_eight_steps() {
    // Frames in a constant queue; |Fb| = (1500 n − 26000) · 63/130000, rounded down; the table's bytes between samples
    // for the upper three bits of |Fb|.
    for (packets, feedback, bytes_between_samples) in [
        (10, 0, 150_000),
        (25, 5, 150_000),
        (34, 12, 75_000),
        (45, 20, 50_000),
        (62, 32, 30_000),
        (78, 44, 25_000),
        (200, 63, 18_500),
    ] {
        let (_, later, count) = qcn_samples(&qcn::Params::default(), packets);
        assert_eq!(later, (feedback > 0).then_some(Feedback::Change(f64::from(-feedback))), "{packets} frames");
        let frames_between_samples = (bytes_between_samples as usize).div_ceil(1500);
        assert!(
            count.abs_diff(100_000 / frames_between_samples) <= 10,
            "|Fb| {feedback}: {count} samples, one in {frames_between_samples} frames expected"
        );
    }
    // With `least`, linear in |Fb|; for |Fb| = 44: 150 kB (1 − 0.9 · 44/63) are 55.7 kB, 38 frames.
    let line = qcn::Params { least: Some(Fraction(0.1)), ..qcn::Params::default() };
    let (_, _, count) = qcn_samples(&line, 78);
    assert!(count.abs_diff(100_000 / 38) <= 10);
}

/// Returns the default parameters of QCN's reaction point, with cycles of constant length.
fn steady() -> rp::qcn::Params {
    rp::qcn::Params { jitter: Fraction(0.0), ..rp::qcn::Params::default() }
}

#[test]
fn qcn_recovers_half_of_the_distance_in_each_of_five_cycles_and_then_raises_its_target() {
    let (mut law, mut rng) = (steady().build(LINE, Time::ZERO), rng());
    law.hear(Time(1), 9, Feedback::Change(-63.0), &mut rng);
    let low = 1e10 * (1.0 - 63.0 / 128.0);
    assert_eq!(law.rate(), low);
    for amount in [0.0, 0.5, 1.0] {
        assert!(!law.hear(Time(1), 9, Feedback::Change(amount), &mut rng), "feedback is negative");
    }
    // The target becomes lower than the line rate, so that its growth can be measured.
    (0..3).for_each(|_| law.sent(Time(1), 50_000, &mut rng));
    let target = law.rate();
    assert_eq!(target, 0.5 * (low + 1e10));
    law.hear(Time(2), 9, Feedback::Change(-64.0), &mut rng);
    let start = law.rate();
    (0..15).for_each(|_| law.sent(Time(2), 50_000, &mut rng));
    let expected = target - (target - start) / 32.0;
    assert!((law.rate() / expected - 1.0).abs() < 1e-12, "fast recovery: {} of {expected}", law.rate());
    // From here on a cycle is half as long, 75 kB.
    law.sent(Time(2), 50_000, &mut rng);
    law.sent(Time(2), 25_000, &mut rng);
    let (rate, raised_target) = (expected, target + 5e6);
    assert!((law.rate() / (0.5 * (rate + raised_target)) - 1.0).abs() < 1e-12, "active increase: {}", law.rate());
}

#[test]
fn qcn_keeps_its_target_at_a_message_if_only_the_timer_has_ended_cycles() {
    let mut rng = rng();
    // Two cycles of the timer, 15 ms each: the next message leaves the target at the line rate.
    let mut law = steady().build(LINE, Time::ZERO);
    law.hear(Time(1), 9, Feedback::Change(-63.0), &mut rng);
    let first = law.rate();
    law.hear(Time(1) + Dur::from_ms(31), 9, Feedback::Change(-63.0), &mut rng);
    let twice = (1e10 - (1e10 - first) / 4.0) * (1.0 - 63.0 / 128.0);
    assert!((law.rate() / twice - 1.0).abs() < 1e-12);
    (0..3).for_each(|_| law.sent(Time(2) + Dur::from_ms(31), 50_000, &mut rng));
    assert!((law.rate() / (0.5 * (twice + 1e10)) - 1.0).abs() < 1e-12, "towards the line: {}", law.rate());
}

#[test]
fn qcn_divides_a_target_of_more_than_ten_times_the_rate_by_eight_in_the_first_cycle() {
    let mut rng = rng();
    let mut law = steady().build(LINE, Time::ZERO);
    // Eight messages without a cycle between them: the target stays, and each multiplies the rate by 65/128.
    let mut expected: f64 = 1e10;
    for _ in 0..8 {
        law.hear(Time(1), 9, Feedback::Change(-63.0), &mut rng);
        expected *= 1.0 - 63.0 / 128.0;
    }
    assert!((law.rate() / expected - 1.0).abs() < 1e-12 && 10.0 * expected < 1e10);
    let mut cycle = || {
        (0..3).for_each(|_| law.sent(Time(1), 50_000, &mut rng));
        law.rate()
    };
    let first = 0.5 * (expected + 1e10 / 8.0);
    assert!((cycle() / first - 1.0).abs() < 1e-12);
    let second = 0.5 * (first + 1e10 / 8.0);
    assert!((cycle() / second - 1.0).abs() < 1e-12, "once only");
}

#[test]
fn qcns_cycles_have_random_lengths_within_fifteen_per_cent_of_150_kb() {
    let mut rng = rng();
    let mut lengths = Vec::new();
    for _ in 0..2_000 {
        let mut law = rp::qcn::Params::default().build(LINE, Time::ZERO);
        law.hear(Time(1), 9, Feedback::Change(-63.0), &mut rng);
        let low = law.rate();
        let mut sent = 0;
        let mut steps = Steps::at_most(10_000);
        while law.rate() == low {
            steps.step("the cycle does not end");
            law.sent(Time(1), 500, &mut rng);
            sent += 500;
        }
        lengths.push(f64::from(sent) / 150e3);
    }
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    let (shortest, longest) = lengths.iter().fold((f64::MAX, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    // Uniform from 0.85 to 1.15, rounded up to 500 B: a standard deviation of 0.087, and of 0.002 for the mean of 2000.
    assert!((mean - 1.0017).abs() < 0.008, "{mean}");
    assert!((0.85..0.86).contains(&shortest) && (1.145..1.154).contains(&longest), "{shortest} to {longest}");
}

#[test]
fn limited_frames_take_buffer_space_of_the_default_path_only_in_a_shared_memory() {
    for (memory, passed) in [(Memory::Own, 50), (Memory::Shared, 0)] {
        let mut bench = bench_with(LimitersSpec { memory, ..limiters(Filter::Destination, None, Spec::default()) });
        bench.slow(0, 5, 30);
        // 100 frames of 1500 B fill the memory of 150 kB.
        (0..120).for_each(|_| bench.put(Time::ZERO, 0, 5));
        assert_eq!(bench.dropped.len(), 20, "{memory:?}");
        (0..50).for_each(|_| bench.put(Time::ZERO, 1, 6));
        assert_eq!(bench.limiters.packets(), 100 + passed, "{memory:?}");
        assert!(bench.dropped[20..].iter().all(|d| d.why == Reason::BufferFull && d.packet.dst == 6));
        let pool = if memory == Memory::Shared { 150_000 + 1500 * passed } else { 150_000 };
        assert_eq!((bench.limiters.pool_bytes(), bench.limiters.limited_bytes()), (pool, 150_000));
    }
    // Conversely, frames that wait in the default path take the space of limited frames, until they leave.
    let mut bench =
        bench_with(LimitersSpec { memory: Memory::Shared, ..limiters(Filter::Destination, None, Spec::default()) });
    bench.slow(0, 5, 1);
    (0..100).for_each(|_| bench.put(Time::ZERO, 1, 6));
    bench.put(Time::ZERO, 0, 5);
    assert_eq!((bench.dropped.len(), bench.limiters.limited_bytes()), (1, 0));
    assert!(bench.take(Time::ZERO).is_some_and(|p| p.dst == 6));
    bench.put(Time::ZERO, 0, 5);
    assert_eq!((bench.dropped.len(), bench.limiters.limited_bytes(), bench.limiters.pool_bytes()), (1, 1500, 150_000));
}

#[test]
fn a_tags_bytes_are_added_once_and_only_to_limited_frames() {
    let mut bench = bench_with(LimitersSpec { tag_bytes: 8, ..limiters(Filter::Destination, None, Spec::default()) });
    bench.slow(0, 5, 1);
    for (dst, lengths) in [(5, (1508, 1528)), (6, (1500, 1520))] {
        let mut p = Packet::new(0, Traits::data(0, true), Time::ZERO, 0, dst);
        p.set_lengths(1500, 1520);
        bench.limiters.lengthen(Time::ZERO, &mut p);
        assert_eq!((p.size, p.wire()), lengths, "to {dst}");
        p.set_tag(Tag { point: 3, solicit: false });
        bench.limiters.lengthen(Time::ZERO, &mut p);
        assert_eq!((p.size, p.wire()), lengths, "to {dst}, with a tag already");
    }
}

#[test]
fn each_of_two_limiters_set_up_one_after_the_other_paces_its_frames_from_its_own_start() {
    let mut bench = bench(Filter::Destination, None, Spec::default());
    let frame = Frame { flow: 0, destination: 5, class: 0 };
    let us = |n| Time::ZERO + Dur::from_us(n);
    // The first limiter's last frame leaves at 1001.2 us, at the line rate: its next one could not leave at 1002 us.
    for start in [us(1_000), us(1_002)] {
        // Seven messages: 0.75^7 of 10 Gbit/s, at which 1520 B take 9.1 us.
        for _ in 0..7 {
            assert_eq!(bench.limiters.hear(start, frame, 3, Feedback::Change(-4.0)), Heard::Obeyed);
        }
        let gap = Dur((1520.0 * 8e12 / (0..7).fold(1e10, |rate, _| rate * 0.75)) as u64);
        (0..2).for_each(|_| bench.put(start, 0, 5));
        assert!(bench.take(start).is_some_and(|p| p.tag().is_some()), "the first frame leaves at once");
        assert!(bench.take(start).is_none());
        assert_eq!(bench.limiters.next_wakeup(), Some(start + gap));
        // The limiter ends with its second frame, before the time at which a third one could leave.
        for _ in 0..100 {
            bench.limiters.hear(start, frame, 3, Feedback::Change(4.0));
        }
        assert!(bench.take(start + Dur::from_us(1)).is_none());
        let end = bench.limiters.next_wakeup().expect("a frame waits");
        assert!(bench.take(end).is_some() && bench.limiters.active() == 0);
    }
}

#[test]
fn the_queues_take_turns_and_a_limiter_that_ends_takes_no_turn_from_the_next() {
    let mut bench = bench(Filter::Destination, None, Spec::default());
    for destination in [5, 6, 7] {
        bench.slow(0, destination, 1);
        (0..2).for_each(|_| bench.put(Time::ZERO, 0, destination));
    }
    // The limiter of destination 5 is at the line rate and ends with its last frame.
    for _ in 0..100 {
        bench.limiters.hear(Time::ZERO, Frame { flow: 0, destination: 5, class: 0 }, 3, Feedback::Change(4.0));
    }
    // Frames without a limiter belong to the default path, whose turn is the first.
    bench.put(Time::ZERO, 0, 8);
    let far = Dur::from_ms(1);
    let order: Vec<u16> = (0..7).map(|k| bench.take(Time::ZERO + far * k).expect("a frame").dst).collect();
    assert_eq!(order, [8, 5, 6, 7, 5, 6, 7]);
    assert_eq!(bench.limiters.active(), 2);
}

#[test]
fn the_timers_of_the_queues_of_limiters_and_of_the_default_path_run() {
    let pie = serde_json::from_str::<Spec>(r#"{"kind": "pie"}"#).expect("a discipline");
    let origins: Arc<[Origin]> = vec![Origin::default(); 20].into();
    let site = Site { rate: LINE, ..Site::default() };
    for (of_limiter, of_default) in [(pie.clone(), Spec::default()), (Spec::default(), pie)] {
        let spec = limiters(Filter::Destination, None, of_limiter);
        let limiters = Limiters::new(spec, &of_default, &site, Arc::clone(&origins), Rng::named(1, "limiters"));
        let mut bench = Bench { limiters, dropped: Vec::new(), rng: rng(), marked: 0, seq: 0 };
        bench.slow(0, 5, 1);
        // PIE computes its probability every 15 ms (RFC 8033 section 4.2).
        for k in 1..4 {
            let due = Time::ZERO + Dur::from_ms(15 * k);
            assert_eq!(bench.limiters.next_wakeup(), Some(due));
            let cx = &mut Cx { rng: &mut bench.rng, dropped: &mut bench.dropped, marked: &mut bench.marked };
            bench.limiters.wake(due, cx);
        }
    }
}

#[test]
fn a_reaction_point_accepts_any_rate_above_zero() {
    let with = |increase, floor| rp::bcn::Params { increase: Rate(increase), floor: Rate(floor), ..Default::default() };
    assert_eq!(with(1, 1).check(), Ok(()));
    assert_eq!(with(0, 1).check().expect_err("no increase").path, "increase");
    assert_eq!(with(1, 0).check().expect_err("no minimum").path, "floor");
}

#[test]
fn qcn_sends_no_message_without_excess_however_small_the_equilibrium_is() {
    let p = qcn::Params { equilibrium: tailback_units::Size(12), ..qcn::Params::default() };
    let (first, later, _) = qcn_samples(&p, 0);
    assert_eq!((first, later), (None, None));
}

#[test]
fn qcn_samples_the_frame_that_completes_the_distance() {
    // Below the equilibrium, and without jitter, every second frame of 1500 B completes 3000 B.
    let p = qcn::Params { sample: tailback_units::Size(3_000), ..qcn::Params::default() };
    let (.., count) = qcn_samples(&p, 0);
    assert!((49_999..=50_000).contains(&count), "{count}");
}

/// A reaction point whose limiters drift from 7.5 Gbit/s to the line rate in 2.5 ms.
fn drifting() -> Bench {
    let drift = Some(rp::aimd::Drift { step: Rate::mbit(1), every: Dur::from_us(1) });
    let law = LawSpec::Bcn(rp::bcn::Params { drift, ..rp::bcn::Params::default() });
    bench_with(LimitersSpec { law, ..limiters(Filter::Destination, None, Spec::default()) })
}

const DRIFTED: Time = Time(2_500_000_000);

#[test]
fn a_frame_that_arrives_when_its_limiter_has_reached_the_line_rate_takes_the_default_path() {
    for (at, limited) in [(Time(DRIFTED.0 - 1), 1), (DRIFTED, 0)] {
        let mut b = drifting();
        b.slow(0, 5, 1);
        b.put(at, 0, 5);
        let c = b.limiters.counters(at);
        assert_eq!((b.limiters.active() as u64, c.created, c.removed), (limited, 1, 1 - limited));
        assert_eq!(b.take(at).map(|p| p.tag().is_some()), Some(limited == 1));
    }
}

#[test]
fn a_limiter_that_ends_at_an_arrival_leaves_the_turn_with_the_queue_that_has_it() {
    let mut b = drifting();
    b.slow(0, 5, 1);
    b.slow(0, 6, 12);
    b.put(Time::ZERO, 0, 7);
    b.put(Time::ZERO, 0, 5);
    let order: Vec<u16> = (0..2).map(|_| b.take(Time::ZERO).expect("a frame").dst).collect();
    assert_eq!(order, [7, 5]);
    // It is the turn of destination 6. The limiter of destination 5 ends, and its frame takes the default path.
    (0..2).for_each(|_| b.put(DRIFTED, 0, 6));
    b.put(DRIFTED, 0, 5);
    assert_eq!(b.limiters.active(), 1);
    assert_eq!(b.take(DRIFTED).map(|p| p.dst), Some(6));
    assert_eq!(b.take(DRIFTED).map(|p| p.dst), Some(5));
}

#[test]
fn the_default_path_takes_its_new_parameters() {
    let mut b = bench(Filter::Destination, None, Spec::default());
    let two = serde_json::from_str::<Spec>(r#"{"kind": "drop-tail", "packets": 2}"#).expect("a discipline");
    let spec = b.limiters.spec().clone();
    b.limiters.retune(Time::ZERO, &spec, &two, &Site { rate: LINE, ..Site::default() });
    (0..3).for_each(|_| b.put(Time::ZERO, 0, 5));
    assert_eq!((b.limiters.packets(), b.dropped.len()), (2, 1));
}
