//! Counters, state and rates of reaction points, step by step.

use super::*;

/// A message of point 3 about the frames of `flow` to destination 5.
fn hear(bench: &mut Bench, now: Time, flow: u32, feedback: Feedback) -> Heard {
    bench.limiters.hear(now, Frame { flow, destination: 5, class: 0 }, 3, feedback)
}

fn us(n: u64) -> Time {
    Time::ZERO + Dur::from_us(n)
}

#[test]
fn a_reaction_point_counts_messages_limiters_and_the_bytes_that_wait_in_them() {
    let mut bench = bench(Filter::Flow, None, Spec::default());
    // An increase sets up no limiter; of two stops at one time the second is not obeyed.
    for (flow, feedback, heard) in [
        (0, Feedback::Change(1.0), Heard::Ignored),
        (0, Feedback::Change(-4.0), Heard::Obeyed),
        (0, Feedback::Change(-1.0), Heard::Obeyed),
        (0, Feedback::Change(1.0), Heard::Obeyed),
        (11, Feedback::Stop, Heard::Obeyed),
        (11, Feedback::Stop, Heard::Ignored),
    ] {
        assert_eq!(hear(&mut bench, Time::ZERO, flow, feedback), heard, "{feedback:?}");
    }
    // 1500 B each: at 1 us two frames of flow 0, at 3 us one of flow 11.
    bench.put(us(1), 0, 5);
    bench.put(us(1), 0, 5);
    bench.put(us(3), 11, 5);
    let counters = bench.limiters.counters(us(5));
    // 3000 B for 2 us, 4500 B for 2 us; two limiters for 5 us. Areas are in units of 1 ps.
    assert_eq!((counters.area, counters.active_area), (15_000 * 1_000_000, 10 * 1_000_000));
    assert_eq!((counters.created, counters.removed, counters.ignored), (2, 0, 2));
    assert_eq!(counters.obeyed, [1, 2, 1]);
    assert_eq!((counters.most_udp, counters.most_bytes), (1, 4_500));
    // A third limiter from 6 us on; at 8 us a frame leaves.
    hear(&mut bench, us(6), 1, Feedback::Change(-4.0));
    assert_eq!(bench.take(us(8)).map(|packet| packet.flow()), Some(0));
    let counters = bench.limiters.counters(us(9));
    assert_eq!(counters.area, (15_000 + 4_500 * 3 + 3_000) * 1_000_000);
    assert_eq!(counters.active_area, (2 * 6 + 3 * 3) * 1_000_000);
    // After a reset at 10 us only later times count, and the maximum begins at the present value.
    bench.limiters.reset(us(10));
    let counters = bench.limiters.counters(us(12));
    assert_eq!((counters.area, counters.active_area), (3_000 * 2_000_000, 3 * 2_000_000));
    assert_eq!((counters.created, counters.obeyed, counters.most_bytes, counters.most_udp), (0, [0; 3], 3_000, 0));
}

#[test]
fn a_message_that_raises_a_limiter_without_frames_to_the_line_rate_ends_it() {
    let mut bench = bench(Filter::Flow, None, Spec::default());
    assert_eq!(hear(&mut bench, Time::ZERO, 0, Feedback::Change(-1.0)), Heard::Obeyed);
    // From 9.375 Gbit/s, 13 times 50 Mbit/s are more than what is missing.
    assert_eq!(hear(&mut bench, Time::ZERO, 0, Feedback::Change(13.0)), Heard::Obeyed);
    assert_eq!(bench.limiters.active(), 0);
    assert_eq!(bench.limiters.counters(Time::ZERO).removed, 1);
    assert_eq!(bench.limiters.rates().map(|(_, rate)| rate).collect::<Vec<_>>(), [LINE.0 as f64]);
}

#[test]
fn the_time_series_and_the_state_of_a_reaction_point_are_those_of_its_limiters() {
    let mut bench = bench(Filter::Flow, None, Spec::default());
    let series = |bench: &Bench| {
        let mut found = Vec::new();
        bench.limiters.probe(&mut |name, value| found.push((name, value)));
        found
    };
    // The queue of the default path, 24 bytes; frames that have entered, waiting frames, limited and other bytes, 8 bytes
    // each; the time until which no frame may leave, optional; the time of the last change; the turn.
    let own = 24 + 4 * 8 + 16 + 8 + 4;
    assert_eq!(bench.limiters.state_bytes(), own);
    // A queue; the key, the law, the time of the next frame, the frames before it, TCP and other frames.
    let slot = 24 + 8 + size_of::<Option<rp::Reaction>>() + 4 * 8;
    hear(&mut bench, Time::ZERO, 0, Feedback::Change(-1.0));
    // Two indices in the table, and one in the list of active limiters.
    assert_eq!(bench.limiters.state_bytes(), own + slot + 3 * 4);
    hear(&mut bench, Time::ZERO, 1, Feedback::Change(-1.0));
    hear(&mut bench, Time::ZERO, 2, Feedback::Change(-1.0));
    hear(&mut bench, Time::ZERO, 2, Feedback::Change(13.0));
    assert_eq!(bench.limiters.state_bytes(), own + 3 * (slot + 2 * 4) + 2 * 4);
    bench.put(Time::ZERO, 0, 5);
    bench.put(Time::ZERO, 1, 5);
    bench.put(Time::ZERO, 2, 5);
    assert_eq!(series(&bench), [("limiters", 2.0), ("limited_bytes", 3_000.0)]);
    let mut seen = Vec::new();
    bench.limiters.visit(&mut |packet| seen.push(packet.flow()));
    assert_eq!(seen, [2, 0, 1]);
    // The time series of the default path's discipline follow.
    let site = Site { rate: LINE, ..Site::default() };
    let law: Spec = tailback_document::decode(serde_json::json!({ "kind": "sred" })).unwrap();
    let origins: Arc<[Origin]> = Arc::new([]);
    let mut with_law = Limiters::new(limiters(Filter::Flow, None, Spec::default()), &law, &site, origins, rng());
    let mut names = Vec::new();
    with_law.probe(&mut |name, _| names.push(name));
    assert_eq!(names, ["limiters", "limited_bytes", "hit_frequency", "estimated_flows", "probability"]);
    assert_eq!(with_law.line(), 1e10);
    with_law.set_rate(Rate::mbit(100));
    assert_eq!(with_law.line(), 1e8);
    let site = Site { rate: Rate::mbit(1000), ..site };
    with_law.retune(Time::ZERO, &limiters(Filter::Flow, None, Spec::default()), &law, &site);
    assert_eq!(with_law.line(), 1e9);
}

#[test]
fn a_tag_of_one_byte_lengthens_limited_frames_by_one_byte() {
    for (tag_bytes, grown) in [(0, 0), (1, 1), (24, 24)] {
        let mut bench = bench_with(LimitersSpec { tag_bytes, ..limiters(Filter::Flow, None, Spec::default()) });
        hear(&mut bench, Time::ZERO, 0, Feedback::Change(-1.0));
        let mut packet = Packet::new(0, Traits::data(0, true), Time::ZERO, 1, 5);
        packet.set_lengths(1500, 1520);
        bench.limiters.lengthen(Time::ZERO, &mut packet);
        assert_eq!((packet.size, packet.wire()), (1500 + grown, 1520 + grown));
    }
}

/// QCN with byte cycles of 1000 B, time cycles of 1 ms, and no random variation.
fn quick() -> rp::qcn::Params {
    rp::qcn::Params { bytes: tailback_units::Size(1_000), timer: Dur::from_ms(1), ..steady() }
}

/// IEEE 802.1Qau, clause 32.4: after five cycles of both counters the target rises by `hyper` times the number of
/// further cycles that both have completed.
#[test]
fn qcn_raises_its_target_faster_once_both_counters_have_completed_five_cycles() {
    let (mut law, mut rng) = (quick().build(LINE, Time::ZERO), rng());
    law.hear(Time::ZERO, 9, Feedback::Change(-64.0), &mut rng);
    assert_eq!(law.rate(), 5e9);
    // A cycle ends with its last byte.
    law.sent(Time::ZERO, 999, &mut rng);
    assert_eq!(law.rate(), 5e9);
    law.sent(Time::ZERO, 1, &mut rng);
    assert_eq!(law.rate(), 7.5e9);
    law.hear(Time::ZERO, 9, Feedback::Change(-64.0), &mut rng);
    let (mut target, mut rate) = (7.5e9, 3.75e9);
    assert_eq!(law.rate(), rate);
    let mut check = |law: &rp::qcn::Qcn, raise: f64| {
        target += raise;
        rate = 0.5 * (rate + target);
        assert!((law.rate() / rate - 1.0).abs() < 1e-14, "{} for {rate}", law.rate());
    };
    for _ in 0..5 {
        law.sent(Time::ZERO, 1_000, &mut rng);
        check(&law, 0.0);
    }
    for ms in 1..=5 {
        law.advance(Time::ZERO + Dur::from_ms(ms), &mut rng);
        check(&law, 0.0);
    }
    // From now on cycles are half as long. The sixth of one counter adds `increase`.
    let at = |halves: u64| Time::ZERO + Dur::from_ms(5) + Dur::from_us(500) * halves;
    law.sent(at(0), 499, &mut rng);
    law.sent(at(0), 1, &mut rng);
    check(&law, 5e6);
    // Six of both: once `hyper`, then once more, and twice when both have completed seven.
    law.advance(at(1), &mut rng);
    check(&law, 50e6);
    law.sent(at(1), 500, &mut rng);
    check(&law, 50e6);
    law.advance(Time(at(2).0 - 1), &mut rng);
    law.advance(at(2), &mut rng);
    check(&law, 100e6);
}

#[test]
fn qcn_divides_a_target_only_above_ten_times_the_rate_in_the_first_cycle_of_either_counter() {
    let mut rng = rng();
    let slowed = |floor: u64, rng: &mut Rng| {
        let mut law = rp::qcn::Params { floor: Rate::mbit(floor), ..quick() }.build(LINE, Time::ZERO);
        (0..8).for_each(|_| _ = law.hear(Time::ZERO, 9, Feedback::Change(-64.0), rng));
        assert_eq!(law.rate(), floor as f64 * 1e6);
        law
    };
    // The target, 10 Gbit/s, is ten times the rate, and then twenty times.
    let mut law = slowed(1_000, &mut rng);
    law.sent(Time::ZERO, 1_000, &mut rng);
    assert_eq!(law.rate(), 5.5e9);
    let mut by_bytes = slowed(500, &mut rng);
    by_bytes.sent(Time::ZERO, 1_000, &mut rng);
    let mut by_time = slowed(500, &mut rng);
    by_time.advance(Time::ZERO + Dur::from_ms(1), &mut rng);
    for law in [by_bytes, by_time] {
        assert_eq!(law.rate(), 0.5 * (0.5e9 + 1.25e9));
        assert_eq!(law.point(), 1, "the tag identifies the limiter");
        assert_eq!(law.stopped_until(), Time::ZERO);
    }
}

#[test]
fn qcn_is_at_the_line_rate_when_less_than_a_thousandth_is_missing() {
    let (mut law, mut rng) = (quick().build(LINE, Time::ZERO), rng());
    law.hear(Time::ZERO, 9, Feedback::Change(-64.0), &mut rng);
    // 5 Gbit/s are missing, and half of that after each cycle: 19.5 Mbit/s after eight, 9.8 after nine.
    (0..8).for_each(|_| law.sent(Time::ZERO, 1_000, &mut rng));
    assert!(!law.is_over() && law.rate() < 9.981e9);
    law.sent(Time::ZERO, 1_000, &mut rng);
    assert!(law.is_over() && law.rate() == 1e10);
}

#[test]
fn qcns_cycles_after_fast_recovery_have_random_lengths_within_fifteen_per_cent_of_half_the_bytes() {
    let mut rng = rng();
    let (mut shortest, mut longest) = (u32::MAX, 0);
    for _ in 0..60 {
        let params = rp::qcn::Params { bytes: tailback_units::Size(1_000), ..rp::qcn::Params::default() };
        let mut law = params.build(Rate::mbit(100_000), Time::ZERO);
        law.hear(Time::ZERO, 9, Feedback::Change(-64.0), &mut rng);
        let mut cycle = |rng: &mut Rng| {
            let before = law.rate();
            let mut sent = 0;
            while law.rate() == before {
                law.sent(Time::ZERO, 1, rng);
                sent += 1;
                assert!(sent < 2_000, "a cycle ends");
            }
            sent
        };
        (0..5).for_each(|_| _ = cycle(&mut rng));
        let sent = cycle(&mut rng);
        (shortest, longest) = (shortest.min(sent), longest.max(sent));
    }
    // 425 B to 575 B; of 60 uniform draws the extremes are within a tenth of the range of its ends.
    assert!((424..440).contains(&shortest) && (560..=577).contains(&longest), "{shortest} {longest}");
}

#[test]
fn ecm_sends_fractions_but_neither_zero_nor_a_stop_at_the_severe_length() {
    let feedback = |weight: f64, lengths: &[u64], limited| {
        let p = ecm::Params { sampling: Fraction(1.0), severe: Some(90.0), weight, ..ecm::Params::default() };
        let mut point = p.build();
        lengths.iter().map(|n| point.judge(&arrival(*n, limited), &mut rng()).feedback).last().expect("a length")
    };
    // At the equilibrium without growth Fb is 0.
    assert_eq!(feedback(2.0, &[16, 16], Some(false)), None);
    // The first sample counts as growth from an empty queue: 0 - 2 * 16.
    assert_eq!(feedback(2.0, &[16], None), change(-32));
    // 16 - 16 - (16 - 17) / 4: only limited sources hear of increases.
    assert_eq!(feedback(0.25, &[17, 16], Some(false)), Some(Feedback::Change(0.25)));
    assert_eq!(feedback(0.25, &[17, 16], None), None);
    assert_eq!(feedback(0.25, &[16, 16, 15], Some(false)), Some(Feedback::Change(1.25)));
    assert_eq!(feedback(2.0, &[90, 90], None), change(-16), "`severe` itself is not exceeded");
    assert_eq!(feedback(2.0, &[90, 91], None), STOP);
}

#[test]
fn the_first_sample_of_bcn_and_qcn_counts_as_growth_from_an_empty_queue() {
    // Any queue of two frames has grown; it is below the equilibrium, so that nothing is sent.
    let mut point = bcn::Params { sampling: Fraction(1.0), ..bcn::Params::default() }.build();
    assert_eq!(point.judge(&arrival(17, None), &mut rng()).feedback, change(-1));
    // Fb = 1.5 kB - 1.5 kB + 2 * 1.5 kB, of at most 1.5 kB * 5, in 63 steps: 37.8.
    let mut point = qcn::Params {
        equilibrium: tailback_units::Size(1_500),
        sample: tailback_units::Size(1),
        ..qcn::Params::default()
    }
    .build();
    point.judge(&arrival(0, None), &mut rng());
    assert_eq!(point.judge(&arrival(1, None), &mut rng()).feedback, Some(Feedback::Change(-25.0)));
}

#[test]
fn a_message_scales_the_wait_for_a_limiter_s_next_frame_to_its_new_rate() {
    let mut bench = bench(Filter::Flow, None, Spec::default());
    hear(&mut bench, Time::ZERO, 0, Feedback::Change(-4.0));
    bench.put(Time::ZERO, 0, 5);
    bench.put(Time::ZERO, 0, 5);
    assert!(bench.take(Time::ZERO).is_some() && bench.take(Time::ZERO).is_none());
    // 1520 B at 7.5 Gbit/s take 1,621,333 ps.
    assert_eq!(bench.limiters.next_wakeup(), Some(Time(1_621_333)));
    hear(&mut bench, Time(621_333), 0, Feedback::Change(-4.0));
    assert!(bench.take(Time(621_333)).is_none());
    // The remaining 1,000,000 ps become 4/3 of that.
    assert_eq!(bench.limiters.next_wakeup(), Some(Time(621_333 + 1_333_333)));
    // A frame of the default path leaves at once; after that no timer is set until the next attempt.
    bench.put(Time(700_000), 1, 5);
    assert_eq!(bench.take(Time(700_000)).map(|packet| packet.flow()), Some(1));
    assert_eq!(bench.limiters.next_wakeup(), None);
    assert!(bench.take(Time(800_000)).is_none());
    assert_eq!(bench.limiters.next_wakeup(), Some(Time(1_954_666)));
    // A timer that has not expired stays; an expired one is removed.
    let cx = &mut Cx { rng: &mut bench.rng, dropped: &mut bench.dropped, marked: &mut bench.marked };
    bench.limiters.wake(Time(1_954_665), cx);
    assert_eq!(bench.limiters.next_wakeup(), Some(Time(1_954_666)));
    bench.limiters.wake(Time(1_954_666), cx);
    assert_eq!(bench.limiters.next_wakeup(), None);
    assert!(bench.take(Time(1_954_666)).is_some());
}

#[test]
fn each_reaction_law_keeps_within_its_floor_and_the_line_rate_after_a_change() {
    let slow = Rate::mbit(5);
    for law in [LawSpec::Bcn(rp::bcn::Params::default()), LawSpec::Ecm(rp::ecm::Params::default())] {
        // The minimum rate of 10 Mbit/s is above that of the link.
        let mut reaction = law.build(slow, Time::ZERO);
        reaction.hear(Time::ZERO, 1, Feedback::Change(-4.0), &mut rng());
        assert_eq!(reaction.rate(), 5e6);
        let mut reaction = law.build(LINE, Time::ZERO);
        reaction.hear(Time::ZERO, 1, Feedback::Change(-1.0), &mut rng());
        reaction.retune(Time::ZERO, &law, Rate::mbit(100));
        assert_eq!(reaction.rate(), 1e8);
    }
    let raised = LawSpec::Qcn(rp::qcn::Params { floor: Rate::mbit(8_000), ..quick() });
    let mut reaction = LawSpec::Qcn(quick()).build(LINE, Time::ZERO);
    reaction.hear(Time::ZERO, 1, Feedback::Change(-64.0), &mut rng());
    reaction.retune(Time::ZERO, &raised, LINE);
    assert_eq!(reaction.rate(), 8e9);
    reaction.retune(Time::ZERO, &raised, slow);
    assert_eq!(reaction.rate(), 5e6);
}
