//! Random timelines: every kind of change, at times that sometimes coincide with other events.

use crate::draw::Draw;
use crate::network::{Network, RATES};
use crate::switching::queue::retuned;
use serde_json::{Value, json};
use tailback_sim::plan::ChangeKind;

/// Names of the changes that [`name`] returns, all of which must be drawn (`coverage`). A new kind of change does not
/// compile without a name in [`name`], which must be added here.
pub const CHANGES: [&str; 18] = [
    "down",
    "up",
    "rate",
    "delay",
    "storm",
    "calm",
    "start",
    "stop",
    "thresholds",
    "rates",
    "loss",
    "jitter",
    "queue",
    "memory",
    "points",
    "limiters",
    "source",
    "send",
];

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
        ChangeKind::LinkRates(..) => "rates",
        ChangeKind::LinkLoss(..) => "loss",
        ChangeKind::LinkJitter(..) => "jitter",
        ChangeKind::Queue { .. } => "queue",
        ChangeKind::Memory { .. } => "memory",
        ChangeKind::CongestionPoints { .. } => "points",
        ChangeKind::RateLimiters { .. } => "limiters",
        ChangeKind::Source { .. } => "source",
        ChangeKind::Inject { .. } => "send",
    }
}

/// Returns a timeline with up to a dozen changes. `flows` is the list of groups of flows of the document.
pub fn timeline(draw: &mut Draw, network: &Network, flows: &Value) -> Value {
    let end = network.traits.end;
    let mut changes = Vec::new();
    let storming = network.pausing_hosts();
    let backpressured: Vec<&String> = (network.switches.iter().zip(&network.backpressure))
        .filter(|(_, backpressure)| backpressure.is_some())
        .map(|(s, _)| &s.name)
        .collect();
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
            4 if !backpressured.is_empty() => {
                let (high, low) = draw.one(&[(0.05, 0.0), (0.5, 0.25), (1.0, 0.9)]);
                changes.push((at, json!({ "switch": draw.one(&backpressured), "high": high, "low": low })));
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

/// Returns the timeline of a document. In half of the documents, changes with `set` and `send` are added. Changes of
/// rates, delays and thresholds with keys of their own are then removed, since a document may have only one of the two
/// notations.
pub fn with_sets(draw: &mut Draw, network: &Network, document: &Value) -> Value {
    let mut changes = document["timeline"].as_array().cloned().unwrap_or_default();
    if draw.chance(0.5) {
        return changes.into();
    }
    changes.retain(|change| change.get("state").is_some());
    for _ in 0..draw.between(1, 5) {
        let at = format!("{}us", draw.between(0, network.traits.end));
        if let Some((key, value)) = tunable_value(draw, network, document) {
            changes.push(json!({ "at": at, "set": { key: value } }));
        }
    }
    // Only a group that is a single flow with a source can send a message.
    let single = |flow: &&Value| {
        let is_host = |end: &str| flow[end].as_str().is_some_and(|name| !name.contains('*'));
        flow.get("application").is_none()
            && is_host("from")
            && is_host("to")
            && flow.get("count").is_none_or(|n| *n == 1)
    };
    let flows: Vec<&Value> = document["flows"].as_array().into_iter().flatten().filter(single).collect();
    if !flows.is_empty() && draw.chance(0.6) {
        let at = format!("{}us", draw.between(0, network.traits.end));
        let size = draw.one(&["1B", "900B", "20kB"]);
        changes.push(json!({ "at": at, "flow": draw.one(&flows)["name"], "send": size }));
    }
    changes.into()
}

/// Returns a tunable key of the document and a value for it; `None`: the part that was drawn has no such key.
fn tunable_value(draw: &mut Draw, network: &Network, document: &Value) -> Option<(String, Value)> {
    let link = format!("links[{}]", draw.index(network.links.len()));
    let switch = &draw.one(&(0..network.switches.len()).map(|n| network.switches[n].name.clone()).collect::<Vec<_>>());
    let own = &document["switches"][switch];
    match draw.index(9) {
        0 => Some((format!("{link}.rate"), json!(draw.one(&RATES)))),
        1 => Some((format!("{link}.delay"), json!(draw.micros(3_000)))),
        2 => Some((format!("{link}.loss"), json!(draw.one(&[0.0, 0.02, 0.3])))),
        3 => Some((format!("{link}.jitter"), json!(draw.micros(500)))),
        4 => {
            let value = match own["model"]["kind"].as_str()? {
                "shared-memory" => ("alpha", json!(draw.one(&[0.1, 0.5, 2.0]))),
                "shared-buffer" => ("shift", json!(draw.one(&[0, 2, 5]))),
                "input-fifo" | "virtual-output-queues" => ("buffer", json!(draw.one(&["25kB", "60kB"]))),
                _ => return None,
            };
            Some((format!("switches.{switch}.model.{}", value.0), value.1))
        }
        5 => {
            let kind = own["congestion-notification"]["kind"].as_str()?;
            let equilibrium = if kind == "qcn" { json!("5kB") } else { json!(3) };
            Some((format!("switches.{switch}.congestion-notification.equilibrium"), equilibrium))
        }
        6 => {
            let (place, limiters) = if own.get("rate-limiters").is_some() {
                (format!("switches.{switch}"), &own["rate-limiters"])
            } else {
                ("hosts.h1".to_owned(), document["hosts"]["h1"].get("rate-limiters")?)
            };
            let key =
                if limiters["law"]["kind"] == "qcn" { ("timer", json!("2ms")) } else { ("increase", json!("1Mbit/s")) };
            Some((format!("{place}.rate-limiters.law.{}", key.0), key.1))
        }
        7 => {
            let flows = document["flows"].as_array()?;
            let flow = draw.index(flows.len());
            flows[flow]["source"].get("rate")?;
            Some((format!("flows[{flow}].source.rate"), json!(format!("{}kbit/s", draw.between(100, 9_000)))))
        }
        _ => {
            let discipline = own.get("discipline")?;
            Some((format!("switches.{switch}.discipline"), retuned(draw, discipline)?))
        }
    }
}
