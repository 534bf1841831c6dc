//! Queues of reaction points: the counts of waiting frames, turns, timers, and what reaches the disciplines inside.

use super::*;
use crate::user::with_loaded_laws;

fn us(n: u64) -> Time {
    Time::ZERO + Dur::from_us(n)
}

fn spec(text: &str) -> Spec {
    serde_json::from_str(text).expect("a discipline")
}

/// Returns a reaction point whose default path has this discipline.
fn bench_over(default: &Spec, spec: LimitersSpec) -> Bench {
    let origins: Arc<[Origin]> = (0..20).map(|f| Origin { source: f as u16 % 4, tcp: f < 10 }).collect();
    let site = Site { rate: LINE, ..Site::default() };
    let limiters = Limiters::new(spec, default, &site, origins, Rng::named(1, "limiters"));
    Bench { limiters, dropped: Vec::new(), rng: rng(), marked: 0, seq: 0 }
}

/// Returns the destinations of the frames that leave at `now`, at most `n`.
fn order(bench: &mut Bench, now: Time, n: usize) -> Vec<u16> {
    (0..n).map_while(|_| bench.take(now)).map(|packet| packet.dst).collect()
}

fn wake(bench: &mut Bench, now: Time) {
    let cx = &mut Cx { rng: &mut bench.rng, dropped: &mut bench.dropped, marked: &mut bench.marked };
    bench.limiters.wake(now, cx);
}

/// Queue management that signals each TCP frame that finds more than two waiting.
fn strict() -> Simple {
    Simple { threshold: 2, probability: Fraction(1.0), ecn: false }
}

/// Enqueues frames of these flows to these destinations.
fn put_all(bench: &mut Bench, now: Time, frames: &[(u32, u16)]) {
    for (flow, destination) in frames {
        bench.put(now, *flow, *destination);
    }
}

#[test]
fn each_frame_above_the_threshold_is_signalled_and_those_that_have_left_do_not_count() {
    // Flows 0 to 9 are TCP, 10 to 19 are UDP.
    for (flow, why) in [(0, Reason::Early), (15, Reason::Unresponsive)] {
        let mut b = bench(Filter::Destination, Some(strict()), Spec::default());
        b.slow(0, 5, 1);
        // Three frames find 0, 1 and 2 waiting, and two find 3.
        (0..5).for_each(|_| b.put(Time::ZERO, flow, 5));
        assert_eq!(b.dropped.iter().map(|d| d.why).collect::<Vec<_>>(), [why; 2]);
        assert_eq!((0..3).map(|k| order(&mut b, us(1_000 * (k + 1)), 1)).collect::<Vec<_>>(), [[5]; 3]);
        let now = us(4_000);
        (0..5).for_each(|_| b.put(now, flow, 5));
        assert_eq!(b.dropped.len(), 4);
        let counters = b.limiters.counters(now);
        let counts = [counters.tcp_above, counters.tcp_signalled, counters.udp_refused, counters.most_udp];
        assert_eq!(counts, if flow == 0 { [4, 4, 0, 0] } else { [0, 0, 4, 3] });
    }
}

#[test]
fn frames_that_the_discipline_of_a_limiter_drops_at_their_arrival_do_not_count_as_waiting() {
    let mut b = bench(Filter::Destination, Some(strict()), spec(r#"{"kind": "drop-tail", "packets": 1}"#));
    b.slow(0, 5, 1);
    (0..9).for_each(|_| b.put(Time::ZERO, 0, 5));
    assert!(b.dropped.len() == 8 && b.dropped.iter().all(|d| d.why == Reason::BufferFull));
    assert_eq!((b.limiters.counters(Time::ZERO).tcp_above, b.limiters.limited_bytes()), (0, 1_500));
}

#[test]
fn frames_that_a_discipline_drops_at_a_departure_do_not_count_as_waiting() {
    let codel = spec(r#"{"kind": "codel", "target": "1us", "interval": "1us"}"#);
    for (default, inner) in [(codel.clone(), Spec::default()), (Spec::default(), codel)] {
        let mut b = bench_over(&default, limiters(Filter::Destination, Some(strict()), inner));
        b.slow(0, 5, 1);
        // Frames to 5 have a limiter, of flows that alternate between TCP and UDP; those to 6 have none.
        for k in 0..3 {
            put_all(&mut b, us(k), &[(0, 5), (15, 5), (0, 6), (0, 6), (0, 6)]);
        }
        for k in 1..40 {
            let _ = b.take(us(1_000 * k));
            let mut waiting = 0;
            b.limiters.visit(&mut |_| waiting += 1);
            assert_eq!(b.limiters.packets(), waiting);
        }
        assert_eq!((b.limiters.packets(), b.limiters.pool_bytes()), (0, 0));
        assert!(!b.dropped.is_empty());
        // Three frames of each transport find room.
        let before = b.dropped.len();
        put_all(&mut b, us(50_000), &[(0, 5), (15, 5), (0, 5), (15, 5), (0, 5), (15, 5)]);
        assert_eq!(b.dropped.len(), before);
    }
}

#[test]
fn a_limiter_waits_for_the_frames_before_it_however_many_come_after_it() {
    let mut b = bench(Filter::Destination, None, Spec::default());
    put_all(&mut b, Time::ZERO, &[(0, 5), (0, 5)]);
    b.slow(0, 5, 1);
    put_all(&mut b, Time::ZERO, &[(0, 5), (0, 8), (0, 8)]);
    let mut frames = Vec::new();
    for k in 0..5 {
        let packet = b.take(us(100 * k)).expect("a frame");
        frames.push((packet.dst, packet.tag().is_some()));
    }
    assert_eq!(frames, [(5, false), (5, false), (5, true), (8, false), (8, false)]);
}

#[test]
fn an_attempt_without_a_frame_and_a_new_limiter_leave_the_turn() {
    let mut b = bench(Filter::Destination, None, Spec::default());
    for destination in [5, 6] {
        b.slow(0, destination, 1);
        (0..2).for_each(|_| b.put(Time::ZERO, 0, destination));
    }
    // Both wait for the time of a frame, 1520 B at 7.5 Gbit/s.
    assert_eq!(order(&mut b, Time::ZERO, 9), [5, 6]);
    assert_eq!(order(&mut b, us(2), 9), [5, 6]);
    // The turn is that of the default path, also after a further limiter has been set up.
    let mut b = bench(Filter::Destination, None, Spec::default());
    b.slow(0, 5, 1);
    put_all(&mut b, Time::ZERO, &[(0, 8), (0, 5)]);
    assert_eq!(order(&mut b, Time::ZERO, 2), [8, 5]);
    b.slow(0, 6, 1);
    put_all(&mut b, Time::ZERO, &[(0, 8), (0, 6)]);
    assert_eq!(order(&mut b, Time::ZERO, 9), [8, 6]);
}

#[test]
fn a_limiter_whose_rate_has_drifted_to_the_line_rate_ends_with_its_last_frame() {
    for (at, active) in [(Time(DRIFTED.0 - 1), 1), (DRIFTED, 0)] {
        let mut b = drifting();
        b.slow(0, 5, 1);
        b.put(Time::ZERO, 0, 5);
        assert!(b.take(at).is_some_and(|p| p.tag().is_some()));
        assert_eq!(b.limiters.active(), active);
    }
}

/// IEEE 802.1Qau: a cycle of QCN's byte counter ends with the bytes that the limiter sends; the rate then moves half-way to
/// its target, the line rate.
#[test]
fn the_frames_that_a_limiter_sends_complete_the_cycles_of_its_law() {
    let law = LawSpec::Qcn(rp::qcn::Params { bytes: tailback_units::Size(1_520), timer: Dur::from_ms(1), ..steady() });
    let mut b = bench_with(LimitersSpec { law, ..limiters(Filter::Destination, None, Spec::default()) });
    let frame = Frame { flow: 0, destination: 5, class: 0 };
    assert_eq!(b.limiters.hear(Time::ZERO, frame, 3, Feedback::Change(-64.0)), Heard::Obeyed);
    b.put(Time::ZERO, 0, 5);
    b.put(Time::ZERO, 0, 5);
    let rate = |b: &Bench| b.limiters.rates().map(|(_, rate)| rate).collect::<Vec<_>>();
    assert_eq!(rate(&b), [5e9]);
    assert!(b.take(Time::ZERO).is_some());
    assert_eq!(rate(&b), [7.5e9]);
}

/// The virtual queue of AVQ has the rate of its link: frames every 100 us, 120 Mbit/s, overflow it at a lower rate.
#[test]
fn the_rate_of_a_limiter_and_of_the_link_reaches_the_discipline_inside() {
    let avq = spec(r#"{"kind": "avq", "gamma": 1.0, "alpha": 1e-9, "buffer": "4kB"}"#);
    let drops = |b: &mut Bench, dst: u16| {
        let before = b.dropped.len();
        (0..20).for_each(|k| b.put(us(100 * k), 0, dst));
        b.dropped[before..].iter().filter(|d| d.why == Reason::Early).count()
    };
    for (times, some) in [(1, false), (30, true)] {
        let mut b = bench(Filter::Destination, None, avq.clone());
        b.slow(0, 5, times);
        assert_eq!(drops(&mut b, 5) > 0, some, "{times} messages");
        // A change of the buffer builds the queue's parameters anew; the rate is still that of the limiter.
        let mut b = bench(Filter::Destination, None, avq.clone());
        b.slow(0, 5, times);
        let larger = LimitersSpec { buffer: 160_000, ..b.limiters.spec().clone() };
        b.limiters.retune(Time::ZERO, &larger, &Spec::default(), &Site { rate: LINE, ..Site::default() });
        assert_eq!(drops(&mut b, 5) > 0, some, "{times} messages and a change");
    }
    for (rate, some) in [(LINE, false), (Rate::mbit(1), true)] {
        let mut b = bench_over(&avq, limiters(Filter::Destination, None, Spec::default()));
        b.limiters.set_rate(rate);
        assert_eq!(drops(&mut b, 8) > 0, some, "{rate}");
    }
}

#[test]
fn an_expired_wait_is_forgotten_and_a_later_one_is_kept() {
    // After 34 messages the rate is the least, 10 Mbit/s, at which a frame of 1520 B takes 1.216 ms. The timer of PIE
    // expires every millisecond.
    let mut b =
        bench_over(&spec(r#"{"kind": "pie", "update": "1ms"}"#), limiters(Filter::Destination, None, Spec::default()));
    b.slow(0, 5, 34);
    (0..2).for_each(|_| b.put(Time::ZERO, 0, 5));
    assert_eq!(order(&mut b, Time::ZERO, 9), [5]);
    let due = us(1_216);
    assert_eq!(b.limiters.next_wakeup(), Some(us(1_000)));
    wake(&mut b, us(1_000));
    assert_eq!(b.limiters.next_wakeup(), Some(due));
    wake(&mut b, due);
    assert_eq!(b.limiters.next_wakeup(), Some(us(2_000)));
    assert_eq!(order(&mut b, due, 9), [5]);
}

#[test]
fn a_user_s_law_on_the_default_path_is_passed_on() {
    let law = with_loaded_laws(spec(r#"{"kind": "user", "file": "law.py", "class": "Law"}"#));
    let mut b = bench_over(&law, limiters(Filter::Destination, None, Spec::default()));
    let mut laws = 0;
    b.limiters.each_user(&mut |_| laws += 1);
    assert_eq!(laws, 1);
}

#[test]
fn the_end_of_an_empty_limiter_passes_its_turn_to_the_next_limiter_and_leaves_that_of_others() {
    let end = |b: &mut Bench, destination: u16| {
        let frame = Frame { flow: 0, destination, class: 0 };
        while b.limiters.hear(Time::ZERO, frame, 3, Feedback::Change(4.0)) == Heard::Obeyed {}
    };
    // After a frame of the default path it is the turn of destination 5, whose limiter ends.
    let mut b = bench(Filter::Destination, None, Spec::default());
    for destination in [5, 6] {
        b.slow(0, destination, 1);
    }
    b.put(Time::ZERO, 0, 8);
    assert_eq!(order(&mut b, Time::ZERO, 1), [8]);
    end(&mut b, 5);
    assert_eq!(b.limiters.active(), 1);
    put_all(&mut b, Time::ZERO, &[(0, 8), (0, 6)]);
    assert_eq!(order(&mut b, Time::ZERO, 9), [6, 8]);
    // It is the turn of destination 6, and the limiter of 5 ends.
    let mut b = bench(Filter::Destination, None, Spec::default());
    for destination in [5, 6, 7] {
        b.slow(0, destination, 1);
    }
    put_all(&mut b, Time::ZERO, &[(0, 8), (0, 5)]);
    assert_eq!(order(&mut b, Time::ZERO, 9), [8, 5]);
    end(&mut b, 5);
    assert_eq!(b.limiters.active(), 2);
    put_all(&mut b, Time::ZERO, &[(0, 8), (0, 6), (0, 7)]);
    assert_eq!(order(&mut b, Time::ZERO, 9), [6, 7, 8]);
}
