//! All forms of the agenda against a sorted list and a sorted set.

use super::*;
use tailback_random::Rng;

#[test]
fn a_key_is_of_the_kind_and_component_that_it_was_made_of() {
    let kinds: Vec<Kind> = (0..12).map(kind).collect();
    assert!(kinds.is_sorted() && kinds.windows(2).all(|pair| pair[0] != pair[1]), "{kinds:?}");
    for kind in kinds {
        let key = Key::new(kind, 77);
        assert_eq!((key.kind(), key.component()), (kind, 77));
    }
}

fn kind(number: u64) -> Kind {
    Key((number as u32) << 28).kind()
}

const BLIND: Option<fn(Ahead, Key)> = None;

#[test]
fn events_come_in_order_of_time_then_kind_then_component() {
    let mut agenda = Agenda::new(false);
    agenda.push(Time(5), Key::new(Kind::Emit, 0));
    agenda.push(Time(5), Key::new(Kind::TxDone, 9));
    agenda.push(Time(5), Key::new(Kind::TxDone, 2));
    agenda.push(Time(4), Key::new(Kind::Sample, 7));
    let mut order = Vec::new();
    while let Some((time, key)) = agenda.pop_until(Time::NEVER, BLIND) {
        order.push((time.0, key.kind(), key.component()));
    }
    assert_eq!(order, [(4, Kind::Sample, 7), (5, Kind::TxDone, 2), (5, Kind::TxDone, 9), (5, Kind::Emit, 0)]);
}

#[test]
fn a_random_mix_of_pushes_and_pops_agrees_with_a_sorted_list() {
    let mut rng = Rng::named(1, "agenda");
    let (mut agenda, mut list) = (Agenda::new(false), Vec::new());
    for _ in 0..20_000 {
        if rng.chance(0.52) {
            let (time, key) = (Time(rng.below(1000)), Key::new(kind(rng.below(12)), rng.below(50) as u32));
            agenda.push(time, key);
            list.push((time, key));
        } else if let Some(next) = agenda.next_time() {
            list.sort_by(|a, b| b.cmp(a));
            assert_eq!(Some(next), list.last().map(|last| last.0));
            assert_eq!(agenda.pop_until(Time::NEVER, BLIND), list.pop());
        }
        assert_eq!(agenda.len(), list.len());
    }
}

/// Many events at times of every scale, in bursts, with long silences: the wheel is begun, made
/// wider, narrower, and given up.
#[test]
fn many_events_at_times_of_every_scale_agree_with_a_sorted_set() {
    let seen = [true, false].map(forms_that_agree_with_a_sorted_set);
    assert!(seen.iter().all(|seen| *seen > 8), "a list, a tournament, slots of several widths: {seen:?}");
}

/// How many forms and widths of slots an agenda has had.
fn forms_that_agree_with_a_sorted_set(looks_ahead: bool) -> usize {
    let mut rng = Rng::named(2, "agenda");
    let (mut agenda, mut set, mut now) = (Agenda::new(looks_ahead), std::collections::BTreeSet::new(), 0);
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..40 {
        let scale = rng.below(45);
        // Some rounds fill, some empty.
        let filling = [0.51, 0.56, 0.51, 0.3][round % 4];
        for _ in 0..10_000 {
            if rng.chance(filling) || set.is_empty() {
                let octave = rng.below(scale + 1);
                let ahead = if rng.chance(0.1) { 0 } else { rng.below(1 << octave) };
                let time = if round == 39 && rng.chance(0.001) { u64::MAX - rng.below(9) } else { now + ahead };
                let event = (Time(time), Key::new(kind(rng.below(12)), rng.below(1 << 20) as u32));
                if set.insert((Time(time.min(u64::MAX - 4)), event.1)) {
                    agenda.push(event.0, event.1);
                }
            } else {
                let next = set.pop_first();
                assert_eq!(agenda.next_time(), next.map(|(time, _)| time));
                // Whoever looks up to an earlier instant only finds nothing, and spoils nothing.
                if let Some((time, _)) = next.filter(|(time, _)| time.0 > 0 && rng.chance(0.3)) {
                    assert_eq!(agenda.pop_until(Time(time.0 - 1), BLIND), None);
                }
                assert_eq!(agenda.pop_until(Time::NEVER, BLIND), next);
                // Beyond the end of time nothing moves on.
                now = next.map_or(now, |(time, _)| if time.0 < 1 << 60 { time.0 } else { now });
            }
            assert_eq!(agenda.len(), set.len());
            seen.insert((agenda.form as u8, agenda.wide, agenda.shift));
        }
    }
    seen.len()
}

/// Some hundred events that soon follow each other among many far off: slots become wide; with more of them, narrower
/// and narrow; with fewer again, wide.
#[test]
fn few_events_near_and_many_far_off_take_wide_slots() {
    let mut rng = Rng::named(3, "agenda");
    for looks_ahead in [true, false] {
        let (mut agenda, mut set) = (Agenda::new(looks_ahead), std::collections::BTreeSet::new());
        let mut push = |agenda: &mut Agenda, set: &mut std::collections::BTreeSet<_>, time: u64| {
            let event = (Time(time), Key::new(kind(rng.below(12)), rng.below(1 << 24) as u32));
            if set.insert(event) {
                agenda.push(event.0, event.1);
            }
        };
        (0..5_000).for_each(|n| push(&mut agenda, &mut set, n * 30_000_000));
        let (mut forms, mut surplus) = (Vec::new(), 0);
        for (near, steps) in [(300, 60_000), (450, 60_000), (1200, 60_000), (200, 100_000)] {
            for step in 0..steps {
                let next = set.pop_first();
                assert_eq!(agenda.next_time(), next.map(|(time, _)| time));
                assert_eq!(agenda.pop_until(Time::NEVER, BLIND), next);
                let now = next.expect("events").0.0;
                if step % 1_000 == 0 {
                    let soon = set.range(..(Time(now + 1_000_000), Key(0))).count();
                    (soon..near).for_each(|n| push(&mut agenda, &mut set, now + n as u64 * 700));
                    surplus = soon.saturating_sub(near);
                }
                // Each is followed by another one, unless there are too many.
                if surplus == 0 {
                    push(&mut agenda, &mut set, now + 500_000 + step * 7919 % 500_000);
                }
                surplus = surplus.saturating_sub(1);
                assert_eq!(agenda.len(), set.len());
            }
            forms.push(agenda.wide && agenda.form == Form::Slots);
        }
        assert_eq!(forms, [true, true, false, true], "looks ahead: {looks_ahead}");
    }
}

#[test]
fn nothing_after_the_end_is_popped() {
    let mut agenda = Agenda::new(false);
    agenda.push(Time(10), Key::new(Kind::Emit, 0));
    assert!(agenda.pop_until(Time(9), BLIND).is_none());
    assert!(agenda.pop_until(Time(10), BLIND).is_some());
    assert!(agenda.pop_until(Time(10), BLIND).is_none());
}

#[test]
fn what_lies_beyond_the_end_of_time_disturbs_no_other_event() {
    let mut agenda = Agenda::new(false);
    for n in 0..40 {
        agenda.push(Time(u64::MAX - n % 6), Key::new(Kind::Arrive, n as u32));
        agenda.push(Time(n), Key::new(Kind::Emit, n as u32));
    }
    for n in 0..40 {
        assert_eq!(agenda.pop_until(Time(1_000), BLIND), Some((Time(n), Key::new(Kind::Emit, n as u32))));
        agenda.push(Time::NEVER, Key::new(Kind::Wake, n as u32));
    }
    assert!(agenda.pop_until(Time(1_000), BLIND).is_none());
    assert_eq!(std::iter::from_fn(|| agenda.pop_until(Time::NEVER, BLIND)).count(), 80);
}
