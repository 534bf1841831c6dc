//! Comparison of all forms of the event queue with a sorted list and a sorted set.

use super::*;
use tailback_random::Rng;

#[test]
fn a_key_returns_the_kind_and_the_component_that_it_was_made_from() {
    let kinds: Vec<Kind> = (0..12).map(kind).collect();
    assert!(kinds.is_sorted() && kinds.windows(2).all(|pair| pair[0] != pair[1]), "{kinds:?}");
    for kind in kinds {
        let key = Key::new(kind, 77);
        assert_eq!((key.kind(), key.component()), (kind, 77));
    }
}

/// Returns the kind with a number, 0 to 11.
fn kind(number: u64) -> Kind {
    Key((number as u32) << 28).kind()
}

const NO_HINT: Option<fn(Upcoming, Key)> = None;

#[test]
fn events_come_in_order_of_time_then_kind_then_component() {
    let mut queue = EventQueue::new(false);
    queue.push(Time(5), Key::new(Kind::Emit, 0));
    queue.push(Time(5), Key::new(Kind::TxDone, 9));
    queue.push(Time(5), Key::new(Kind::TxDone, 2));
    queue.push(Time(4), Key::new(Kind::Sample, 7));
    let mut order = Vec::new();
    while let Some((time, key)) = queue.pop_until(Time::NEVER, NO_HINT) {
        order.push((time.0, key.kind(), key.component()));
    }
    assert_eq!(order, [(4, Kind::Sample, 7), (5, Kind::TxDone, 2), (5, Kind::TxDone, 9), (5, Kind::Emit, 0)]);
}

#[test]
fn a_random_mix_of_pushes_and_pops_agrees_with_a_sorted_list() {
    let mut rng = Rng::named(1, "queue");
    let (mut queue, mut list) = (EventQueue::new(false), Vec::new());
    for _ in 0..20_000 {
        if rng.chance(0.52) {
            let (time, key) = (Time(rng.below(1000)), Key::new(kind(rng.below(12)), rng.below(50) as u32));
            queue.push(time, key);
            list.push((time, key));
        } else if let Some(next) = queue.next_time() {
            list.sort_by(|a, b| b.cmp(a));
            assert_eq!(Some(next), list.last().map(|last| last.0));
            assert_eq!(queue.pop_until(Time::NEVER, NO_HINT), list.pop());
        }
        assert_eq!(queue.len(), list.len());
    }
}

/// Many events at times of every scale, in bursts and with long silences: the calendar is built, its buckets become
/// wider and narrower, and it is replaced by a list again.
#[test]
fn many_events_at_times_of_every_scale_agree_with_a_sorted_set() {
    let seen = [true, false].map(forms_that_agree_with_a_sorted_set);
    assert!(seen.iter().all(|seen| *seen > 8), "numbers of different forms and widths: {seen:?}");
}

/// Compares an event queue with a sorted set; returns the number of different forms and widths that the queue had.
fn forms_that_agree_with_a_sorted_set(prefetches: bool) -> usize {
    let mut rng = Rng::named(2, "queue");
    let (mut queue, mut set, mut now) = (EventQueue::new(prefetches), std::collections::BTreeSet::new(), 0);
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..40 {
        let scale = rng.below(45);
        // Probability of a push: three of four rounds fill the queue, the fourth empties it.
        let filling = [0.51, 0.56, 0.51, 0.3][round % 4];
        for _ in 0..10_000 {
            if rng.chance(filling) || set.is_empty() {
                let bits = rng.below(scale + 1);
                let delay = if rng.chance(0.1) { 0 } else { rng.below(1 << bits) };
                let time = if round == 39 && rng.chance(0.001) { u64::MAX - rng.below(9) } else { now + delay };
                let key = Key::new(kind(rng.below(12)), rng.below(1 << 20) as u32);
                if set.insert((Time(time.min(u64::MAX - 4)), key)) {
                    queue.push(Time(time), key);
                }
            } else {
                let next = set.pop_first();
                assert_eq!(queue.next_time(), next.map(|(time, _)| time));
                // A pop up to an earlier instant returns nothing and changes nothing.
                if let Some((time, _)) = next.filter(|(time, _)| time.0 > 0 && rng.chance(0.3)) {
                    assert_eq!(queue.pop_until(Time(time.0 - 1), NO_HINT), None);
                }
                // A pop up to the very instant of the event returns it.
                let end = next.filter(|_| set.len() % 2 == 0).map_or(Time::NEVER, |(time, _)| time);
                assert_eq!(queue.pop_until(end, NO_HINT), next);
                // The events of the last round near the end of time do not advance the clock.
                now = next.map_or(now, |(time, _)| if time.0 < 1 << 60 { time.0 } else { now });
            }
            assert_eq!(queue.len(), set.len());
            seen.insert((queue.form as u8, queue.wide, queue.shift));
        }
    }
    seen.len()
}

/// A few hundred events that soon follow each other, among many in the far future. Buckets are wide with 300 and 450
/// near events, narrow with 1200 near events, which do not fit into a wide bucket, and wide again with 200.
#[test]
fn a_few_hundred_near_events_among_many_distant_ones_are_kept_in_wide_buckets() {
    let mut rng = Rng::named(3, "queue");
    for prefetches in [true, false] {
        let (mut queue, mut set) = (EventQueue::new(prefetches), std::collections::BTreeSet::new());
        let mut push = |queue: &mut EventQueue, set: &mut std::collections::BTreeSet<_>, time: u64| {
            let key = Key::new(kind(rng.below(12)), rng.below(1 << 24) as u32);
            if set.insert((Time(time), key)) {
                queue.push(Time(time), key);
            }
        };
        (0..5_000).for_each(|n| push(&mut queue, &mut set, n * 30_000_000));
        let (mut forms, mut surplus) = (Vec::new(), 0);
        for (near, steps) in [(300, 60_000), (450, 60_000), (1200, 60_000), (200, 100_000)] {
            for step in 0..steps {
                let next = set.pop_first();
                assert_eq!(queue.next_time(), next.map(|(time, _)| time));
                assert_eq!(queue.pop_until(Time::NEVER, NO_HINT), next);
                let now = next.expect("events").0.0;
                if step % 1_000 == 0 {
                    let soon = set.range(..(Time(now + 1_000_000), Key(0))).count();
                    (soon..near).for_each(|n| push(&mut queue, &mut set, now + n as u64 * 700));
                    surplus = soon.saturating_sub(near);
                }
                // Each event schedules another one, unless more than `near` events are pending.
                if surplus == 0 {
                    push(&mut queue, &mut set, now + 500_000 + step * 7919 % 500_000);
                }
                surplus = surplus.saturating_sub(1);
                assert_eq!(queue.len(), set.len());
            }
            forms.push(queue.wide && queue.form == Form::Calendar);
        }
        assert_eq!(forms, [true, true, false, true], "prefetches: {prefetches}");
    }
}

#[test]
fn events_after_the_given_instant_are_not_popped() {
    let mut queue = EventQueue::new(false);
    queue.push(Time(10), Key::new(Kind::Emit, 0));
    assert!(queue.pop_until(Time(9), NO_HINT).is_none());
    assert!(queue.pop_until(Time(10), NO_HINT).is_some());
    assert!(queue.pop_until(Time(10), NO_HINT).is_none());
}

#[test]
fn events_beyond_the_end_of_time_do_not_change_the_order_of_other_events() {
    let mut queue = EventQueue::new(false);
    for n in 0..40 {
        queue.push(Time(u64::MAX - n % 6), Key::new(Kind::Arrive, n as u32));
        queue.push(Time(n), Key::new(Kind::Emit, n as u32));
    }
    for n in 0..40 {
        assert_eq!(queue.pop_until(Time(1_000), NO_HINT), Some((Time(n), Key::new(Kind::Emit, n as u32))));
        queue.push(Time::NEVER, Key::new(Kind::Wake, n as u32));
    }
    assert!(queue.pop_until(Time(1_000), NO_HINT).is_none());
    assert_eq!(std::iter::from_fn(|| queue.pop_until(Time::NEVER, NO_HINT)).count(), 80);
}

/// Times that differ in the highest bit only.
#[test]
fn the_whole_of_a_time_decides_the_order() {
    for n in [1, 20, 50, 300] {
        for prefetches in [true, false] {
            let mut queue = EventQueue::new(prefetches);
            for i in (0..n).rev() {
                queue.push(Time(1 << 63 | i), Key::new(Kind::TxDone, 1));
                queue.push(Time(i), Key::new(Kind::Emit, 2));
            }
            let order: Vec<Time> =
                std::iter::from_fn(|| queue.pop_until(Time::NEVER, NO_HINT)).map(|(t, _)| t).collect();
            assert!(order.is_sorted() && order.len() as u64 == 2 * n, "{n} pairs, prefetches: {prefetches}");
        }
    }
}

/// More events at one instant than a wide bucket holds.
#[test]
fn a_wide_bucket_that_is_too_full_loses_no_event() {
    let mut queue = EventQueue::new(false);
    let mut set = std::collections::BTreeSet::new();
    let push = |queue: &mut EventQueue, set: &mut std::collections::BTreeSet<_>, time: u64, component: u32| {
        let event = (Time(time), Key::new(Kind::Emit, component));
        set.insert(event);
        queue.push(event.0, event.1);
    };
    // As in the test above, 300 near events among many distant ones, each of which schedules another one.
    (0..2_000).for_each(|n| push(&mut queue, &mut set, u64::from(n) * 30_000_000, n));
    (0..300).for_each(|n| push(&mut queue, &mut set, u64::from(n) * 700, 10_000 + n));
    let mut last = 0;
    for component in 20_000.. {
        let next = set.pop_first();
        assert_eq!(queue.pop_until(Time::NEVER, NO_HINT), next);
        last = next.expect("events").0.0;
        if queue.wide && component > 60_000 {
            break;
        }
        assert!(component < 200_000, "buckets do not become wide");
        push(&mut queue, &mut set, last + 500_000 + u64::from(component) * 7919 % 500_000, component);
    }
    let later = ((last >> queue.shift) + 2) << queue.shift;
    (0..WideBucket::CAPACITY as u32 + 100).for_each(|n| push(&mut queue, &mut set, later, 300_000 + n));
    assert!(queue.wide);
    while let Some(next) = set.pop_first() {
        assert_eq!(queue.next_time(), Some(next.0));
        assert_eq!(queue.pop_until(next.0, NO_HINT), Some(next));
    }
    assert_eq!(queue.len(), 0);
}
