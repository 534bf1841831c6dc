//! Congestion notification: the table of messages, the slope, the traps, and the limiters' queues.

use std::sync::Arc;
use tailback_qdisc::cn::point::{Answer, Arrival, Watch, bcn, ecm, qcn};
use tailback_qdisc::cn::reaction::{React, Spec as LawSpec};
use tailback_qdisc::cn::{Aqm, Feedback, Filter, Frame, Heard, Limiters, LimitersSpec, Origin, Simple, Tag, reaction};
use tailback_qdisc::law::Backlog;
use tailback_qdisc::{Cx, Dropped, Ecn, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

fn rng() -> Rng {
    Rng::named(1, "test")
}

fn arrival(packets: u64, limited: Option<bool>) -> Arrival {
    Arrival { queued: Backlog { packets, bytes: 1500 * packets }, size: 1500, limited }
}

/// The message for a queue of `to` frames that was `from` frames long at the sample before.
fn message(params: &bcn::Params, from: u64, to: u64, limited: Option<bool>) -> Option<Feedback> {
    let mut point = bcn::Params { sampling: Fraction(1.0), ..params.clone() }.build();
    point.judge(&arrival(from, None), &mut rng());
    point.judge(&arrival(to, limited), &mut rng()).feedback
}

const STOP: Option<Feedback> = Some(Feedback::Stop);
fn change(level: i32) -> Option<Feedback> {
    Some(Feedback::Change(f64::from(level)))
}

#[test]
fn the_table_of_messages_is_that_of_the_slides() {
    // T−4 … T+4 = 80, 70, 60, 50, 40, 30, 20, 10, 0.
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
fn an_empty_queue_counts_as_falling_so_that_it_is_never_stuck_empty() {
    let p = bcn::Params::default();
    assert_eq!(message(&p, 0, 0, Some(false)), change(4));
    assert_eq!(message(&p, 0, 1, Some(false)), change(4));
    assert_eq!(message(&p, 0, 2, Some(false)), None);
}

#[test]
fn a_frame_that_solicits_is_answered_unsampled_and_far_below_equilibrium_whatever_the_slope() {
    let mut point = bcn::Params { sampling: Fraction(1e-12), ..bcn::Params::default() }.build();
    let mut ask = |queued, limited| point.judge(&arrival(queued, limited), &mut rng());
    // The last sample was at 0 frames: every queue has grown since.
    for (queued, limited, expected) in [
        (3, Some(true), change(4)),
        (4, Some(true), change(3)),
        (5, Some(true), None),
        (17, Some(true), None),
        (91, Some(true), None),
        (3, Some(false), None),
        (3, None, None),
    ] {
        let answer = ask(queued, limited);
        assert_eq!(answer, Answer { sampled: false, feedback: expected }, "{queued} frames, {limited:?}");
    }
    let mut deaf = bcn::Params { sampling: Fraction(1e-12), solicit: false, ..bcn::Params::default() }.build();
    assert_eq!(deaf.judge(&arrival(3, Some(true)), &mut rng()).feedback, None);
}

#[test]
fn sampled_frames_are_binomial() {
    let mut point = bcn::Params::default().build();
    let mut rng = rng();
    let n = 1_000_000;
    let sampled = (0..n).filter(|_| point.judge(&arrival(16, None), &mut rng).sampled).count() as f64;
    let (mean, sd) = (f64::from(n) * 0.01, (f64::from(n) * 0.01 * 0.99).sqrt());
    assert!((sampled - mean).abs() < 3.3 * sd, "{sampled} of {n}");
}

#[test]
fn ecm_feeds_back_offset_less_weighted_growth_within_its_bounds() {
    let ask = |from, to, limited| {
        let p = ecm::Params { sampling: Fraction(1.0), severe: Some(90.0), ..ecm::Params::default() };
        let mut point = p.build();
        point.judge(&arrival(from, None), &mut rng());
        point.judge(&arrival(to, limited), &mut rng()).feedback
    };
    assert_eq!(ask(16, 20, None), change(-12));
    assert_eq!(ask(20, 18, Some(false)), change(2));
    assert_eq!(ask(20, 18, None), None);
    assert_eq!(ask(0, 80, None), change(-80), "|Fb| is at most (1 + 2w) Qeq");
    assert_eq!(ask(80, 0, Some(false)), change(80));
    assert_eq!(ask(0, 91, None), STOP);
}

fn law() -> reaction::Reaction {
    LawSpec::Bcn(reaction::bcn::Params::default()).build(Rate::mbit(10_000), Time::ZERO)
}

#[test]
fn a_limiter_steps_by_level_and_obeys_increases_of_the_point_that_slowed_it_only() {
    let (mut law, mut rng) = (law(), rng());
    let mut hear = |point, level: f64| {
        let obeyed = law.hear(Time(1), point, Feedback::Change(level), &mut rng);
        (obeyed, law.rate() / 1e6)
    };
    assert_eq!(hear(7, -4.0), (true, 7500.0));
    assert_eq!(hear(8, 2.0), (false, 7500.0));
    assert_eq!(hear(7, 2.0), (true, 7600.0));
    assert_eq!(hear(8, -1.0), (true, 7125.0));
    assert_eq!(hear(7, 2.0), (false, 7125.0));
    for _ in 0..100 {
        hear(8, -4.0);
    }
    assert_eq!(hear(8, -4.0), (true, 10.0));
}

#[test]
fn a_stop_lasts_a_random_time_that_doubles_until_the_next_increase() {
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
    for (most, bound) in longest.into_iter().zip([10, 20, 40]) {
        assert!(most <= Dur::from_us(bound) && most > Dur::from_us(bound * 9 / 10), "{most:?} of {bound} us");
    }
}

#[test]
fn a_limiter_that_hears_nothing_drifts_to_the_line_rate_and_ends() {
    let params = reaction::bcn::Params {
        drift: Some(reaction::aimd::Drift { step: Rate::mbit(1), every: Dur::from_us(1) }),
        ..reaction::bcn::Params::default()
    };
    let mut law = LawSpec::Bcn(params).build(Rate::mbit(10_000), Time::ZERO);
    law.hear(Time::ZERO, 1, Feedback::Change(-4.0), &mut rng());
    law.advance(Time(Dur::from_us(2_499).0));
    assert!(!law.is_over());
    law.advance(Time(Dur::from_us(2_500).0));
    assert!(law.is_over());
}

/// A reaction point whose flows below 10 are TCP, and what it drops.
struct Bench {
    limiters: Limiters,
    dropped: Vec<Dropped>,
    rng: Rng,
    marked: u64,
    seq: u32,
}

const LINE: Rate = Rate::mbit(10_000);

fn bench(filter: Filter, aqm: Option<Simple>, discipline: Spec) -> Bench {
    let spec = LimitersSpec {
        filter,
        queues: None,
        law: LawSpec::Bcn(reaction::bcn::Params::default()),
        aqm: aqm.map(Aqm::Simple),
        discipline,
        buffer: 150_000,
    };
    let origins: Arc<[Origin]> = (0..20).map(|f| Origin { source: f as u16 % 4, tcp: f < 10 }).collect();
    let site = Site { rate: LINE, ..Site::default() };
    let limiters = Limiters::new(spec, &Spec::default(), &site, origins, Rng::named(1, "limiters"));
    Bench { limiters, dropped: Vec::new(), rng: rng(), marked: 0, seq: 0 }
}

impl Bench {
    fn put(&mut self, now: Time, flow: u32, dst: u16) {
        let mut p = Packet::new(flow, Traits::data(0, true).with_ecn(Ecn::Ect0), now, self.seq, dst);
        self.seq += 1;
        p.set_lengths(1500, 1520);
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        self.limiters.enqueue(now, p, cx);
    }
    fn take(&mut self, now: Time) -> Option<Packet> {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        self.limiters.dequeue(now, &Gate::default(), cx)
    }
    fn slow(&mut self, flow: u32, destination: u16, times: usize) {
        for _ in 0..times {
            let frame = Frame { flow, destination, class: 0 };
            assert_eq!(self.limiters.hear(Time::ZERO, frame, 3, Feedback::Change(-4.0)), Heard::Obeyed);
        }
    }
}

#[test]
fn a_limiter_sends_at_its_rate_with_its_tag_and_the_default_path_goes_past_it() {
    let mut b = bench(Filter::Destination, None, Spec::default());
    b.slow(0, 5, 12);
    let rate = b.limiters.rates().next().expect("a limiter").1;
    let expected = (0..12).fold(1e10, |rate, _| rate * 0.75);
    assert_eq!(rate, expected);
    for _ in 0..40 {
        b.put(Time::ZERO, 0, 5);
        b.put(Time::ZERO, 1, 6);
    }
    let (mut now, mut sent) = (Time::ZERO, [0u32; 2]);
    let end = Time(Dur::from_us(1000).0);
    while now < end {
        match b.take(now) {
            Some(p) => {
                let limited = p.dst == 5;
                sent[usize::from(limited)] += 1;
                assert_eq!(p.tag(), limited.then_some(Tag { point: 3, solicit: false }));
                now += LINE.clock().tx_time(u32::from(p.wire()));
            }
            None => now = b.limiters.next_wakeup().expect("frames wait"),
        }
    }
    let expected = rate * 1e-3 / (1520.0 * 8.0);
    assert_eq!(sent[0], 40);
    assert!((f64::from(sent[1]) - expected).abs() <= 2.0, "{sent:?}, {expected}");
}

#[test]
fn frames_that_came_before_their_limiter_leave_before_those_that_came_after() {
    let mut b = bench(Filter::Destination, None, Spec::default());
    for _ in 0..5 {
        b.put(Time::ZERO, 0, 5);
    }
    b.slow(0, 5, 1);
    for _ in 0..5 {
        b.put(Time::ZERO, 0, 5);
    }
    let mut order = Vec::new();
    let mut now = Time::ZERO;
    while b.limiters.packets() > 0 {
        match b.take(now) {
            Some(p) => order.push(p.seq),
            None => now = b.limiters.next_wakeup().expect("frames wait"),
        }
    }
    assert_eq!(order, (0..10).collect::<Vec<u32>>());
}

#[test]
fn filters_tell_frames_apart_by_what_they_name() {
    for (filter, limiters) in [(Filter::Destination, 2), (Filter::Pair, 3), (Filter::Flow, 4)] {
        let mut b = bench(filter, None, Spec::default());
        // Flows 0, 4 and 8 have one source, flow 1 another.
        for (flow, destination) in [(0, 5), (4, 5), (1, 5), (8, 6)] {
            b.slow(flow, destination, 1);
        }
        assert_eq!(b.limiters.active(), limiters, "{filter:?}");
    }
}

#[test]
fn tcp_is_signalled_with_one_per_cent_above_the_threshold_and_udp_never_holds_more_than_eleven() {
    for ecn in [false, true] {
        let mut b = bench(Filter::Destination, Some(Simple { ecn, ..Simple::default() }), Spec::default());
        b.slow(0, 5, 30);
        let n = 40_000u64;
        let mut now = Time::ZERO;
        for _ in 0..n {
            b.put(now, 0, 5);
            b.put(now, 15, 5);
            if b.limiters.packets() > 60 {
                now = b.limiters.next_wakeup().map_or(now, |at| at.max(now));
                while b.limiters.packets() > 40 {
                    if b.take(now).is_none() {
                        now = b.limiters.next_wakeup().expect("frames wait");
                    }
                }
            }
        }
        let c = b.limiters.counters(now);
        let (mean, sd) = (c.tcp_above as f64 * 0.01, (c.tcp_above as f64 * 0.01 * 0.99).sqrt());
        assert!(c.tcp_above > 30_000 && (c.tcp_signalled as f64 - mean).abs() < 3.3 * sd, "{c:?}");
        assert!(c.most_udp == 11 && c.udp_refused > 10_000, "{c:?}");
        let early = b.dropped.iter().filter(|d| d.why == Reason::Early).count() as u64;
        assert_eq!((early, b.marked), if ecn { (0, c.tcp_signalled) } else { (c.tcp_signalled, 0) });
        assert!(b.dropped.iter().all(|d| d.why != Reason::Unresponsive || d.packet.flow() == 15));
    }
}

#[test]
fn a_limiter_that_is_at_the_line_rate_and_empty_ends() {
    let mut b = bench(Filter::Destination, None, Spec::default());
    b.slow(0, 5, 1);
    b.put(Time::ZERO, 0, 5);
    let frame = Frame { flow: 0, destination: 5, class: 0 };
    for _ in 0..100 {
        b.limiters.hear(Time::ZERO, frame, 3, Feedback::Change(4.0));
    }
    assert_eq!(b.limiters.active(), 1, "it still holds a frame");
    assert!(b.take(Time::ZERO).is_some_and(|p| p.tag().is_some()));
    assert_eq!(b.limiters.active(), 0);
    b.put(Time(1), 0, 5);
    assert!(b.take(Time(1)).is_some_and(|p| p.tag().is_none()));
    assert_eq!(b.limiters.hear(Time(1), frame, 3, Feedback::Change(4.0)), Heard::Ignored, "no limiter, no increase");
}

#[test]
fn what_a_discipline_in_a_limiter_drops_is_no_more_counted_as_waiting() {
    let red = serde_json::from_str::<Spec>(r#"{"kind": "red", "min": "3kB", "max": "9kB", "weight": 0.5}"#);
    for discipline in [red.expect("a discipline"), Spec::default()] {
        let mut b = bench(Filter::Destination, None, discipline);
        b.slow(0, 5, 20);
        for k in 0..2_000 {
            b.put(Time(k), 0, 5);
        }
        let waiting = b.limiters.packets();
        assert_eq!(waiting + b.dropped.len() as u64, 2_000);
        assert_eq!(b.limiters.limited_bytes(), 1500 * waiting);
        assert!(b.limiters.limited_bytes() <= 150_000);
        let mut seen = 0;
        b.limiters.visit(&mut |_| seen += 1);
        assert_eq!(seen, waiting);
    }
}

#[test]
fn qcn_quantises_to_six_bits_and_samples_ten_times_as_often_at_the_largest_feedback() {
    let samples = |packets: u64| {
        let mut point = qcn::Params { jitter: Fraction(0.0), ..qcn::Params::default() }.build();
        let mut answers = (0..100_000).map(|_| point.judge(&arrival(packets, None), &mut rng()));
        let first = answers.find(|a| a.sampled).expect("a sample");
        let rest: Vec<Answer> = answers.filter(|a| a.sampled).collect();
        (first.feedback, rest[5].feedback, rest.len())
    };
    // At rest below the equilibrium of 26 kB nothing is said, and every 100th frame of 1500 B is sampled. In the first
    // sample twice the growth from nothing counts, too.
    let (first, later, count) = samples(10);
    assert_eq!((first, later), (change(-9), None));
    assert!((997..=1000).contains(&count), "{count}");
    // A queue of 30 kB: 4 kB above.
    let (first, later, _) = samples(20);
    assert_eq!((first, later), (change(-31), change(-1)));
    // Far above: the largest feedback, and every tenth frame.
    let (first, later, count) = samples(200);
    assert_eq!((first, later), (change(-63), change(-63)));
    assert!((9_990..=10_000).contains(&count), "{count}");
}

#[test]
fn qcn_recovers_half_of_the_distance_in_each_of_five_cycles_and_then_probes() {
    let (mut law, mut rng) = (reaction::qcn::Params::default().build(LINE, Time::ZERO), rng());
    law.hear(Time(1), 9, Feedback::Change(-63.0), &mut rng);
    let low = 1e10 * (1.0 - 63.0 / 128.0);
    assert_eq!(law.rate(), low);
    assert!(!law.hear(Time(1), 9, Feedback::Change(1.0), &mut rng), "there is no positive feedback");
    // From a target below the line, so that the target's growth shows.
    law.sent(Time(1), 50_000);
    law.sent(Time(1), 50_000);
    law.sent(Time(1), 50_000);
    let target = law.rate();
    assert_eq!(target, 0.5 * (low + 1e10));
    law.hear(Time(2), 9, Feedback::Change(-64.0), &mut rng);
    let start = law.rate();
    (0..15).for_each(|_| law.sent(Time(2), 50_000));
    let expected = target - (target - start) / 32.0;
    assert!((law.rate() / expected - 1.0).abs() < 1e-12, "fast recovery: {} of {expected}", law.rate());
    // From now on a cycle is half as long.
    law.sent(Time(2), 50_000);
    law.sent(Time(2), 25_000);
    let (rate, probing) = (expected, target + 5e6);
    assert!((law.rate() / (0.5 * (rate + probing)) - 1.0).abs() < 1e-12, "active increase: {}", law.rate());
}
