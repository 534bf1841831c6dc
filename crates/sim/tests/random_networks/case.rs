//! Random cases: parameters of trees of hosts and switches of all models, with links, disciplines, back-pressure,
//! traffic and timelines.

use crate::common::*;
use proptest::prelude::*;
use proptest::sample::select;
use tailback_diffserv::{Colour, Meter};
use tailback_qdisc::{Spec, discipline::drop_head, discipline::drop_tail};
use tailback_sim::plan::*;
use tailback_traffic::{Bernoulli, Model};
use tailback_units::{Dur, Fraction, Size, Time};

/// A switch of the tree.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// Index of the switch to which this one is attached, modulo the number of switches before it.
    pub parent: usize,
    pub fabric: Fabric,
    /// `None`: the switch has no back-pressure.
    pub backpressure: Option<BackPressure>,
    pub latency: Dur,
    /// Number of hosts at the switch.
    pub hosts: usize,
}

/// A link, with equal queues at both ends.
#[derive(Clone, Debug)]
pub struct LinkCase {
    /// Rate in Mbit/s.
    pub mbit: u64,
    pub delay: Dur,
    /// Probability of loss of a frame.
    pub loss: f64,
    /// Maximum jitter of each direction.
    pub jitter: [Dur; 2],
    /// Limit of each class of a queue in bytes.
    pub limit: u64,
    pub spec: Spec,
    /// Size of the transmit ring in packets; `None`: no ring.
    pub ring: Option<u32>,
    /// Rate of the shaper in Mbit/s; `None`: no shaper.
    pub shaper: Option<u64>,
}

/// A flow between two hosts; if both are the same host, it is left out.
#[derive(Clone, Debug)]
pub struct FlowCase {
    /// Index of the sending host, modulo the number of hosts.
    pub from: usize,
    /// Index of the receiving host, modulo the number of hosts.
    pub to: usize,
    /// Class, modulo the number of classes.
    pub class: u8,
    pub model: Model,
    pub start: Time,
}

/// A meter and its policer.
#[derive(Clone, Debug)]
pub struct ConditionerCase {
    /// Place; the index of a port is taken modulo the number of ports.
    pub place: Place,
    /// `true`: one meter for each flow; `false`: one for all.
    pub per_flow: bool,
    pub meter: Meter,
    /// Best colour that the policer drops, with all worse ones; `None`: no packet is dropped.
    pub police: Option<Colour>,
}

/// A change of the timeline. The first field is the index of a link, flow, switch or host, modulo their number.
#[derive(Clone, Debug)]
pub enum Event {
    /// A link goes down for this time.
    Flap(u32, Dur),
    /// A link's rate changes to this number of Mbit/s.
    Rate(u32, u64),
    /// A link's delay changes.
    Delay(u32, Dur),
    /// A flow starts again.
    Restart(u32),
    /// A flow stops.
    Stop(u32),
    /// A switch's high watermark changes to this fraction of the buffer; the low one becomes half of it.
    Thresholds(usize, f64),
    /// A host sends PAUSE frames for this time.
    Storm(u32, Dur),
    /// A host ends its storm, if it has one.
    Calm(u32),
}

/// Parameters of a network.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub classes: u8,
    pub framing: Framing,
    pub switches: Vec<SwitchCase>,
    /// Links; the network's link n has the parameters of entry n, modulo their number.
    pub links: Vec<LinkCase>,
    pub flows: Vec<FlowCase>,
    pub conditioners: Vec<ConditionerCase>,
    pub events: Vec<(Time, Event)>,
    pub warmup: Time,
    /// `true` if hosts obey notifications.
    pub obeys: bool,
}

/// A duration, uniform from 0 to `most` microseconds.
fn micros(most: u64) -> impl Strategy<Value = Dur> {
    (0..=most).prop_map(Dur::from_us)
}

fn fabric() -> impl Strategy<Value = Fabric> {
    prop_oneof![
        4 => Just(Fabric::OutputQueued),
        2 => (select(vec![20_000u64, 100_000, 1_000_000]), select(vec![0.25, 1.0, 4.0]))
            .prop_map(|(memory, alpha)| Fabric::SharedMemory { memory, alpha }),
        1 => Just(Fabric::InputFifo { buffer: 30_000 }),
        2 => (select(vec![1.0, 1.5, 2.0]), select(vec![UNLIMITED, 5_000, 20_000])).prop_map(|(speedup, output_buffer)| {
            Fabric::VirtualOutputQueues { buffer: 30_000, output_buffer, speedup }
        }),
        2 => select(vec![14u32, 64, 2_000]).prop_map(|header| Fabric::CutThrough { header }),
    ]
}

fn backpressure() -> impl Strategy<Value = BackPressure> {
    let detection = prop_oneof![
        3 => select(vec![(0.8, 0.7), (0.5, 0.0), (0.2, 0.1)]).prop_map(|(high, low)| Detection::Watermark { high, low }),
        1 => (micros(5_000), micros(20_000)).prop_map(|(window, horizon)| Detection::FillRate { high: 0.8, low: 0.7, window, horizon }),
    ];
    let response = prop_oneof![
        3 => Just(Response::Block),
        1 => select(vec![(0.5, 0.01, 0.05), (0.9, 0.5, 0.5)]).prop_map(|(decrease, floor, increase)| {
            Response::Rate { decrease, floor, increase, interval: Dur::from_ms(2) }
        }),
    ];
    let signal = prop_oneof![
        2 => Just(Signal::OnOff),
        1 => select(vec![1u16, 50, 65_535]).prop_map(|quanta| Signal::Mac { quanta }),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (select(SCOPES.to_vec()), detection, response, signal, micros(300), flags).prop_map(
        |(scope, detection, response, signal, response_time, (feeding, database, partition, end_stations))| {
            // PAUSE frames carry no addresses, and they stop or resume traffic but cannot slow it.
            let (signal, response) = match (scope, signal) {
                (Scope::Destination | Scope::ClassDestination, _) => (Signal::OnOff, response),
                (_, Signal::Mac { .. }) => (signal, Response::Block),
                _ => (signal, response),
            };
            BackPressure {
                scope,
                detection,
                notify: if feeding { Notify::Feeding } else { Notify::All },
                addresses: if database { Addresses::FilteringDatabase } else { Addresses::Buffer },
                partition,
                response,
                signal,
                response_time,
                end_stations,
            }
        },
    )
}

fn link() -> impl Strategy<Value = LinkCase> {
    let spec = prop_oneof![
        6 => Just(Spec::default()),
        1 => Just(Spec::DropHead(drop_head::Params {})),
        1 => Just(Spec::DropTail(drop_tail::Params { packets: Some(5), ..drop_tail::Params::default() })),
        1 => select(red()),
        2 => select(classful()),
    ];
    let ring = prop_oneof![4 => Just(None), 1 => select(vec![Some(1u32), Some(15)])];
    let shaper = prop_oneof![5 => Just(None), 1 => select(vec![Some(5u64), Some(50)])];
    let loss = select(vec![0.0, 0.0, 0.0, 0.05]);
    let (none, some) = (Dur::ZERO, Dur::from_us(200));
    let jitter = select(vec![[none; 2], [none; 2], [some; 2], [none, some]]);
    let limit = select(vec![3_100u64, 20_000, 50_000, UNLIMITED]);
    (select(vec![10u64, 33, 100]), micros(500), loss, jitter, limit, spec, ring, shaper).prop_map(
        |(mbit, delay, loss, jitter, limit, spec, ring, shaper)| LinkCase {
            mbit,
            delay,
            loss,
            jitter,
            limit,
            spec,
            ring,
            shaper,
        },
    )
}

/// Returns RED with thresholds in bytes, and with thresholds in packets and the idle time of 1993.
fn red() -> Vec<Spec> {
    let documents = [
        serde_json::json!({ "kind": "red", "min": "3kB", "max": "9kB", "max-p": 0.3, "weight": 0.1 }),
        serde_json::json!({ "kind": "red", "min": "2packets", "max": "7packets", "count": "packets", "idle": "1993" }),
    ];
    documents.map(|document| tailback_document::decode(document).expect("a discipline")).into()
}

/// Returns disciplines with classes that match flow, class and code point.
fn classful() -> Vec<Spec> {
    let inner = serde_json::json!({ "kind": "class-based", "classes": [
        { "match": { "flow": 0 }, "priority": { "rate": "10%", "burst": "3kB" } },
        { "match": { "dscp": "af31" }, "bandwidth": "30%", "discipline": { "kind": "wred", "by": "dscp" } },
        { "match": { "not": { "class": 0 } }, "remaining": 2, "discipline": { "kind": "codel" } },
    ], "default": { "discipline": { "kind": "fair-queue" } } });
    let documents = [
        inner.clone(),
        serde_json::json!({ "kind": "shaper", "rate": "4Mbit/s", "discipline": inner }),
        serde_json::json!({ "kind": "priority", "levels": [{ "match": { "flow": [1, 2] } }, { "limit": "20packets" }] }),
        serde_json::json!({ "kind": "wrr", "count": "bytes", "classes": [{ "match": { "dscp": "ef" }, "discipline": { "kind": "pie" } }] }),
        serde_json::json!({ "kind": "htb", "default": "b", "classes": [
            { "name": "root", "rate": "5Mbit/s" },
            { "name": "a", "parent": "root", "match": { "dscp": "ef" }, "rate": "1Mbit/s", "ceil": "5Mbit/s" },
            { "name": "b", "parent": "root", "rate": "2Mbit/s", "ceil": "3Mbit/s", "prio": 1 },
        ] }),
    ];
    documents.map(|document| tailback_document::decode(document).expect("a discipline")).into()
}

pub fn flow() -> impl Strategy<Value = FlowCase> {
    let rate = 1_000_000..15_000_000u64;
    let model = prop_oneof![
        (select(vec![46u64, 1000, 1500]), rate.clone()).prop_map(|(size, bps)| cbr(size, bps)),
        (64..2_000u64, rate.clone()).prop_map(|(size, bps)| poisson(size, bps)),
        (1_000..50_000u64, rate).prop_map(|(size, bps)| bursts(size, bps)),
        (1..300_000u64).prop_map(bulk),
        Just(Model::Bernoulli(Bernoulli { packet: Size(1500), slot: Dur::from_us(500), load: Fraction(0.4) })),
    ];
    (0..100usize, 0..100usize, 0..8u8, model, 0..150_000u64).prop_map(|(from, to, class, model, start)| FlowCase {
        from,
        to,
        class,
        model,
        start: us(start),
    })
}

/// A meter of one or two rates at any place. It colours and drops, but does not change code points: with a discipline
/// that classifies by code point, packets of a flow could then overtake each other.
fn conditioner() -> impl Strategy<Value = ConditionerCase> {
    let place = prop_oneof![
        Just(Place::Source),
        any::<u32>().prop_map(|port| Place::Egress { port }),
        any::<u32>().prop_map(|port| Place::Ingress { port }),
    ];
    let meters = [
        serde_json::json!({ "kind": "token-bucket", "rate": "1Mbit/s", "burst": "4kB" }),
        serde_json::json!({ "kind": "sr-tcm", "cir": "1Mbit/s", "cbs": "4kB", "ebs": "9kB" }),
        serde_json::json!({ "kind": "tsw3cm", "cir": "1Mbit/s", "pir": "2Mbit/s" }),
    ];
    let meters = meters.map(|document| tailback_document::decode::<Meter>(document).expect("a meter"));
    let police = select(vec![None, Some(Colour::Red), Some(Colour::Yellow)]);
    (place, any::<bool>(), select(meters.to_vec()), police)
        .prop_map(|(place, per_flow, meter, police)| ConditionerCase { place, per_flow, meter, police })
}

fn event() -> impl Strategy<Value = (Time, Event)> {
    let event = prop_oneof![
        2 => (any::<u32>(), micros(30_000)).prop_map(|(link, duration)| Event::Flap(link, duration)),
        1 => (any::<u32>(), select(vec![10u64, 50, 100])).prop_map(|(link, mbit)| Event::Rate(link, mbit)),
        1 => (any::<u32>(), micros(3_000)).prop_map(|(link, delay)| Event::Delay(link, delay)),
        1 => any::<u32>().prop_map(Event::Restart),
        1 => any::<u32>().prop_map(Event::Stop),
        1 => (0..100usize, select(vec![0.05, 0.5, 1.0])).prop_map(|(node, high)| Event::Thresholds(node, high)),
        2 => (any::<u32>(), micros(60_000)).prop_map(|(host, duration)| Event::Storm(host, duration)),
        1 => any::<u32>().prop_map(Event::Calm),
    ];
    // Whole milliseconds in half of the cases, so that changes coincide with other events.
    let at = prop_oneof![(0..210_000u64).prop_map(us), (0..210u64).prop_map(ms)];
    (at, event)
}

pub fn case() -> impl Strategy<Value = Case> {
    let switch = (0..100usize, fabric(), prop::option::weighted(0.6, backpressure()), micros(20), 1..4usize).prop_map(
        |(parent, fabric, backpressure, latency, hosts)| SwitchCase { parent, fabric, backpressure, latency, hosts },
    );
    (
        (any::<u64>(), 1..=3u8, select(vec![ETHERNET, RAW, Framing { buffer: Length::Wire, ..ETHERNET }])),
        prop::collection::vec(switch, 1..5),
        prop::collection::vec(link(), 1..8),
        prop::collection::vec(flow(), 0..8),
        (prop::collection::vec(event(), 0..6), prop::collection::vec(conditioner(), 0..3)),
        (0..100_000u64, any::<bool>()),
    )
        .prop_map(|((seed, classes, framing), switches, links, flows, (events, conditioners), (warmup, obeys))| {
            Case { seed, classes, framing, switches, links, flows, conditioners, events, warmup: us(warmup), obeys }
        })
}
