//! A change of the link's rate: the discipline then behaves as one that was built for the new rate.

use crate::common::{Log, Rig, Traffic, places, serve};
use serde_json::{Value, json};
use tailback_qdisc::{Colour, Qdisc, Spec};
use tailback_random::Rng;
use tailback_units::Rate;

/// Returns RED with thresholds and a weight that do not depend on the link's rate; only the ageing of the average does.
fn red() -> Value {
    json!({ "min": "2packets", "max": "6packets", "weight": 0.005, "count": "packets", "ecn": true })
}

/// Returns the parameters as a document of `kind`.
fn with(mut document: Value, kind: &str) -> Value {
    document["kind"] = json!(kind);
    document
}

/// Returns disciplines that depend on the link's rate.
fn documents() -> Vec<Value> {
    let inner = || with(red(), "red");
    let classes = json!([
        { "match": { "flow": [0, 1, 2] }, "weight": 2, "discipline": inner() },
        { "match": { "flow": [3, 4] }, "discipline": inner() },
    ]);
    let shares = json!([
        { "match": { "flow": [0, 1, 2] }, "bandwidth": "30%", "discipline": inner() },
        { "match": { "flow": [3, 4] }, "bandwidth": "2Mbit/s", "discipline": inner() },
    ]);
    let levels = json!([
        { "name": "high", "match": { "flow": [0, 1, 2] }, "discipline": inner() },
        { "name": "low", "discipline": inner() },
    ]);
    let curves = json!([
        { "name": "a", "match": { "flow": [0, 1, 2] }, "ls": { "m2": "1Mbit/s" }, "discipline": inner() },
        { "name": "b", "ls": { "m2": "2Mbit/s" }, "discipline": inner() },
    ]);
    let rates = json!([
        { "name": "a", "match": { "flow": [0, 1, 2] }, "rate": "3Mbit/s", "ceil": "20Mbit/s", "discipline": inner() },
        { "name": "b", "rate": "4Mbit/s", "ceil": "20Mbit/s", "discipline": inner() },
    ]);
    let wred = json!({ "exponent": 6, "ecn": true, "by": "colour", "profiles": { "green": { "min": 3, "max": 9 },
        "yellow": { "min": 2, "max": 6 }, "red": { "min": 1, "max": 4 } } });
    vec![
        inner(),
        with(wred.clone(), "wred"),
        json!({ "kind": "wred", "average": "profile", "exponent": 5, "by": "colour", "profiles": { "green": { "min": 2, "max": 5 } } }),
        json!({ "kind": "fair-queue-wred", "wred": wred, "fair-queue": { "queues": 4 } }),
        json!({ "kind": "rio", "green": red(), "yellow": red(), "red": red() }),
        json!({ "kind": "ered", "red": red() }),
        json!({ "kind": "choke", "red": red() }),
        json!({ "kind": "red-pd", "red": red() }),
        json!({ "kind": "rem", "gamma": 0.1, "ecn": true }),
        json!({ "kind": "cobalt", "target": "1ms", "interval": "10ms" }),
        json!({ "kind": "wfq", "weights": { "1": 3.0 } }),
        json!({ "kind": "wf2q-plus", "weights": { "1": 3.0 } }),
        json!({ "kind": "virtual-clock" }),
        json!({ "kind": "fred", "min": "3packets", "max": "9packets", "weight": 0.05, "max-p": 0.5, "min-flow": 1 }),
        json!({ "kind": "sfq-red", "buckets": 3, "red": red() }),
        json!({ "kind": "class-based", "classes": [
            { "match": { "flow": [0, 1, 2] }, "priority": { "rate": "30%", "burst": "5kB" } }] }),
        json!({ "kind": "wrr", "classes": classes }),
        json!({ "kind": "class-based", "classes": shares, "default": { "discipline": inner() } }),
        json!({ "kind": "priority", "default": "low", "levels": levels }),
        json!({ "kind": "hfsc", "default": "b", "classes": curves }),
        json!({ "kind": "htb", "default": "b", "classes": rates }),
        json!({ "kind": "shaper", "rate": "50Mbit/s", "discipline": inner() }),
    ]
}

/// Returns the fates of traffic on a link of `rate` under a discipline that is built for the rate `built` and then
/// notified of the rate `changed`, if any.
fn fates(spec: &Spec, built: Rate, changed: Option<Rate>, rate: Rate) -> Log {
    let mut rig = Rig::new(spec, &places(40, built), Rng::named(1, "port"));
    if let Some(changed) = changed {
        rig.q.set_rate(changed);
    }
    let colours = &[Colour::Green, Colour::Yellow, Colour::Red];
    let traffic =
        Traffic { packets: 6_000, flows: 6, ect: 0.5, colours, rate, loads: &[0.5, 0.9, 1.3], ..Traffic::default() };
    serve(&mut rig, rate, &traffic.draw(3), |_, _| {})
}

#[test]
fn after_a_change_of_the_link_s_rate_a_discipline_behaves_as_one_built_for_that_rate() {
    let (old, new) = (Rate::mbit(100), Rate::mbit(10));
    let mut unaffected = Vec::new();
    for document in documents() {
        let spec: Spec = tailback_document::decode(document.clone()).expect("it decodes");
        let expected = fates(&spec, new, None, new);
        assert_eq!(fates(&spec, old, Some(new), new), expected, "{document}");
        if fates(&spec, old, None, new) == expected {
            unaffected.push(spec.kind());
        }
    }
    // Without the notification the fates differ under each discipline.
    assert_eq!(unaffected, Vec::<&str>::new());
}

/// Kunniyur and Srikant (2001): the rate of the virtual queue is at most that of the link.
#[test]
fn the_virtual_queue_s_rate_never_exceeds_the_changed_rate_of_the_link() {
    let spec: Spec = tailback_document::decode(json!({ "kind": "avq", "ecn": true })).expect("it decodes");
    let mut rig = Rig::new(&spec, &places(40, Rate::mbit(100)), Rng::named(1, "port"));
    rig.q.set_rate(Rate::mbit(10));
    let traffic = Traffic { packets: 2_000, rate: Rate::mbit(10), ..Traffic::default() };
    let mut largest: f64 = 0.0;
    serve(&mut rig, Rate::mbit(10), &traffic.draw(3), |rig, _| {
        largest = largest.max(rig.state("virtual_rate_bits_per_second"));
    });
    assert!(largest > 0.0 && largest <= 10e6, "{largest}");
}
