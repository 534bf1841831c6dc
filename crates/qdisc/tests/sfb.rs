//! Stochastic fair Blue: its hashes, its decrements, its penalty box and its rehashing.

use crate::common::*;
use tailback_qdisc::law::sfb::{Bins, Boxed, Form, LowerAt, Params, PenaltyBox, Rehash, Scope, Sfb, Verdict, Warmed};
use tailback_qdisc::{Discipline, Ecn, Qdisc, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Returns the probability that each of a flow's bins, one of N on each of L levels, is shared with at least one of M
/// `others`: [1 − (1 − 1/N)^M]^L.
fn covered(levels: i32, bins: f64, others: i32) -> f64 {
    let power = |x: f64, n: i32| (0..n).fold(1.0, |p, _| p * x);
    power(1.0 - power(1.0 - 1.0 / bins, others), levels)
}

#[test]
fn the_formula_gives_the_published_numbers() {
    for (m, percent) in [(1, 0.1890), (2, 0.7236), (4, 2.6535), (8, 8.9555), (16, 25.904)] {
        assert!((covered(2, 23.0, m) * 100.0 - percent).abs() < 6e-4, "{m}");
    }
    assert!((covered(3, 15.0, 8) * 100.0 - 7.632).abs() < 6e-4);
    assert!((covered(8, 16.0, 8) / 7.00e-4 - 1.0).abs() < 1e-2);
}

#[test]
fn over_20_000_hashes_the_share_of_covered_flows_is_that_of_the_formula() {
    let rng = &mut Rng::named(1, "salts");
    for (levels, bins, m) in [(2, 23, 1), (2, 23, 4), (2, 23, 8), (1, 46, 4), (3, 15, 8), (8, 16, 16)] {
        let mut set = Bins::new(levels, bins);
        let (mut hits, trials) = (0u32, 400_000u32);
        for _ in 0..20_000 {
            set.draw(rng);
            // Consecutive flow numbers, as in a scenario.
            let others: Vec<Vec<usize>> = (0..m).map(|flow| set.of(flow).collect()).collect();
            for flow in 400..420u32 {
                hits += u32::from(set.of(flow).enumerate().all(|(level, bin)| others.iter().any(|o| o[level] == bin)));
            }
        }
        let expected = f64::from(trials) * covered(levels as i32, bins as f64, m as i32);
        // Flows under one hash are not independent: the standard deviation is at most that of 20 000 independent
        // trials.
        let tolerance = 3.0 * (20.0 * expected).sqrt();
        assert!((f64::from(hits) - expected).abs() < tolerance, "{levels}x{bins}, {m}: {hits}, expected {expected}");
    }
}

#[test]
fn levels_are_independent() {
    let rng = &mut Rng::named(2, "salts");
    let mut set = Bins::new(2, 23);
    let mut counts = vec![0u32; 23 * 23];
    for _ in 0..400 {
        set.draw(rng);
        for flow in 0..529 {
            let bins: Vec<usize> = set.of(flow).collect();
            counts[bins[0] * 23 + bins[1]] += 1;
        }
    }
    let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 400.0) * (f64::from(*n) - 400.0) / 400.0).sum();
    // 528 degrees of freedom: above 635 once in a thousand.
    assert!(chi < 635.0, "{chi}");
}

/// Returns SFB in front of a link of 45 Mbit/s, with room for 200 packets.
fn rig(params: Params, seed: u64) -> Rig {
    Rig::new(&Spec::Sfb(params), &places(200, Rate::mbit(45)), Rng::named(seed, "port"))
}

/// Flow 0 sends at the link's rate of 5625 packets a second for `seconds` without a response to losses.
/// A hundred other flows share the rest of the link: whenever fewer than 100 packets wait, one of them
/// sends. Returns, for the time after the first 5 s, the packets of flow 0 that pass per second, and the
/// number of packets of the others that are dropped per packet of theirs that passes.
fn flood(rig: &mut Rig, seconds: u64) -> (f64, f64) {
    const WARM_UP: u64 = 5;
    let rng = &mut Rng::named(5, "flood");
    let tx = Rate::mbit(45).clock().tx_time(1000);
    let (mut log, mut flows) = (Log::new(), Vec::new());
    let mut measured_from = 0;
    for slot in 0..seconds * 5625 {
        let start = Time(slot * tx.0);
        if slot == WARM_UP * 5625 {
            measured_from = log.len();
        }
        let mut send = |rig: &mut Rig, log: &mut Log, at, flow, ecn| {
            flows.push(flow);
            rig.arrive(
                &Arrival {
                    at,
                    seq: flows.len() as u32 - 1,
                    flow,
                    size: 1000,
                    ecn,
                    colour: tailback_qdisc::Colour::default(),
                },
                log,
            );
        };
        for _ in 0..10 {
            if rig.q.packets() < 100 {
                send(rig, &mut log, start, 1 + rng.below(100) as u32, Ecn::Ect0);
            }
        }
        send(rig, &mut log, start + Dur(rng.below(tx.0)), 0, Ecn::NotEct);
        rig.leave(start + tx, &mut log);
    }
    let (mut passed, mut sent, mut lost) = (0, 0, 0);
    for (seq, fate) in &log[measured_from..] {
        let through = matches!(fate, Fate::Sent { .. });
        if flows[*seq as usize] == 0 {
            passed += u32::from(through);
        } else if through {
            sent += 1;
        } else {
            lost += 1;
        }
    }
    (f64::from(passed) / (seconds - WARM_UP) as f64, f64::from(lost) / f64::from(sent))
}

/// Returns parameters with a penalty box for flows whose probability is above 0.9, as that of flow 0 is after a few
/// seconds.
fn boxing(boxed: Boxed) -> Params {
    let penalty_box = PenaltyBox { boxed, threshold: Fraction(0.9), ..PenaltyBox::default() };
    Params { ecn: true, penalty_box, ..Params::default() }
}

#[test]
fn a_flow_that_does_not_respond_is_limited_to_a_packet_per_interval() {
    for boxed in [Boxed::Pressure, Boxed::Hold, Boxed::Keep] {
        let (passed, lost) = flood(&mut rig(boxing(boxed), 1), 30);
        // The interval is 50 ms: 20 packets a second.
        assert!((19.0..21.5).contains(&passed), "{boxed:?}: {passed}");
        assert!(lost < 0.02, "{boxed:?}: {lost}");
    }
}

/// Returns flow 0's probability after each of `times`, in ms after 2 s. At 2 s flow 0 has raised the probability of its
/// bins to 1 and left them empty. Another flow, which shares one bin with flow 0, sends a packet at each of `times`,
/// and flow 0 one at each of `boxed_at`. Probabilities rise by 1 and fall by 0.25.
fn falls(params: Params, boxed_at: &[u64], times: &[u64]) -> Vec<f64> {
    let steps = Params { increment: Some(1.0), decrement: Some(0.25), bin_size: Some(0), ..params };
    let mut law = Sfb::new(&steps);
    let (rng, ms) = (&mut Rng::named(1, "falls"), |ms| Time::ZERO + Dur::from_ms(ms));
    let Verdict::Pass(ticket) = law.arrive(ms(1000), 0, rng) else { panic!("the first packet passes") };
    law.accept(0, ticket);
    law.arrive(ms(2000), 0, rng);
    law.depart(ms(2000), 0, ticket);
    assert_eq!(law.probability(0), 1.0);
    let bins = |law: &Sfb, flow| (law.bins(flow)[0], law.bins(flow)[1]);
    let (first, second) = bins(&law, 0);
    let other = (1..1000).find(|flow| bins(&law, *flow).0 == first && bins(&law, *flow).1 != second);
    let other = other.expect("one of 1000 flows shares a bin of 23");
    let mut seen = Vec::new();
    for at in 0..=50 {
        if boxed_at.contains(&at) {
            law.arrive(ms(2000 + at), 0, rng);
        }
        if times.contains(&at) {
            law.arrive(ms(2000 + at), other, rng);
            seen.push(law.probability(0));
        }
    }
    seen
}

#[test]
fn decrements_with_a_separate_timer_wait_only_for_that_timer() {
    let shared = Params { freeze: Some(Dur::from_ms(10)), ..Params::default() };
    let own = Params { freeze_down: Some(Dur::from_ms(40)), ..shared.clone() };
    assert_eq!(falls(shared, &[], &[5, 11, 22, 33, 44]), [1.0, 0.75, 0.5, 0.25, 0.0]);
    // The last decrement was before the increment at 2 s, and the increment does not delay the next decrement.
    assert_eq!(falls(own, &[], &[5, 11, 22, 33, 46]), [0.75, 0.75, 0.75, 0.75, 0.5]);
}

/// Probabilities rise by 1 and fall by 0.25, without a freeze time, and a bin with one packet is full. Four events:
/// flow 0 raises the probability of its bins to 1 while one packet waits; that packet leaves; a packet of another flow,
/// which shares one bin, arrives; that packet leaves. `expected`: flow 0's probability after each event.
#[test]
fn a_bin_s_probability_falls_at_an_arrival_that_finds_it_empty_or_at_the_departure_that_empties_it() {
    for (lower_at, expected) in
        [(LowerAt::Arrival, [1.0, 1.0, 0.75, 0.75]), (LowerAt::Departure, [1.0, 0.75, 0.75, 0.5])]
    {
        let freeze = Some(Dur::ZERO);
        let (increment, decrement) = (Some(1.0), Some(0.25));
        let params = Params { lower_at, freeze, increment, decrement, bin_size: Some(0), ..Params::default() };
        let mut law = Sfb::new(&params);
        let (rng, ms) = (&mut Rng::named(1, "empties"), |ms| Time::ZERO + Dur::from_ms(ms));
        let Verdict::Pass(ticket) = law.arrive(ms(0), 0, rng) else { panic!("the first packet passes") };
        law.accept(0, ticket);
        law.arrive(ms(1), 0, rng);
        let mut seen = vec![law.probability(0)];
        law.depart(ms(2), 0, ticket);
        seen.push(law.probability(0));
        let bins = |law: &Sfb, flow| (law.bins(flow)[0], law.bins(flow)[1]);
        let (first, second) = bins(&law, 0);
        let other = (1..1000).find(|flow| bins(&law, *flow).0 == first && bins(&law, *flow).1 != second);
        let other = other.expect("one of 1000 flows shares a bin of 23");
        // The probability of its other bin is 0, so that it passes.
        let Verdict::Pass(ticket) = law.arrive(ms(3), other, rng) else { panic!("it shares only one bin") };
        law.accept(other, ticket);
        seen.push(law.probability(0));
        law.depart(ms(4), other, ticket);
        seen.push(law.probability(0));
        assert_eq!(seen, expected, "{lower_at:?}");
    }
    let linux = Params { form: Form::Linux, lower_at: LowerAt::Departure, ..Params::default() };
    assert_eq!(linux.check().unwrap_err().path, "lower-at");
}

#[test]
fn a_boxed_flow_prevents_decrements_by_others_only_if_it_keeps_its_bins() {
    let with = |boxed| {
        let penalty_box = PenaltyBox { boxed, threshold: Fraction(0.5), ..PenaltyBox::default() };
        Params { penalty_box, freeze: Some(Dur::from_ms(10)), ..Params::default() }
    };
    let boxed_at = [10, 21, 32, 43];
    assert_eq!(falls(with(Boxed::Hold), &boxed_at, &[12, 23, 34]), [0.75, 0.5, 0.25]);
    assert_eq!(falls(with(Boxed::Keep), &boxed_at, &[12, 23, 34]), [1.0, 1.0, 1.0]);
    // Without packets of flow 0 its probability falls.
    assert_eq!(falls(with(Boxed::Keep), &[], &[12, 23, 34]), [0.75, 0.5, 0.25]);
}

#[test]
fn only_flows_covered_by_the_flood_are_boxed() {
    let mut rig = rig(boxing(Boxed::Pressure), 4);
    flood(&mut rig, 10);
    let Discipline::Sfb(sfb) = &rig.q else { panic!("not SFB") };
    let boxed: Vec<u32> = sfb.law().boxed_flows().collect();
    assert!(boxed.contains(&0));
    assert!(boxed.iter().all(|flow| sfb.law().is_covered(*flow, &[0])), "{boxed:?}");
    assert_eq!(rig.state("boxed_flows"), boxed.len() as f64);
}

#[test]
fn the_penalty_box_has_one_rate_in_total_or_one_per_bin_or_one_per_flow() {
    // Two flows, all of whose bins have the probability 1 from the start, send a packet per millisecond each.
    let passed = |scope| {
        let penalty_box = PenaltyBox { scope, boxed: Boxed::Hold, threshold: Fraction(1e-9), ..PenaltyBox::default() };
        let params = Params { penalty_box, increment: Some(1.0), freeze: Some(Dur::ZERO), ..Params::default() };
        let mut law = Sfb::new(&Params { bin_size: Some(0), ..params });
        let rng = &mut Rng::named(9, "port");
        let mut passed = [0; 2];
        for flow in [0, 1] {
            // One packet waits in each flow's bins for ever.
            let Verdict::Pass(ticket) = law.arrive(Time::ZERO, flow, rng) else { panic!("p is 0") };
            law.accept(flow, ticket);
        }
        assert!(!law.is_covered(1, &[0]) && law.bins(0).iter().zip(law.bins(1)).all(|(a, b)| *a != b));
        for ms in 1..=1000 {
            for flow in [0, 1] {
                let verdict = law.arrive(Time::ZERO + Dur::from_ms(ms), flow, rng);
                passed[flow as usize] += u32::from(matches!(verdict, Verdict::Pass(_)));
            }
        }
        passed
    };
    assert_eq!(passed(Scope::Global).iter().sum::<u32>(), 20);
    assert_eq!(passed(Scope::PerBin), [20, 20]);
    assert_eq!(passed(Scope::PerFlow), [20, 20]);
}

fn rehashing(double_buffer: bool, warmed_by: Warmed) -> Params {
    let rehash = Rehash { interval: Dur::from_secs(4), warm_up: None, warmed_by, double_buffer, cap: Fraction(1.0) };
    Params { rehash: Some(rehash), ..boxing(Boxed::Pressure) }
}

#[test]
fn after_a_rehash_a_warmed_up_set_limits_the_flood_and_a_cold_set_does_not() {
    let passed = |params| flood(&mut rig(params, 1), 30).0;
    let (all, unresponsive) = (passed(rehashing(true, Warmed::All)), passed(rehashing(true, Warmed::Unresponsive)));
    let cold = passed(rehashing(false, Warmed::All));
    assert!(all < 22.0 && unresponsive < 22.0, "{all} {unresponsive}");
    assert!(cold > 20.0 * all, "{cold} {all}");
}

#[test]
fn bins_are_empty_when_the_queue_is_empty_with_and_without_rehashing() {
    let rate = Rate::mbit(10);
    let traffic = Traffic { packets: 60_000, ..Traffic::default() };
    let quick = |params: Params| Params {
        rehash: params.rehash.map(|rehash| Rehash { interval: Dur::from_ms(50), ..rehash }),
        ..params
    };
    for params in [
        Params::default(),
        quick(rehashing(true, Warmed::All)),
        quick(rehashing(true, Warmed::Unresponsive)),
        quick(rehashing(false, Warmed::All)),
        Params { form: Form::Linux, ..quick(rehashing(true, Warmed::All)) },
    ] {
        let mut rig = Rig::new(&Spec::Sfb(params), &places(200, rate), Rng::named(1, "port"));
        let mut fullest = 0.0f64;
        serve(&mut rig, rate, &traffic.draw(1), |rig, _| fullest = fullest.max(rig.state("max_bin_packets")));
        assert!(fullest > 3.0);
        assert_eq!((rig.q.packets(), rig.state("max_bin_packets")), (0, 0.0));
    }
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    let refuse = |params: Params, path: &str| assert_eq!(params.check().unwrap_err().path, path);
    refuse(Params { levels: Some(0), ..Params::default() }, "levels");
    refuse(Params { bins: Some(0), ..Params::default() }, "bins");
    refuse(Params { increment: Some(0.0), ..Params::default() }, "increment");
    let rehash = Rehash { interval: Dur::ZERO, ..rehashing(true, Warmed::All).rehash.unwrap() };
    refuse(Params { rehash: Some(rehash.clone()), ..Params::default() }, "rehash.interval");
    let late = Rehash { interval: Dur::from_ms(1), warm_up: Some(Dur::from_ms(2)), ..rehash };
    refuse(Params { rehash: Some(late), ..Params::default() }, "rehash.warm-up");
}

/// Returns a law in whose single bin a packet waits, so that the next arrival finds the probability `increment`.
fn raised(params: Params, increment: f64) -> Sfb {
    let one = Params { levels: Some(1), bins: Some(1), bin_size: Some(0), increment: Some(increment), ..params };
    let mut law = Sfb::new(&Params { freeze: Some(Dur::ZERO), ..one });
    let Verdict::Pass(ticket) = law.arrive(Time::ZERO, 0, &mut Rng::named(1, "first")) else { panic!("p is 0") };
    law.accept(0, ticket);
    law
}

/// `sfb_rate_limit` of Linux: an empty bucket gets the tokens of at most ten seconds.
#[test]
fn an_empty_bucket_of_the_penalty_box_gets_the_tokens_of_ten_seconds_at_most() {
    let penalty_box = PenaltyBox { interval: Some(Dur::from_secs(1)), burst: 20, ..PenaltyBox::default() };
    let mut law = raised(Params { form: Form::Linux, penalty_box, ..Params::default() }, 1.0);
    let rng = &mut Rng::named(1, "port");
    let mut passed = |second| {
        let at = Time::ZERO + Dur::from_secs(second);
        (0..100).filter(|_| matches!(law.arrive(at, 0, rng), Verdict::Pass(_))).count()
    };
    // One token per second. At 60 s: the burst of 20 and, once the bucket is empty, 10 of the 60 tokens since time
    // zero. At 67 s: 7 tokens. At 100 s: 10 of 33 tokens.
    assert_eq!([passed(60), passed(60), passed(67), passed(100)], [30, 0, 7, 10]);
}

/// `sfb_enqueue` of Linux, with probabilities of 16 bits: above one half a marking becomes a drop if r < (p − 32767) ·
/// 2.
#[test]
fn above_one_half_linux_drops_if_the_random_number_is_below_twice_the_excess() {
    let mut tried = 0;
    for seed in 0..40 {
        let r = (Rng::named(seed, "r").uniform() * 65_536.0) as i64;
        if r == 0 || r % 2 != 0 || r >= 65_534 {
            continue;
        }
        // Twice the excess is r, and r + 2.
        for (p, drops) in [(32_767 + r / 2, false), (32_767 + r / 2 + 1, true)] {
            let mut law = raised(Params { form: Form::Linux, ..Params::default() }, p as f64 / 65_535.0);
            let verdict = law.arrive(Time(1), 0, &mut Rng::named(seed, "r"));
            assert_eq!(verdict == Verdict::Drop, drops, "r {r}, p {p}: {verdict:?}");
            assert!(drops || matches!(verdict, Verdict::Signal(_)), "r {r}, p {p}: {verdict:?}");
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried} cases");
}

#[test]
fn after_a_change_of_the_hashes_no_bin_has_let_a_boxed_packet_pass() {
    let hour = Dur::from_secs(3_600);
    let penalty_box =
        PenaltyBox { scope: Scope::PerBin, boxed: Boxed::Hold, interval: Some(hour), ..PenaltyBox::default() };
    let rehash =
        Rehash { interval: Dur::from_secs(10), ..rehashing(false, Warmed::All).rehash.expect("a moving hash") };
    let mut law = raised(Params { penalty_box, rehash: Some(rehash), ..Params::default() }, 1.0);
    let rng = &mut Rng::named(1, "port");
    let mut arrive = |law: &mut Sfb, ms| law.arrive(Time::ZERO + Dur::from_ms(ms), 0, rng);
    let passes = |verdict| matches!(verdict, Verdict::Pass(_));
    assert!(passes(arrive(&mut law, 1)), "the first boxed packet");
    assert_eq!(arrive(&mut law, 2), Verdict::Boxed);
    let Verdict::Pass(ticket) = arrive(&mut law, 10_001) else { panic!("the new bins are empty") };
    law.accept(0, ticket);
    assert!(passes(arrive(&mut law, 10_002)), "the first boxed packet of the new bins");
    assert_eq!(arrive(&mut law, 10_003), Verdict::Boxed);
}
