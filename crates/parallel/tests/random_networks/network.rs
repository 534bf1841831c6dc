//! Random networks as documents: hosts and switches of all models in a tree or a mesh, links from 1 to 100 Mbit/s.
//!
//! Documents are generated instead of plans. The checks of documents are thus tested, too; senders have the path
//! parameters of ordinary runs; and a failure is a file for `tailback run`. Every generated document is valid.

use crate::draw::Draw;
use crate::flows::flows;
use crate::switching::{backpressure, limiters, model, point, ports, queue};
use crate::timeline::{timeline, with_sets};
use serde_json::{Map, Value, json};

/// Rates of links and of their changes. Some are well below the minimum rates of congestion controls for fast links.
pub const RATES: [&str; 5] = ["1Mbit/s", "3Mbit/s", "10Mbit/s", "33Mbit/s", "100Mbit/s"];

/// Properties of the whole network, drawn first since everything else must be consistent with them.
#[derive(Debug)]
pub struct Traits {
    /// End of the run, microseconds.
    pub end: u64,
    /// Number of traffic classes.
    pub classes: u64,
    /// Maximum payload of a packet, bytes.
    pub mtu: u64,
    /// `true` if back-pressure may name addresses. All queues are then drop-tail.
    pub addressed: bool,
    /// `true` if there are congestion points and rate limiters. Packets then carry tags in place of DSCPs and colours.
    pub notified: bool,
}

/// A node, with the names of its neighbours.
#[derive(Debug)]
pub struct Node {
    pub name: String,
    pub neighbours: Vec<String>,
}

/// A network under construction.
#[derive(Debug)]
pub struct Network {
    pub traits: Traits,
    pub hosts: Vec<Node>,
    pub switches: Vec<Node>,
    /// Names of the ends of each link.
    pub links: Vec<[String; 2]>,
    /// Back-pressure of each switch, in the order of `switches`; `None`: the switch sends no notifications.
    pub backpressure: Vec<Option<Value>>,
}

impl Network {
    /// Adds a link between two nodes.
    fn link(&mut self, a: String, b: String) {
        for (node, other) in [(&a, &b), (&b, &a)] {
            let all = self.hosts.iter_mut().chain(&mut self.switches);
            for found in all.filter(|found| found.name == *node) {
                found.neighbours.push(other.clone());
            }
        }
        self.links.push([a, b]);
    }
    /// Returns `true` if a switch has this name.
    pub fn is_switch(&self, name: &str) -> bool {
        self.switches.iter().any(|switch| switch.name == name)
    }
    /// Returns the names of the hosts whose neighbours are all switches with back-pressure by PAUSE frames: only these
    /// hosts may have storms.
    pub fn pausing_hosts(&self) -> Vec<String> {
        let pauses = |name: &String| {
            let at = self.switches.iter().position(|switch| switch.name == *name);
            at.and_then(|at| self.backpressure[at].as_ref())
                .is_some_and(|backpressure| backpressure["signal"]["kind"] == "mac")
        };
        let hosts = self.hosts.iter().filter(|host| host.neighbours.iter().all(pauses));
        hosts.map(|host| host.name.clone()).collect()
    }
}

/// Returns a framing, and the maximum payload of its packets in bytes.
fn framing(draw: &mut Draw) -> (Value, u64) {
    match draw.index(6) {
        0 => (json!("none"), 65_535),
        1 => {
            let buffer = draw.one(&["frame", "payload", "wire"]);
            (json!({ "mtu": "1kB", "header": "40B", "min-frame": "60B", "overhead": "4B", "buffer": buffer }), 1_000)
        }
        _ => (json!("ethernet"), 1_500),
    }
}

/// Returns the document of a seed.
pub fn document(seed: u64) -> Value {
    let draw = &mut Draw::new(seed);
    let (framing, mtu) = framing(draw);
    let addressed = draw.chance(0.2);
    let traits = Traits {
        end: draw.between(20_000, 250_000),
        classes: draw.weighted(&[(6, 1), (2, 2), (2, 3), (1, 8)]),
        mtu,
        addressed,
        notified: !addressed && draw.chance(0.35),
    };
    let routing = draw.weighted(&[(4, "tree"), (1, "shortest-path"), (2, "ecmp"), (1, "spray"), (1, "up-down")]);
    let network = topology(draw, traits, routing != "tree");
    let switches = switches(draw, &network);
    let mut written = json!({
        "tailback": 1,
        "run": run(draw, seed, network.traits.end),
        "network": { "classes": network.traits.classes, "routing": routing, "framing": framing },
        "hosts": hosts(draw, &network),
        "switches": switches,
        "links": links(draw, &network),
        "class-maps": { "some": { "class": 0 }, "others": { "not": "some" } },
    });
    written["flows"] = flows(draw, &network);
    written["timeline"] = timeline(draw, &network, &written["flows"]);
    written["timeline"] = with_sets(draw, &network, &written);
    written
}

/// Returns the table `run` of a document; `end` is the duration in microseconds.
fn run(draw: &mut Draw, seed: u64, end: u64) -> Value {
    let mut run = json!({
        "duration": format!("{end}us"),
        "seed": seed % 1_000_000,
        "per-flow-delay": draw.chance(0.3),
        "delay-variation": draw.chance(0.3),
    });
    if draw.chance(0.5) {
        run["warmup"] = json!(draw.micros(end / 2));
    }
    if draw.chance(0.4) {
        run["sample"] = json!(format!("{}us", draw.between(500, end)));
    }
    let sampled = run.get("sample").is_some();
    let kinds = [
        "transfers",
        "transport-changes",
        "delay-distribution",
        "throughput-by-flow",
        "queue-by-flow",
        "queue-extremes",
    ];
    let chosen: Vec<&str> = kinds
        .into_iter()
        .enumerate()
        // All but the first three kinds need a time series.
        .filter(|(n, _)| (sampled || *n < 3) && draw.chance(0.3))
        .map(|(_, kind)| kind)
        .collect();
    run["record"] = json!(chosen);
    if draw.chance(0.2) {
        run["record-limit"] = json!(draw.between(1, 300));
    }
    run
}

/// Returns switches in a random tree and hosts at random switches; with `mesh`, also additional links.
fn topology(draw: &mut Draw, traits: Traits, mesh: bool) -> Network {
    let node = |name: String| Node { name, neighbours: Vec::new() };
    let switches = draw.between(1, 4) as usize;
    let hosts = draw.between(2, 7) as usize;
    let mut network = Network {
        hosts: (1..=hosts).map(|n| node(format!("h{n}"))).collect(),
        switches: (1..=switches).map(|n| node(format!("s{n}"))).collect(),
        links: Vec::new(),
        backpressure: Vec::new(),
        traits,
    };
    for n in 2..=switches {
        let parent = draw.between(1, n as u64 - 1);
        network.link(format!("s{n}"), format!("s{parent}"));
    }
    for n in 1..=hosts {
        let switch = draw.between(1, switches as u64);
        network.link(format!("h{n}"), format!("s{switch}"));
        // A second adapter of the host, possibly at the same switch.
        if mesh && draw.chance(0.1) {
            let second = draw.between(1, switches as u64);
            network.link(format!("s{second}"), format!("h{n}"));
        }
    }
    if mesh && switches > 1 {
        for _ in 0..draw.between(1, 3) {
            let a = draw.between(1, switches as u64);
            let b = 1 + (a + draw.between(0, switches as u64 - 2)) % switches as u64;
            network.link(format!("s{a}"), format!("s{b}"));
        }
    }
    // Most switches have the same back-pressure, so that neighbours obey each other's notifications.
    let common = backpressure(draw, &network.traits);
    network.backpressure = (0..switches)
        .map(|_| match draw.index(5) {
            0 => None,
            1 => Some(backpressure(draw, &network.traits)),
            _ => Some(common.clone()),
        })
        .collect();
    network
}

/// Returns the table `hosts` of a document.
fn hosts(draw: &mut Draw, network: &Network) -> Value {
    let mut hosts = Map::new();
    for (n, host) in network.hosts.iter().enumerate() {
        let mut written = json!({
            "buffer": draw.weighted(&[(3, "unlimited"), (1, "20kB"), (1, "30packets")]),
            "obeys": draw.chance(0.8),
        });
        // With congestion points, at least one host must have rate limiters.
        if network.traits.notified && (n == 0 || draw.chance(0.4)) {
            written["rate-limiters"] = limiters(draw, &network.traits);
        }
        hosts.insert(host.name.clone(), written);
    }
    hosts.into()
}

/// Returns the table `switches` of a document.
fn switches(draw: &mut Draw, network: &Network) -> Value {
    let mut switches = Map::new();
    for (n, switch) in network.switches.iter().enumerate() {
        let traits = &network.traits;
        let mut backpressure = network.backpressure[n].clone();
        let has_points = traits.notified && (n == 0 || draw.chance(0.5));
        let model = model(draw, traits, switch.neighbours.len() as u64, &mut backpressure, has_points);
        let by_input = model["kind"] == "shared-buffer";
        let mut written = json!({ "model": model, "latency": draw.micros(20), "ports": {} });
        written["buffer"] = queue::limit(draw, traits, backpressure.is_some() && !by_input);
        if let Some(discipline) = queue::discipline(draw, traits, by_input) {
            written["discipline"] = discipline;
        }
        written["ports"] = ports(draw, network, switch, by_input, backpressure.is_some());
        if has_points {
            written["congestion-notification"] = point(draw);
        }
        let has_switch_neighbour = switch.neighbours.iter().any(|name| network.is_switch(name));
        // Memory accounted by input needs FIFO queues.
        if traits.notified && has_switch_neighbour && !by_input && draw.chance(0.4) {
            written["rate-limiters"] = limiters(draw, traits);
        }
        if draw.chance(0.3) {
            written["watchdog"] = json!({ "after": draw.one(&["1ms", "8ms"]), "restore": draw.one(&["1ms", "8ms"]) });
        }
        if let Some(backpressure) = backpressure {
            written["backpressure"] = backpressure;
        }
        switches.insert(switch.name.clone(), written);
    }
    switches.into()
}

/// Returns the list `links` of a document.
fn links(draw: &mut Draw, network: &Network) -> Value {
    let common = draw.one(&RATES);
    let rate = |draw: &mut Draw| if draw.chance(0.3) { common } else { draw.one(&RATES) };
    let link = |ends: &[String; 2]| {
        let forward = rate(draw);
        let backward = if draw.chance(0.25) { rate(draw) } else { forward };
        json!({
            "between": ends,
            "rate": [forward, backward],
            "delay": draw.micros(500),
            "loss": draw.weighted(&[(4, 0.0), (1, 0.05)]),
            "jitter": draw.weighted(&[(3, "0s"), (1, "200us")]),
        })
    };
    network.links.iter().map(link).collect()
}
