//! Bytes of a discipline's state without its packets: exact values for some, counted by hand, and a lower bound for
//! each.

use crate::common::{Arrival, Log, Queue, Rig, Traffic, places, serve};
use serde_json::{Value, json};
use tailback_document::Checked;
use tailback_qdisc::{Colour, Ecn, Qdisc, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Returns a site for 200 kB at a link of 45 Mbit/s.
fn site() -> Site {
    Site { bytes: 200_000, packets: u64::MAX, rate: Rate::mbit(45) }
}

/// Returns the bytes of state of a new discipline.
fn fresh(document: Value) -> usize {
    let spec: Spec = tailback_document::decode(document).expect("it decodes");
    Checked::check(&spec).expect("it makes sense");
    spec.build(&site()).state_bytes()
}

/// Returns the bytes of state while a packet of each of `flows` flows waits.
fn with_flows(document: Value, flows: u64) -> usize {
    let spec: Spec = tailback_document::decode(document).expect("it decodes");
    let mut rig = Rig::new(&spec, &Site { bytes: u64::MAX, ..site() }, Rng::named(1, "port"));
    let mut log = Log::new();
    for seq in 0..flows as u32 {
        let at = Time::ZERO + Dur::from_us(u64::from(seq));
        let (size, colour) = (1000, Colour::Green);
        rig.arrive(&Arrival { at, seq, flow: seq, size, ecn: Ecn::NotEct, colour }, &mut log);
    }
    assert_eq!(rig.q.packets(), flows, "{spec:?}");
    rig.q.state_bytes()
}

/// State of a queue: references to its first and its last packet, and its length in bytes, 8 bytes each.
const QUEUE: usize = 3 * 8;

#[test]
fn laws_without_flows_have_the_state_of_their_variables() {
    assert_eq!(fresh(json!({ "kind": "drop-tail" })), QUEUE);
    assert_eq!(fresh(json!({ "kind": "drop-head" })), QUEUE);
    // In this order: the average; the start of the idle time, an optional time; packets and bytes since the last drop
    // or mark; a flag (the average is above min).
    let red = 8 + 16 + 16 + 1;
    assert_eq!(fresh(json!({ "kind": "red" })), QUEUE + red);
    // In addition max_p, the average's side of the band, and the time of the last change.
    assert_eq!(fresh(json!({ "kind": "red", "adaptive": { "kind": "feng" } })), QUEUE + red + 8 + 1 + 8);
    assert_eq!(fresh(json!({ "kind": "choke" })), QUEUE + red, "CHOKe has the state of RED");
    // The probability and the times of the last increase and decrease, 8 bytes each; the start of the idle time,
    // optional.
    assert_eq!(fresh(json!({ "kind": "blue" })), QUEUE + 24 + 16);
    // In this order: `first_above_time`, optional; `dropping`; `drop_next`; `count`; `lastcount`; the event that
    // preceded the packet.
    assert_eq!(fresh(json!({ "kind": "codel" })), QUEUE + 16 + 1 + 8 + 4 + 4 + 1);
}

#[test]
fn the_state_of_stochastic_fair_blue_does_not_grow_with_the_number_of_flows() {
    // Per bin 32 bytes: a probability, the times of the last increase and decrease, and a count of packets. Per set of
    // bins the seed of the hashes, 8 bytes. The time of the penalty box's last packet is optional: 16 bytes.
    let set = |bins: usize| bins * 32 + 8;
    let plain = QUEUE + set(2 * 23) + 16;
    assert_eq!(fresh(json!({ "kind": "sfb" })), plain);
    for flows in [1, 400] {
        assert_eq!(with_flows(json!({ "kind": "sfb" }), flows), plain);
    }
    // With new hashes at intervals there are, in addition, a second set, the start of the interval, and a flag (the set
    // in use).
    let rehashed = plain + set(2 * 23) + 8 + 1;
    assert_eq!(fresh(json!({ "kind": "sfb", "rehash": { "interval": "2s" } })), rehashed);
    assert_eq!(fresh(json!({ "kind": "sfb", "levels": 3, "bins": 100 })), QUEUE + set(300) + 16);
}

#[test]
fn the_state_of_per_flow_queues_grows_by_the_same_bytes_for_each_flow() {
    // In this order: the index of the flow's queue; the queue, its position in the list of occupied queues and its
    // entry there; its deficit and a flag (it is in the round); its entry in the round.
    let flow = 4 + (QUEUE + 4 + 4) + (8 + 1) + 4;
    for flows in [1, 10, 401] {
        // In addition the total bytes, the total packets and a flag (the turn has just begun).
        assert_eq!(with_flows(json!({ "kind": "drr" }), flows), flows as usize * flow + 8 + 8 + 1);
    }
    // The weights are parameters.
    let (plain, weighted) = (json!({ "kind": "drr" }), json!({ "kind": "drr", "weights": { "1": 2.0 } }));
    assert_eq!(with_flows(plain, 5), with_flows(weighted, 5));
    // Per flow the index of its queue, the queue, an optional finish tag and the rank of its head (tag, arrival,
    // queue); once the two totals, the virtual time and the number of arrivals.
    let tagged = 4 + (QUEUE + 4 + 4) + 16 + (8 + 8 + 4);
    assert_eq!(with_flows(json!({ "kind": "scfq" }), 401), 401 * tagged + 8 + 8 + 8 + 8);
    // With one hash bucket there is one queue, no index per flow, and a salt.
    let hashed = with_flows(json!({ "kind": "drr", "buckets": 1 }), 401);
    assert_eq!(hashed, flow - 4 + 8 + 8 + 8 + 1);
}

#[test]
fn the_peak_state_of_a_discipline_is_at_least_its_initial_state_and_that_of_a_queue() {
    let traffic = Traffic { packets: 2_000, ..Traffic::default() }.draw(1);
    for kind in Spec::NAMES {
        let spec: Spec = tailback_document::decode(json!({ "kind": kind })).expect("a default");
        // Some disciplines have no valid defaults: they need classes or a rate.
        if Checked::check(&spec).is_err() {
            continue;
        }
        let mut rig = Rig::new(&spec, &places(40, Rate::mbit(10)), Rng::named(1, "port"));
        let before = rig.q.state_bytes();
        let mut peak = 0;
        serve(&mut rig, Rate::mbit(10), &traffic, |rig, _| peak = peak.max(rig.q.state_bytes()));
        assert!(peak >= before.max(QUEUE), "{kind}: {before}, then {peak}");
    }
}
