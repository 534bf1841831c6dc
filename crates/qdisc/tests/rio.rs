//! RED by drop precedence: what protects marked packets, and what does not.

use tailback_qdisc::law::ered::Ered;
use tailback_qdisc::law::red::{Count, Params, Red};
use tailback_qdisc::law::rio::Rio;
use tailback_qdisc::law::{Backlog, Decision};
use tailback_random::Rng;
use tailback_units::{Amount, Fraction, Rate, Size, Time};

fn params(min: u64, max: u64, max_p: f64) -> Params {
    Params {
        min: Some(Amount::packets(min)),
        max: Some(Amount::packets(max)),
        max_p: Fraction(max_p),
        weight: Some(1.0),
        gentle: false,
        wait: false,
        byte_mode: false,
        count: Count::Packets,
        mean_packet: Size(1000),
        ..Params::default()
    }
}

fn backlog(packets: u64) -> Backlog {
    Backlog { packets, bytes: packets * 1000 }
}

const RATE: Rate = Rate::mbit(10);

#[test]
fn in_packets_see_only_in_packets_and_out_packets_see_all() {
    let rng = &mut Rng::named(1, "rio");
    let mut law = Rio::new(&[params(40, 70, 0.02), params(10, 30, 0.5)], RATE);
    // 5 in-packets and 30 out-packets wait.
    let queues = [backlog(5), backlog(35)];
    assert_eq!(law.arrive(Time::ZERO, &queues, 1000, 0, rng), Decision::Pass);
    assert_eq!(law.arrive(Time::ZERO, &queues, 1000, 1, rng), Decision::Forced);
    assert_eq!(law.levels()[0].average(), 5.0);
    assert_eq!(law.levels()[1].average(), 35.0);
}

#[test]
fn arrivals_of_any_precedence_make_the_average_of_all() {
    let rng = &mut Rng::named(1, "rio");
    let slow = Params { weight: Some(0.5), ..params(40, 70, 0.02) };
    let mut law = Rio::new(&[slow.clone(), slow], RATE);
    law.arrive(Time::ZERO, &[backlog(4), backlog(8)], 1000, 0, rng);
    law.arrive(Time::ZERO, &[backlog(4), backlog(8)], 1000, 1, rng);
    assert_eq!((law.levels()[0].average(), law.levels()[1].average()), (2.0, 6.0));
}

#[test]
fn a_precedence_beyond_the_last_counts_as_the_last() {
    let rng = &mut Rng::named(1, "rio");
    let mut law = Rio::new(&[params(40, 70, 0.02), params(10, 30, 0.5)], RATE);
    assert_eq!(law.arrive(Time::ZERO, &[backlog(0), backlog(35)], 1000, 7, rng), Decision::Forced);
}

#[test]
fn enhanced_red_chooses_among_the_unmarked_as_red_would_and_spares_the_marked() {
    // The same draws for a RED that sees only the unmarked packets' arrivals, the averages being
    // equal at a weight of 1.
    let (rng, same) = (&mut Rng::named(1, "ered"), &mut Rng::named(1, "ered"));
    let mut law = Ered::new(&params(5, 15, 0.2), None, RATE);
    let mut red = Red::new(&params(5, 15, 0.2), RATE);
    let mut chosen = 0;
    for n in 0..100_000u64 {
        let queue = backlog(n % 17);
        if n % 3 == 0 {
            assert_eq!(law.arrive(Time::ZERO, queue, 1000, 0, rng), Decision::Pass);
        } else {
            let decision = law.arrive(Time::ZERO, queue, 1000, 1, rng);
            assert_eq!(decision, red.arrive(Time::ZERO, queue, 1000, same));
            chosen += u32::from(decision != Decision::Pass);
        }
    }
    assert!(chosen > 1000);
}

#[test]
fn marked_packets_are_dropped_from_a_threshold_of_their_own_on() {
    let rng = &mut Rng::named(1, "ered");
    let mut law = Ered::new(&params(5, 15, 0.2), Some(Amount::packets(40)), RATE);
    assert_eq!(law.arrive(Time::ZERO, backlog(39), 1000, 0, rng), Decision::Pass);
    assert_eq!(law.arrive(Time::ZERO, backlog(40), 1000, 0, rng), Decision::Forced);
}
