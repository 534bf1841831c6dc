//! Tests of every parameter of every kind of discipline, as the schema lists them. A discipline whose parameter changes
//! before its first packet behaves as one that was built with the new value, or the parameter is in the list of fixed
//! parameters. A change of the site has the same property. A refusal names the parameter.

use super::parameters::{Schema, try_all};
use super::ride::{Ride, assert_equal, site, spec, traffic};
use serde_json::{Value, json};
use tailback_document::{Checked, decode};
use tailback_qdisc::{Site, Spec};
use tailback_units::{Rate, Time};

/// Returns parameters with which each parameter of each kind has an effect. Times, bursts and rates are larger than all
/// other values that are tried: a running timer and a full bucket keep the smaller of the old and the new value.
pub fn bases() -> Vec<Value> {
    let red = json!({ "min": "2packets", "max": "12packets", "weight": 0.2, "ecn": true, "max-p": 0.3, "mean-packet": "800B" });
    let with = |more: Value| {
        let mut all = red.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let feng = json!({ "max": "4packets", "max-p": 1.0, "adaptive": { "kind": "feng" } });
    let pie = json!({ "target": "1500us", "update": "20ms", "burst": "90ms", "alpha": 2.0, "beta": 20.0, "ecn": true });
    let classes = |more: &[Value]| {
        let matches = [json!({ "dscp": "ef" }), json!({ "flow": [2, 3] }), json!({ "dscp": "af31" })];
        let class = |(more, matches): (&Value, Value)| {
            let mut class = json!({ "match": matches });
            class.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            class
        };
        Value::Array(more.iter().zip(matches).map(class).collect())
    };
    vec![
        json!({ "kind": "drop-tail" }),
        json!({ "kind": "drop-tail", "packets": 9, "victim": "head" }),
        with(json!({ "kind": "red" })),
        with(json!({ "kind": "red", "victim": "random", "gentle": false })),
        json!({ "kind": "red", "weight": 0.2, "min": "2packets" }),
        with(
            json!({ "kind": "red", "max-p": 1.0, "max": "4packets", "adaptive": { "kind": "feng", "freeze": "5ms" } }),
        ),
        with(json!({ "kind": "red", "adaptive": { "kind": "floyd", "interval": "20ms", "bottom": 0.1, "top": 0.25 } })),
        with(json!({ "kind": "red", "gentle": false, "wait": false, "byte-mode": false, "idle": "1993" })),
        with(
            json!({ "kind": "red", "form": "linux", "gentle": false, "wait": false, "byte-mode": false, "idle": "none",
                     "adaptive": { "kind": "floyd", "interval": "20ms", "bottom": 0.1, "top": 0.25 } }),
        ),
        json!({ "kind": "choke", "red": with(json!({ "gentle": false, "wait": false, "byte-mode": false, "idle": "1993" })) }),
        json!({ "kind": "blue", "increment": 0.2, "decrement": 0.1, "freeze": "10ms", "threshold": "9packets", "ecn": true }),
        json!({ "kind": "blue", "form": "altq", "increment": 0.2, "decrement-freeze": "8ms", "victim": "head", "ecn": true }),
        json!({ "kind": "sfb", "bins": 3, "bin-size": 3, "increment": 0.3, "decrement": 0.1, "freeze": "10ms", "max": 20,
                "rehash": { "interval": "40ms" }, "ecn": true,
                "penalty-box": { "threshold": 0.6, "interval": "10ms", "boxed": "hold" } }),
        json!({ "kind": "sfb", "form": "linux", "bins": 3, "levels": 2, "bin-size": 3, "max": 9, "increment": 0.4,
                "ecn": true, "penalty-box": { "threshold": 0.5, "interval": "10ms", "burst": 3000 },
                "rehash": { "interval": "40ms", "warm-up": "20ms", "warmed-by": "unresponsive", "cap": 0.4 } }),
        json!({ "kind": "codel", "target": "1500us", "interval": "8ms", "ecn": true, "ce-threshold": "9ms" }),
        json!({ "kind": "codel", "target": "1500us", "interval": "8ms" }),
        {
            let mut pie = pie.clone();
            pie["kind"] = json!("pie");
            pie
        },
        json!({ "kind": "pie", "target": "1500us", "update": "9ms", "burst": "0s", "alpha": 9.0, "beta": 20.0,
                "estimator": "departure-rate", "byte-mode": true, "derandomise": false }),
        json!({ "kind": "drr", "weights": { "0": 2.0, "3": 0.5 } }),
        json!({ "kind": "drr", "buckets": 3, "quantum": "2kB", "victim": "random" }),
        json!({ "kind": "sfq", "buckets": 4 }),
        json!({ "kind": "sfq", "buckets": 4, "perturb": "20ms", "quantum": "2kB", "overflow": "share" }),
        json!({ "kind": "sfq", "buckets": 4, "perturb": "20ms", "victim": "head" }),
        json!({ "kind": "wfq", "buckets": 3 }),
        json!({ "kind": "wfq", "weights": { "0": 2.0, "3": 0.5 } }),
        json!({ "kind": "wf2q-plus", "buckets": 3 }),
        json!({ "kind": "wf2q-plus", "weights": { "0": 2.0, "3": 0.5 } }),
        json!({ "kind": "virtual-clock", "buckets": 3 }),
        json!({ "kind": "virtual-clock", "weights": { "0": 2.0, "3": 0.5 } }),
        json!({ "kind": "virtual-clock", "rate": "3Mbit/s", "weights": { "0": 2.0 } }),
        json!({ "kind": "scfq", "buckets": 3 }),
        json!({ "kind": "scfq", "weights": { "0": 2.0, "3": 0.5 } }),
        json!({ "kind": "stfq", "buckets": 3 }),
        json!({ "kind": "stfq", "weights": { "0": 2.0, "3": 0.5 } }),
        json!({ "kind": "sfq-red", "buckets": 2, "quantum": "2kB", "red": with(json!({ "max": "5packets" })) }),
        json!({ "kind": "sfq-red", "buckets": 2, "red": with(json!({ "adaptive": { "kind": "feng" }, "max": "5packets" })) }),
        json!({ "kind": "sfq-red", "buckets": 2, "red": with(json!({ "adaptive": { "kind": "floyd", "interval": "20ms" } })) }),
        json!({ "kind": "fred", "min": "3packets", "max": "9packets", "weight": 0.2, "max-p": 0.5, "ecn": true, "min-flow": 1 }),
        json!({ "kind": "fred", "min": "2kB", "max": "9kB", "weight": 0.2, "max-p": 0.9, "ecn": true, "min-flow": 1 }),
        json!({ "kind": "sred", "zombies": 40, "ecn": true }),
        json!({ "kind": "choke", "candidates": 2, "red": red }),
        json!({ "kind": "choke", "red": with(feng.clone()) }),
        json!({ "kind": "choke", "red": with(json!({ "adaptive": { "kind": "floyd", "interval": "20ms" } })) }),
        json!({ "kind": "red-pd", "rtt": "20ms", "hold": "20ms", "red": red }),
        json!({ "kind": "red-pd", "rtt": "20ms", "hold": "1ms", "red": with(feng.clone()) }),
        json!({ "kind": "red-pd", "rtt": "20ms", "red": with(json!({ "adaptive": { "kind": "floyd", "interval": "20ms" } })) }),
        json!({ "kind": "fq-codel", "buckets": 3, "target": "1500us", "interval": "8ms", "ce-threshold": "9ms" }),
        json!({ "kind": "fq-codel", "buckets": 3, "target": "1500us", "interval": "8ms", "ecn": false, "batch": 8 }),
        json!({ "kind": "fq-pie", "buckets": 2, "pie": pie }),
        json!({ "kind": "fq-pie", "buckets": 2, "pie": { "target": "1500us", "update": "9ms", "burst": "0s", "alpha": 9.0 } }),
        json!({ "kind": "cobalt", "target": "1500us", "interval": "8ms", "increment": 0.2, "decrement": 0.1, "ecn": true,
                "mtu": "300B" }),
        json!({ "kind": "dualpi2", "target": "1500us", "update": "20ms", "alpha": 20.0, "beta": 50.0, "ramp": "8ms",
                "min-qlen-step": 1 }),
        json!({ "kind": "dualpi2", "target": "1500us", "update": "20ms", "alpha": 50.0, "beta": 50.0, "step-packets": 4 }),
        json!({ "kind": "dualpi2", "target": "1500us", "update": "20ms", "alpha": 50.0, "scheduler": "time-shifted-fifo" }),
        json!({ "kind": "pi", "a": 0.1, "b": 0.09, "frequency": 300.0, "reference": "5packets", "ecn": true }),
        json!({ "kind": "pi", "a": 0.02, "b": 0.01, "frequency": 300.0, "count": "bytes", "byte-mode": true }),
        json!({ "kind": "rem", "gamma": 0.5, "phi": 1.2, "update": "20ms", "target": "4packets", "ecn": true }),
        json!({ "kind": "rem", "gamma": 0.5, "phi": 1.2, "update": "20ms", "target": "4packets", "count": "bytes" }),
        json!({ "kind": "avq", "ecn": true, "buffer": "6kB" }),
        json!({ "kind": "avq", "mean-packet": "300B" }),
        json!({ "kind": "rio", "green": with(feng.clone()),
                "yellow": with(json!({ "adaptive": { "kind": "floyd", "interval": "20ms" } })), "red": red }),
        json!({ "kind": "rio", "green": with(json!({ "adaptive": { "kind": "floyd", "interval": "20ms" } })), "yellow": red,
                "red": with(feng.clone()) }),
        json!({ "kind": "rio", "green": red, "yellow": with(feng.clone()),
                "red": with(json!({ "adaptive": { "kind": "floyd", "interval": "20ms" } })) }),
        json!({ "kind": "ered", "red": red, "green-max": "14packets" }),
        json!({ "kind": "ered", "red": with(feng.clone()) }),
        json!({ "kind": "ered", "red": with(json!({ "adaptive": { "kind": "floyd", "interval": "20ms" } })) }),
        json!({ "kind": "priority", "default": "low", "levels": [
            { "name": "high", "match": { "dscp": "ef" }, "limit": "4packets" },
            { "name": "middle", "match": { "flow": [2, 3] }, "limit": "9packets" },
            { "name": "low", "discipline": { "kind": "codel", "interval": "8ms" } },
        ] }),
        json!({ "kind": "class-based", "base": "8Mbit/s", "classes": classes(&[
            json!({ "name": "voice", "priority": { "rate": "3Mbit/s", "burst": "30kB" }, "limit": "9packets" }),
            json!({ "bandwidth": "50%", "limit": "9packets" }),
            json!({ "remaining": 9.0, "discipline": { "kind": "red" } }),
        ]), "default": { "remaining": 2.0, "limit": "12packets" } }),
        json!({ "kind": "class-based", "classes": classes(&[
            json!({ "priority": { "rate": "5Mbit/s" } }), json!({ "priority": { "rate": "3Mbit/s", "level": 2 } }),
            json!({ "bandwidth": "30%" }),
        ]), "default": { "bandwidth": "20%" } }),
        json!({ "kind": "fair-queue", "queues": 3, "threshold": "12packets", "hold": "25packets", "aggregate": "8packets",
                "individual": "5packets", "key": "flow" }),
        json!({ "kind": "wrr", "classes": classes(&[json!({ "name": "a", "weight": 4 }), json!({ "limit": "9packets" })]),
                "default": { "weight": 3, "limit": "12packets" } }),
        json!({ "kind": "wrr", "count": "bytes", "quantum": "2kB", "classes": classes(&[json!({ "weight": 4 })]) }),
        json!({ "kind": "htb", "default": "rest", "classes": [
            { "name": "root", "rate": "8Mbit/s", "burst": "30kB", "cburst": "30kB" },
            { "name": "voice", "parent": "root", "match": { "dscp": "ef" }, "rate": "3Mbit/s", "ceil": "5Mbit/s",
              "burst": "30kB", "cburst": "30kB", "accounting": "0B", "limit": "12packets", "prio": 1, "quantum": "2kB" },
            { "name": "data", "parent": "root", "match": { "flow": [2, 3] }, "rate": "3Mbit/s", "ceil": "8Mbit/s",
              "burst": "30kB", "cburst": "30kB", "limit": "9packets" },
            { "name": "rest", "parent": "root", "rate": "2Mbit/s", "ceil": "4Mbit/s", "burst": "30kB", "cburst": "30kB" },
        ] }),
        json!({ "kind": "shaper", "rate": "8Mbit/s", "burst": "30kB", "discipline": { "kind": "fq-codel" } }),
        json!({ "kind": "wred", "exponent": 1, "ecn": true, "profiles": { "5": { "min": 2, "max": 9, "denominator": 3 },
                "1": { "min": 4, "max": 12, "denominator": 4 }, "0": { "min": 3, "max": 14 } } }),
        json!({ "kind": "wred", "by": "colour", "exponent": 2, "average": "profile", "spread": true,
                "nonconforming": { "min": 1, "max": 5, "denominator": 4 } }),
        json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": { "0": "9kB" } }),
        json!({ "kind": "weighted-tail-drop", "by": "dscp", "limits": { "ef": "4packets", "0": "9kB" } }),
        json!({ "kind": "fair-queue-wred", "fair-queue": { "queues": 3, "threshold": "12packets", "hold": "25packets",
                "aggregate": "20packets", "individual": "9packets" },
                "wred": { "exponent": 2, "ecn": true, "profiles": { "0": { "min": 3, "max": 14, "denominator": 3 } } } }),
        json!({ "kind": "fair-queue-wred", "wred": { "exponent": 2, "spread": true,
                "nonconforming": { "min": 1, "max": 9, "denominator": 3 } } }),
        json!({ "kind": "fq", "buckets": 3, "flow-limit": 12 }),
        json!({ "kind": "netem", "delay": "3ms", "jitter": "2ms", "loss": 0.1, "ecn": true }),
        json!({ "kind": "netem", "rate": "8Mbit/s", "bursts": { "enter": 0.2, "leave": 0.4, "bad": 0.8, "good": 0.02 } }),
        json!({ "kind": "hfsc", "default": "rest", "classes": [
            { "name": "site", "ls": { "m2": "8Mbit/s" }, "ul": { "m1": "9Mbit/s", "d": "8ms", "m2": "8Mbit/s" } },
            { "name": "voice", "parent": "site", "match": { "dscp": "ef" }, "limit": "9packets",
              "rt": { "m1": "6Mbit/s", "d": "8ms", "m2": "2Mbit/s" }, "ls": { "m1": "3Mbit/s", "d": "8ms", "m2": "1Mbit/s" } },
            { "name": "data", "parent": "site", "match": { "flow": [2, 3] },
              "ls": { "m1": "9Mbit/s", "d": "20ms", "m2": "1Mbit/s" } },
            { "name": "rest", "ls": { "m2": "1Mbit/s" }, "limit": "12packets" },
        ] }),
    ]
}

/// Parameters that have no other valid value unless another parameter changes, too, so that they are never changed
/// alone.
const ALONE: &[&str] = &[
    "choke red.victim",
    "class-based classes[].priority",
    "ered red.form",
    "ered red.victim",
    "fair-queue-wred wred.average",
    "red-pd red.form",
    "red-pd red.victim",
    "rio green.form",
    "rio green.idle",
    "rio green.victim",
    "rio red.form",
    "rio red.idle",
    "rio red.victim",
    "rio yellow.form",
    "rio yellow.idle",
    "rio yellow.victim",
    "sfq-red red.form",
    "sfq-red red.victim",
    // `user.rs` changes these.
    "user class",
    "user file",
    // `user_scheduler.rs` changes these: without a scheduler no packet is sent.
    "user-scheduler default",
    "user-scheduler queues[].discipline",
    "user-scheduler queues[].limit",
    "user-scheduler queues[].match",
    "user-scheduler queues[].name",
    "user-scheduler scheduler.class",
    "user-scheduler scheduler.file",
];

/// Parameters that are fixed, and the reason that the error gives.
const REFUSED: &[&str] = &[
    "avq initial: it is the virtual rate at the start of the run",
    "choke form: the forms count the packets since the last choice differently",
    "choke red.count: the average is kept in this unit",
    "choke red.form: the forms count the packets since the last choice differently",
    "choke red.idle: it selects the event that the port reports",
    "choke red.max-p: with `adaptive` it is only the value at the start",
    "class-based classes: packets wait in each class",
    "class-based classes[].discipline: each kind has its own state",
    "class-based classes[].match: it decides which packets wait in the class",
    "class-based classes[].name: it identifies the class",
    "class-based classes[].priority.level: it decides in which queue packets wait",
    "class-based default.discipline: each kind has its own state",
    "drop-tail victim: a port handles queues that drop waiting packets differently",
    "drr buckets: packets wait in these queues",
    "ered red.count: the average is kept in this unit",
    "ered red.idle: it selects the event that the port reports",
    "ered red.max-p: with `adaptive` it is only the value at the start",
    "fair-queue key: packets wait in the queues of these conversations",
    "fair-queue queues: packets wait in these queues",
    "fair-queue-wred fair-queue.key: packets wait in the queues of these conversations",
    "fair-queue-wred fair-queue.queues: packets wait in these queues",
    "fair-queue-wred wred.by: it decides which profiles there are, and to which one a waiting packet belongs",
    "fair-queue-wred wred.nonconforming: it decides which profiles there are, and to which one a waiting packet belongs",
    "fq buckets: packets wait in these queues",
    "fq-codel buckets: packets wait in these queues",
    "fq-pie buckets: packets wait in these queues",
    "fred buckets: packets wait in these queues",
    "hfsc classes[].discipline: each kind has its own state",
    "hfsc classes[].ls: a class without this curve is served differently",
    "hfsc classes[].match: it decides which packets wait in the class",
    "hfsc classes[].name: it identifies the class",
    "hfsc classes[].parent: the hierarchy of the classes is fixed",
    "hfsc classes[].rt: a class without this curve is served differently",
    "hfsc default: it decides which packets wait in the class",
    "htb classes[].discipline: each kind has its own state",
    "htb classes[].match: it decides which packets wait in the class",
    "htb classes[].name: it identifies the class",
    "htb classes[].parent: the hierarchy of the classes is fixed",
    "htb default: it decides which packets wait in the class",
    "priority default: it decides which packets wait in the level",
    "priority levels[].discipline: each kind has its own state",
    "priority levels[].match: it decides which packets wait in the class",
    "priority levels[].name: it identifies the class",
    "red count: the average is kept in this unit",
    "red form: the forms count the packets since the last choice differently",
    "red idle: it selects the event that the port reports",
    "red max-p: with `adaptive` it is only the value at the start",
    "red victim: a port handles queues that drop waiting packets differently",
    "red-pd red.count: the average is kept in this unit",
    "red-pd red.idle: it selects the event that the port reports",
    "red-pd red.max-p: with `adaptive` it is only the value at the start",
    "rio green.count: the average is kept in this unit",
    "rio green.max-p: with `adaptive` it is only the value at the start",
    "rio red.count: the average is kept in this unit",
    "rio red.max-p: with `adaptive` it is only the value at the start",
    "rio red: waiting red packets are counted with the yellow ones or apart",
    "rio yellow.count: the average is kept in this unit",
    "rio yellow.max-p: with `adaptive` it is only the value at the start",
    "scfq buckets: packets wait in these queues",
    "sfb bins: waiting packets are counted in these bins",
    "sfb form: the forms have bins and penalty boxes of different sorts",
    "sfb levels: waiting packets are counted in the bins of all levels",
    "sfb penalty-box.scope: it decides which times of last packets are kept",
    "sfq buckets: packets wait in these queues",
    "sfq form: a round is in progress",
    "sfq-red buckets: packets wait in these queues",
    "sfq-red red.count: the average is kept in this unit",
    "sfq-red red.idle: it selects the event that the port reports",
    "sfq-red red.max-p: with `adaptive` it is only the value at the start",
    "shaper discipline: each kind has its own state",
    "shaper form: the shaper may keep a packet of its child policy",
    "stfq buckets: packets wait in these queues",
    "virtual-clock buckets: packets wait in these queues",
    "weighted-tail-drop by: it decides which limits there are",
    "wf2q-plus buckets: packets wait in these queues",
    "wfq buckets: packets wait in these queues",
    "wred average: it decides which averages there are",
    "wred by: it decides which profiles there are, and to which one a waiting packet belongs",
    "wred nonconforming: it decides which profiles there are, and to which one a waiting packet belongs",
    "wrr classes: packets wait in each class",
    "wrr classes[].discipline: each kind has its own state",
    "wrr classes[].match: it decides which packets wait in the class",
    "wrr classes[].name: it identifies the class",
    "wrr count: the rest of each turn is kept in this unit",
    "wrr default.discipline: each kind has its own state",
    "wrr form: a round is in progress",
];

/// Keys, and the condition on which a change of them is refused. The schema does not mark them as fixed.
const CONDITIONAL: &[(&str, &str)] = &[
    ("classes", "another number of classes"),
    ("discipline", "another kind"),
    ("ls", "added or removed"),
    ("max-p", "with `adaptive`"),
    ("nonconforming", "added or removed"),
    ("red", "added or removed, in `rio`"),
    ("rt", "added or removed"),
    ("victim", "from or to \"tail\""),
];

/// Parameters whose change is accepted, but makes no difference to the packets with the values tried here.
const WITHOUT_EFFECT: &[&str] = &[
    "ered red.adaptive(feng).freeze",
    "fair-queue scale",
    // Only the order of service after an idle time differs; `new_old.rs` has a test.
    "fq-pie pie.long-delay-step",
    "pie long-delay-step",
    "priority default",
    "rio green.adaptive(feng).freeze",
    "rio red.adaptive(feng).freeze",
    "rio red.adaptive(feng).top",
    "rio red.adaptive(floyd).top",
    "rio yellow.adaptive(feng).freeze",
    "sfb levels",
];

/// Returns the specification of a document that decodes and passes its check; `None` otherwise.
pub fn valid(document: &Value) -> Option<Spec> {
    decode::<Spec>(document.clone()).ok().filter(|spec| Checked::check(spec).is_ok())
}

/// Returns a run with the parameters `spec`, changed to `to`, if any, before the first packet.
fn served(spec: &Spec, to: Option<&Spec>, packets: &[crate::common::Arrival]) -> Ride {
    let mut ride = Ride::new(spec, &site(), 1);
    if let Some(to) = to {
        ride.q.retune(Time::ZERO, to, &site());
    }
    ride.serve(packets, |_, _| {});
    ride
}

#[test]
fn a_change_before_the_first_packet_equals_construction_with_the_new_value_or_is_refused() {
    let packets = traffic(7, 1_200);
    let run = |from: &Spec, to: Option<&Spec>| {
        let ride = served(from, to, &packets);
        let fates = ride.fates().into_iter().cloned().collect();
        (ride.log, fates)
    };
    let found = try_all(&Schema::of::<Spec>(), &bases(), &valid, &Spec::check_retune, &run);
    assert!(found.all.len() > 300, "{}", found.all.len());
    found.assert_as_listed(ALONE, REFUSED, WITHOUT_EFFECT);
    found.assert_marked(CONDITIONAL);
}

#[test]
fn a_change_of_the_site_before_the_first_packet_equals_construction_at_the_new_site() {
    let packets = traffic(8, 600);
    let smaller = Site { bytes: 9_000, packets: 11, rate: Rate::mbit(6) };
    let mut different = 0;
    for document in bases() {
        let spec = spec(&document);
        // AVQ's virtual rate is a share of the link's rate only at the start.
        let to = if spec.kind() == "avq" { Site { rate: site().rate, ..smaller } } else { smaller };
        let mut retuned = Ride::new(&spec, &site(), 1);
        retuned.q.retune(Time::ZERO, &spec, &to);
        retuned.serve(&packets, |_, _| {});
        let mut built = Ride::new(&spec, &to, 1);
        built.serve(&packets, |_, _| {});
        assert_equal(&retuned.log, &built.log, &document.to_string());
        different += usize::from(built.fates() != served(&spec, None, &packets).fates());
    }
    assert!(different > 60, "{different}");
}

#[test]
fn a_refusal_names_the_parameter_also_inside_classes() {
    let refused = |from: Value, to: Value| spec(&from).check_retune(&spec(&to)).expect_err("a refusal").path;
    let inside = |inner: Value| {
        json!({ "kind": "shaper", "discipline": { "kind": "priority", "levels": [
            { "match": { "dscp": "ef" } }, { "discipline": inner },
        ] } })
    };
    let (red, count) = (json!({ "kind": "red" }), json!({ "kind": "red", "count": "packets" }));
    assert_eq!(refused(red.clone(), count.clone()), "count");
    assert_eq!(refused(inside(red.clone()), inside(count)), "discipline.levels[1].discipline.count");
    assert_eq!(refused(inside(red), inside(json!({ "kind": "pie" }))), "discipline.levels[1].discipline.kind");
    let rest = |inner: Value| json!({ "kind": "wrr", "default": { "discipline": inner } });
    let sfq = |buckets: u32| json!({ "kind": "sfq", "buckets": buckets });
    assert_eq!(refused(rest(sfq(3)), rest(sfq(4))), "default.discipline.buckets");
    let class = |class: Value| json!({ "kind": "class-based", "classes": [class] });
    let strict = json!({ "match": { "dscp": "ef" }, "priority": {} });
    let fair = json!({ "match": { "dscp": "ef" }, "bandwidth": "20%" });
    assert_eq!(refused(class(strict), class(fair)), "classes[0].priority");
    let rio = |idle: &str| json!({ "kind": "rio", "green": { "idle": idle }, "yellow": { "idle": idle } });
    assert_eq!(refused(rio("ns"), rio("1993")), "green.idle");
    for kind in Spec::NAMES {
        let other = Spec::default();
        if let Some(spec) = valid(&json!({ "kind": kind })).filter(|spec| spec.kind() != other.kind()) {
            assert_eq!(spec.check_retune(&other).expect_err("another kind").path, "kind");
        }
    }
}
