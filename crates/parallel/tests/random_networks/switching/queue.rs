//! Random queues: limits, and every registered discipline.

use crate::draw::Draw;
use crate::network::Traits;
use serde_json::{Value, json};
use tailback_document::decode;
use tailback_qdisc::Spec;

/// Returns the limit of a queue. `in_bytes`: the limit must be in bytes, since the thresholds of back-pressure are
/// fractions of it.
pub fn limit(draw: &mut Draw, traits: &Traits, in_bytes: bool) -> Value {
    if in_bytes {
        return json!(draw.one(&["3100B", "20kB", "50kB"]));
    }
    let one = draw.one(&["3100B", "20kB", "50kB", "5packets", "40packets", "unlimited"]);
    if draw.chance(0.2) { json!(vec![one; traits.classes as usize]) } else { json!(one) }
}

/// Returns a discipline; `None`: the default, drop-tail. `in_order`: the discipline must be a FIFO that drops only at
/// arrival.
pub fn discipline(draw: &mut Draw, traits: &Traits, in_order: bool) -> Option<Value> {
    if traits.addressed || draw.chance(0.35) {
        return None;
    }
    if in_order {
        let red = json!({ "kind": "red", "min": "3kB", "max": "9kB", "max-p": 0.3, "weight": 0.1, "ecn": true });
        return Some(draw.one(&[json!({ "kind": "drop-tail", "packets": 5 }), red]));
    }
    let written = match draw.index(5) {
        0 => draw.one(&eager()),
        1 => draw.one(&classful()),
        _ => {
            let kind = draw.one(&kinds());
            // ECN is enabled if the discipline supports it.
            let marking = json!({ "kind": kind, "ecn": true });
            if decode::<Spec>(marking.clone()).is_ok() { marking } else { json!({ "kind": kind }) }
        }
    };
    // With congestion points, packets have tags in place of DSCPs, so a discipline must not read DSCPs.
    let spec: Spec = decode(written.clone()).unwrap_or_else(|e| panic!("{written}: {e}"));
    (!traits.notified || !spec.reads_code_point()).then_some(written)
}

/// Returns the kinds of disciplines, without that of a user's law, which needs a file.
pub fn kinds() -> Vec<&'static str> {
    Spec::NAMES.iter().copied().filter(|kind| !kind.starts_with("user")).collect()
}

/// Returns a discipline of the same kind with other parameters, to which `written` can change during a run; `None`: the
/// lists below have no such discipline.
pub fn retuned(draw: &mut Draw, written: &Value) -> Option<Value> {
    let spec: Spec = decode(written.clone()).ok()?;
    let with_defaults = json!({ "kind": written["kind"] });
    let all = [with_defaults].into_iter().chain(eager()).chain(other_values());
    let fits = |other: &Value| {
        other != written
            && decode::<Spec>(other.clone()).is_ok_and(|other| spec != other && spec.check_retune(&other).is_ok())
    };
    let fitting: Vec<Value> = all.filter(fits).collect();
    (!fitting.is_empty()).then(|| draw.one(&fitting))
}

/// Returns disciplines of the kinds of [`eager`] and [`classful`] with other values of their tunable parameters.
fn other_values() -> Vec<Value> {
    vec![
        json!({ "kind": "drop-tail", "packets": 9 }),
        json!({ "kind": "codel", "target": "2ms", "interval": "20ms" }),
        json!({ "kind": "fq-codel", "target": "1ms", "interval": "10ms", "quantum": "300B" }),
        json!({ "kind": "cobalt", "target": "1ms", "interval": "10ms" }),
        json!({ "kind": "pie", "target": "5ms" }),
        json!({ "kind": "drr", "quantum": "700B" }),
        json!({ "kind": "fred", "min": "2kB", "max": "8kB" }),
        json!({ "kind": "choke", "red": { "min": "2kB", "max": "8kB" } }),
        json!({ "kind": "netem", "delay": "1ms", "jitter": "2ms", "loss": 0.02 }),
        json!({ "kind": "shaper", "rate": "2Mbit/s" }),
        json!({ "kind": "wrr", "classes": [{ "match": { "flow": 1 }, "weight": 5 }] }),
        json!({ "kind": "hfsc", "default": "b", "classes": [
            { "name": "all", "ls": { "m2": "6Mbit/s" }, "ul": { "m2": "6Mbit/s" } },
            { "name": "a", "parent": "all", "match": { "flow": [0, 3] }, "ls": { "m2": "2Mbit/s" },
              "rt": { "m1": "1Mbit/s", "d": "5ms", "m2": "700kbit/s" } },
            { "name": "b", "parent": "all", "ls": { "m2": "1Mbit/s" }, "ul": { "m2": "2Mbit/s" } },
        ] }),
        json!({ "kind": "htb", "default": "b", "classes": [
            { "name": "root", "rate": "4Mbit/s" },
            { "name": "a", "parent": "root", "match": { "flow": [0, 3] }, "rate": "2Mbit/s", "ceil": "4Mbit/s" },
            { "name": "b", "parent": "root", "rate": "1Mbit/s", "ceil": "2Mbit/s", "prio": 1 },
        ] }),
    ]
}

/// Returns disciplines with parameters at which they drop or mark within a short run.
fn eager() -> Vec<Value> {
    vec![
        json!({ "kind": "drop-tail", "victim": "random" }),
        json!({ "kind": "red", "min": "3kB", "max": "9kB", "max-p": 0.3, "weight": 0.1 }),
        json!({ "kind": "red", "min": "2packets", "max": "7packets", "count": "packets", "idle": "1993" }),
        json!({ "kind": "red", "min": "3kB", "weight": 0.1, "adaptive": { "kind": "feng" }, "victim": "head" }),
        json!({ "kind": "codel", "target": "500us", "interval": "5ms", "ecn": true }),
        json!({ "kind": "pie", "target": "1ms", "burst": "1ms", "update": "1ms", "estimator": "departure-rate" }),
        json!({ "kind": "sfb", "form": "linux", "bin-size": 2, "increment": 0.1, "freeze": "1ms" }),
        json!({ "kind": "sfb", "bin-size": 2, "increment": 0.1, "rehash": { "interval": "10ms" } }),
        json!({ "kind": "blue", "increment": 0.1, "freeze": "1ms" }),
        json!({ "kind": "blue", "form": "altq" }),
        json!({ "kind": "sfq", "perturb": "5ms", "buckets": 4 }),
        json!({ "kind": "drr", "buckets": 2, "quantum": "300B" }),
        json!({ "kind": "dualpi2", "scheduler": "time-shifted-fifo", "ramp": "2ms" }),
        json!({ "kind": "fair-queue", "threshold": "4packets", "hold": "12packets" }),
        json!({ "kind": "fair-queue", "weights": "equal", "key": "flow", "queues": 4 }),
        json!({ "kind": "netem", "delay": "2ms", "jitter": "1ms", "loss": 0.1 }),
        json!({ "kind": "wred", "by": "colour" }),
        json!({ "kind": "wred", "by": "dscp", "average": "profile", "exponent": 1, "spread": true }),
    ]
}

/// Returns disciplines with classes that match flow, class, DSCP and colour.
fn classful() -> Vec<Value> {
    let by_code_point = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": { "rate": "10%", "burst": "3kB" } },
        { "match": { "dscp": "af31" }, "bandwidth": "30%", "discipline": { "kind": "wred", "by": "dscp" } },
        { "match": { "not": { "class": 0 } }, "remaining": 2, "discipline": { "kind": "codel" } },
    ], "default": { "discipline": { "kind": "fair-queue" } } });
    let by_flow = json!({ "kind": "class-based", "classes": [
        { "match": { "flow": [0, 2] }, "priority": { "rate": "20%" } },
        { "match": "others", "bandwidth": "20%", "discipline": { "kind": "red" } },
    ] });
    vec![
        by_code_point.clone(),
        by_flow.clone(),
        json!({ "kind": "shaper", "rate": "4Mbit/s", "discipline": by_code_point }),
        json!({ "kind": "shaper", "rate": "500kbit/s", "discipline": by_flow }),
        json!({ "kind": "priority", "levels": [{ "match": { "flow": [1, 2] } }, { "limit": "20packets" }] }),
        json!({ "kind": "priority", "levels": [{ "match": { "colour": "green" } }, { "limit": "9kB" }] }),
        json!({ "kind": "wrr", "count": "bytes", "classes": [{ "match": { "dscp": "ef" }, "discipline": { "kind": "pie" } }] }),
        json!({ "kind": "wrr", "classes": [{ "match": { "flow": 1 }, "weight": 3 }] }),
        json!({ "kind": "hfsc", "default": "b", "classes": [
            { "name": "all", "ls": { "m2": "5Mbit/s" }, "ul": { "m2": "8Mbit/s" } },
            { "name": "a", "parent": "all", "match": { "flow": [0, 3] }, "ls": { "m2": "1Mbit/s" },
              "rt": { "m1": "2Mbit/s", "d": "5ms", "m2": "500kbit/s" } },
            { "name": "b", "parent": "all", "ls": { "m2": "2Mbit/s" }, "ul": { "m2": "3Mbit/s" } },
        ] }),
        json!({ "kind": "htb", "default": "b", "classes": [
            { "name": "root", "rate": "5Mbit/s" },
            { "name": "a", "parent": "root", "match": { "flow": [0, 3] }, "rate": "1Mbit/s", "ceil": "5Mbit/s" },
            { "name": "b", "parent": "root", "rate": "2Mbit/s", "ceil": "3Mbit/s", "prio": 1 },
        ] }),
    ]
}
