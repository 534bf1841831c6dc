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

/// A time or a rate is 8 bytes, an optional one 16; a token bucket 16 for its level and 8 for the time of its last
/// refill.
#[test]
fn the_state_of_a_law_is_the_sum_of_its_variables() {
    for (document, law) in [
        // The probability, the queue at the last update, the time of the next.
        (json!({ "kind": "pi" }), 8 + 8 + 8),
        // In this order: the probability and its accumulated value; the burst allowance; the present and the last delay;
        // the time of the next update; the start and the bytes of a measurement of the departure rate, optional; the
        // time per byte.
        (json!({ "kind": "pie" }), 8 + 8 + 8 + (8 + 8) + 8 + 24 + 8),
        // The backlog that has arrived (packets and bytes), average, price, probability, time of the next update.
        (json!({ "kind": "rem" }), 16 + 8 + 8 + 8 + 8),
        // The virtual rate and queue, the times of the last service and adaptation, a flag (the first packet has come).
        (json!({ "kind": "avq" }), 8 + 8 + 8 + 8 + 1),
        // `dropping`, `count`, `drop_next`; Blue's probability and two times.
        (json!({ "kind": "cobalt" }), 1 + 4 + 8 + 24),
        // As CoDel's, with Newton's reciprocal square root of 16 bits.
        (json!({ "kind": "codel", "root": "newton" }), 34 + 2),
        // RED's.
        (json!({ "kind": "ered" }), 41),
        // RED's for each of the levels green and yellow; packets and bytes of each.
        (json!({ "kind": "rio" }), 2 * 41 + 2 * 16),
        // The average and the start of the idle time, optional.
        (json!({ "kind": "wred" }), 8 + 16),
        // Of each of three colours the average, the start of the idle time and the backlog.
        (json!({ "kind": "wred", "by": "colour", "average": "profile" }), 3 * (8 + 16) + 3 * 16),
        // Of each of three colours a count of packets since the last drop.
        (json!({ "kind": "wred", "by": "colour", "spread": true }), (8 + 16) + 3 * 8),
        // The frequency of hits.
        (json!({ "kind": "sred" }), 8),
        // A second queue; the probability, the delay at the last update and the time of the next; the credit.
        (json!({ "kind": "dualpi2" }), QUEUE + (8 + 8 + 8) + 8),
        // RED's; bytes that arrived and were dropped, the drop rate, optional, and the end of the interval.
        (json!({ "kind": "red-pd" }), 41 + 8 + 8 + 16 + 8),
        // The number of active flows, the average queue in all and per flow, the count, the start of the idle time.
        (json!({ "kind": "fred" }), 8 + 8 + 8 + 8 + 8),
        // In addition to the bins, 32 bytes each, and the seed: the time of the last boxed packet of each bin, optional.
        (json!({ "kind": "sfb", "penalty-box": { "scope": "per-bin" } }), 46 * 32 + 8 + 46 * 16),
        // A list of flows, empty at first.
        (json!({ "kind": "sfb", "penalty-box": { "scope": "per-flow" } }), 46 * 32 + 8),
        // Linux: 8 levels of 16 bins; the tokens and the time of the last refill; a second set of bins (with its seed),
        // the start of the interval, and a flag.
        (
            json!({ "kind": "sfb", "form": "linux", "levels": 8, "bins": 16,
                 "rehash": { "interval": "600s", "warm-up": "60s" } }),
            2 * (8 * 16 * 32 + 8) + 16 + 8 + 1,
        ),
        (json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": {} }), 0),
    ] {
        assert_eq!(fresh(document.clone()), QUEUE + law, "{document}");
    }
}

#[test]
fn the_state_of_flows_is_the_sum_of_their_variables() {
    const N: usize = 5;
    // The index of a flow's queue, if it has one of its own; the queue, its place in the list of occupied queues, and
    // its entry there. Once the packets and bytes of all queues.
    const FLOW: usize = 4;
    const FIFO: usize = QUEUE + 4 + 4;
    const TOTAL: usize = 8 + 8;
    // A deficit, a flag (the queue is listed), and an entry in a list.
    const SEAT: usize = 8 + 1 + 4;
    // An optional finish tag, and the rank of the head: tag, arrival, queue. Once the number of arrivals.
    const TAG: usize = 16 + (8 + 8 + 4);
    const TAGS: usize = 8;
    const SALT: usize = 8;
    for (document, expected) in [
        // A flag: the turn has just begun.
        (json!({ "kind": "sfq", "buckets": "per-flow" }), N * (FLOW + FIFO + SEAT) + TOTAL + 1),
        (json!({ "kind": "sfq", "buckets": 1 }), SALT + FIFO + SEAT + TOTAL + 1),
        // The time of the next perturbation.
        (json!({ "kind": "sfq", "buckets": 1, "perturb": "10s" }), SALT + FIFO + SEAT + TOTAL + 1 + 8),
        (json!({ "kind": "sfq-red", "buckets": 1 }), SALT + FIFO + SEAT + TOTAL + 1 + 41),
        // The virtual time and the last finish tag.
        (json!({ "kind": "stfq" }), N * (FLOW + FIFO + TAG) + TOTAL + TAGS + 8 + 8),
        // The sum of the weights.
        (json!({ "kind": "virtual-clock" }), N * (FLOW + FIFO + TAG) + TOTAL + TAGS + 8),
        // The virtual time, the sum of weights, the unfinished work and its time.
        (json!({ "kind": "wf2q-plus" }), N * (FLOW + FIFO + TAG) + TOTAL + TAGS + 8 + 8 + 16),
        // Of each busy queue of the fluid model its finish tag and index, in order, and optionally its finish tag.
        (json!({ "kind": "wfq" }), N * (FLOW + FIFO + TAG + 8 + 4 + 16) + TOTAL + TAGS + 8 + 8 + 16),
        // Credit, a flag, the time of the removal; an entry in the list of new flows.
        (json!({ "kind": "fq", "buckets": "per-flow" }), N * (FLOW + FIFO + (8 + 1 + 8) + 4) + TOTAL),
        (json!({ "kind": "fq-codel", "buckets": "per-flow" }), N * (FLOW + FIFO + SEAT + 34) + TOTAL),
        // The time of the next update.
        (json!({ "kind": "fq-pie", "buckets": "per-flow" }), N * (FLOW + FIFO + SEAT + 80) + TOTAL + 8),
        // Waiting packets and strikes of each flow.
        (json!({ "kind": "fred" }), N * (FLOW + 4 + 4) + QUEUE + 40),
        // The dropped bytes, the probability, a count and the time of the last change of each flow.
        (json!({ "kind": "red-pd" }), N * (FLOW + 4 * 8) + QUEUE + 41 + 40),
        // A place for each flow seen.
        (json!({ "kind": "sred" }), N * 4 + QUEUE + 8),
        // Conversations: a key of 8 bytes and the index of the queue; of each queue its weight and a flag (it refuses
        // packets). The virtual time.
        (json!({ "kind": "fair-queue", "queues": "per-flow" }), N * (8 + 4 + 8 + FIFO + TAG + 1) + TOTAL + TAGS + 8),
        (json!({ "kind": "fair-queue", "queues": 1 }), SALT + 8 + (FIFO + TAG + 1) + TOTAL + TAGS + 8),
        // The average and the start of the idle time.
        (
            json!({ "kind": "fair-queue-wred", "fair-queue": { "queues": 1 } }),
            SALT + 8 + (FIFO + TAG + 1) + TOTAL + TAGS + 8 + 24,
        ),
        // Bytes, accepted packets, a flag (the channel is bad), the timer, optional.
        (json!({ "kind": "netem", "delay": "1ms" }), 8 + 8 + 1 + 16),
    ] {
        assert_eq!(with_flows(document.clone(), N as u64), expected, "{document}");
    }
}

#[test]
fn the_state_of_classes_is_the_sum_of_their_variables_and_disciplines() {
    // A FIFO, and its packets and bytes. Once the packets and bytes of all classes, and the class in service.
    const CLASS: usize = QUEUE + 16;
    const TOTAL: usize = 16 + 4;
    const BUCKET: usize = 16 + 8;
    let (flow, codel) = (json!({ "flow": 0 }), json!({ "kind": "codel" }));
    for (document, expected) in [
        (json!({ "kind": "priority", "levels": [{}, { "discipline": codel }] }), 2 * CLASS + 34 + TOTAL),
        // The credit of each class; the class in turn and a flag (its turn has just begun).
        (json!({ "kind": "wrr", "classes": [{ "match": flow }] }), 2 * (CLASS + 8) + TOTAL + 4 + 1),
        // Two queues of priority classes; of each such class the bytes, the packets and, with a rate, a token bucket. Of
        // each other class the start tag and a flag; the virtual time.
        (
            json!({ "kind": "class-based", "classes": [
                { "match": flow, "priority": {} }, { "match": flow, "priority": { "rate": "10%" } },
                { "match": flow, "bandwidth": "20%" }] }),
            2 * QUEUE + (2 * 16 + BUCKET) + 2 * (CLASS + 8 + 1) + TOTAL + 8,
        ),
        // Of each class eight deficits, the mode, its next event, optional, the active priorities, and two buckets. Feeds, each a
        // set of 256 bits and two indices of a byte, optional: one for each of 8 priorities of the class with children, and of 8
        // levels. The timer, optional. The packets without a class have one of their own.
        (
            json!({ "kind": "htb", "classes": [
                { "name": "r", "rate": "2Mbit/s" }, { "name": "a", "parent": "r", "rate": "1Mbit/s" },
                { "name": "b", "parent": "r", "rate": "1Mbit/s" }] }),
            3 * (8 * 8 + 1 + 16 + 1 + 2 * BUCKET) + (8 + 64) * (32 + 2 + 2) + 16 + 3 * CLASS + TOTAL,
        ),
        // Of each class and of the root 222 bytes (twelve times and services of 16, two periods of 8, a count of 4, the
        // place in the order, 8, two flags); of each curve four numbers of 16, where a real-time curve counts twice. Of
        // each class a flag; the class in service and the timer, both optional.
        (
            json!({ "kind": "hfsc", "classes": [
                { "name": "a", "rt": { "m2": "1Mbit/s" } },
                { "name": "b", "ls": { "m2": "1Mbit/s" }, "ul": { "m2": "1Mbit/s" } }] }),
            3 * 222 + (2 + 2) * 64 + 2 + 16 + 16 + 2 * CLASS + TOTAL,
        ),
        // A token bucket, the largest packet, the timer, optional.
        (json!({ "kind": "shaper", "rate": "1Mbit/s", "discipline": codel }), QUEUE + 34 + BUCKET + 4 + 16),
    ] {
        assert_eq!(fresh(document.clone()), expected, "{document}");
    }
}

#[test]
fn the_peak_state_of_a_discipline_is_at_least_its_initial_state_and_that_of_a_queue() {
    let traffic = Traffic { packets: 2_000, ..Traffic::default() }.draw(1);
    // A user's law needs a file and a class.
    for kind in Spec::NAMES.iter().filter(|kind| !kind.starts_with("user")) {
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
