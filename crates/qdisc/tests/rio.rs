//! RED by drop precedence: the queues and thresholds that RIO and enhanced RED use for each precedence.

use tailback_qdisc::law::ered::Ered;
use tailback_qdisc::law::red::{Count, Params, Red};
use tailback_qdisc::law::rio::Rio;
use tailback_qdisc::law::{Backlog, Decision};
use tailback_random::Rng;
use tailback_units::{Amount, Fraction, Rate, Size, Time};

/// Returns RED with thresholds in packets of 1000 B, whose average is the present queue.
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

/// Returns a backlog of packets of 1000 B.
fn backlog(packets: u64) -> Backlog {
    Backlog { packets, bytes: packets * 1000 }
}

const RATE: Rate = Rate::mbit(10);

#[test]
fn rio_drops_in_packets_by_the_waiting_in_packets_and_out_packets_by_all_waiting_packets() {
    let rng = &mut Rng::named(1, "rio");
    let mut law = Rio::new(&[params(40, 70, 0.02), params(10, 30, 0.5)], RATE);
    // 5 In packets and 30 Out packets wait.
    let queues = [backlog(5), backlog(35)];
    assert_eq!(law.arrive(Time::ZERO, &queues, 1000, 0, rng), Decision::Pass);
    assert_eq!(law.arrive(Time::ZERO, &queues, 1000, 1, rng), Decision::Forced);
    assert_eq!(law.levels()[0].average(), 5.0);
    assert_eq!(law.levels()[1].average(), 35.0);
}

#[test]
fn arrivals_of_every_precedence_update_the_average_of_the_whole_queue() {
    let rng = &mut Rng::named(1, "rio");
    let slow = Params { weight: Some(0.5), ..params(40, 70, 0.02) };
    let mut law = Rio::new(&[slow.clone(), slow], RATE);
    law.arrive(Time::ZERO, &[backlog(4), backlog(8)], 1000, 0, rng);
    law.arrive(Time::ZERO, &[backlog(4), backlog(8)], 1000, 1, rng);
    // The average of In packets changes at the first arrival only, by half of 4. That of the whole queue changes at
    // both: by half of 8, then by half of the other 4.
    assert_eq!((law.levels()[0].average(), law.levels()[1].average()), (2.0, 6.0));
}

#[test]
fn a_precedence_beyond_the_last_counts_as_the_last() {
    let rng = &mut Rng::named(1, "rio");
    let mut law = Rio::new(&[params(40, 70, 0.02), params(10, 30, 0.5)], RATE);
    assert_eq!(law.arrive(Time::ZERO, &[backlog(0), backlog(35)], 1000, 7, rng), Decision::Forced);
}

#[test]
fn enhanced_red_drops_the_same_nonconforming_packets_as_red_and_no_green_ones() {
    // RED, with the same random numbers, gets only the arrivals of packets that are not green. At a weight of 1 both
    // averages are the present queue.
    let (rng, red_rng) = (&mut Rng::named(1, "ered"), &mut Rng::named(1, "ered"));
    let mut law = Ered::new(&params(5, 15, 0.2), None, RATE);
    let mut red = Red::new(&params(5, 15, 0.2), RATE);
    let mut drops = 0;
    for n in 0..100_000u64 {
        let queue = backlog(n % 17);
        if n % 3 == 0 {
            assert_eq!(law.arrive(Time::ZERO, queue, 1000, 0, rng), Decision::Pass);
        } else {
            let decision = law.arrive(Time::ZERO, queue, 1000, 1, rng);
            assert_eq!(decision, red.arrive(Time::ZERO, queue, 1000, red_rng));
            drops += u32::from(decision != Decision::Pass);
        }
    }
    // Of the 66 666 packets that are not green 2 in 17 find at least `max` = 15 packets.
    assert!(drops > 1000);
}

#[test]
fn enhanced_red_drops_green_packets_once_the_queue_reaches_their_own_threshold() {
    let rng = &mut Rng::named(1, "ered");
    let mut law = Ered::new(&params(5, 15, 0.2), Some(Amount::packets(40)), RATE);
    assert_eq!(law.arrive(Time::ZERO, backlog(39), 1000, 0, rng), Decision::Pass);
    assert_eq!(law.arrive(Time::ZERO, backlog(40), 1000, 0, rng), Decision::Forced);
}
