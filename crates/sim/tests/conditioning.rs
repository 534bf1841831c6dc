//! Meters and policers in the network. `World::report` checks that no packet vanishes.

use crate::common::*;
use tailback_diffserv::{Colour, Meter};
use tailback_qdisc::Spec;
use tailback_sim::Report;
use tailback_sim::plan::*;

/// Returns a meter in the notation of documents.
fn meter(document: serde_json::Value) -> Meter {
    tailback_document::decode(document).expect("the test's meter decodes")
}

/// Returns a token bucket, with rate and burst in the notation of documents.
fn bucket(rate: &str, burst: &str) -> Meter {
    meter(serde_json::json!({ "kind": "token-bucket", "rate": rate, "burst": burst }))
}

/// Returns a network in which hosts a and b send 2 Mbit/s each, in packets of 1000 B, over a switch to host c.
fn two_into_one() -> Net {
    let mut net = Net::new(RAW);
    let switch = net.switch("sw");
    let [a, b, c] = ["a", "b", "c"].map(|name| net.host(name));
    for host in [a, b, c] {
        net.link(host, switch, 100);
    }
    for host in [a, b] {
        let flow = net.flow(host, c, 0, cbr(1000, 2_000_000));
        // The sources stop early enough that no packet is in the network at the end.
        net.plan.flows[flow].stop = ms(9_990);
    }
    net.plan.end = ms(10_000);
    net
}

/// Returns a conditioner without actions. `flows`: indices of its flows, `None` for all. `per_flow`: one meter for each
/// flow instead of one for all. `police`: the best colour that is dropped, with all worse
/// ones; `None` for no drops.
fn conditioner(
    place: Place,
    flows: Option<Vec<u32>>,
    per_flow: bool,
    meter: Meter,
    police: Option<Colour>,
) -> ConditionerPlan {
    ConditionerPlan {
        name: "test".to_owned(),
        place,
        flows,
        matches: None,
        per_flow,
        meter,
        police,
        actions: Default::default(),
        accounting: tailback_qdisc::Accounting::default(),
    }
}

/// Returns the numbers of green, yellow, red and dropped packets of the first conditioner.
fn counted(report: &Report) -> [u64; 4] {
    let reported = &report.conditioners[0];
    [reported.green, reported.yellow, reported.red, reported.policed].map(|count| count.packets)
}

#[test]
fn a_policer_passes_the_packets_that_its_bucket_allows_and_drops_all_others() {
    let mut net = two_into_one();
    net.plan.conditioners =
        vec![conditioner(Place::Source, Some(vec![0]), true, bucket("1Mbit/s", "10kB"), Some(Colour::Red))];
    let report = net.run();
    let flow = &report.flows.row(0);
    // Of 250 packets a second 125 conform, for 9.99 s, and the burst adds 10: 1258.75.
    let [green, _, red, policed] = counted(&report);
    assert_eq!((red, red), (policed, flow.dropped.packets));
    assert!(green.abs_diff(1258) <= 1, "{green}");
    assert_eq!(flow.offered.packets, green + red);
    assert!(flow.drops.iter().all(|drop| drop.reason == "policed"), "{:?}", flow.drops);
    let colours = flow.colours.as_deref().expect("colours are counted");
    assert_eq!(colours.green.offered.packets, green);
    assert_eq!(colours.red.dropped.packets, red);
    assert_eq!(report.flows.row(1).dropped.packets, 0);
    assert_eq!(
        report.flows.row(1).colours.as_deref().map(|c| c.green.offered.packets),
        Some(report.flows.row(1).offered.packets)
    );
}

#[test]
fn a_stream_gets_the_same_colours_at_the_source_at_an_egress_and_at_an_ingress() {
    let colours_and_delivered = |place: Place| {
        let mut net = two_into_one();
        net.plan.conditioners =
            vec![conditioner(place, Some(vec![0]), false, bucket("1Mbit/s", "10kB"), Some(Colour::Red))];
        let report = net.run();
        (counted(&report), report.flows.row(0).delivered.packets)
    };
    let source = colours_and_delivered(Place::Source);
    // Port 0 is that of host a, port 5 that of the switch towards c.
    assert_eq!(source, colours_and_delivered(Place::Ingress { port: 0 }));
    assert_eq!(source, colours_and_delivered(Place::Egress { port: 5 }));
    assert_eq!(source, colours_and_delivered(Place::Egress { port: 0 }));
}

#[test]
fn two_flows_with_a_shared_meter_conform_half_as_often_as_with_separate_meters() {
    let red_share = |per_flow: bool| {
        let mut net = two_into_one();
        net.plan.conditioners = vec![conditioner(Place::Source, None, per_flow, bucket("2Mbit/s", "2kB"), None)];
        let report = net.run();
        let [green, _, red, _] = counted(&report);
        red as f64 / (green + red) as f64
    };
    assert_eq!(red_share(true), 0.0);
    assert!((red_share(false) - 0.5).abs() < 0.01);
}

#[test]
fn of_several_conditioners_at_a_place_only_the_first_that_applies_handles_a_packet() {
    let mut net = two_into_one();
    let fixed = |colour: &str| meter(serde_json::json!({ "kind": "fixed", "colour": colour }));
    let place = Place::Egress { port: 5 };
    net.plan.conditioners = vec![
        conditioner(place, Some(vec![1]), false, fixed("yellow"), None),
        conditioner(place, None, false, fixed("red"), None),
    ];
    let report = net.run();
    let colours = |flow: usize| report.flows.row(flow).colours.expect("colours are counted");
    assert_eq!(colours(0).red.delivered.packets, report.flows.row(0).delivered.packets);
    assert_eq!(colours(1).yellow.delivered.packets, report.flows.row(1).delivered.packets);
    // Packets are offered green, since no conditioner has coloured them when they enter the network.
    assert_eq!(colours(0).green.offered.packets, report.flows.row(0).offered.packets);
}

#[test]
fn rio_and_enhanced_red_drop_no_packet_that_is_in_profile() {
    for kind in ["rio", "ered"] {
        let mut net = two_into_one();
        // The measurement starts after 3 s, when the average queue, which grows slowly, has reached its equilibrium.
        net.plan.warmup = ms(3_000);
        // 4 Mbit/s arrive for 3 Mbit/s; 2 Mbit/s of them are green.
        net.plan.links[2].rate = [tailback_units::Rate::mbit(3); 2];
        let ends = net.plan.links[2].ends;
        net.limit(ends[1], ends[0], 100_000);
        let discipline = match kind {
            "rio" => serde_json::json!({ "kind": "rio" }),
            _ => {
                serde_json::json!({ "kind": "ered", "red": { "min": "10packets", "max": "40packets", "mean-packet": "1000B" } })
            }
        };
        net.queue(ends[1], ends[0]).discipline = tailback_document::decode::<Spec>(discipline).expect("it decodes");
        net.plan.conditioners = vec![conditioner(Place::Source, None, true, bucket("1Mbit/s", "10kB"), None)];
        let report = net.run();
        let sum = |get: fn(&tailback_sim::ColourReports) -> u64| -> u64 {
            report.flows.iter().map(|flow| get(flow.colours.as_deref().expect("colours are counted"))).sum()
        };
        assert_eq!(sum(|c| c.green.dropped.packets), 0, "{kind}");
        assert!(sum(|c| c.red.dropped.packets) > 500, "{kind}");
    }
}

#[test]
fn without_conditioners_no_colours_are_counted() {
    let report = two_into_one().run();
    assert!(report.conditioners.is_empty() && report.flows.iter().all(|flow| flow.colours.is_none()));
}
