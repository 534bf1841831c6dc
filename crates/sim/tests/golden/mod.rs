//! One fixed scenario per mechanism of a local network. `lan.txt` pins the results by levels; both engines must give
//! them on every platform. They are our own results: a difference shows that behaviour has changed, not that it was
//! right.

mod levels;

use crate::common::*;
use levels::{Levels, all_differ, compare};
use std::path::{Path, PathBuf};
use tailback_qdisc::{Spec, discipline::drop_head};
use tailback_sim::plan::*;
use tailback_traffic::{Distribution, Model, OnOff, Peak, SelfSimilar, Truncation, UniformFixed, Video};
use tailback_units::{Dur, Rate, Size};

/// Returns a network in which hosts at s1 (h0 to h3) and at s4 (h4) send over s2: to d2 at s2, and to d1 and d3 at s3.
/// The link of 10 Mbit/s from s2 to s3 is too slow for the sum of these flows. Each flow has one of 0.2 Mbit/s in the
/// reverse direction. With two classes, d1 and d2 get packets of both, and d3 of class 1.
fn campus(classes: u8, backpressure: Option<BackPressure>) -> Net {
    let mut net = Net::new(ETHERNET);
    net.plan.classes = classes;
    net.plan.warmup = ms(100);
    let [s1, s2, s3, s4] = ["s1", "s2", "s3", "s4"].map(|name| net.switch(name));
    let [d1, d2, d3] = ["d1", "d2", "d3"].map(|name| net.host(name));
    for (a, b, mbit, buffer) in
        [(s1, s2, 100, 60_000), (s4, s2, 100, 60_000), (s2, s3, 10, 50_000), (s2, d2, 100, 50_000)]
    {
        net.link(a, b, mbit);
        net.limit(a, b, buffer);
    }
    net.link(s3, d1, 100);
    net.link(s3, d3, 100);
    for s in [s1, s2, s3, s4] {
        net.at_switch(s).backpressure.clone_from(&backpressure);
    }
    let traffic = [
        (s1, d1, 0, bursts(24_000, 3_000_000)),
        (s1, d1, 1, cbr(1500, 7_000_000)),
        (s1, d2, 1, poisson(1200, 8_000_000)),
        (s1, d3, 1, bursts(6_000, 3_000_000)),
        (s4, d2, 0, poisson(300, 5_000_000)),
    ];
    for (i, (at, to, class, model)) in traffic.into_iter().enumerate() {
        let h = net.host(&format!("h{i}"));
        net.link(h, at, 100);
        net.flow(h, to, class % classes, model);
        net.flow(to, h, 0, poisson(100, 200_000));
    }
    net.delay(Dur::from_us(1));
    net
}

/// Returns a network with a change.
fn with(mut net: Net, change: impl FnOnce(&mut Net)) -> Net {
    change(&mut net);
    net
}

/// Returns the campus in which s2 has another switch model.
fn fabric(fabric: Fabric) -> Net {
    with(campus(2, None), |net| net.at_switch(1).fabric = fabric)
}

/// Returns a network with flows of four source models that the campus does not have.
fn sources() -> Net {
    let models = [
        Model::UniformFixed(UniformFixed { burst: Size(6_000), rate: Rate::mbit(2) }),
        Model::OnOff(OnOff {
            packet: Size(500),
            rate: Rate::mbit(4),
            on: Dur::from_ms(20),
            off: Dur::from_ms(30),
            distribution: Distribution::Pareto,
            shape: 1.5,
        }),
        Model::SelfSimilar(SelfSimilar {
            burst: Size(6_000),
            rate: Rate::mbit(3),
            sources: 20,
            peak: Some(Peak::Batch),
            packet: Size(1_500),
            alpha_size: 1.4,
            alpha_gap: 1.4,
            truncate: Truncation::None,
        }),
        Model::Video(Video {
            rate: Rate(1_500_000),
            fps: 30.0,
            smooth: false,
            packet: Size(1500),
            scene: 0.25,
            scene_memory: 0.9,
            variation: 0.2,
        }),
    ];
    let mut net = Net::new(ETHERNET);
    let (s, d) = (net.switch("s"), net.host("d"));
    net.link(s, d, 10);
    net.limit(s, d, 50_000);
    for (i, model) in models.into_iter().enumerate() {
        let h = net.host(&format!("h{i}"));
        net.link(h, s, 100);
        net.flow(h, d, 0, model);
    }
    net
}

/// Adds changes of links, flows and thresholds to a campus.
fn timeline(net: &mut Net) {
    for (at, what) in [
        (200, ChangeKind::LinkDown(0)),
        (260, ChangeKind::LinkUp(0)),
        (400, ChangeKind::LinkRate(2, Rate::mbit(20))),
        (500, ChangeKind::LinkDelay(0, Dur::from_ms(2))),
        (550, ChangeKind::FlowStop(0)),
        (700, ChangeKind::FlowStart(0)),
        (800, ChangeKind::Thresholds { node: 1, high: 0.4, low: 0.2 }),
    ] {
        net.change(ms(at), what);
    }
}

/// Returns the scenarios by name.
fn scenarios() -> Vec<(&'static str, Net)> {
    let mac = |quanta, backpressure: BackPressure| BackPressure { signal: Signal::Mac { quanta }, ..backpressure };
    let forecast = Detection::FillRate { high: 0.8, low: 0.7, window: Dur::from_ms(2), horizon: Dur::from_ms(5) };
    let slow = Response::Rate { decrease: 0.5, floor: 0.05, increase: 0.05, interval: Dur::from_ms(5) };
    let with_backpressure =
        |backpressure: BackPressure| campus(2, Some(BackPressure { response_time: Dur::from_us(10), ..backpressure }));
    vec![
        ("drop-tail", campus(1, None)),
        ("drop-head", with(campus(1, None), |net| net.queue(1, 2).discipline = Spec::DropHead(drop_head::Params {}))),
        ("priority", campus(2, None)),
        ("sources", sources()),
        ("plain", with_backpressure(PLAIN)),
        ("class", with_backpressure(scope(Scope::Class))),
        ("destination", with_backpressure(scope(Scope::Destination))),
        ("destination-shared", with_backpressure(BackPressure { partition: false, ..scope(Scope::Destination) })),
        ("class-destination", with_backpressure(scope(Scope::ClassDestination))),
        (
            "filtering-database",
            with_backpressure(BackPressure { addresses: Addresses::FilteringDatabase, ..scope(Scope::Destination) }),
        ),
        ("feeding", with_backpressure(BackPressure { notify: Notify::Feeding, ..PLAIN })),
        ("end-stations", with_backpressure(BackPressure { end_stations: true, ..PLAIN })),
        ("pause", with_backpressure(mac(200, PLAIN))),
        ("priority-pause", with_backpressure(mac(20, scope(Scope::Class)))),
        ("slowing-down", with_backpressure(BackPressure { response: slow, ..scope(Scope::Class) })),
        ("fill-rate", with_backpressure(BackPressure { detection: forecast, ..PLAIN })),
        ("shared-memory", fabric(Fabric::SharedMemory { memory: 40_000, alpha: 1.0 })),
        ("input-fifo", fabric(Fabric::InputFifo { buffer: 10_000 })),
        (
            "input-fifo-pressed",
            with(fabric(Fabric::InputFifo { buffer: 10_000 }), |net| net.set_backpressure(1, PLAIN)),
        ),
        (
            "virtual-output-queues-pressed",
            with(
                fabric(Fabric::VirtualOutputQueues { buffer: UNLIMITED, output_buffer: 10_000, speedup: 1.0 }),
                |net| net.set_backpressure(1, scope(Scope::ClassDestination)),
            ),
        ),
        (
            "virtual-output-queues",
            fabric(Fabric::VirtualOutputQueues { buffer: 10_000, output_buffer: UNLIMITED, speedup: 1.5 }),
        ),
        ("cut-through", fabric(Fabric::CutThrough { header: 64 })),
        (
            "loss-and-jitter",
            with(campus(1, None), |net| {
                net.plan.links[0].loss = 0.02;
                net.plan.links[3].loss = 0.02;
                net.plan.links[0].jitter = [Dur::from_us(300); 2];
            }),
        ),
        ("timeline", with(with_backpressure(PLAIN), timeline)),
        ("raw-framing", with(campus(1, None), |net| net.plan.framing = RAW)),
    ]
}

/// Returns the path of the pinned results.
fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lan.txt")
}

#[test]
fn fixed_scenarios_give_the_results_that_they_gave_before() {
    let line = |(name, mut net): (&str, Net)| {
        net.plan.sample = Some(Dur::from_ms(50));
        Levels::of(&net.run()).line(name)
    };
    compare(&file(), &scenarios().into_iter().map(line).collect::<Vec<_>>());
}

#[test]
fn no_two_fixed_scenarios_have_equal_results_on_any_level() {
    let pinned = std::fs::read_to_string(file()).expect("lan.txt");
    assert_eq!(levels::parsed(&pinned).len(), scenarios().len(), "a line for each scenario");
    all_differ(&[("lan", pinned)]);
}
