//! Changes of parameters of congestion points and reaction points.

use super::parameters::{Schema, try_all};
use serde_json::{Value, json};
use std::sync::Arc;
use tailback_document::{Checked, decode};
use tailback_qdisc::congestion_notification::cp::{self, Watch};
use tailback_qdisc::congestion_notification::rp::{self, React};
use tailback_qdisc::congestion_notification::{Feedback, Filter, Frame, Limiters, LimitersSpec, Memory, Origin};
use tailback_qdisc::law::Backlog;
use tailback_qdisc::{Cx, Dropped, Ecn, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

const LINE: Rate = Rate::mbit(10_000);

fn us(n: u64) -> Time {
    Time::ZERO + Dur::from_us(n)
}

/// Returns the parameters of a congestion point. `None`: the document is invalid.
fn point(document: &Value) -> Option<cp::Spec> {
    decode::<cp::Spec>(document.clone()).ok().filter(|spec| Checked::check(spec).is_ok())
}

/// Returns the parameters of a reaction law. `None`: the document is invalid.
fn law(document: &Value) -> Option<rp::Spec> {
    decode::<rp::Spec>(document.clone()).ok().filter(|spec| Checked::check(spec).is_ok())
}

/// Returns congestion points in which each parameter has an effect.
fn points() -> Vec<Value> {
    vec![
        json!({ "kind": "bcn", "sampling": 0.2, "above": [20.0, 40.0, 60.0], "below": [12.0, 8.0, 2.0] }),
        json!({ "kind": "bcn", "frame": "1500B" }),
        json!({ "kind": "ecm", "sampling": 0.2, "severe": 80.0 }),
        json!({ "kind": "ecm", "frame": "1500B" }),
        json!({ "kind": "qcn" }),
        json!({ "kind": "qcn", "least": 0.1, "sample": "60kB", "jitter": 0.5 }),
    ]
}

/// Returns reaction laws in which each parameter has an effect.
fn laws() -> Vec<Value> {
    let drift = json!({ "step": "500Mbit/s", "every": "20us" });
    vec![
        json!({ "kind": "bcn", "drift": drift, "solicit": "9Gbit/s", "floor": "5Mbit/s" }),
        json!({ "kind": "bcn", "stop": "20us" }),
        json!({ "kind": "ecm", "drift": drift, "floor": "5Mbit/s" }),
        json!({ "kind": "ecm", "stop": "20us", "restart": "2Mbit/s", "floor": "1500kbit/s" }),
        json!({ "kind": "qcn", "timer": "10ms", "bytes": "60kB" }),
        json!({ "kind": "qcn", "timer": "50us", "bytes": "15kB", "floor": "50Mbit/s" }),
    ]
}

/// Returns the answers of a congestion point to frames that find a random queue; calls `between` before each frame.
fn watch(spec: &cp::Spec, mut between: impl FnMut(&mut cp::Point, Time)) -> Vec<String> {
    let (mut point, rng) = (spec.build(), &mut Rng::named(5, "point"));
    let (mut frames, draw) = (0i64, &mut Rng::named(6, "queue"));
    (0..2_000u64)
        .map(|i| {
            between(&mut point, us(i));
            frames = (frames + draw.below(9) as i64 - 4 + i64::from(draw.chance(0.05)) * 20).clamp(0, 100);
            let queued = Backlog { packets: frames as u64, bytes: frames as u64 * 1_200 };
            let limited = [None, Some(false), Some(true)][draw.below(3) as usize];
            format!("{:?}", point.judge(&cp::Arrival { queued, size: 1_500, limited }, rng))
        })
        .collect()
}

/// Returns the states of a rate limiter that sends frames and gets random messages; calls `between` before each frame.
fn react(spec: &rp::Spec, mut between: impl FnMut(&mut rp::Reaction, Time)) -> Vec<String> {
    let (mut law, rng) = (spec.build(LINE, Time::ZERO), &mut Rng::named(5, "limiter"));
    let draw = &mut Rng::named(6, "messages");
    (0..3_000u64)
        .map(|i| {
            let now = us(7 * i);
            between(&mut law, now);
            // Periods with many messages alternate with periods without.
            if i / 300 % 3 == 0 && draw.chance(0.1) {
                let unit = if spec.kind() == "bcn" { 1.0 } else { 12.0 };
                let amount = unit * draw.between(1, 5) as f64 * if draw.chance(0.6) { -1.0 } else { 1.0 };
                let feedback = if draw.chance(0.03) { Feedback::Stop } else { Feedback::Change(amount) };
                law.hear(now, 1 + draw.below(2) as u16, feedback, rng);
            }
            law.sent(now, 1_500, rng);
            law.advance(now, rng);
            format!("{} {:?} {} {}", law.rate().to_bits(), law.stopped_until(), law.solicits(), law.is_over())
        })
        .collect()
}

#[test]
fn every_parameter_of_a_congestion_point_may_change_except_the_unit_of_its_queue_length() {
    let run = |from: &cp::Spec, to: Option<&cp::Spec>| {
        let mut first = to;
        let all = watch(from, |point, now| {
            if let Some(to) = first.take() {
                point.retune(now, to);
            }
        });
        (all.clone(), all)
    };
    let found = try_all(&Schema::of::<cp::Spec>(), &points(), &point, &cp::Spec::check_retune, &run);
    assert!(found.all.len() > 15, "{:?}", found.all);
    let unit =
        ["bcn", "ecm"].map(|kind| format!("{kind} frame: the queue length at the last sample is kept in this unit"));
    found.assert_as_listed(&[], &[&unit[0], &unit[1]], &[]);
    found.assert_marked(&[]);
}

#[test]
fn every_parameter_of_a_reaction_law_may_change() {
    let run = |from: &rp::Spec, to: Option<&rp::Spec>| {
        let mut first = to;
        let all = react(from, |law, now| {
            if let Some(to) = first.take() {
                law.retune(now, to, LINE);
            }
        });
        (all.clone(), all)
    };
    let found = try_all(&Schema::of::<rp::Spec>(), &laws(), &law, &rp::Spec::check_retune, &run);
    assert!(found.all.len() > 15, "{:?}", found.all);
    found.assert_as_listed(&[], &[], &[]);
    found.assert_marked(&[]);
}

#[test]
fn equal_parameters_change_neither_points_nor_laws() {
    let rng = &mut Rng::named(1, "changes");
    for document in points() {
        let spec = point(&document).expect("valid");
        let changed = watch(&spec, |point, now| {
            if rng.chance(0.3) {
                let before = format!("{point:?}");
                point.retune(now, &spec);
                assert_eq!(format!("{point:?}"), before);
            }
        });
        assert_eq!(changed, watch(&spec, |_, _| {}));
    }
    for document in laws() {
        let spec = law(&document).expect("valid");
        let changed = react(&spec, |law, now| {
            if rng.chance(0.3) {
                let before = format!("{law:?}");
                law.retune(now, &spec, LINE);
                assert_eq!(format!("{law:?}"), before);
            }
        });
        assert_eq!(changed, react(&spec, |_, _| {}));
    }
}

#[test]
fn a_queue_between_two_equilibria_gets_feedback_of_the_other_sign_after_the_change() {
    let with_equilibrium =
        |equilibrium: f64| point(&json!({ "kind": "bcn", "sampling": 1.0, "equilibrium": equilibrium })).unwrap();
    let (mut bcn, rng) = (with_equilibrium(16.0).build(), &mut Rng::named(1, "point"));
    let mut feedback = |bcn: &mut cp::Point, frames: u64| {
        let queued = Backlog { packets: frames, bytes: frames * 1_500 };
        bcn.judge(&cp::Arrival { queued, size: 1_500, limited: Some(true) }, rng).feedback
    };
    // The thresholds are evenly spaced: 30 frames are above T−0 = 16 and below T−1 = 34.5.
    assert_eq!(feedback(&mut bcn, 30), Some(Feedback::Change(-1.0)));
    bcn.retune(us(1), &with_equilibrium(40.0));
    // 29 frames are fewer than at the previous sample. With an equilibrium of 40 they are below T+1 = 30 and above T+2
    // = 20.
    assert_eq!(feedback(&mut bcn, 29), Some(Feedback::Change(2.0)));
    bcn.retune(us(2), &with_equilibrium(16.0));
    assert_eq!(feedback(&mut bcn, 30), Some(Feedback::Change(-1.0)));
}

/// Returns the parameters of a reaction point with this law and a memory of its own of 30 kB.
fn limiters(law: Value) -> LimitersSpec {
    LimitersSpec {
        filter: Filter::default(),
        queues: None,
        law: self::law(&law).expect("valid"),
        aqm: None,
        discipline: Spec::default(),
        buffer: 30_000,
        memory: Memory::Own,
        tag_bytes: 0,
    }
}

/// A reaction point with a limiter for destination 5, and its drops.
struct Bench {
    limiters: Limiters,
    dropped: Vec<Dropped>,
    rng: Rng,
    seq: u32,
}

impl Bench {
    fn new(spec: LimitersSpec) -> Bench {
        let origins: Arc<[Origin]> = [Origin::default()].into();
        let site = Site { rate: LINE, ..Site::default() };
        let limiters = Limiters::new(spec, &Spec::default(), &site, origins, Rng::named(1, "limiters"));
        Bench { limiters, dropped: Vec::new(), rng: Rng::named(2, "port"), seq: 0 }
    }
    /// Passes a message of congestion point 3 about a frame to destination 5.
    fn hear(&mut self, now: Time, amount: f64) {
        self.limiters.hear(now, Frame { flow: 0, destination: 5, class: 0 }, 3, Feedback::Change(amount));
    }
    fn put(&mut self, now: Time, dst: u16) {
        let mut packet = Packet::new(0, Traits::data(0, true).with_ecn(Ecn::NotEct), now, self.seq, dst);
        packet.set_lengths(1_500, 1_500);
        self.seq += 1;
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut 0 };
        self.limiters.enqueue(now, packet, cx);
    }
    fn take(&mut self, now: Time) -> Option<Packet> {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut 0 };
        self.limiters.dequeue(now, &Gate::default(), cx)
    }
    fn retune(&mut self, now: Time, spec: &LimitersSpec) {
        let from = self.limiters.spec().clone();
        from.check_retune(spec).expect("parameters that may change");
        self.limiters.retune(now, spec, &Spec::default(), &Site { rate: LINE, ..Site::default() });
    }
    /// Returns the rate of the only limiter, bit/s.
    fn rate(&self) -> f64 {
        self.limiters.rates().next().expect("a limiter").1
    }
}

#[test]
fn a_raised_minimum_rate_speeds_a_limiter_up_at_once_also_while_a_frame_waits() {
    let spec = |floor: &str| limiters(json!({ "kind": "bcn", "decrease": 0.25, "floor": floor }));
    let mut bench = Bench::new(spec("1Mbit/s"));
    bench.hear(Time::ZERO, -4.0);
    assert_eq!(bench.rate(), 1e6);
    for _ in 0..4 {
        bench.put(us(1), 5);
    }
    assert!(bench.take(us(1)).is_some() && bench.take(us(1)).is_none());
    // 1500 bytes at 1 Mbit/s: 12 ms.
    assert_eq!(bench.limiters.next_wakeup(), Some(us(12_000)));
    // At 100 Mbit/s, the rest of the wait, 9 ms, takes 90 us.
    bench.retune(us(3_000), &spec("100Mbit/s"));
    assert_eq!(bench.rate(), 1e8);
    assert_eq!(bench.limiters.next_wakeup(), Some(us(3_000)));
    assert!(bench.take(us(3_000)).is_none());
    assert_eq!(bench.limiters.next_wakeup(), Some(us(3_090)));
    assert!(bench.take(us(3_090)).is_some());
    // A smaller minimum rate leaves the rate as it is.
    bench.retune(us(3_092), &spec("10Mbit/s"));
    assert_eq!(bench.rate(), 1e8);
}

#[test]
fn a_smaller_memory_refuses_frames_until_it_has_room_and_drops_none_that_wait() {
    let spec = |buffer: u64| LimitersSpec { buffer, ..limiters(json!({ "kind": "bcn" })) };
    let mut bench = Bench::new(spec(30_000));
    bench.hear(Time::ZERO, -4.0);
    (0..10).for_each(|_| bench.put(us(1), 5));
    bench.retune(us(2), &spec(6_000));
    assert_eq!((bench.limiters.packets(), bench.dropped.len()), (10, 0));
    bench.put(us(3), 5);
    assert!(bench.dropped.iter().all(|d| d.why == Reason::BufferFull) && bench.dropped.len() == 1);
    let mut now = us(3);
    while bench.limiters.packets() > 3 {
        now = bench.limiters.next_wakeup().unwrap_or(now);
        bench.take(now);
    }
    bench.put(now, 5);
    bench.put(now, 5);
    assert_eq!((bench.limiters.packets(), bench.dropped.len()), (4, 2), "6000 bytes are four frames");
}

#[test]
fn equal_parameters_change_nothing_at_a_reaction_point() {
    for law in laws() {
        let spec = LimitersSpec { discipline: decode(json!({ "kind": "red" })).unwrap(), ..limiters(law) };
        let run = |changes: bool| {
            let (mut bench, rng) = (Bench::new(spec.clone()), &mut Rng::named(3, "events"));
            let mut log = Vec::new();
            for i in 0..3_000u64 {
                let now = us(3 * i);
                match rng.below(8) {
                    0 => bench.hear(now, rng.between(1, 4) as f64 * if rng.chance(0.7) { -1.0 } else { 1.0 }),
                    1..5 => bench.put(now, rng.below(2) as u16 + 5),
                    _ => log.extend(bench.take(now).map(|packet| (now, packet.seq))),
                }
                if changes && i % 5 == 0 {
                    // Reading the counters updates their integrals, as a change does, so that only other differences
                    // show.
                    bench.limiters.counters(now);
                    let before = format!("{:?}", bench.limiters);
                    bench.retune(now, &spec);
                    assert!(format!("{:?}", bench.limiters) == before, "{before}\n{:?}", bench.limiters);
                }
            }
            (log, bench.dropped.len(), bench.limiters.counters(us(9_000)))
        };
        assert_eq!(run(true), run(false));
    }
}

#[test]
fn the_assignment_of_frames_to_limiters_is_fixed() {
    let spec = limiters(json!({ "kind": "bcn" }));
    let path = |to: &LimitersSpec| spec.check_retune(to).expect_err("a refusal").path;
    assert_eq!(path(&LimitersSpec { filter: Filter::Flow, ..spec.clone() }), "filter");
    assert_eq!(path(&LimitersSpec { queues: Some(4), ..spec.clone() }), "queues");
    assert_eq!(path(&LimitersSpec { memory: Memory::Shared, ..spec.clone() }), "memory");
    assert_eq!(path(&LimitersSpec { tag_bytes: 4, ..spec.clone() }), "tag-bytes");
    assert_eq!(path(&LimitersSpec { law: law(&json!({ "kind": "qcn" })).unwrap(), ..spec.clone() }), "law.kind");
    let inner = |document: Value| LimitersSpec { discipline: decode(document).unwrap(), ..spec.clone() };
    assert_eq!(path(&inner(json!({ "kind": "red" }))), "discipline.kind");
    assert!(spec.check_retune(&inner(json!({ "kind": "drop-tail", "packets": 3 }))).is_ok());
}

#[test]
fn the_steps_of_a_changed_drift_are_counted_from_the_change() {
    let of =
        |drift: Value| law(&json!({ "kind": "bcn", "decrease": 0.25, "floor": "10Mbit/s", "drift": drift })).unwrap();
    let step = |step: &str| json!({ "step": step, "every": "1ms" });
    let rng = &mut Rng::named(1, "limiter");
    let mut rate = |first: Value| {
        let mut law = of(first).build(LINE, Time::ZERO);
        law.hear(Time::ZERO, 3, Feedback::Change(-4.0), rng);
        law.retune(us(10_000), &of(step("2Mbit/s")), LINE);
        law.advance(us(15_000), rng);
        law.rate()
    };
    // From the minimum rate of 10 Mbit/s: ten steps of 1 Mbit/s before the change, or none, and five of 2 Mbit/s after
    // it.
    assert_eq!(rate(step("1Mbit/s")), 30e6);
    assert_eq!(rate(Value::Null), 20e6);
}

#[test]
fn a_shorter_timer_of_qcn_ends_the_cycle_that_runs() {
    let of = |timer: &str| law(&json!({ "kind": "qcn", "timer": timer, "jitter": 0.0 })).unwrap();
    let (mut law, rng) = (of("10ms").build(LINE, Time::ZERO), &mut Rng::named(1, "limiter"));
    law.sent(Time::ZERO, 60_000, rng);
    law.hear(Time::ZERO, 1, Feedback::Change(-63.0), rng);
    let slow = law.rate();
    law.retune(us(1_000), &of("2ms"), LINE);
    law.advance(us(2_999), rng);
    assert_eq!(law.rate(), slow);
    // Half the distance to the target, the rate of the link.
    law.advance(us(3_000), rng);
    assert_eq!(law.rate(), 0.5 * (slow + 1e10));
}

#[test]
fn the_queues_of_limiters_take_their_new_parameters() {
    let spec = |packets: u64| LimitersSpec {
        discipline: decode(json!({ "kind": "drop-tail", "packets": packets })).unwrap(),
        ..limiters(json!({ "kind": "bcn" }))
    };
    let mut bench = Bench::new(spec(10));
    bench.hear(Time::ZERO, -4.0);
    (0..6).for_each(|_| bench.put(us(1), 5));
    bench.retune(us(2), &spec(3));
    bench.put(us(3), 5);
    assert_eq!((bench.limiters.packets(), bench.dropped.len()), (6, 1));
}
