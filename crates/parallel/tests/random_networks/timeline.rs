//! Random timelines: every kind of change, at times that sometimes coincide with other events.

use crate::draw::Draw;
use crate::network::{Network, RATES};
use serde_json::{Value, json};
use tailback_sim::plan::ChangeKind;

/// Names of the changes, for coverage: a new kind needs a name here to compile, and must be drawn to pass.
pub const CHANGES: [&str; 9] = ["down", "up", "rate", "delay", "storm", "calm", "start", "stop", "thresholds"];

/// Returns the name of a change.
pub fn name(what: &ChangeKind) -> &'static str {
    match what {
        ChangeKind::LinkDown(_) => "down",
        ChangeKind::LinkUp(_) => "up",
        ChangeKind::LinkRate(..) => "rate",
        ChangeKind::LinkDelay(..) => "delay",
        ChangeKind::PauseStorm { on: true, .. } => "storm",
        ChangeKind::PauseStorm { on: false, .. } => "calm",
        ChangeKind::FlowStart(_) => "start",
        ChangeKind::FlowStop(_) => "stop",
        ChangeKind::Thresholds { .. } => "thresholds",
    }
}

/// Returns up to a dozen changes of a network with these flows.
pub fn timeline(draw: &mut Draw, network: &Network, flows: &Value) -> Value {
    let end = network.traits.end;
    let mut changes = Vec::new();
    let storming = network.pausing_hosts();
    let pressed: Vec<&String> =
        (network.switches.iter().zip(&network.laws)).filter(|(_, law)| law.is_some()).map(|(s, _)| &s.name).collect();
    // Applications cannot be started or stopped.
    let sources = flows.as_array().into_iter().flatten().filter(|flow| flow.get("application").is_none());
    let sources: Vec<&Value> = sources.map(|flow| &flow["name"]).collect();
    for _ in 0..draw.between(0, 6) {
        // Whole milliseconds in half of the cases, so that changes coincide with other events.
        let at = if draw.chance(0.5) { draw.between(0, end) } else { 1_000 * draw.between(0, end / 1_000) };
        let later = draw.between(at, end);
        let link = draw.one(&network.links);
        match draw.index(8) {
            0 => {
                changes.push((at, json!({ "link": link, "state": "down" })));
                if draw.chance(0.8) {
                    changes.push((later, json!({ "link": link, "state": "up" })));
                }
            }
            1 => changes.push((at, json!({ "link": link, "rate": draw.one(&RATES) }))),
            2 => changes.push((at, json!({ "link": link, "delay": draw.micros(3_000) }))),
            3 if !sources.is_empty() => {
                let state = draw.one(&["start", "stop"]);
                changes.push((at, json!({ "flow": draw.one(&sources), "state": state })));
            }
            4 if !pressed.is_empty() => {
                let (high, low) = draw.one(&[(0.05, 0.0), (0.5, 0.25), (1.0, 0.9)]);
                changes.push((at, json!({ "switch": draw.one(&pressed), "high": high, "low": low })));
            }
            5 | 6 if !storming.is_empty() => {
                let host = draw.one(&storming);
                changes.push((at, json!({ "host": host, "state": "storm" })));
                if draw.chance(0.6) {
                    changes.push((later, json!({ "host": host, "state": "calm" })));
                }
            }
            7 if !storming.is_empty() => changes.push((at, json!({ "host": draw.one(&storming), "state": "calm" }))),
            _ => {}
        }
    }
    let written = |(at, mut change): (u64, Value)| {
        change["at"] = json!(format!("{at}us"));
        change
    };
    changes.into_iter().map(written).collect()
}
