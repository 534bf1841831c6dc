//! Transports over every discipline, and applications on top of them.

use crate::build::{SILENCE, eventful};
use crate::case::case;
use crate::common::*;
use crate::{config, counts, in_parts};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;
use tailback_qdisc::Spec;
use tailback_sim::plan::*;
use tailback_traffic::Application;
use tailback_transport::{Cc, Tcp};
use tailback_units::{Dur, Time};

/// A transport with any recovery and congestion control, with or without ECN; `None`: datagrams.
fn transport() -> impl Strategy<Value = Option<Arc<Tcp>>> {
    let recovery = select(vec!["tahoe", "reno", "newreno", "sack"]);
    let control = select(Cc::NAMES.iter().copied().filter(|kind| *kind != "user").collect::<Vec<_>>());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 1..4u32);
    prop::option::weighted(
        0.8,
        (recovery, control, flags).prop_map(|(recovery, control, (ecn, handshake, timestamps, pacing, every))| {
            // The key `target` of this congestion control has no default.
            let control = match control {
                "packet-marking" => serde_json::json!({ "kind": control, "target": "1Mbit/s" }),
                _ => serde_json::json!({ "kind": control }),
            };
            let tcp = serde_json::json!({
                "segment": "960B",
                "recovery": { "kind": recovery },
                "congestion-control": control,
                "ecn": if ecn { "classic" } else { "off" },
                "handshake": handshake,
                "timestamps": timestamps,
                "pacing": pacing,
                "delayed-ack": { "every": every },
            });
            Arc::new(serde_json::from_value(tcp).expect("a document's transport"))
        }),
    )
}

/// A discipline of any kind with default parameters, and with ECN marking if it has that key.
fn discipline() -> impl Strategy<Value = Spec> {
    // A user's law needs a file.
    let kinds: Vec<&str> = Spec::NAMES.iter().copied().filter(|kind| !kind.starts_with("user")).collect();
    select(kinds).prop_map(|kind| {
        let marking = serde_json::from_value(serde_json::json!({ "kind": kind, "ecn": true }));
        let plain =
            || serde_json::from_value(serde_json::json!({ "kind": kind })).expect("every parameter has a default");
        marking.unwrap_or_else(|_: serde_json::Error| plain())
    })
}

proptest! {
    #![proptest_config(config(300))]

    /// `Net::run` compares the engines, and `World::report` accounts for each packet and acknowledgement.
    #[test]
    fn transports_conserve_packets_under_every_discipline_and_both_engines_agree(
        case in case(),
        transports in prop::collection::vec(transport(), 8),
        disciplines in prop::collection::vec(discipline(), 8),
        end in 1_000..800_000u64,
    ) {
        let mut net = eventful(&case);
        net.plan.end = us(end).max(case.warmup);
        net.plan.framing.mtu = net.plan.framing.mtu.max(1_000);
        for (flow, transport) in net.plan.flows.iter_mut().zip(&transports) {
            flow.transport.clone_from(transport);
            flow.probe = true;
        }
        let by_address = |backpressure: &BackPressure| matches!(backpressure.scope, Scope::Destination | Scope::ClassDestination);
        if !case.switches.iter().any(|s| s.backpressure.as_ref().is_some_and(by_address)) {
            for (link, discipline) in net.plan.links.iter_mut().zip(disciplines.iter().cycle()) {
                link.queue[0].discipline = discipline.clone();
            }
        }
        net.plan.sample = Some(Dur::from_ms(5));
        let report = net.run();
        in_parts(&net, &case, &report);
        let [offered, delivered, dropped, inside] = counts(&report);
        prop_assert_eq!(offered, delivered + dropped + inside);
        for flow in report.flows.iter().filter(|f| f.transport.is_some()) {
            let transport = flow.transport.as_ref().expect("filtered");
            prop_assert!(transport.retransmissions <= transport.segments, "{}", flow.name);
            prop_assert!(transport.window >= 1.0 || transport.segments == 0, "{}: window {}", flow.name, transport.window);
            prop_assert!(transport.acks_lost <= transport.acks_sent);
        }
    }
}

/// Web sessions and transfers with random parameters.
fn some_application() -> impl Strategy<Value = Arc<Application>> {
    let sizes = |most: u64| {
        (1..=most).prop_map(|size| serde_json::json!({ "kind": "exponential", "mean": format!("{size}B") }))
    };
    let sessions = (sizes(2_000), sizes(60_000), 1..5u32, select(vec!["fresh", "persistent"]), 1..200u64);
    prop_oneof![
        sessions.prop_map(|(request, object, parallel, connections, timeout)| application(serde_json::json!({
            "kind": "web", "request": request, "main": object, "object": object, "parallel": parallel,
            "objects": { "kind": "geometric", "mean": 3.0 }, "connections": connections,
            "service": { "kind": "exponential", "mean": "2ms" }, "think": { "kind": "exponential", "mean": "30ms" },
            "timeout": format!("{timeout}ms"),
        }))),
        (sizes(60_000), 1..100u64).prop_map(|(size, interval)| application(serde_json::json!({
            "kind": "transfers", "size": size, "interval": format!("{interval}ms"),
        }))),
    ]
}

proptest! {
    #![proptest_config(config(200))]

    /// `Net::run` compares the engines, and `World::report` checks conservation. Each page or transfer that was begun
    /// is complete, has failed, was refused or is in progress. Without a cut of the run, all pages have ended at its
    /// end.
    #[test]
    fn applications_conserve_packets_and_account_for_all_that_they_begin(
        case in case(),
        applications in prop::collection::vec((some_application(), transport(), 0..100usize, 0..100usize), 1..5),
        cut in prop::option::of(1_000..400_000u64),
    ) {
        let mut net = eventful(&case);
        net.plan.framing.mtu = net.plan.framing.mtu.max(1_000);
        net.plan.timeline.retain(|c| !matches!(c.what, ChangeKind::FlowStart(_) | ChangeKind::FlowStop(_)));
        net.plan.warmup = Time::ZERO;
        let hosts: Vec<NodeId> = (0..net.plan.nodes.len() as NodeId)
            .filter(|n| matches!(net.plan.nodes[usize::from(*n)].kind, NodeKind::Host(_)))
            .collect();
        // Index of each application in `applications`, and its number of parallel connections.
        let mut parallel = Vec::new();
        for (index, (application, tcp, from, to)) in applications.iter().enumerate() {
            let (from, to) = (hosts[from % hosts.len()], hosts[to % hosts.len()]);
            if from == to {
                continue;
            }
            let first = net.plan.flows.len();
            if let Some(pages) = application.pages() {
                net.session(from, to, application, tcp.as_ref());
                parallel.push((index, pages.parallel));
            } else {
                let tcp = tcp.clone().unwrap_or_default();
                net.transfers(from, to, application, &tcp, 3);
                parallel.push((index, 3));
            }
            for flow in &mut net.plan.flows[first..] {
                flow.group = format!("{index}");
                flow.stop = SILENCE;
            }
        }
        if let Some(cut) = cut {
            net.plan.end = us(cut);
        }
        let report = net.run();
        in_parts(&net, &case, &report);
        let [offered, delivered, dropped, inside] = counts(&report);
        prop_assert_eq!(offered, delivered + dropped + inside);
        for (index, most) in parallel {
            let reported = &report.applications[&format!("{index}")];
            let (application, ..) = &applications[index];
            let session = application.pages().is_some();
            let done = reported.time.count + reported.failed + reported.refused;
            prop_assert!(done <= reported.begun && reported.begun - done <= u64::from(if session { 1 } else { most }), "{:?}", reported);
            prop_assert!(!session || reported.exchange.count >= reported.time.count, "a page has at least one exchange: {:?}", reported);
            if cut.is_none() && session {
                // All exchanges have a timeout; the timer of a transfer may have been doubled beyond the end.
                prop_assert_eq!(reported.begun, done, "no page is in progress at the end");
            }
        }
    }
}
