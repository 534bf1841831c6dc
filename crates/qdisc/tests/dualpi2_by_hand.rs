//! DualPI2 step by step: the credit of the round robin, the step, the ramp and the limits of p', computed by hand.

use crate::common::*;
use tailback_qdisc::discipline::dualpi2::Params;
use tailback_qdisc::{Colour, Cx, Ecn, Gate, Qdisc, Reason, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

const L: Ecn = Ecn::Ect1;
const C: Ecn = Ecn::NotEct;

fn site() -> Site {
    places(u64::MAX, Rate::mbit(10))
}

fn rig(params: Params) -> Rig {
    Rig::new(&Spec::DualPi2(params), &site(), Rng::named(1, "port"))
}

fn arrive(rig: &mut Rig, at: Time, ecn: Ecn, size: u16) {
    let arrival = Arrival { at, seq: u32::from(size), flow: 0, size, ecn, colour: Colour::Green };
    rig.arrive(&arrival, &mut Log::new());
}

/// Parameters whose credit begins with mtu · (2w − 1000), where w is the share of the C queue in thousandths. A packet
/// of s bytes that leaves the L queue adds w · s, and one that leaves the C queue takes (1000 − w) · s, while both queues
/// have packets.
fn shares(mtu: u64, classic_share: f64) -> Params {
    Params { mtu: Size(mtu), classic_share, ..Params::default() }
}

/// Returns the sizes of packets in the order of their departure, all at time zero; the packets of `low` and of `classic`
/// have these sizes.
fn order(rig: &mut Rig, low: &[u16], classic: &[u16]) -> Vec<u16> {
    for size in low {
        arrive(rig, Time::ZERO, L, *size);
    }
    for size in classic {
        arrive(rig, Time::ZERO, C, *size);
    }
    (low.iter().chain(classic)).map(|_| rig.leave(Time::ZERO, &mut Log::new()).expect("a packet waits")).collect()
}

/// `dualpi2_dequeue` of Linux: the L queue is served while the credit is 0 or less.
#[test]
fn the_l_queue_is_served_while_the_credit_is_at_most_zero() {
    for (params, low, classic, expected) in [
        // −200,000; +100,000 twice: 0; +100,000.
        (shares(1000, 0.4), [250, 251, 252, 253], [700, 701], [250, 251, 700, 252, 253, 701]),
        (shares(1000, 0.4), [250, 250, 252, 253], [700, 701], [250, 250, 252, 700, 253, 701]),
        // −998; +999: 1.
        (shares(1, 0.001), [999, 998, 997, 996], [700, 701], [999, 700, 998, 997, 996, 701]),
        // +998; −998: 0.
        (shares(1, 0.999), [101, 102, 103, 104], [998, 999], [998, 101, 999, 102, 103, 104]),
        (shares(1, 0.999), [101, 102, 103, 104], [997, 999], [997, 999, 101, 102, 103, 104]),
    ] {
        let found = order(&mut rig(params.clone()), &low, &classic);
        assert_eq!(found, expected, "{} {}", params.mtu.0, params.classic_share);
    }
}

/// A credit of +400 remains after L packets of 250 B and 251 B (−200,000 + 100,000 + 100,400) if a C packet waits
/// meanwhile: then a C packet is served first. From the start two L packets are.
#[test]
fn the_credit_of_a_busy_period_ends_with_it_and_only_packets_that_compete_change_it() {
    let spent = |packets_after: &mut dyn FnMut(&mut Rig)| {
        let mut rig = rig(shares(1000, 0.4));
        assert_eq!(order(&mut rig, &[250, 251], &[900]), [250, 251, 900]);
        packets_after(&mut rig);
        order(&mut rig, &[250, 251], &[700])
    };
    let (c_first, l_first) = ([700, 250, 251], [250, 251, 700]);
    assert_eq!(spent(&mut |_| ()), c_first, "the busy period continues");
    // The C queue and then the L queue alone.
    assert_eq!(spent(&mut |rig| assert_eq!(order(rig, &[], &[600, 600]), [600, 600])), c_first);
    assert_eq!(spent(&mut |rig| assert_eq!(order(rig, &[600, 600], &[]), [600, 600])), c_first);
    assert_eq!(spent(&mut |rig| assert_eq!(rig.leave(Time::ZERO, &mut Log::new()), None)), l_first);
    assert_eq!(
        spent(&mut |rig| {
            assert!(rig.q.watches_idle());
            Queue::idle(rig, Time::ZERO, &mut Log::new());
        }),
        l_first
    );
    // A stopped port does not end it.
    let mut rig = rig(shares(1000, 0.4));
    assert_eq!(order(&mut rig, &[250, 251], &[900]), [250, 251, 900]);
    arrive(&mut rig, Time::ZERO, L, 252);
    let mut gate = Gate::default();
    gate.close_port();
    let cx = &mut Cx { rng: &mut Rng::named(1, "gate"), dropped: &mut Vec::new(), marked: &mut 0 };
    assert!(rig.q.dequeue(Time::ZERO, &gate, cx).is_none());
    assert_eq!(order(&mut rig, &[], &[700]), [700]);
}

/// With a share of 0.999 the initial credit is positive, so that a C packet is served first.
#[test]
fn a_change_of_the_share_moves_an_initial_credit_and_keeps_any_other() {
    let to = Spec::DualPi2(shares(1000, 0.999));
    let mut initial = rig(shares(1000, 0.4));
    initial.q.retune(Time::ZERO, &to, &site());
    assert_eq!(order(&mut initial, &[250], &[700]), [700, 250]);
    // After one L packet the credit is −100,000; the next one adds 999 · 250.
    let mut other = rig(shares(1000, 0.4));
    arrive(&mut other, Time::ZERO, C, 900);
    assert_eq!(order(&mut other, &[250], &[]), [250]);
    other.q.retune(Time::ZERO, &to, &site());
    assert_eq!(order(&mut other, &[250, 251], &[]), [250, 900]);
}

#[test]
fn a_packet_that_back_pressure_stops_does_not_stop_the_other_queue() {
    // At first the L queue would be served; with a share of 0.999 the C queue.
    for (share, stopped, first) in [(0.1, 1000, 700), (0.999, 700, 1000)] {
        let mut rig = rig(shares(1000, share));
        for (ecn, size) in [(L, 1000), (C, 700)] {
            let arrival = Arrival { at: Time::ZERO, seq: 0, flow: 0, size, ecn, colour: Colour::Green };
            let mut packet = packet(&arrival);
            packet.set_class(u8::from(size == stopped));
            let cx = &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked };
            rig.q.enqueue(Time::ZERO, packet, cx);
        }
        let mut gate = Gate::default();
        gate.close_class(1);
        let cx = &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked };
        assert_eq!(rig.q.dequeue(Time::ZERO, &gate, cx).map(|packet| packet.size), Some(first), "{share}");
        assert!(rig.q.dequeue(Time::ZERO, &gate, cx).is_none());
    }
}

/// The gains are so large that any delay at the update at 16 ms makes p' as large as it can be.
fn saturated(params: Params) -> (Rig, Time) {
    let mut rig = rig(Params { alpha: 1e6, target: Dur::from_ns(1), mtu: Size(1000), ..params });
    (0..4).for_each(|_| arrive(&mut rig, Time::ZERO, C, 1000));
    let due = Time::ZERO + Dur::from_ms(16);
    rig.wake(due, &mut Log::new());
    (rig, due)
}

#[test]
fn all_probabilities_are_at_most_one_and_without_drops_on_overload_p_is_at_most_the_inverse_coupling() {
    let seen = |params| {
        let (rig, _) = saturated(params);
        ["base_probability", "classic_probability", "scalable_probability"].map(|name| rig.state(name))
    };
    assert_eq!(seen(Params { coupling: 4.0, ..Params::default() }), [1.0, 1.0, 1.0]);
    assert_eq!(seen(Params { coupling: 4.0, drop_on_overload: false, ..Params::default() }), [0.25, 0.0625, 1.0]);
}

/// `must_drop` of Linux: p' has no effect while less than two full packets, here 2000 B, remain.
#[test]
fn a_packet_that_leaves_exactly_two_full_packets_behind_can_be_dropped() {
    let (mut rig, due) = saturated(Params::default());
    let mut log = Log::new();
    // p' is 1: the packets that leave 3000 B and 2000 B behind are dropped.
    assert_eq!(rig.leave(due, &mut log), Some(1000));
    let early = Fate::Dropped(Reason::Early);
    assert_eq!(log.iter().map(|(_, fate)| *fate).collect::<Vec<_>>(), [early, early, Fate::Sent { marked: false }]);
}

/// Returns the number of packets, of 400 that wait alone for `waited`, that are marked.
fn marked_of_400(params: &Params, waited: Dur) -> usize {
    let mut rig = rig(params.clone());
    let mut log = Log::new();
    for n in 0..400 {
        let at = Time::ZERO + Dur::from_secs(n);
        let ecn = L;
        rig.arrive(&Arrival { at, seq: n as u32, flow: 0, size: 1000, ecn, colour: Colour::Green }, &mut log);
        rig.leave(at + waited, &mut log);
    }
    log.iter().filter(|(_, fate)| *fate == Fate::Sent { marked: true }).count()
}

#[test]
fn a_packet_is_marked_by_the_step_only_above_it() {
    assert_eq!(marked_of_400(&Params::default(), Dur::from_ms(1)), 0);
    assert_eq!(marked_of_400(&Params::default(), Dur::from_ms(1) + Dur(1)), 400);
}

/// RFC 9332, appendix A.1 (laqm): the probability is 0 at the minimum threshold and rises linearly to 1.
#[test]
fn the_ramp_begins_at_the_step_and_marks_also_a_packet_that_waits_alone() {
    let params = Params { step: Dur::from_ms(100), ramp: Dur::from_ms(100), ..Params::default() };
    assert_eq!(marked_of_400(&params, Dur::from_ms(99)), 0);
    assert_eq!(marked_of_400(&params, Dur::from_ms(100)), 0);
    // 400 · 0.5; three standard deviations are 30.
    assert!((170..=230).contains(&marked_of_400(&params, Dur::from_ms(150))));
    assert_eq!(marked_of_400(&params, Dur::from_ms(200)), 400);
    assert_eq!(marked_of_400(&params, Dur::from_ms(300)), 400);
}
