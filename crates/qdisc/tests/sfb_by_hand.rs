//! Stochastic fair Blue with one bin, so that no hash decides: its probability after each arrival, computed by hand, its
//! two sets of bins, the forms of the penalty box, and the defaults.

use crate::common::*;
use serde_json::json;
use tailback_qdisc::law::sfb::{
    BinFull, Bins, Boxed, Form, LowerAt, Params, PenaltyBox, Rehash, Scope, Sfb, Ticket, Verdict, Warmed,
};
use tailback_qdisc::{Colour, Ecn, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Returns parameters of one bin, which is full with one packet, without a freeze time. Probabilities rise by 1/4 and
/// fall by 1/16, which binary numbers represent exactly.
fn one_bin() -> Params {
    Params {
        levels: Some(1),
        bins: Some(1),
        bin_size: Some(0),
        increment: Some(0.25),
        decrement: Some(0.0625),
        freeze: Some(Dur::ZERO),
        ..Params::default()
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// The law with its random stream; all packets are of flow 0.
struct Bench {
    law: Sfb,
    rng: Rng,
}

impl Bench {
    fn new(params: &Params) -> Bench {
        params.check().expect("valid parameters");
        Bench { law: Sfb::new(params), rng: Rng::named(1, "bench") }
    }
    /// Processes an arrival and returns the probability after it.
    fn p_after(&mut self, at: Time) -> f64 {
        self.law.arrive(at, 0, &mut self.rng);
        self.law.probability(0)
    }
    /// Processes an arrival and queues the packet.
    fn queue(&mut self, at: Time) -> Ticket {
        let verdict = self.law.arrive(at, 0, &mut self.rng);
        let (Verdict::Pass(ticket) | Verdict::Signal(ticket)) = verdict else { panic!("{verdict:?} at {at:?}") };
        self.law.accept(0, ticket);
        ticket
    }
    /// Returns the number of packets in the bin of the set that decides.
    fn packets(&self) -> f64 {
        let mut found = f64::NAN;
        self.law.probe(&mut |name, value| {
            if name == "max_bin_packets" {
                found = value;
            }
        });
        found
    }
}

fn rehash(interval: u64, warm_up: u64) -> Rehash {
    Rehash {
        interval: Dur::from_secs(interval),
        warm_up: Some(Dur::from_secs(warm_up)),
        warmed_by: Warmed::All,
        double_buffer: true,
        cap: Fraction(1.0),
    }
}

/// The sets A and B change roles more than 10 s after the last change; the warm-up begins more than 6 s after it.
#[test]
fn the_next_set_has_what_its_warm_up_gave_it_and_a_retired_set_is_empty() {
    let mut bench = Bench::new(&Params { rehash: Some(rehash(10, 4)), ..one_bin() });
    let early = bench.queue(ms(0));
    // At exactly 6 s the warm-up has not begun: the packet is counted in A only.
    let at_6 = bench.queue(ms(6_000));
    assert_eq!((bench.law.probability(0), bench.packets()), (0.25, 2.0));
    // B is empty, so that only its count changes; then it is full.
    let at_7 = bench.queue(ms(7_000));
    let at_8 = bench.queue(ms(8_000));
    assert_eq!((bench.law.probability(0), bench.packets()), (0.75, 4.0));
    // Exactly 10 s after time zero A still decides. Its probability reaches 1, so that the flow is boxed, and the first
    // boxed packet passes. The probability of B is raised directly.
    let at_10 = bench.queue(ms(10_000));
    assert_eq!((bench.law.probability(0), bench.packets()), (1.0, 5.0));
    // B: 0.25 at 8 s, 0.5 at 10 s, and now 0.75; three packets, and this one.
    let at_11 = bench.queue(ms(11_000));
    assert_eq!((bench.law.probability(0), bench.packets()), (0.75, 4.0));
    // Only the packets that are counted in B leave it.
    bench.law.depart(ms(11_001), 0, early);
    bench.law.depart(ms(11_002), 0, at_6);
    assert_eq!(bench.packets(), 4.0);
    for (left, ticket) in [(3.0, at_7), (2.0, at_8), (1.0, at_10), (0.0, at_11)] {
        bench.law.depart(ms(11_003), 0, ticket);
        assert_eq!(bench.packets(), left);
    }
    assert_eq!(bench.law.probability(0), 0.75);
    // A was emptied when it was retired, and no packet came during its second warm-up.
    assert_eq!((bench.p_after(ms(21_001)), bench.packets()), (0.0, 0.0));
}

/// The set that was used before is A again after two changes. In form "linux" a retired set keeps its probabilities.
#[test]
fn without_double_buffering_each_change_starts_with_empty_bins_in_either_form() {
    for form in [Form::Thesis, Form::Linux] {
        for double_buffer in [false, true] {
            // In form "linux" the penalty box warms the next set only if the flow is boxed.
            let rehash = Rehash { double_buffer, warmed_by: Warmed::Unresponsive, ..rehash(10, 4) };
            let mut bench = Bench::new(&Params { form, rehash: Some(rehash), ..one_bin() });
            bench.queue(ms(0));
            let p = bench.p_after(ms(1_000));
            assert!((p - 0.25).abs() < 1e-5, "{p}");
            assert_eq!(bench.p_after(ms(10_001)), 0.0);
            let kept = form == Form::Linux && double_buffer;
            // The bin of A keeps its packet, too, so that the probability is raised once more.
            let expected = if kept { 0.5 } else { 0.0 };
            let p = bench.p_after(ms(20_002));
            assert!((p - expected).abs() < 1e-4, "{form:?} {double_buffer}: {p} instead of {expected}");
            assert_eq!(bench.packets(), if kept { 1.0 } else { 0.0 });
        }
    }
}

/// A change of the set lowers probabilities above `cap` to it, and counts that as a step up and a step down. The freeze
/// times are one second, with a timer of each direction. The probability of the next set is 0.25 after one step.
#[test]
fn a_cap_starts_the_freeze_times_of_the_probabilities_that_it_lowers_and_of_no_others() {
    let bench = |cap: f64| {
        let rehash = Rehash { cap: Fraction(cap), ..rehash(10, 10) };
        let second = Some(Dur::from_secs(1));
        Bench::new(&Params { rehash: Some(rehash), freeze: second, freeze_down: second, ..one_bin() })
    };
    // (cap, probabilities of a full bin at the change and 1 s and 1.1 s later)
    for (cap, expected) in [(0.3, [0.5, 0.5, 0.75]), (0.25, [0.5, 0.5, 0.75]), (0.125, [0.125, 0.125, 0.375])] {
        let mut bench = bench(cap);
        bench.queue(ms(2_000));
        bench.queue(ms(4_000));
        assert_eq!(bench.law.probability(0), 0.25);
        let seen = [10_500, 11_500, 11_600].map(|at| bench.p_after(ms(at)));
        assert_eq!(seen, expected, "{cap}");
    }
    // The same with a bin that is empty at the change: its last decrement was at 2 s.
    for (cap, expected) in [(0.25, [0.1875, 0.1875, 0.125]), (0.125, [0.125, 0.125, 0.0625])] {
        let mut bench = bench(cap);
        let tickets = [bench.queue(ms(2_000)), bench.queue(ms(4_000))];
        for ticket in tickets {
            bench.law.depart(ms(5_000), 0, ticket);
        }
        let seen = [10_500, 11_500, 11_600].map(|at| bench.p_after(ms(at)));
        assert_eq!(seen, expected, "{cap}");
    }
}

/// The threshold is 0.5, and one packet waits for ever.
#[test]
fn pressure_raises_the_probability_of_a_boxed_flow_twice_at_each_arrival() {
    for (boxed, expected) in [
        (Boxed::Counted, [0.25, 0.5, 0.75, 1.0]),
        // At its second arrival the flow is boxed: 0.5 by the full bin, 0.75 by the pressure.
        (Boxed::Pressure, [0.25, 0.75, 1.0, 1.0]),
    ] {
        let penalty_box = PenaltyBox { boxed, threshold: Fraction(0.5), ..PenaltyBox::default() };
        let mut bench = Bench::new(&Params { penalty_box, ..one_bin() });
        bench.queue(ms(0));
        assert_eq!([1, 2, 3, 4].map(|at| bench.p_after(ms(at))), expected, "{boxed:?}");
    }
}

#[test]
fn a_flow_at_the_threshold_does_not_lower_its_bin_when_its_last_packet_leaves() {
    for (threshold, expected) in [(0.25, 0.25), (0.2501, 0.1875)] {
        let penalty_box = PenaltyBox { boxed: Boxed::Hold, threshold: Fraction(threshold), ..PenaltyBox::default() };
        let mut bench = Bench::new(&Params { penalty_box, lower_at: LowerAt::Departure, ..one_bin() });
        let first = bench.queue(ms(0));
        assert_eq!(bench.p_after(ms(1)), 0.25);
        bench.law.depart(ms(2), 0, first);
        assert_eq!(bench.law.probability(0), expected, "{threshold}");
    }
    // The same for decrements at arrivals.
    for (threshold, expected) in [(0.25, 0.25), (0.2501, 0.1875)] {
        let penalty_box = PenaltyBox { boxed: Boxed::Hold, threshold: Fraction(threshold), ..PenaltyBox::default() };
        let mut bench = Bench::new(&Params { penalty_box, ..one_bin() });
        let first = bench.queue(ms(0));
        assert_eq!(bench.p_after(ms(1)), 0.25);
        bench.law.depart(ms(2), 0, first);
        assert_eq!(bench.p_after(ms(3)), expected, "{threshold}");
    }
}

#[test]
fn boxed_flows_are_those_of_which_a_packet_has_arrived() {
    let penalty_box = PenaltyBox { threshold: Fraction(0.25), ..PenaltyBox::default() };
    let mut bench = Bench::new(&Params { penalty_box, ..one_bin() });
    bench.queue(ms(0));
    let flows = [0, 1, 63, 64, 65, 127, 130, 4_096];
    for flow in flows {
        bench.law.arrive(ms(1), flow, &mut bench.rng);
    }
    assert_eq!(bench.law.boxed_flows().collect::<Vec<_>>(), flows);
}

/// Two levels: one packet of flow 0 waits, so that both of its bins are full, and one bin of each flow that shares one of
/// them.
#[test]
fn full_bins_drop_a_packet_if_one_of_its_bins_is_full_or_if_all_are() {
    for (bin_full, shares_none, shares_one, shares_all) in [
        (BinFull::Increase, false, false, false),
        (BinFull::DropAny, false, true, true),
        (BinFull::DropAll, false, false, true),
    ] {
        let params = Params { levels: Some(2), bins: Some(23), increment: Some(1e-9), bin_full, ..one_bin() };
        let mut bench = Bench::new(&params);
        bench.queue(ms(0));
        let own = bench.law.bins(0);
        let flow_that_shares = |bench: &Bench, bins: usize| {
            let shared = |flow: &u32| bench.law.bins(*flow).iter().zip(&own).filter(|(a, b)| a == b).count();
            (1..10_000).find(|flow| shared(flow) == bins).expect("one of many flows")
        };
        for (bins, drops) in [(0, shares_none), (1, shares_one), (2, shares_all)] {
            let flow = flow_that_shares(&bench, bins);
            let verdict = bench.law.arrive(ms(1), flow, &mut bench.rng);
            assert_eq!(verdict == Verdict::Drop, drops, "{bin_full:?} {bins}");
        }
    }
}

/// The figure of the paper updates the bins at each arrival; Linux (`sfb_enqueue`) first drops a packet that finds the
/// queue full.
#[test]
fn a_packet_that_finds_the_queue_full_raises_probabilities_in_the_form_thesis_only() {
    for (form, expected) in [(Form::Thesis, 0.25), (Form::Linux, 0.0)] {
        let params = Params { form, ..one_bin() };
        let mut rig = Rig::new(&Spec::Sfb(params), &places(1, Rate::mbit(10)), Rng::named(1, "port"));
        for seq in 0..2 {
            let (flow, size, ecn, colour) = (0, 1000, Ecn::NotEct, Colour::Green);
            rig.arrive(&Arrival { at: ms(1), seq, flow, size, ecn, colour }, &mut Log::new());
        }
        assert_eq!(rig.state("max_probability"), expected, "{form:?}");
    }
}

/// Defaults of the form "thesis": a bin is full with more than 13 packets; steps of 0.005 and 0.001 with a freeze time of
/// 10 ms; boxed packets at least 50 ms apart.
#[test]
fn the_defaults_of_the_form_thesis_are_those_of_its_documentation() {
    let mut bench = Bench::new(&Params { levels: Some(1), bins: Some(1), ..Params::default() });
    let tickets: Vec<Ticket> = (0..13).map(|n| bench.queue(ms(100 * n))).collect();
    assert_eq!(bench.p_after(ms(2_000)), 0.0);
    let last = bench.queue(ms(2_100));
    assert_eq!([2_200, 2_210, 2_211].map(|at| bench.p_after(ms(at))), [0.005, 0.005, 0.01]);
    tickets.into_iter().chain([last]).for_each(|ticket| bench.law.depart(ms(2_300), 0, ticket));
    assert_eq!(bench.p_after(ms(2_400)), 0.01 - 0.001);

    let mut bench = Bench::new(&Params { increment: Some(1.0), ..one_bin() });
    bench.queue(ms(0));
    let passed =
        [1, 50, 51, 100, 101].map(|at| matches!(bench.law.arrive(ms(at), 0, &mut bench.rng), Verdict::Pass(_)));
    assert_eq!(passed, [true, false, true, false, true]);

    let Spec::Sfb(params) =
        tailback_document::decode(json!({ "kind": "sfb", "rehash": { "interval": "4s" } })).unwrap()
    else {
        panic!("another kind");
    };
    let rehash = Rehash {
        interval: Dur::from_secs(4),
        warm_up: None,
        warmed_by: Warmed::All,
        double_buffer: true,
        cap: Fraction(1.0),
    };
    assert_eq!(params, Params { rehash: Some(rehash), bin_full: BinFull::Increase, ..Params::default() });
}

/// `sfb_default_ops` of Linux: a bin is full at 20 packets and refuses more at 25; steps of 66 and 11 in 65535.
#[test]
fn the_defaults_of_the_form_linux_are_those_of_the_kernel() {
    let form = Form::Linux;
    let mut bench = Bench::new(&Params { form, levels: Some(1), bins: Some(1), ..Params::default() });
    let mut tickets: Vec<Ticket> = (0..20).map(|n| bench.queue(ms(n))).collect();
    assert_eq!(bench.law.probability(0), 0.0);
    assert_eq!(bench.p_after(ms(30)), 66.0 / 65_535.0);
    tickets.extend((0..5).map(|n| bench.queue(ms(40 + n))));
    assert_eq!(bench.law.arrive(ms(50), 0, &mut bench.rng), Verdict::Drop, "25 packets");
    let p = bench.law.probability(0);
    assert_eq!(p, 7.0 * 66.0 / 65_535.0);
    for ticket in tickets {
        bench.law.depart(ms(60), 0, ticket);
    }
    assert_eq!(bench.p_after(ms(70)), (7.0 * 66.0 - 11.0) / 65_535.0);
}

/// The pressure of a boxed flow adds a step of 66/65535 to the one of the full bin.
#[test]
fn the_step_of_the_form_linux_is_66_in_65535_also_under_pressure() {
    let penalty_box = PenaltyBox { boxed: Boxed::Pressure, threshold: Fraction(1e-9), ..PenaltyBox::default() };
    let mut bench = Bench::new(&Params { form: Form::Linux, increment: None, penalty_box, ..one_bin() });
    bench.queue(ms(0));
    assert_eq!(bench.p_after(ms(1)), 66.0 / 65_535.0 + 66.0 / 65_535.0);
}

/// Probabilities of form "linux" are multiples of 1/65535: with a step of 1e-5, which is 0.66 of such a unit, they are
/// 0.66, 1.66 and 2.66 units, rounded.
#[test]
fn the_probabilities_of_the_form_linux_are_multiples_of_a_65535th() {
    let mut bench = Bench::new(&Params { form: Form::Linux, increment: Some(1e-5), ..one_bin() });
    bench.queue(ms(0));
    assert_eq!([1, 2, 3].map(|at| bench.p_after(ms(at)) * 65_535.0), [1.0, 2.0, 3.0]);
}

/// `sfb_enqueue` of Linux compares r, a random number of 16 bits, with the probability: the packet is neither marked nor
/// dropped if r is at least that.
#[test]
fn linux_passes_a_packet_whose_random_number_is_not_below_the_probability() {
    for seed in 0..40 {
        let r = (Rng::named(seed, "r").uniform() * 65_536.0).floor();
        if !(1.0..65_534.0).contains(&r) {
            continue;
        }
        for (p, passes) in [(r, true), (r + 1.0, false)] {
            let mut bench = Bench::new(&Params { form: Form::Linux, increment: Some(p / 65_535.0), ..one_bin() });
            bench.queue(ms(0));
            let verdict = bench.law.arrive(ms(1), 0, &mut Rng::named(seed, "r"));
            assert_eq!(matches!(verdict, Verdict::Pass(_)), passes, "r {r}, p {p}: {verdict:?}");
        }
    }
}

/// The bucket of the penalty box in Linux: 20 tokens, and 10 per second.
#[test]
fn linux_lets_a_burst_of_20_boxed_packets_pass_and_then_10_per_second() {
    let mut bench = Bench::new(&Params { form: Form::Linux, increment: Some(1.0), ..one_bin() });
    bench.queue(ms(0));
    let mut passed =
        |at| (0..50).filter(|_| matches!(bench.law.arrive(ms(at), 0, &mut bench.rng), Verdict::Pass(_))).count();
    // The bucket is filled only when it is empty. 0.09 s give no token, 0.91 s from then on 9, 1 s 10, and 9 s 90, of
    // which the bucket holds 20.
    assert_eq!([passed(1), passed(90), passed(1_000), passed(2_000), passed(11_000)], [20, 0, 9, 10, 20]);
}

/// The moving hash of Linux: a change after 10 min; in the last minute before it the packets of boxed flows also update
/// the next set.
#[test]
fn linux_changes_the_set_every_ten_minutes_and_warms_it_up_in_the_last_one() {
    let penalty_box = PenaltyBox { threshold: Fraction(0.25), ..PenaltyBox::default() };
    let params = Params { form: Form::Linux, bin_size: Some(1), increment: Some(1.0), penalty_box, ..one_bin() };
    let second = |s: u64| ms(1_000 * s);
    // At 540 s the warm-up has not begun, and the packet is not counted in the next set; at 541 s it is. At 600 s the
    // first set still decides. The next one has a packet since 541 s if there was no packet before, so that its
    // probability is raised at 542 s.
    for (at, after_change) in [([540, 541], 0.0), ([541, 542], 1.0)] {
        let mut bench = Bench::new(&params);
        bench.queue(second(0));
        bench.queue(second(1));
        bench.queue(second(at[0]));
        bench.p_after(second(at[1]));
        assert_eq!(bench.law.probability(0), 1.0);
        assert_eq!(bench.p_after(second(600)), 1.0);
        // The arrival at 600 s has raised or lowered the next set, too; its packet was not queued.
        let p = bench.p_after(second(601));
        assert_eq!(p, after_change, "{at:?}");
    }
}

/// Of each flow that has passed the penalty box: its index, 4 bytes, and a time, 8 bytes.
#[test]
fn the_state_of_a_penalty_box_per_flow_grows_by_twelve_bytes_per_boxed_flow() {
    let penalty_box = PenaltyBox { scope: Scope::PerFlow, threshold: Fraction(0.25), ..PenaltyBox::default() };
    let mut bench = Bench::new(&Params { penalty_box, ..one_bin() });
    bench.queue(ms(0));
    let empty = bench.law.state_bytes();
    for flow in [3, 7, 7, 20] {
        bench.law.arrive(ms(1), flow, &mut bench.rng);
    }
    assert_eq!(bench.law.state_bytes() - empty, 3 * 12);
}

#[test]
fn bins_are_empty_only_if_there_are_none() {
    let (none, some) = (Bins::new(0, 3), Bins::new(2, 3));
    assert_eq!((none.len(), none.is_empty(), none.max_packets()), (0, true, 0));
    assert_eq!((some.len(), some.is_empty(), some.max_packets()), (6, false, 0));
}
