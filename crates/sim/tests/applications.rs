//! Applications compared with closed forms: the time of a request, the equilibrium of closed and open loops, failures
//! and refusals.

use crate::common::*;
use serde_json::json;
use std::sync::Arc;
use tailback_sim::plan::NodeId;
use tailback_sim::{ApplicationReport, Report};
use tailback_transport::Tcp;
use tailback_units::{Dur, Time};

/// Returns a client, a switch and a server; each link has 10 Mbit/s and 5 ms.
fn path() -> (Net, NodeId, NodeId) {
    let mut net = Net::new(RAW);
    let (client, switch, server) = (net.host("client"), net.switch("s"), net.host("server"));
    net.link(client, switch, 10);
    net.link(switch, server, 10);
    net.delay(Dur::from_ms(5));
    (net, client, server)
}

/// Returns TCP with segments of 960 B payload and 40 B header, and an initial window of `window` segments.
fn simple_tcp(window: u32) -> Arc<Tcp> {
    tcp(json!({ "segment": "960B", "initial-window": window, "delayed-ack": { "every": 1 } }))
}

/// Returns the report of a group of applications.
fn group<'a>(report: &'a Report, name: &str) -> &'a ApplicationReport {
    &report.applications[name]
}

/// Returns the time in which segments of these wire lengths, sent at once, cross the path of two links: the last one
/// waits for all others on the first link. No segment may be longer than the first one, and none shorter than the last.
fn across(wires: &[u32]) -> Dur {
    let first_link = wires.iter().fold(Dur::ZERO, |sum, wire| sum + tx(10, *wire));
    first_link + tx(10, *wires.last().expect("there is one")) + Dur::from_ms(10)
}

#[test]
fn on_an_idle_path_a_request_takes_the_handshake_its_transmission_and_that_of_the_response() {
    let (mut net, client, server) = path();
    let law = json!({
        "kind": "request-response", "connections": "fresh",
        "request": { "kind": "fixed", "size": "300B" }, "response": { "kind": "fixed", "size": "9700B" },
        "service": { "kind": "fixed", "time": "7ms" }, "think": { "kind": "fixed", "time": "100ms" },
    });
    net.session(client, server, &application(law), Some(&simple_tcp(20)));
    let report = net.run();
    // SYN, SYN-ACK, request, and a response of ten full segments and one of 100 B.
    let mut response = [1000u32; 11];
    response[10] = 140;
    let expected = across(&[40]) + across(&[40]) + across(&[340]) + Dur::from_ms(7) + {
        // The short segment waits for the last full one on the second link.
        let full = across(&response[..10]);
        full + tx(10, 140)
    };
    let reported = group(&report, "users");
    assert!(reported.begun - reported.exchange.count <= 1, "at most one is in progress at the end: {reported:?}");
    assert_eq!((ps(reported.exchange.max_s.unwrap()), reported.exchange.mean_s), (expected, reported.exchange.max_s));
    // Each cycle takes the think time of 100 ms and the time of the exchange; the first begins with the think time.
    let cycle = (expected + Dur::from_ms(100)).as_secs();
    assert_eq!(reported.begun, ((1.0 - 0.1) / cycle) as u64 + 1);
    // The exchange in progress at the end of the warm-up is among the completed ones.
    assert!(reported.completed.count - reported.time.count <= 1, "{reported:?}");
    assert_eq!(reported.completed.mean_s.map(ps), Some(expected));
}

#[test]
fn a_fresh_connection_starts_slowly_each_time_and_a_persistent_one_once() {
    let times = |connections: &str| {
        let (mut net, client, server) = path();
        let law = json!({
            "kind": "request-response", "connections": connections,
            "request": { "kind": "fixed", "size": "300B" }, "response": { "kind": "fixed", "size": "60kB" },
        });
        let slow = json!({ "segment": "960B", "initial-window": 2, "delayed-ack": { "every": 1 }, "handshake": false });
        net.session(client, server, &application(law), Some(&tcp(slow)));
        net.plan.end = ms(20_000);
        let report = net.run();
        let reported = group(&report, "users");
        assert_eq!(reported.time.count, reported.exchange.count, "a page is one exchange");
        (reported.exchange.mean_s.unwrap(), reported.exchange.max_s.unwrap())
    };
    let ((fresh_mean, fresh_max), (persistent_mean, persistent_max)) = (times("fresh"), times("persistent"));
    println!("fresh {fresh_mean} {fresh_max}, persistent {persistent_mean} {persistent_max}");
    // The last acknowledgement of a response takes 32 us on the link, for which the next request may wait.
    assert!(fresh_max / fresh_mean - 1.0 < 1e-3, "all exchanges take the same time");
    // On a persistent connection only the first exchange has a slow start; each later one takes a round trip and its
    // transmission.
    assert!((persistent_max / fresh_max - 1.0).abs() < 1e-3);
    let alone = (across(&[340]) + across(&[1000; 63])).as_secs();
    assert!(persistent_mean < 1.2 * alone && fresh_mean > 1.5 * alone, "{alone}");
}

/// The interactive response-time law (Denning and Buzen 1978): N users with the think time Z and the response time R
/// have the throughput X = N/(R + Z).
#[test]
fn a_closed_loop_obeys_the_interactive_response_time_law() {
    for (users, transport) in [(5u32, true), (60, true), (60, false)] {
        let (mut net, client, server) = path();
        let law = json!({
            "kind": "request-response", "timeout": "100s",
            "request": { "kind": "fixed", "size": "300B" }, "response": { "kind": "exponential", "mean": "20kB" },
            "service": { "kind": "exponential", "mean": "5ms" }, "think": { "kind": "fixed", "time": "1s" },
        });
        let (law, tcp) = (application(law), simple_tcp(10));
        for user in 0..users {
            let first = net.session(client, server, &law, transport.then_some(&tcp));
            net.plan.flows[first].start = ms(17 * u64::from(user));
        }
        (net.plan.warmup, net.plan.end) = (ms(50_000), ms(1_550_000));
        let report = net.run_merged();
        let reported = group(&report, "users");
        let rate = reported.exchange.count as f64 / 1_500.0;
        let expected = f64::from(users) / (reported.exchange.mean_s.unwrap() + 1.0);
        println!("{users} users: {rate} /s, {expected} by the law, response {:?} s", reported.exchange.mean_s);
        assert!((rate / expected - 1.0).abs() < 0.003, "{rate} {expected}");
        assert_eq!(reported.failed, 0);
        // Sixty users would request 9.6 Mbit/s of the 10 Mbit/s without queueing, so that responses queue.
        assert!(users < 60 || reported.exchange.mean_s.unwrap() > 0.08);
    }
}

/// Processor sharing (Kleinrock 1967): the mean slowdown is 1/(1 − ρ) at the load ρ, for every distribution of sizes.
#[test]
fn transfers_over_a_fair_link_are_slowed_down_as_by_processor_sharing() {
    for size in [json!({ "kind": "exponential", "mean": "200kB" }), json!({ "kind": "fixed", "size": "200kB" })] {
        let mut net = Net::new(RAW);
        let (a, s, b) = (net.host("a"), net.switch("s"), net.host("b"));
        net.link(a, s, 1_000);
        net.link(s, b, 10);
        net.queue(s, b).discipline = serde_json::from_value(json!({ "kind": "drr" })).expect("a discipline");
        let tcp = tcp(json!({ "segment": "960B", "initial-window": 100_000, "handshake": false }));
        // With headers, the load is 0.6: 5.76 Mbit/s times 1000/960, of 10 Mbit/s.
        let bins = ["100kB", "300kB"];
        let law = application(json!({ "kind": "transfers", "size": size, "rate": "5.76Mbit/s", "bins": bins }));
        net.transfers(a, b, &law, &tcp, 200);
        (net.plan.warmup, net.plan.end) = (ms(100_000), ms(3_100_000));
        let report = net.run_merged();
        let reported = group(&report, "transfers");
        let slowdown = reported.slowdown.expect("transfers were completed");
        println!("{size}: {} transfers, slowdown {slowdown:?}, refused {}", reported.begun, reported.refused);
        assert_eq!((reported.refused, reported.failed), (0, 0));
        assert!((slowdown.mean * (1.0 - 0.6) - 1.0).abs() < 0.06, "{slowdown:?}");
        // Processor sharing favours no size: the mean slowdown is the same in each bin.
        let by_size = &reported.slowdown_by_size;
        assert_eq!(by_size.iter().map(|bin| bin.up_to_bytes).collect::<Vec<_>>(), [Some(100_000), Some(300_000), None]);
        assert_eq!(by_size.iter().map(|bin| bin.begun).sum::<u64>(), reported.begun);
        assert_eq!(by_size.iter().map(|bin| bin.complete).sum::<u64>(), reported.time.count);
        for bin in by_size.iter().filter(|bin| bin.begun > 0) {
            let of_size = bin.slowdown.expect("at least one transfer is complete");
            assert!((of_size.mean * (1.0 - 0.6) - 1.0).abs() < 0.1, "{bin:?}");
            assert!(
                of_size.min >= 1.0
                    && of_size.p50 <= of_size.p95
                    && of_size.p95 <= of_size.p99
                    && of_size.p99 <= of_size.max
            );
        }
    }
}

#[test]
fn a_transfer_is_refused_when_no_connection_is_free() {
    let (mut net, client, server) = path();
    let law =
        application(json!({ "kind": "transfers", "size": { "kind": "fixed", "size": "100kB" }, "interval": "50ms" }));
    net.transfers(client, server, &law, &simple_tcp(10), 2);
    net.plan.end = ms(20_000);
    let report = net.run();
    let reported = group(&report, "transfers");
    assert!(reported.refused > 50 && reported.time.count > 50, "{reported:?}");
    let in_progress = reported.begun - reported.refused - reported.time.count;
    assert!(in_progress <= 2, "{reported:?}");
    // Erlang's loss formula does not apply: the two connections share links, so that their times are not independent.
    let delivered: u64 = report.flows.iter().map(|f| f.transport.as_ref().unwrap().goodput_bytes).sum();
    assert!((reported.time.count * 100_000..=(reported.time.count + in_progress) * 100_000).contains(&delivered));
}

#[test]
fn lost_datagrams_make_only_their_own_exchange_fail() {
    let (mut net, client, server) = path();
    net.plan.links[1].loss = 0.1;
    net.plan.framing.mtu = 1000;
    let law = application(json!({
        "kind": "request-response", "timeout": "200ms",
        "request": { "kind": "fixed", "size": "300B" }, "response": { "kind": "fixed", "size": "2500B" },
    }));
    net.session(client, server, &law, None);
    net.plan.end = ms(300_000);
    let report = net.run();
    let reported = group(&report, "users");
    assert_eq!(reported.begun - reported.failed - reported.exchange.count, 1, "one is in progress: {reported:?}");
    // An exchange fails unless all of its four packets arrive: one to the server and three back.
    let failed_share = reported.failed as f64 / (reported.begun - 1) as f64;
    assert!((failed_share - (1.0 - 0.9 * 0.9 * 0.9 * 0.9)).abs() < 0.02, "{failed_share}");
    // No exchange waits for packets of another, so that all successful exchanges take the same time.
    assert_eq!(reported.exchange.mean_s, reported.exchange.max_s);
}

#[test]
fn a_page_requests_as_many_objects_at_once_as_it_has_connections() {
    let page = |parallel: u32| {
        let (mut net, client, server) = path();
        let law = application(json!({
            "kind": "web", "parallel": parallel,
            "main": { "kind": "fixed", "size": "900B" }, "object": { "kind": "fixed", "size": "900B" },
            "objects": { "kind": "fixed", "number": 6 }, "think": { "kind": "fixed", "time": "1s" },
        }));
        net.session(client, server, &law, Some(&tcp(json!({ "segment": "960B", "handshake": false }))));
        net.plan.end = ms(10_500);
        let report = net.run();
        let reported = group(&report, "users");
        assert!(reported.time.count > 5 && reported.exchange.count >= 7 * reported.time.count, "{reported:?}");
        reported.time.max_s.unwrap()
    };
    let exchange = (across(&[340]) + across(&[940])).as_secs();
    // With one connection, seven exchanges follow each other: the main object and six others. With three connections
    // the main object is followed by two rounds of three. Acknowledgements of 40 B add a little.
    let one = page(1) / exchange;
    assert!((7.0..7.02).contains(&one), "{one}");
    let three = page(3);
    assert!(three > 3.0 * exchange && three < 3.2 * exchange, "{three} for 3 times {exchange}");
}

#[test]
fn late_packets_of_an_old_connection_do_not_disturb_the_new_one() {
    // Packets are lost, and the RTO of 5 ms is shorter than the round-trip time of 20 ms, so that late duplicates and
    // acknowledgements are frequent.
    let mut net = Net::new(RAW);
    let (a, s, b) = (net.host("a"), net.switch("s"), net.host("b"));
    net.link(a, s, 10);
    net.link(s, b, 10);
    net.delay(Dur::from_ms(5));
    net.plan.links[1].loss = 0.1;
    net.queue(s, b).discipline = serde_json::from_value(json!({ "kind": "drr" })).expect("a discipline");
    let tcp = tcp(json!({ "segment": "960B", "timers": { "min-rto": "5ms", "initial-rto": "5ms" } }));
    let law = application(json!({ "kind": "transfers", "size": { "kind": "uniform", "least": "1B", "most": "30kB" },
                                  "interval": "20ms" }));
    net.transfers(a, b, &law, &tcp, 4);
    (net.plan.warmup, net.plan.end) = (Time::ZERO, ms(100_000));
    let report = net.run();
    let reported = group(&report, "transfers");
    assert!(
        reported.time.count > 1_000 && reported.begun - reported.refused - reported.time.count <= 4,
        "{reported:?}"
    );
    let retransmissions: u64 = report.flows.iter().map(|f| f.transport.as_ref().unwrap().retransmissions).sum();
    assert!(
        retransmissions > 1_000,
        "an RTO of 5 ms with an RTT of 20 ms retransmits nearly everything: {retransmissions}"
    );
}
