//! Random flows: ends, sources, transports and meters.

use crate::draw::Draw;
use crate::network::{Network, Traits};
use serde_json::{Value, json};
use tailback_transport::Cc;

/// Content of the trace file that sources use: the size of one frame per line.
pub const TRACE: &str = "1000\n20000\n3\n0\n1500\n";

/// Returns `true` if the length of a packet with the largest payload can grow by headers and still fit into 16 bits.
pub fn segment_fits(traits: &Traits) -> bool {
    traits.mtu < 65_535
}

/// Returns one to five groups of flows, named `f0`, `f1` and so on.
pub fn flows(draw: &mut Draw, network: &Network) -> Value {
    (0..draw.between(1, 5)).map(|n| group(draw, network, &format!("f{n}"))).collect()
}

/// Returns a group of flows: ends, traffic, transport, code point and meter.
fn group(draw: &mut Draw, network: &Network, name: &str) -> Value {
    let traits = &network.traits;
    let mut group = ends(draw, network);
    group["name"] = json!(name);
    group["class"] = json!(draw.between(0, traits.classes - 1));
    group["probe"] = json!(draw.chance(0.3));
    let start = draw.between(0, traits.end / 2);
    group["start"] = json!(format!("{start}us"));
    if draw.chance(0.2) {
        group["start-spread"] = json!(draw.micros(traits.end));
    }
    if draw.chance(0.3) {
        group["stop"] = json!(format!("{}us", draw.between(start + 1, 2 * traits.end)));
    }
    let transport = match draw.index(10) {
        0..=3 => Some(tcp(draw, traits)),
        4..=6 => Some(rdma(draw, traits)),
        _ => None,
    };
    if draw.chance(0.25) {
        group["application"] = application(draw, transport.is_some());
    } else {
        group["source"] = source(draw, transport.is_some());
    }
    if let Some(transport) = transport {
        group["transport"] = transport;
    }
    if !traits.notified {
        group["dscp"] = draw.weighted(&[(3, json!("default")), (1, json!("ef")), (1, json!("af31")), (1, json!(63))]);
        if draw.chance(0.2) {
            group["marking"] = json!({ "meter": meter(draw), "per": draw.one(&["flow", "group"]) });
            if draw.chance(0.3) {
                group["marking"]["police"] = json!("red");
            }
        }
    }
    group
}

/// Returns the ends of a group: a pair of hosts, or a pattern.
fn ends(draw: &mut Draw, network: &Network) -> Value {
    let hosts = network.hosts.len() as u64;
    match draw.index(8) {
        0 => json!({ "from": "h*", "to": "h*", "pair": "random", "count": draw.between(1, 4) }),
        1 => json!({ "from": "h*", "to": "h*", "pair": draw.one(&["permutation", "ring"]) }),
        2 => json!({ "from": "h*", "to": "h1", "pair": "all" }),
        _ => {
            let from = draw.between(1, hosts);
            let to = 1 + (from + draw.between(0, hosts - 2)) % hosts;
            json!({ "from": format!("h{from}"), "to": format!("h{to}"), "count": draw.weighted(&[(4, 1), (1, 3)]) })
        }
    }
}

/// Returns a source of any kind. `carried`: the flow has a transport; without one, the source has a size or a rate.
fn source(draw: &mut Draw, carried: bool) -> Value {
    let rate = format!("{}kbit/s", draw.between(100, 15_000));
    match draw.index(12) {
        0 => {
            json!({ "kind": "cbr", "packet": draw.one(&["46B", "1kB", "9kB"]), "rate": rate, "jitter": 0.3, "phase": "random" })
        }
        1 => json!({ "kind": "poisson", "packet": format!("{}B", draw.between(1, 2_000)), "rate": rate }),
        2 => json!({ "kind": "uniform-fixed", "burst": "6kB", "rate": rate }),
        3 => json!({ "kind": "uniform-uniform", "burst": draw.one(&["1kB", "24kB"]), "rate": rate }),
        4 => {
            json!({ "kind": "on-off", "packet": "500B", "rate": rate, "on": "50ms", "off": "20ms", "distribution": draw.one(&["exponential", "pareto"]) })
        }
        5 => json!({ "kind": "self-similar", "burst": "6kB", "rate": rate, "peak": draw.one(&["batch", "50Mbit/s"]) }),
        6 => json!({ "kind": "video", "fps": 100, "smooth": draw.chance(0.5) }),
        7 => {
            json!({ "kind": "trace", "file": "frames.txt", "format": draw.one(&["terse-bytes", "terse-bits"]), "fps": 200, "smooth": draw.chance(0.5) })
        }
        8 => json!({ "kind": "bernoulli", "packet": "1500B", "slot": "500us", "load": 0.4 }),
        _ if carried && draw.chance(0.7) => json!({ "kind": "bulk" }),
        _ => json!({ "kind": "bulk", "size": format!("{}B", draw.between(1, 200_000)) }),
    }
}

/// Returns an application of any kind. `carried`: the flows have a transport, which transfers need.
fn application(draw: &mut Draw, carried: bool) -> Value {
    let sizes = |draw: &mut Draw| {
        let mean = format!("{}B", draw.between(1, 30_000));
        draw.one(&[
            json!({ "kind": "fixed", "size": mean }),
            json!({ "kind": "exponential", "mean": mean }),
            json!({ "kind": "pareto", "mean": mean, "shape": 1.5, "truncate": "1MB" }),
            json!({ "kind": "lognormal", "median": mean, "sigma": 1.0 }),
            json!({ "kind": "web-search" }),
        ])
    };
    let time = json!({ "kind": "exponential", "mean": draw.one(&["100us", "10ms"]) });
    let connections = draw.one(&["fresh", "persistent"]);
    let timeout = format!("{}us", draw.between(100, 100_000));
    let mut written = match draw.index(3) {
        0 if carried => {
            return json!({ "kind": "transfers", "size": sizes(draw), "interval": draw.one(&["1ms", "30ms"]) });
        }
        1 => json!({ "kind": "web", "request": sizes(draw), "main": sizes(draw), "object": sizes(draw),
            "objects": { "kind": "geometric", "mean": 3.0 }, "parallel": draw.between(1, 4), "service": time, "think": time }),
        _ => json!({ "kind": "request-response", "request": sizes(draw), "response": sizes(draw), "think": time }),
    };
    written["connections"] = json!(connections);
    if !carried || draw.chance(0.5) {
        written["timeout"] = json!(timeout);
    }
    written
}

/// Returns a meter of any kind.
pub fn meter(draw: &mut Draw) -> Value {
    let aware = draw.chance(0.5);
    draw.one(&[
        json!({ "kind": "fixed", "colour": "yellow" }),
        json!({ "kind": "token-bucket", "rate": "1Mbit/s", "burst": "4kB" }),
        json!({ "kind": "sr-tcm", "cir": "1Mbit/s", "cbs": "4kB", "ebs": "9kB", "colour-aware": aware }),
        json!({ "kind": "tr-tcm", "cir": "500kbit/s", "cbs": "4kB", "pir": "2Mbit/s", "pbs": "9kB", "colour-aware": aware }),
        json!({ "kind": "tsw2cm", "cir": "1Mbit/s", "window": "20ms" }),
        json!({ "kind": "tsw3cm", "cir": "1Mbit/s", "pir": "2Mbit/s" }),
        json!({ "kind": "adaptive", "target": "1Mbit/s", "interval": "1ms", "window": "10ms", "patience": "20ms", "rest": "10ms" }),
    ])
}

/// Returns a congestion control of any kind, with default parameters or with parameters for slow links: many defaults
/// are for faster links.
fn control(draw: &mut Draw, traits: &Traits) -> Value {
    // A user's control needs a file. It is the last in the list.
    let kind = draw.one(&Cc::NAMES[..Cc::NAMES.len() - 1]);
    let mut written = json!({ "kind": kind });
    match kind {
        // "packet-marking" needs colours, which packets with the tags of congestion points do not have. Its target has
        // no default.
        "packet-marking" if traits.notified => return json!({ "kind": "reno", "hystart": true }),
        "packet-marking" => written["target"] = json!("1Mbit/s"),
        _ if draw.chance(0.5) => {}
        "timely" => {
            written["variant"] = json!(draw.one(&["gradient", "patched"]));
            written["update"] = json!(draw.one(&["chunk", "round-trip"]));
            written["least"] = json!(draw.one(&["100kbit/s", "10Gbit/s"]));
        }
        "hpcc" if draw.chance(0.5) => written["flows"] = json!(4),
        "hpcc" => written["own-rtt"] = json!(true),
        "dcqcn" => {
            written["least"] = json!(draw.one(&["100kbit/s", "10Gbit/s"]));
            written["increase-interval"] = json!("1ms");
        }
        "swift" => written["most"] = json!(5.5),
        "subtcp" => written["x"] = json!(0.5),
        "dctcp" => written["least-window"] = json!(1),
        "ledbat" => written["target"] = json!(draw.one(&["1ms", "20ms"])),
        _ => {}
    }
    written
}

/// Returns TCP with random parameters.
fn tcp(draw: &mut Draw, traits: &Traits) -> Value {
    let recovery = draw.one(&[
        json!({ "kind": "tahoe" }),
        json!({ "kind": "reno", "careful": false }),
        json!({ "kind": "newreno", "exit": "open" }),
        json!({ "kind": "sack" }),
        json!({ "kind": "sack", "pipe": "count", "prr": false, "rack": false }),
        json!({ "kind": "sack", "forget": true, "rack": false }),
        json!({ "kind": "go-back-n" }),
    ]);
    let mut written = json!({
        "kind": "tcp",
        "segment": draw.one(&["1B", "300B", "900B"]),
        "header": draw.one(&["0B", "40B", "90B"]),
        "congestion-control": control(draw, traits),
        "recovery": recovery,
        "ecn": draw.one(&["off", "classic"]),
        "ect": draw.one(&["ect0", "ect1"]),
        "ecn-floor": draw.one(&["rfc3168", "backoff", "ns-2", "none"]),
        "handshake": draw.chance(0.5),
        "pacing": draw.chance(0.3),
        "delayed-ack": { "every": draw.between(1, 3), "clock": draw.one(&["segment", "heartbeat"]) },
        "limited-transmit": draw.one(&[json!(true), json!(false), json!("always")]),
        "initial-window": draw.one(&[json!(1), json!(10), json!("rfc3390")]),
        "timers": { "initial-rto": "50ms", "min-rto": draw.one(&["2ms", "20ms"]), "clock": draw.one(&["fine", "coarse"]) },
    });
    let timestamps = draw.chance(0.7);
    written["timestamps"] = json!(timestamps);
    if timestamps {
        written["spurious-timeout"] = json!(draw.one(&["off", "f-rto", "eifel"]));
    }
    if draw.chance(0.2) {
        written["receive-window"] = json!(draw.between(1, 20));
    }
    // A reservation colours its segments; packets with the tags of congestion points have no colours.
    if !traits.notified && draw.chance(0.1) {
        written["congestion-control"] = json!({ "kind": "reno" });
        written["pacing"] = json!(false);
        written["reservation"] = json!({
            "rate": "500kbit/s", "burst": "3kB", "window": draw.one(&["whole", "excess"]),
            "transmission": { "kind": draw.one(&["acknowledgement", "delayed", "timed"]) },
        });
    }
    written
}

/// Returns an RDMA transport with random parameters.
fn rdma(draw: &mut Draw, traits: &Traits) -> Value {
    let mut written = json!({
        "kind": "rdma",
        "segment": draw.one(&["300B", "900B"]),
        "header": draw.one(&["48B", "90B"]),
        "congestion-control": control(draw, traits),
        "acknowledge-every": draw.one(&[1, 4]),
        "timeout": draw.one(&["1ms", "4ms", "100ms"]),
    });
    if draw.chance(0.5) {
        written["window"] = json!(draw.between(1, 100));
    }
    written
}
