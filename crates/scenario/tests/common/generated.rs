//! Generated valid documents of every kind, for properties that hold for all of them.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Bound on the duration and the rates of a generated run.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each test uses one")]
pub enum Size {
    /// Documents of any size, which are never run.
    Any,
    /// One second at a few Mbit/s, which can be run.
    Small,
}

fn rate() -> impl Strategy<Value = String> {
    (1u64..5_000, prop::sample::select(vec!["kbit/s", "kB/s"])).prop_map(|(n, unit)| format!("{n}{unit}"))
}

fn source() -> impl Strategy<Value = Value> {
    let burst = (1u64..100).prop_map(|n| format!("{n}kB"));
    prop_oneof![
        (rate(), burst).prop_map(|(rate, burst)| json!({ "kind": "uniform-uniform", "rate": rate, "burst": burst })),
        rate().prop_map(|rate| json!({ "kind": "cbr", "packet": "700B", "rate": rate })),
        rate().prop_map(|rate| json!({ "kind": "poisson", "packet": "64B", "rate": rate })),
        rate().prop_map(|rate| json!({ "kind": "self-similar", "burst": "6kB", "rate": rate })),
        Just(json!({ "kind": "video" })),
        (1u64..1_000_000).prop_map(|n| json!({ "kind": "bulk", "size": format!("{n}B") })),
    ]
}

fn model() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({ "kind": "output-queued" }),
        json!({ "kind": "shared-memory", "memory": "60kB", "alpha": 0.5 }),
        json!({ "kind": "input-fifo", "buffer": "20kB" }),
        json!({ "kind": "virtual-output-queues", "buffer": "20kB", "speedup": 1.5 }),
        json!({ "kind": "virtual-output-queues", "buffer": "90kB", "output-buffer": "20kB", "speedup": 1.5 }),
        json!({ "kind": "cut-through" }),
    ])
}

fn backpressure() -> impl Strategy<Value = Value> {
    let scope = prop::sample::select(vec!["none", "plain", "class", "destination", "class-destination"]);
    let laws = (0.0..0.5, 0.5001..1.0, any::<bool>(), any::<bool>());
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (scope, laws, options, 0u64..1_000_000, 1u16..).prop_map(|(scope, (low, high, fill, rate), options, ns, quanta)| {
        let (feeding, database, partition, stations, mac) = options;
        let mac = mac && !rate && !scope.contains("destination");
        json!({
            "scope": scope,
            "detection": { "kind": if fill { "fill-rate" } else { "watermark" }, "low": low, "high": high },
            "response": { "kind": if rate { "rate" } else { "block" } },
            "signal": if mac { json!({ "kind": "mac", "quanta": quanta }) } else { json!({ "kind": "on-off" }) },
            "response-time": format!("{ns}ns"),
            "notify": if feeding { "feeding" } else { "all" },
            "addresses": if database { "filtering-database" } else { "buffer" },
            "partition": partition,
            "end-stations": stations,
        })
    })
}

prop_compose! {
    /// Documents with switches in a row, hosts behind the first and one host behind the last, and traffic in all classes
    /// in both directions.
    pub fn document(size: Size)(
        switches in 1u32..6,
        hosts in 1u32..5,
        title in prop::option::of(".*"),
        rates in prop::collection::vec(rate(), 3),
        sources in prop::collection::vec(source(), 1..4),
        buffers in prop::collection::vec(2u64..100, 3),
        backpressure in prop::option::of(backpressure()),
        own in prop::option::of(backpressure()),
        model in model(),
        long in 1u64..10_000,
        seed in 0u64..=i64::MAX as u64,
        loss in 0.0..=1.0,
        bits in any::<[bool; 4]>(),
    ) -> Value {
        let [per_class, framed, sampled, lossy] = bits;
        let fifo = model["kind"] == "input-fifo";
        let shared = model["kind"] == "virtual-output-queues" && model.get("output-buffer").is_none();
        // A shared queue or memory does not separate destinations.
        let own = match own {
            _ if fifo => Some(json!({ "scope": "plain" })),
            _ if shared => Some(json!({ "scope": "destination" })),
            own => own,
        };
        let seconds = match size { Size::Any => long, Size::Small => 1 };
        let sizes: Vec<String> = buffers.iter().map(|n| format!("{n}kB")).collect();
        let mut links = vec![
            json!({ "between": ["h*", "s1"], "rate": rates[0], "loss": if lossy { loss } else { 0.0 } }),
            json!({
                "between": ["sink", format!("s{switches}")],
                "rate": [rates[1], rates[2]],
                "length": format!("{long}m"),
                "jitter": format!("{long}ns"),
            }),
        ];
        links.extend((1..switches).map(|i| json!({ "between": [format!("s{i}"), format!("s{}", i + 1)], "rate": rates[2] })));
        let mut flows: Vec<Value> = sources.iter().enumerate().map(|(i, source)| {
            json!({ "name": format!("flow {i}"), "from": "h*", "to": "sink", "class": i % 3, "source": source })
        }).collect();
        flows.push(json!({ "name": "back", "from": "sink", "to": "h*", "start": "100ms", "source": sources[0] }));
        let mut run = json!({ "duration": format!("{seconds}s"), "seed": seed, "per-flow-delay": sampled });
        if sampled {
            run["sample"] = json!(format!("{seconds}ms"));
            run["warmup"] = json!("auto");
        }
        json!({
            "tailback": 1,
            "title": title,
            "run": run,
            "network": {
                "classes": 3,
                "buffer": if per_class { json!(sizes) } else { json!(sizes[0]) },
                "framing": if framed { json!("ethernet") } else { json!({ "mtu": "1kB", "header": "40B", "buffer": "wire" }) },
            },
            "backpressure": backpressure,
            "hosts": { "h": { "count": hosts, "obeys": per_class }, "sink": { "buffer": sizes[1] } },
            "switches": {
                "s": { "count": switches, "backpressure": own, "model": model, "ports": { "sink": { "buffer": sizes[2] } } },
            },
            "links": links,
            "flows": flows,
            "timeline": [
                { "at": "900ms", "flow": "flow 0", "state": "stop" },
                { "at": "500ms", "link": ["sink", "s*"], "rate": rates[0], "delay": "3us" },
                { "at": "600ms", "link": ["h1", "s1"], "state": "down" },
                { "at": "700ms", "link": ["h1", "s1"], "state": "up" },
            ],
        })
    }
}
