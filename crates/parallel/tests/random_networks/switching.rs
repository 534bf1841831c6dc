//! Random switches: models, back-pressure, congestion points, rate limiters and port settings.

pub mod queue;

use crate::draw::Draw;
use crate::flows::{meter, segment_fits};
use crate::network::{Network, Node, Traits};
use serde_json::{Map, Value, json};

/// Returns back-pressure with random parameters.
pub fn backpressure(draw: &mut Draw, traits: &Traits) -> Value {
    let scope = if traits.addressed {
        draw.one(&["plain", "class", "destination", "class-destination"])
    } else {
        draw.one(&["plain", "class"])
    };
    let (high, low) = draw.one(&[(0.8, 0.7), (0.5, 0.0), (0.2, 0.1)]);
    let detection = match draw.index(4) {
        0 => json!({
            "kind": "fill-rate", "high": high, "low": low,
            "window": format!("{}us", draw.between(1, 5_000)), "horizon": format!("{}us", draw.between(1, 20_000)),
        }),
        _ => json!({ "kind": "watermark", "high": high, "low": low }),
    };
    // PAUSE frames carry no addresses, and they stop or resume traffic but cannot slow it.
    let pauses = !scope.contains("destination") && draw.chance(0.6);
    let slows = !pauses && draw.chance(0.4);
    let (decrease, floor, increase) = draw.one(&[(0.5, 0.01, 0.05), (0.9, 0.5, 0.5)]);
    json!({
        "scope": scope,
        "detection": detection,
        "notify": draw.one(&["all", "feeding"]),
        "addresses": draw.one(&["buffer", "filtering-database"]),
        "partition": draw.chance(0.5),
        "response": if slows { json!({ "kind": "rate", "decrease": decrease, "floor": floor, "increase": increase, "interval": "2ms" }) } else { json!({ "kind": "block" }) },
        "signal": if pauses { json!({ "kind": "mac", "quanta": draw.one(&[1, 50, 65_535]) }) } else { json!({ "kind": "on-off" }) },
        "response-time": draw.micros(300),
        "end-stations": draw.chance(0.5),
    })
}

/// Returns the model of a switch with `inputs` inputs, and adapts the scope of its back-pressure to the model.
/// `has_points`: the switch has congestion points, which crossbars do not support.
pub fn model(
    draw: &mut Draw,
    traits: &Traits,
    inputs: u64,
    backpressure: &mut Option<Value>,
    has_points: bool,
) -> Value {
    let scope_contains = |backpressure: &Option<Value>, what: &str| {
        backpressure
            .as_ref()
            .is_some_and(|backpressure| backpressure["scope"].as_str().is_some_and(|scope| scope.contains(what)))
    };
    let crossbars = if has_points { 0 } else { 2 };
    // Memory accounted by input does not separate destinations.
    let by_input = if traits.addressed { 0 } else { 2 };
    let kinds = [
        (4, "output-queued"),
        (2, "shared-memory"),
        (by_input, "shared-buffer"),
        (2, "cut-through"),
        (crossbars / 2, "input-fifo"),
        (crossbars, "virtual-output-queues"),
    ];
    match draw.weighted(&kinds) {
        "shared-memory" => json!({
            "kind": "shared-memory", "memory": draw.one(&["20kB", "100kB", "1MB"]), "alpha": draw.one(&[0.25, 1.0, 4.0]),
        }),
        "shared-buffer" => {
            let (reserve, headroom) = (draw.one(&[0, 2_000]), draw.one(&[0, 3_000, 9_000]));
            let reserved = inputs * traits.classes * (reserve + headroom);
            json!({
                "kind": "shared-buffer", "memory": format!("{}B", reserved + draw.one(&[4_000, 30_000, 200_000])),
                "reserve": format!("{reserve}B"), "headroom": format!("{headroom}B"), "shift": draw.one(&[0, 1, 3, 16]),
                "resume": draw.one(&["0B", "3kB"]),
            })
        }
        "input-fifo" => {
            // A FIFO does not separate classes or destinations.
            if let Some(backpressure) = backpressure {
                backpressure["scope"] = json!("plain");
            }
            json!({ "kind": "input-fifo", "buffer": "30kB" })
        }
        "virtual-output-queues" => {
            // Congestion of a class or destination is detected in queues that have limits of their own.
            let output = draw.chance(0.5)
                || scope_contains(backpressure, "class")
                || scope_contains(backpressure, "destination");
            let mut model = json!({
                "kind": "virtual-output-queues", "buffer": "30kB", "speedup": draw.one(&[1.0, 1.5, 2.0]),
            });
            if output {
                model["output-buffer"] = json!(draw.one(&["5kB", "20kB"]));
            }
            model
        }
        "cut-through" => json!({ "kind": "cut-through", "header": draw.one(&["14B", "64B", "2kB"]) }),
        kind => json!({ "kind": kind }),
    }
}

/// Returns a congestion point that samples often enough for short runs.
pub fn point(draw: &mut Draw) -> Value {
    let sampling = draw.one(&[0.1, 0.5, 1.0]);
    match draw.one(&["bcn", "ecm", "qcn"]) {
        "bcn" => json!({
            "kind": "bcn", "sampling": sampling, "equilibrium": 2, "full": draw.one(&[4, 20]),
            "derivative": draw.chance(0.5), "solicit": draw.chance(0.7),
        }),
        "ecm" => json!({ "kind": "ecm", "sampling": sampling, "equilibrium": 2, "severe": draw.one(&[4, 20]) }),
        kind => {
            let mut point = json!({ "kind": kind, "sample": draw.one(&["2kB", "20kB"]), "equilibrium": "3kB" });
            if draw.chance(0.3) {
                point["least"] = json!(0.1);
            }
            point
        }
    }
}

/// Returns rate limiters of any kind, with default parameters or with parameters for slow links.
pub fn limiters(draw: &mut Draw, traits: &Traits) -> Value {
    let mut law = match draw.one(&["bcn", "ecm", "qcn"]) {
        "qcn" if draw.chance(0.5) => {
            json!({ "kind": "qcn", "timer": "1ms", "bytes": "10kB", "floor": "100kbit/s", "jitter": 0.3 })
        }
        "qcn" => json!({ "kind": "qcn" }),
        kind if draw.chance(0.5) => {
            json!({ "kind": kind, "floor": "100kbit/s", "increase": "300kbit/s", "decrease": 0.1, "stop": "1ms" })
        }
        kind => json!({ "kind": kind }),
    };
    if law["kind"] != "qcn" && draw.chance(0.4) {
        law["drift"] = json!({ "step": "200kbit/s", "every": "1ms" });
    }
    let mut written = json!({
        "law": law,
        "filter": draw.one(&["destination", "pair", "flow"]),
        "buffer": draw.one(&["5kB", "150kB"]),
        "memory": draw.one(&["own", "shared"]),
        "tag-bytes": draw.one(&[0, 4, 8]),
    });
    if draw.chance(0.3) {
        written["queues"] = json!(draw.one(&[1, 2, 16]));
    }
    if draw.chance(0.3) {
        written["aqm"] = json!({ "kind": "simple", "threshold": 2, "probability": 0.2, "ecn": draw.chance(0.5) });
    }
    if let Some(discipline) = queue::discipline(draw, traits, false) {
        written["discipline"] = discipline;
    }
    written
}

/// Returns settings of the ports towards some neighbours. `by_input`: the switch accounts memory by input;
/// `backpressured`: the switch has back-pressure.
pub fn ports(draw: &mut Draw, network: &Network, switch: &Node, by_input: bool, backpressured: bool) -> Value {
    let (traits, mut ports) = (&network.traits, Map::new());
    for neighbour in &switch.neighbours {
        if !draw.chance(0.3) {
            continue;
        }
        let mut port = json!({});
        if draw.chance(0.3) {
            port["ring"] = json!(draw.one(&[1, 15]));
        }
        if draw.chance(0.2) {
            port["shaper"] = json!({ "rate": draw.one(&["700kbit/s", "5Mbit/s", "50Mbit/s"]), "burst": "4kB" });
        }
        if draw.chance(0.3) {
            port["buffer"] = queue::limit(draw, traits, backpressured && !by_input);
        }
        if draw.chance(0.4)
            && let Some(discipline) = queue::discipline(draw, traits, by_input)
        {
            port["discipline"] = discipline;
        }
        if !traits.notified {
            port["conditioners"] = (0..draw.between(0, 2)).map(|_| conditioner(draw, traits)).collect();
            if segment_fits(traits) && draw.chance(0.2) {
                port["mpls"] = json!({
                    "labels": draw.between(1, 3),
                    "mode": draw.one(&["uniform", "pipe", "short-pipe"]),
                    "exp": draw.one(&[json!("precedence"), json!(3), json!({ "ef": 5, "af31": 1 })]),
                });
            }
        }
        ports.insert(neighbour.clone(), port);
    }
    ports.into()
}

/// Returns a conditioner of a port, with random actions for conforming, exceeding and violating packets.
fn conditioner(draw: &mut Draw, traits: &Traits) -> Value {
    let mut written = json!({
        "direction": draw.one(&["egress", "ingress"]), "meter": meter(draw), "per": draw.one(&["flow", "group"]),
    });
    if draw.chance(0.3) {
        written["police"] = json!(draw.one(&["yellow", "red"]));
    }
    if draw.chance(0.3) {
        written["flows"] = json!(draw.one(&["f*", "f0"]));
    }
    if draw.chance(0.3) {
        written["match"] = draw.one(&[json!("some"), json!("others"), json!({ "dscp": ["ef", "af31"] })]);
    }
    for key in ["conform", "exceed", "violate"] {
        written[key] = match draw.index(8) {
            0 => json!({ "dscp": draw.one(&["af11", "ef", "cs7"]) }),
            1 => json!({ "precedence": draw.between(0, 7) }),
            2 => json!({ "class": draw.between(0, traits.classes - 1) }),
            3 => json!({ "drop": draw.chance(0.2) }),
            _ => json!({}),
        };
    }
    written
}
