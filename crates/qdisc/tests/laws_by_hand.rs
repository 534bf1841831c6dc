//! Blue, PI, REM, AVQ, SRED, FRED, CoDel and netem step by step, with results computed by hand.

use crate::common::*;
use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::discipline::netem;
use tailback_qdisc::law::{Arrival as Arriving, ArrivalLaw, Backlog, avq, blue, codel, pi, rem};
use tailback_qdisc::signals::{Length, Signals};
use tailback_qdisc::{Colour, Cx, Ecn, Fate as Verdict, Gate, Packet, Qdisc, Reason, Site, Spec, Traits};
use tailback_random::Rng;
use tailback_units::{Amount, Dur, Rate, Size, Time};

fn ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

fn spec(document: Value) -> Spec {
    let spec: Spec = decode(document).expect("it decodes");
    Checked::check(&spec).expect("it makes sense");
    spec
}

fn rig(document: Value, site: &Site) -> Rig {
    Rig::new(&spec(document), site, Rng::named(1, "port"))
}

/// Enqueues a packet of flow 0; returns its fate if that is decided at once.
fn arrive(rig: &mut Rig, at: Time, size: u16, ecn: Ecn) -> Option<Fate> {
    let mut log = Log::new();
    rig.arrive(&Arrival { at, seq: 0, flow: 0, size, ecn, colour: Colour::Green }, &mut log);
    log.first().map(|(_, fate)| *fate)
}

/// Passes an arrival of `size` bytes that finds `queue` to a law; returns its decision.
fn judge(law: &mut impl ArrivalLaw, now: Time, size: u16, queue: Backlog, rng: &mut Rng) -> Verdict {
    let mut packet = Packet::new(0, Traits::data(0, true), now, 0, 1);
    packet.set_lengths(u32::from(size), u32::from(size) + 20);
    law.judge(&Arriving { now, packet: &packet, queue, full: false }, rng)
}

#[test]
fn a_step_of_blue_is_due_when_more_than_the_freeze_time_of_100_ms_has_passed() {
    let mut law = blue::Blue::new(&blue::Params::default());
    law.arrive(ms(0), Backlog::default(), &mut Rng::named(1, "blue"));
    for (at, p) in [(ms(150), 0.0025), (ms(250), 0.0025), (ms(250) + Dur(1), 0.005)] {
        law.overflow(at);
        assert_eq!(law.probability(), p, "{at:?}");
    }
    assert_eq!(law.next_update(), None, "a packet has arrived since the last idle time");
    law.idle(ms(400));
    assert_eq!(law.probability(), 0.00475);
    assert_eq!(law.next_update(), Some(ms(500) + Dur(1)));
    law.update(ms(500));
    assert_eq!(law.probability(), 0.00475);
    law.update(ms(500) + Dur(1));
    assert_eq!(law.probability(), 0.00475 - 0.00025);
}

#[test]
fn a_threshold_of_blue_in_bytes_includes_the_arriving_packet_and_is_no_overflow_itself() {
    let document = json!({ "kind": "blue", "threshold": "3kB", "increment": 0.25, "freeze": "0s" });
    let mut rig = rig(document, &places(100, Rate::mbit(10)));
    let p: Vec<f64> = (0..4)
        .map(|_| {
            arrive(&mut rig, ms(1), 1000, Ecn::NotEct);
            rig.state("probability")
        })
        .collect();
    assert_eq!(p, [0.0, 0.0, 0.0, 0.25]);
}

#[test]
fn blue_marks_no_packet_that_the_full_queue_then_drops() {
    let document = json!({ "kind": "blue", "increment": 1.0, "freeze": "0s", "ecn": true });
    let mut rig = rig(document, &places(1, Rate::mbit(10)));
    assert_eq!(arrive(&mut rig, ms(1), 1000, Ecn::Ect0), None);
    let full = Some(Fate::Dropped(Reason::BufferFull));
    assert_eq!(arrive(&mut rig, ms(1), 1000, Ecn::Ect0), full);
    assert_eq!(rig.state("probability"), 1.0);
    assert_eq!((arrive(&mut rig, ms(1), 1000, Ecn::Ect0), rig.marked), (full, 0));
}

/// Hollot et al. (INFOCOM 2001): p(k) = a (q(k) − qref) − b (q(k − 1) − qref) + p(k − 1), with q(−1) = 0, within 0 to 1.
#[test]
fn the_first_steps_of_pi_begin_with_an_empty_queue_and_a_probability_of_zero() {
    let params = pi::Params { a: 0.25, b: 0.125, reference: Amount::packets(4), ..pi::Params::default() };
    let mut law = pi::Pi::new(&params);
    assert_eq!(law.probability(), 0.0);
    // 0.25 + 0.5; 1 − 0.125 + 0.75, bounded; −1 − 0.5 + 1, bounded.
    for (packets, p) in [(5, 0.75), (8, 1.0), (0, 0.0)] {
        law.update(ms(1), Backlog { packets, bytes: 0 });
        assert_eq!(law.probability(), p, "{packets}");
    }
}

/// A price that rises by one per packet of mismatch, and p = 1 − 2^−price. The link sends one packet of 1000 B per
/// millisecond.
fn rem_params() -> rem::Params {
    let (target, update) = (Amount::packets(4), Dur::from_ms(1));
    rem::Params { gamma: 1.0, phi: 2.0, queue_weight: 1.0, target, update, ..rem::Params::default() }
}

/// Athuraliya et al. (2001): price ← max(0, price + γ (α (q − q*) + x − c)).
#[test]
fn the_first_price_of_rem_follows_from_an_average_rate_of_zero() {
    let mut law = rem::Rem::new(&rem::Params { weight: 0.5, ..rem_params() }, Rate::mbit(8));
    let queue = Backlog { packets: 4, bytes: 4_000 };
    let rng = &mut Rng::named(1, "rem");
    for (arrivals, p) in [
        // The average is 2, one more than the capacity: a price of 1.
        (4, 0.5),
        // 1 + 1: 2 again, so that the price is 2.
        (2, 0.75),
        // 1 + 0: a price of 2.
        (0, 0.75),
    ] {
        (0..arrivals).for_each(|_| _ = judge(&mut law, ms(1), 1000, queue, rng));
        law.update(ms(1), queue);
        assert_eq!(law.probability(), p, "{arrivals}");
    }
}

#[test]
fn rem_in_bytes_counts_bytes_and_chooses_in_proportion_to_them() {
    let params = rem::Params { count: tailback_qdisc::law::red::Count::Bytes, ..rem_params() };
    let mut law = rem::Rem::new(&params, Rate::mbit(8));
    let queue = Backlog { packets: 8, bytes: 4_000 };
    let rng = &mut Rng::named(1, "rem");
    // 4000 B are four packets, three more than the capacity.
    (0..8).for_each(|_| _ = judge(&mut law, ms(1), 500, queue, rng));
    law.update(ms(1), queue);
    assert_eq!(law.probability(), 0.875);
    let mut drops = |size| (0..1000).filter(|_| judge(&mut law, ms(1), size, queue, rng) != Verdict::Joins).count();
    // 437.5, within three standard deviations; 1750 B are dropped with a probability above 1.
    assert!((391..=484).contains(&drops(500)));
    assert_eq!(drops(1_750), 1000);
}

/// The present interval has just begun, so that the packets that have arrived in it are not scaled.
#[test]
fn a_change_of_rem_s_interval_at_an_update_keeps_the_arrivals_since() {
    let document = |update: &str| json!({ "kind": "rem", "gamma": 1.0, "phi": 2.0, "queue-weight": 1.0, "target": "4packets", "update": update });
    let site = Site { rate: Rate::mbit(8), ..Site::default() };
    for (update, price) in [("2ms", 2.0), ("1ms", 3.0), ("500us", 3.5)] {
        let mut rig = rig(document("1ms"), &site);
        rig.wake(ms(1), &mut Log::new());
        (0..4).for_each(|_| assert_eq!(arrive(&mut rig, ms(1), 1000, Ecn::NotEct), None));
        rig.q.retune(ms(1), &spec(document(update)), &site);
        let due = rig.q.next_wakeup().expect("an update");
        rig.wake(due, &mut Log::new());
        // Four arrivals, minus the capacity of the new interval.
        assert_eq!(rig.state("price"), price, "{update}");
    }
}

/// Kunniyur and Srikant (SIGCOMM 2001): a packet that would make the virtual queue exceed its buffer is not added to it.
#[test]
fn the_virtual_queue_of_avq_may_equal_its_buffer_and_is_never_negative() {
    let params = |buffer| avq::Params { buffer: Some(Size(buffer)), alpha: 1e-9, ..avq::Params::default() };
    let length = |law: &avq::Avq| {
        let mut values = Vec::new();
        law.probe(&mut |_, value| values.push(value));
        values[0]
    };
    let rng = &mut Rng::named(1, "avq");
    let mut law = avq::Avq::new(&params(2_000), f64::INFINITY, Rate::mbit(10));
    let found = [(); 3].map(|()| judge(&mut law, ms(1), 1000, Backlog::default(), rng));
    assert_eq!(found, [Verdict::Joins, Verdict::Joins, Verdict::Dropped(Reason::Early)]);
    assert_eq!(length(&law), 2_000.0);
    let mut law = avq::Avq::new(&params(500), f64::INFINITY, Rate::mbit(10));
    assert_eq!(judge(&mut law, ms(1), 1000, Backlog::default(), rng), Verdict::Dropped(Reason::Early));
    assert_eq!(length(&law), 0.0);
}

#[test]
fn the_virtual_rate_of_avq_is_at_most_the_new_rate_of_the_link() {
    let mut rig = rig(json!({ "kind": "avq", "initial": 1.0, "alpha": 1e-9 }), &places(100, Rate::mbit(10)));
    arrive(&mut rig, ms(1), 1000, Ecn::NotEct);
    rig.q.set_rate(Rate::mbit(5));
    arrive(&mut rig, ms(1), 1000, Ecn::NotEct);
    assert_eq!(rig.state("virtual_rate_bits_per_second"), 5e6);
}

/// Ott, Lakshman and Wong (INFOCOM 1999): p_zap = p_sred · min(1, 1 / (256 · P)²) · (1 + hit / P). A third of the queue
/// is full, so that p_sred is 0.15.
#[test]
fn sred_s_probability_is_that_of_the_length_without_hits_and_at_most_one_with_a_rare_hit() {
    let mut rig = rig(json!({ "kind": "sred", "zombies": 1, "overwrite": 0.001 }), &places(3, Rate::mbit(10)));
    assert_eq!(arrive(&mut rig, ms(1), 1000, Ecn::NotEct), None);
    assert_eq!(rig.state("probability"), 0.0);
    // The second arrival is a hit: P = 0.001, and 0.15 · (1 + 1000) is more than 1.
    assert_eq!(arrive(&mut rig, ms(1), 1000, Ecn::NotEct), Some(Fate::Dropped(Reason::Early)));
    assert_eq!((rig.state("hit_frequency"), rig.state("probability")), (0.001, 1.0));
    // While the list has free places, no arrival is a hit.
    let mut rig = Rig::new(&spec(json!({ "kind": "sred" })), &places(3, Rate::mbit(10)), Rng::named(3, "port"));
    (0..2).for_each(|_| _ = arrive(&mut rig, ms(1), 1000, Ecn::NotEct));
    assert_eq!(rig.state("probability"), 0.15);
}

/// Lin and Morris (SIGCOMM 1997): the average is multiplied by 1 − w for each packet that the idle link could have sent,
/// here one of 1000 B per millisecond after the change of the rate.
#[test]
fn the_average_of_fred_ages_at_the_present_rate_of_the_link() {
    let document =
        json!({ "kind": "fred", "weight": 0.5, "mean-packet": "1kB", "min": "10packets", "max": "20packets" });
    let mut rig = rig(document, &places(100, Rate::mbit(1000)));
    rig.q.set_rate(Rate::mbit(8));
    (0..2).for_each(|_| assert_eq!(arrive(&mut rig, ms(1), 1000, Ecn::NotEct), None));
    assert_eq!(rig.state("average_packets"), 0.5);
    (0..2).for_each(|_| assert!(rig.leave(ms(2), &mut Log::new()).is_some()));
    // 0.25 + 0.5, and half of it.
    assert_eq!(rig.state("average_packets"), 0.375);
    arrive(&mut rig, ms(4) + Dur::from_us(100), 1000, Ecn::NotEct);
    assert_eq!(rig.state("average_packets"), 0.375 / 4.0);
}

const HIGH: Dur = Dur::from_ms(50);
const LONG: u64 = 1_000_000;

/// Linux (`codel_dequeue`): a dequeue that finds no packet ends the dropping state and forgets the time above target; a
/// first drop that leaves no packet begins the dropping state.
#[test]
fn an_empty_queue_ends_the_dropping_state_of_codel_and_its_time_above_target() {
    use codel::{Codel, Params, Verdict};
    let late = ms(100) + Dur(1);
    let mut law = Codel::new(&Params::default());
    law.judge(ms(0), HIGH, LONG, false);
    law.empty(ms(50));
    assert_eq!(law.judge(late, HIGH, LONG, false), Verdict::Deliver);
    let mut law = Codel::new(&Params::default());
    law.judge(ms(0), HIGH, LONG, false);
    assert_eq!(law.judge(late, HIGH, LONG, false), Verdict::Drop);
    assert!(!law.is_dropping());
    law.empty(late);
    assert_eq!((law.is_dropping(), law.count(), law.drop_next()), (true, 1, late + Dur::from_ms(100)));
    law.empty(late);
    assert!(!law.is_dropping());
}

/// Linux (`codel_dequeue`): the previous rate of signals is continued if the next signal was due less than 16 intervals
/// ago.
#[test]
fn codel_continues_its_rate_until_just_before_16_intervals_after_the_last_deadline() {
    use codel::{Codel, Params, Verdict};
    let interval = Dur::from_ms(100);
    for (before, count) in [(Dur(1), 2), (Dur::ZERO, 1)] {
        let mut law = Codel::new(&Params::default());
        let drop = |law: &mut Codel, at| {
            assert_eq!(law.judge(at, HIGH, LONG, false), Verdict::Drop);
            assert_eq!(law.judge(at, HIGH, LONG, false), Verdict::Deliver);
        };
        law.judge(ms(0), HIGH, LONG, false);
        drop(&mut law, ms(100) + Dur(1));
        for expected in [2, 3] {
            let deadline = law.drop_next();
            drop(&mut law, deadline);
            assert_eq!(law.count(), expected);
        }
        let deadline = law.drop_next();
        law.judge(deadline, Dur::ZERO, LONG, false);
        assert!(!law.is_dropping());
        let limit = deadline + interval * 16;
        law.judge(Time(limit.0 - interval.0 - 10), HIGH, LONG, false);
        drop(&mut law, Time(limit.0 - before.0));
        assert_eq!(law.count(), count, "{before:?}");
    }
}

/// A packet of 1000 B is more than `mtu`, 1 B. The delay is above the target from 50 ms on, so that a packet is dropped
/// after 150 ms.
#[test]
fn a_packet_that_back_pressure_stops_does_not_make_the_queue_of_codel_empty() {
    let mut rig = rig(json!({ "kind": "codel", "mtu": "1B" }), &Site::default());
    let mut log = Log::new();
    (0..3).for_each(|_| assert_eq!(arrive(&mut rig, ms(0), 1000, Ecn::NotEct), None));
    for at in [50, 60] {
        assert_eq!(rig.leave(ms(at), &mut log), Some(1000));
    }
    let mut gate = Gate::default();
    gate.close_port();
    let cx = &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked };
    assert!(rig.q.dequeue(ms(100), &gate, cx).is_none());
    arrive(&mut rig, ms(110), 1000, Ecn::NotEct);
    log.clear();
    rig.leave(ms(151), &mut log);
    let fates: Vec<Fate> = log.iter().map(|(_, fate)| *fate).collect();
    assert_eq!(fates, [Fate::Dropped(Reason::Early), Fate::Sent { marked: false }]);
}

#[test]
fn codel_reports_its_target_and_its_threshold_of_marks() {
    let mut found = Vec::new();
    let site = Site::default();
    spec(json!({ "kind": "codel", "ce-threshold": "2ms" })).each_threshold(&site, &mut |threshold| {
        assert_eq!(threshold.site, site);
        found.push((threshold.path, threshold.derived, threshold.length));
    });
    let (target, mark) = (Length::Wait(Dur::from_ms(5)), Length::Wait(Dur::from_ms(2)));
    assert_eq!(found, [("target".to_owned(), true, target), ("ce-threshold".to_owned(), false, mark)]);
}

/// Returns the time at which the only packet, which arrives at `at`, may leave.
fn leaves(document: &Value, seed: u64, at: Time) -> Option<Time> {
    let mut rig = Rig::new(&spec(document.clone()), &Site::default(), Rng::named(seed, "port"));
    assert_eq!(arrive(&mut rig, at, 1000, Ecn::NotEct), None);
    assert_eq!(rig.leave(at, &mut Log::new()), None);
    rig.q.next_wakeup()
}

/// A uniform delay has one random number, in 2 · `jitter` picoseconds; without a loss there is none before it.
#[test]
fn the_delay_of_netem_is_uniform_from_delay_minus_jitter_on() {
    for jitter in [Dur(1), Dur(2), Dur::from_ms(2)] {
        let document = json!({ "kind": "netem", "delay": "5ms", "jitter": format!("{}ps", jitter.0) });
        for seed in 0..8 {
            let drawn = Rng::named(seed, "port").below(2 * jitter.0);
            let expected = Time(ms(1).0 + Dur::from_ms(5).0 + drawn - jitter.0);
            assert_eq!(leaves(&document, seed, ms(1)), Some(expected), "{jitter:?}");
        }
    }
}

#[test]
fn the_times_of_netem_are_at_least_zero_and_before_the_end_of_time() {
    let mut rig = rig(json!({ "kind": "netem" }), &Site::default());
    assert_eq!(arrive(&mut rig, Time::ZERO, 1000, Ecn::NotEct), None);
    assert_eq!(rig.leave(Time::ZERO, &mut Log::new()), Some(1000));
    let document = json!({ "kind": "netem", "delay": "1ms" });
    assert_eq!(leaves(&document, 1, Time(u64::MAX - 9)), Some(Time(u64::MAX - 1)));
}

/// Linux (`netem_enqueue`): with a rate, the delay is counted from the time at which the last packet leaves, minus the
/// time until then, and at least 0. A packet of 1000 B takes 1 ms.
#[test]
fn netem_with_a_rate_adds_the_transmission_time_to_what_remains_of_the_delay() {
    let mut rig = rig(json!({ "kind": "netem", "delay": "5ms", "rate": "8Mbit/s" }), &Site::default());
    for at in [0, 2, 2] {
        assert_eq!(arrive(&mut rig, ms(at), 1000, Ecn::NotEct), None);
    }
    let mut log = Log::new();
    let mut times = Vec::new();
    while rig.q.packets() > 0 && times.len() < 3 {
        assert_eq!(rig.leave(ms(2), &mut log), None);
        let at = rig.q.next_wakeup().expect("a packet waits");
        assert_eq!(rig.leave(at, &mut log), Some(1000));
        times.push(at);
    }
    // 5 + 1; at 2 ms 4 ms are left until 6 ms, and 1 ms of the delay remains; the third packet has no delay left.
    assert_eq!(times, [ms(6), ms(8), ms(9)]);
}

#[test]
fn netem_frees_the_bytes_of_a_packet_that_leaves_and_keeps_its_timer_until_it_expires() {
    let site = Site { bytes: 1000, ..Site::default() };
    let mut rig = rig(json!({ "kind": "netem", "delay": "1ms" }), &site);
    let mut log = Log::new();
    for n in 0..3 {
        assert_eq!(arrive(&mut rig, ms(10 * n), 1000, Ecn::NotEct), None);
        assert_eq!(arrive(&mut rig, ms(10 * n), 1, Ecn::NotEct), Some(Fate::Dropped(Reason::BufferFull)));
        assert_eq!(rig.leave(ms(10 * n), &mut log), None);
        let due = ms(10 * n + 1);
        for (now, timer) in [(Time(due.0 - 1), Some(due)), (due, None)] {
            rig.wake(now, &mut log);
            assert_eq!(rig.q.next_wakeup(), timer);
        }
        assert_eq!(rig.leave(due, &mut log), Some(1000));
    }
    let check = |rate| netem::Params { rate: Some(Rate(rate)), ..netem::Params::default() }.check();
    assert_eq!(check(1), Ok(()));
    assert_eq!(check(0).unwrap_err().path, "rate");
}

#[test]
fn a_weighted_limit_in_bytes_may_be_reached() {
    let document = json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": { "0": "3kB" } });
    let mut rig = rig(document, &Site::default());
    let fates: Vec<_> = [1000, 1000, 1001, 1000, 1].map(|size| arrive(&mut rig, ms(1), size, Ecn::NotEct)).into();
    let full = Some(Fate::Dropped(Reason::BufferFull));
    assert_eq!(fates, [None, None, full, None, full]);
}
