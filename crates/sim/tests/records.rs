//! Records: transfers, changes of senders, queues and throughput by flow, extremes of queues.

use crate::common::*;
use std::sync::Arc;
use tailback_sim::plan::*;
use tailback_sim::{Parts, Report, TransferRecord};
use tailback_traffic::{Application, Model, Transfers};
use tailback_transport::Tcp;
use tailback_units::{Dur, Time};

/// Returns TCP with segments of 1460 B, headers of 40 B and an acknowledgement of each segment; `more` adds parameters
/// or replaces them.
fn tcp(more: serde_json::Value) -> Arc<Tcp> {
    let mut parameters = serde_json::json!({ "segment": "1460B", "header": "40B", "delayed-ack": { "every": 1 } });
    for (key, value) in more.as_object().expect("a table") {
        parameters[key] = value.clone();
    }
    Arc::new(tailback_document::decode(parameters).expect("parameters of a transport"))
}

/// Returns two hosts at a switch, with 10 Mbit/s and 5 ms on each link, and flows of these sources and transports from
/// the first host to the second; and the nodes: first host, switch, second host.
fn path(flows: &[(Model, Arc<Tcp>)]) -> (Net, [NodeId; 3]) {
    let mut net = Net::new(RAW);
    let (a, s, b) = (net.host("a"), net.switch("s"), net.host("b"));
    net.link(a, s, 10);
    net.link(s, b, 10);
    net.delay(Dur::from_ms(5));
    for (model, tcp) in flows {
        let flow = net.flow(a, b, 0, model.clone());
        let kind = Arc::make_mut(&mut net.plan.flows[flow].kind);
        kind.transport = Some(tcp.clone());
    }
    (net, [a, s, b])
}

/// Returns two flows of bursts over a link that loses 5 % of the packets: bursts of 40 kB and of 20 kB on average, one
/// every 160 ms on average.
fn lossy() -> Net {
    let sender = || tcp(serde_json::json!({}));
    let (mut net, _) = path(&[(bursts(40_000, 2_000_000), sender()), (bursts(20_000, 1_000_000), sender())]);
    net.plan.links[1].loss = 0.05;
    net.plan.end = ms(4_000);
    net
}

fn transfers(report: &Report) -> &TransferRecord {
    report.transfers.as_ref().expect("transfers are recorded")
}

/// The handshake takes a round trip of headers. Of the 6 segments, 2 leave at once; their two acknowledgements release
/// two segments each (slow start). The path has two links, at each of which a packet is stored: a segment with the
/// transmission time T arrives 2 T + 10 ms after its start, an acknowledgement with t after 2 t + 10 ms. Of n segments
/// sent back to back, the last starts (n - 1) T after the first.
#[test]
fn the_completion_time_of_six_segments_is_that_of_handshake_and_two_rounds_of_slow_start() {
    let (mut net, _) = path(&[(bulk(6 * 1460), tcp(serde_json::json!({ "initial-window": 2 })))]);
    net.plan.record = Record::of([RecordKind::Transfers], 10);
    let (full, header, way) = (tx(10, 1500), tx(10, 40), Dur::from_ms(10)); // `way`: propagation delay of the path.
    let handshake = (header * 2 + way) * 2;
    // `first`: until the first acknowledgement, which releases segments 3 and 4; segments 5 and 6 follow without a gap.
    // `last`: until segment 6 arrives.
    let first = full * 2 + way + header * 2 + way;
    let last = full * 3 + full * 2 + way;
    let report = net.run();
    let record = transfers(&report);
    assert_eq!(record.names, ["a->b 0"]);
    assert_eq!((&record.size_bytes[..], &record.retransmissions[..]), (&[6 * 1460][..], &[0][..]));
    assert_eq!(record.start_s, [0.0]);
    assert_eq!(record.completion_s, [Some((handshake + first + last).as_secs())]);
    // Idle path and no window: the last of 6 segments waits for 5 at the first link, and is stored at each of two
    // links.
    assert_eq!(record.idle_s, [Some((full * 5 + full * 2 + way).as_secs())]);
}

#[test]
fn the_retransmissions_of_transfers_add_up_to_those_of_their_flow() {
    let mut net = lossy();
    net.plan.record = Record::of([RecordKind::Transfers], 100_000);
    let report = net.run();
    let record = transfers(&report);
    assert_eq!(record.omitted, 0);
    for (index, name) in record.names.iter().enumerate() {
        // Indices of the rows of this flow.
        let rows = || (0..record.flow.len()).filter(|row| record.flow[*row] as usize == index);
        let sum: u64 = rows().map(|row| u64::from(record.retransmissions[row])).sum();
        let flow = report.flows.iter().find(|flow| flow.name == *name).expect("a flow of this name");
        let transport = flow.transport.expect("a transport");
        assert!(sum > 10, "{name}: {sum}");
        assert_eq!(sum, transport.retransmissions, "{name}");
        let complete = rows().filter(|row| record.completion_s[*row].is_some()).count() as u64;
        assert_eq!(complete, transport.completion.count, "{name}");
        let sizes = rows().filter(|row| record.completion_s[*row].is_some()).map(|row| record.size_bytes[row]);
        assert!(sizes.sum::<u64>() <= transport.goodput_bytes);
    }
    assert!(record.retransmissions.contains(&0), "at least one transfer has no retransmission");
}

#[test]
fn the_slowdowns_of_recorded_transfers_are_those_of_the_application() {
    let (mut net, _) = path(&[(bulk(1), tcp(serde_json::json!({}))), (bulk(1), tcp(serde_json::json!({})))]);
    let law = serde_json::json!({ "size": { "kind": "exponential", "mean": "30kB" }, "interval": "40ms" });
    let law: Transfers = tailback_document::decode(law).expect("transfers");
    let flows = vec![0, 1];
    for flow in &mut net.plan.flows {
        Arc::make_mut(&mut flow.kind).group = "both".to_owned();
    }
    net.plan.applications.push(ApplicationPlan::Transfers { law: Arc::new(Application::Transfers(law)), flows });
    net.plan.end = ms(3_000);
    net.plan.record = Record::of([RecordKind::Transfers], 100_000);
    let report = net.run();
    let record = transfers(&report);
    let slowdowns: Vec<f64> =
        record.completion_s.iter().zip(&record.idle_s).filter_map(|(took, idle)| Some((*took)? / (*idle)?)).collect();
    let application = &report.applications["both"];
    assert_eq!(application.begun - application.refused, record.flow.len() as u64);
    assert_eq!(application.time.count, slowdowns.len() as u64);
    let expected = application.slowdown.expect("complete transfers");
    let mean = slowdowns.iter().sum::<f64>() / slowdowns.len() as f64;
    assert!((mean / expected.mean - 1.0).abs() < 1e-6, "{mean} and {}", expected.mean);
}

#[test]
fn rows_above_the_limit_are_counted_and_the_first_ones_are_kept_in_one_part_and_in_two() {
    let mut net = lossy();
    net.plan.sample = Some(Dur::from_ms(10));
    net.plan.record = Record::of(RECORDS, 1_000_000);
    let all = net.run();
    net.plan.record = Record::of(RECORDS, 25);
    let some = net.run();
    assert_eq!(same_in_parts(net.routed(), &some, 2), 2);
    let (unlimited, limited) = (transfers(&all), transfers(&some));
    assert_eq!(limited.start_s[..], unlimited.start_s[..25]);
    assert_eq!(limited.completion_s[..], unlimited.completion_s[..25]);
    assert_eq!(limited.omitted, unlimited.start_s.len() as u64 - 25);
    let changes = |report: &Report| report.transport_changes.clone().expect("changes are recorded");
    assert_eq!(changes(&some).window_segments[..], changes(&all).window_segments[..25]);
    assert_eq!(changes(&some).omitted, changes(&all).time_s.len() as u64 - 25);
    let queues = |report: &Report| report.queue_by_flow.clone().expect("queues are recorded");
    assert_eq!(queues(&some).waiting_bytes[..], queues(&all).waiting_bytes[..25]);
    assert_eq!(queues(&some).omitted, queues(&all).time_s.len() as u64 - 25);
}

/// RFC 5681: in slow start the window grows by a segment per acknowledgement. The first row, at time 0, is that of the
/// SYN, in the state "opening".
#[test]
fn the_window_grows_by_a_segment_at_each_acknowledgement_of_slow_start() {
    let (mut net, _) = path(&[(bulk(6 * 1460), tcp(serde_json::json!({ "initial-window": 2 })))]);
    net.plan.record = Record::of([RecordKind::TransportChanges], 100);
    let report = net.run();
    let record = report.transport_changes.expect("changes are recorded");
    assert_eq!(record.time_s[0], 0.0);
    assert_eq!(record.state[0], "opening");
    assert!(record.state[1..].iter().all(|state| *state == "open"));
    assert_eq!(record.window_segments[..4], [2.0, 2.0, 3.0, 4.0]);
    assert_eq!(record.outstanding_segments[..4], [0, 2, 3, 4]);
    // The acknowledgements of the second round arrive when nothing is left to send.
    assert_eq!(record.outstanding_segments[4..], [3, 2, 1, 0]);
    let (header, full, way) = (tx(10, 40), tx(10, 1500), Dur::from_ms(10));
    let opened = (header * 2 + way) * 2;
    let acknowledged = opened + full * 2 + way + header * 2 + way;
    assert_eq!(record.time_s[1..4], [opened, acknowledged, acknowledged + full].map(Dur::as_secs));
    assert_eq!(record.smoothed_rtt_s[0], None);
    assert_eq!(record.smoothed_rtt_s[1], Some(opened.as_secs()));
    assert_eq!(record.acknowledged_sequence, [0, 0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(record.next_sequence, [0, 2, 4, 6, 6, 6, 6, 6]);
}

/// Ten packets, each with a transmission time of 1 ms, arrive at once: the first is sent, and nine wait. Every
/// millisecond one of these leaves the queue.
#[test]
fn a_burst_between_two_samples_shows_in_their_extremes() {
    for discipline in [serde_json::json!({ "kind": "drop-tail" }), serde_json::json!({ "kind": "fq-codel" })] {
        for interval in [Dur::from_us(2_500), Dur::from_ms(20)] {
            let mut net = Net::new(RAW);
            let (a, b) = (net.host("a"), net.host("b"));
            net.link(a, b, 8);
            net.queue(a, b).discipline = tailback_document::decode(discipline.clone()).expect("a discipline");
            for _ in 0..10 {
                net.flow(a, b, 0, bulk(1_000));
            }
            net.plan.end = ms(20);
            net.plan.sample = Some(interval);
            net.plan.record = Record::of([RecordKind::QueueExtremes], 1);
            let series = net.run().series.expect("a series");
            let port = &series.ports["a->b"];
            let [min, max] = [&port.queue_min_bytes, &port.queue_max_bytes].map(|e| e.clone().expect("extremes"));
            let (queue, min, max): (&[u64], &[u64], &[u64]) = (&port.queue_bytes, &min, &max);
            if interval == Dur::from_ms(20) {
                assert_eq!((queue, min, max), (&[0][..], &[0][..], &[9_000][..]), "{discipline}");
            } else {
                // At 2.5 ms the third packet is in transmission and seven wait; at 5 ms the sixth starts, and four
                // wait.
                assert_eq!(queue, [7_000, 4_000, 2_000, 0, 0, 0, 0, 0], "{discipline}");
                assert_eq!(min, [7_000, 4_000, 2_000, 0, 0, 0, 0, 0], "{discipline}");
                assert_eq!(max, [9_000, 7_000, 4_000, 2_000, 0, 0, 0, 0], "{discipline}");
            }
        }
    }
}

#[test]
fn the_largest_extreme_of_a_run_is_the_maximum_of_the_queue_in_the_report() {
    let mut net = lossy();
    net.plan.end = ms(1_000);
    net.plan.sample = Some(Dur::from_ms(100));
    net.plan.record = Record::of([RecordKind::QueueExtremes], 1);
    let report = net.run();
    let series = report.series.as_ref().expect("a series");
    for port in &report.ports {
        let own = &series.ports[&port.name];
        let [min, max] = [&own.queue_min_bytes, &own.queue_max_bytes].map(|e| e.clone().expect("extremes"));
        assert_eq!(max.iter().max(), Some(&port.classes[0].max_bytes), "{}", port.name);
        for sample in 0..max.len() {
            assert!(min[sample] <= own.queue_bytes[sample] && own.queue_bytes[sample] <= max[sample]);
        }
    }
}

#[test]
fn queues_by_flow_add_up_to_the_queue_and_throughputs_by_flow_to_that_of_the_group() {
    let mut net = lossy();
    net.limit(0, 1, 20_000);
    net.plan.sample = Some(Dur::from_ms(5));
    net.plan.record = Record::of([RecordKind::QueueByFlow, RecordKind::ThroughputByFlow], 100_000);
    let report = net.run();
    let series = report.series.as_ref().expect("a series");
    let record = report.queue_by_flow.as_ref().expect("queues are recorded");
    assert!(record.flow.len() > 100 && record.names.len() >= 2, "{:?}", record.names);
    for (port, own) in &series.ports {
        for (time, queue) in series.time_s.iter().zip(&own.queue_bytes) {
            let rows = (0..record.flow.len())
                .filter(|row| record.time_s[*row] == *time && record.ports[record.port[*row] as usize] == *port);
            assert_eq!(rows.map(|row| record.waiting_bytes[row]).sum::<u64>(), *queue, "{port} at {time}");
        }
    }
    let by_flow = series.by_flow.as_ref().expect("throughput is recorded");
    for flow in report.flows.iter() {
        let own = &by_flow[&flow.name];
        assert_eq!(own.delivered_bytes, series.flows[&flow.group].delivered_bytes);
        assert_eq!(own.delivered_bytes.last(), Some(&flow.delivered.bytes));
        let goodput = own.goodput_bytes.as_ref().expect("a transport");
        assert_eq!(goodput.last(), Some(&flow.transport.expect("a transport").goodput_bytes));
    }
}

#[test]
fn records_change_no_result_and_are_absent_by_default() {
    let mut net = lossy();
    net.plan.sample = Some(Dur::from_ms(10));
    let without = net.run();
    net.plan.record = Record::of(RECORDS, 100);
    let with = net.run();
    assert_eq!(with.digest, without.digest);
    assert!(without.transfers.is_none() && without.transport_changes.is_none() && without.queue_by_flow.is_none());
    let series = without.series.expect("a series");
    assert!(series.by_flow.is_none() && series.ports.values().all(|port| port.queue_max_bytes.is_none()));
    assert_eq!(serde_json::json!(with.ports), serde_json::json!(without.ports));
}

/// A source that is stopped discards the segments that it has not sent. Its transfer is then never complete, although
/// the next transfers use the sequence numbers of the discarded segments.
#[test]
fn a_transfer_whose_end_was_discarded_is_never_complete() {
    let (mut net, _) = path(&[(bulk(200 * 1460), tcp(serde_json::json!({ "initial-window": 2 })))]);
    net.plan.record = Record::of([RecordKind::Transfers], 100);
    net.change(ms(70), ChangeKind::FlowStop(0));
    net.change(ms(300), ChangeKind::FlowStart(0));
    net.plan.end = ms(2_000);
    let report = net.run();
    let record = transfers(&report);
    assert_eq!(record.start_s, [0.0, 0.3]);
    assert_eq!(record.completion_s[0], None);
    assert!(record.completion_s[1].is_some_and(|took| took > 0.2));
}

#[test]
fn a_run_in_parts_has_the_records_of_the_whole_run() {
    let mut net = lossy();
    net.plan.sample = Some(Dur::from_ms(10));
    net.plan.warmup = Time(Dur::from_ms(500).0);
    net.plan.record = Record::of(RECORDS, 1_000_000);
    let report = net.run();
    assert_eq!(Parts::new(net.routed(), 3).partition().parts(), 3);
    for most in 1..=3 {
        same_in_parts(net.routed(), &report, most);
    }
}

/// Ten packets, each with a transmission time of 1 ms, are sent at once over an idle link: packet k arrives after k ms.
/// A histogram bucket is at most 1/128 of the delay wide, so that each packet has a bucket, and a row, of its own.
#[test]
fn the_distribution_of_delays_counts_each_packet_at_its_delay() {
    let mut net = Net::new(RAW);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, 8);
    for _ in 0..10 {
        net.flow(a, b, 0, bulk(1_000));
    }
    net.plan.flows.iter_mut().for_each(|flow| Arc::make_mut(&mut flow.kind).group = "all".to_owned());
    net.plan.per_flow_delay = true;
    net.plan.record = Record::of([RecordKind::DelayDistribution], 15);
    let delays = net.run().delays.expect("delays are recorded");
    assert_eq!((delays.delay_s.len(), delays.omitted), (15, 5));
    assert!(delays.scope[..10].iter().all(|scope| *scope == "class") && delays.scope[10] == "group");
    assert_eq!(delays.name[10], "all");
    for row in 0..15 {
        let delay = (row % 10 + 1) as f64 * 1e-3;
        assert!(delays.delay_s[row] >= delay && delays.delay_s[row] < delay * (1.0 + 1.0 / 128.0), "row {row}");
        assert_eq!(delays.delivered_packets[row], 1);
    }
    assert_eq!(delays.delay_s[9], 10e-3, "the largest delay is exact");
}
