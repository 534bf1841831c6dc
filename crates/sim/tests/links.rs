//! Links: loss, jitter, failures and changes of rate and delay. Equal runs give equal results.

use crate::common::*;
use tailback_sim::plan::*;
use tailback_sim::{Report, World};
use tailback_units::{Dur, Rate, Time};

/// Returns hosts a and b with a link of `mbit` Mbit/s between them.
fn pair(mbit: u64) -> Net {
    let mut net = Net::new(RAW);
    let (a, b) = (net.host("a"), net.host("b"));
    net.link(a, b, mbit);
    net
}

#[test]
fn frames_are_lost_independently_with_the_probability_of_the_link() {
    for (loss, seconds) in [(0.5, 20), (0.01, 20), (1e-4, 200)] {
        let mut net = pair(100);
        net.plan.links[0].loss = loss;
        net.flow(0, 1, 0, cbr(1000, 40_000_000));
        net.plan.end = ms(seconds * 1000);
        let report = net.run_merged();
        let flow = &report.flows.row(0);
        let n = flow.offered.packets as f64;
        // 99.9 % of a binomial distribution lie within 3.29 standard deviations of its mean.
        let slack = 3.29 * (n * loss * (1.0 - loss)).sqrt();
        assert!((flow.dropped.packets as f64 - n * loss).abs() <= slack, "{} of {n} at {loss}", flow.dropped.packets);
        assert_eq!(port(&report, "a->b").lost_on_line.packets, flow.dropped.packets);
        assert!(flow.drops.iter().all(|drop| drop.reason == "link loss"));
    }
}

#[test]
fn a_link_without_loss_loses_nothing_and_one_of_certain_loss_everything() {
    let mut net = pair(100);
    net.flow(0, 1, 0, cbr(1000, 40_000_000));
    assert_eq!(total_drops(&net.run()), 0);
    net.plan.links[0].loss = 1.0;
    assert_eq!(net.run().flows.row(0).delivered.packets, 0);
}

#[test]
fn a_link_that_counts_cells_takes_their_transmission_time() {
    // 72 B plus 4 B need two cells of 53 B, which take 848 µs at 1 Mbit/s: at most 1179 packets a second can leave. In
    // the first run 1000 packets a second are offered, in the second 1300.
    let cells = Some(tailback_qdisc::Accounting::new(4).in_cells());
    let mut net = pair(1);
    net.plan.links[0].accounting = cells;
    net.flow(0, 1, 0, cbr(72, 576_000));
    net.plan.end = ms(10_000);
    let report = net.run();
    let flow = &report.flows.row(0);
    assert_eq!((ps(max_s(flow)), ps(mean_s(flow))), (Dur::from_us(848), Dur::from_us(848)));
    let mut net = pair(1);
    net.plan.links[0].accounting = cells;
    net.flow(0, 1, 0, cbr(72, 748_800));
    net.plan.end = ms(10_000);
    let report = net.run();
    let sent = report.flows.row(0).delivered.packets as f64;
    assert!((sent - 11_792.0).abs() <= 2.0, "{sent}");
}

#[test]
fn jitter_keeps_the_order_and_adds_no_more_than_its_bound() {
    let mut net = pair(100);
    net.plan.links[0].jitter = [Dur::from_ms(2); 2];
    net.delay(Dur::from_ms(1));
    net.flow(0, 1, 0, cbr(1000, 60_000_000));
    net.plan.end = ms(5_000);
    let report = net.run();
    let flow = &report.flows.row(0);
    assert_eq!(flow.reordered, 0);
    let minimum = tx(100, 1000) + Dur::from_ms(1);
    let longest = ps(max_s(flow));
    assert!(longest <= minimum + Dur::from_ms(2) && longest > minimum + Dur::from_us(1_900), "{longest}");
    // Frames 0.13 ms apart cannot overtake each other, so that a late frame delays those behind it: the mean jitter is
    // greater than the 1 ms of independent frames.
    assert!(ps(mean_s(flow)) > minimum + Dur::from_us(1_300));
    // Frames 4 ms apart have independent jitter, uniform from 0 to 2 ms.
    let mut sparse = pair(100);
    sparse.plan.links[0].jitter = [Dur::from_ms(2); 2];
    sparse.flow(0, 1, 0, cbr(1000, 2_000_000));
    sparse.plan.end = ms(40_000);
    let reported = over(&sparse.replications(10), |report| mean_s(&report.flows.row(0)) - tx(100, 1000).as_secs());
    agrees(reported, 1e-3, 0.02);
}

// At 8 Mbit/s a frame of 1000 B takes 1 ms, and one is generated every 0.5 ms: of 200 frames in 99.9 ms, 100 wait at
// the end, so the largest queue is 100 kB. `Net::run` checks that both engines agree.
#[test]
fn frames_that_would_arrive_after_the_end_of_time_are_never_delivered() {
    for delay in [Dur(u64::MAX - ms(10_000).0), Dur(u64::MAX - 1), Dur(u64::MAX)] {
        let mut net = pair(8);
        net.plan.links[0].delay = delay;
        net.flow(0, 1, 0, cbr(1000, 16_000_000));
        net.plan.end = us(99_900);
        let report = net.run();
        assert_eq!(report.flows.row(0).delivered.packets, 0, "{delay}");
        assert_eq!(port(&report, "a->b").classes[0].max_bytes, 100_000, "{delay}");
    }
}

// At 1 bit/s a frame of 60 kB takes 480,000 s, and one is generated every 48,000 s. Simulated time can represent 213
// days. In nearly 210 of them, 37 frames are sent, the 38th is in transmission, and 340 of the 378 generated frames
// wait.
#[test]
fn a_queue_that_cannot_drain_in_the_representable_time_is_counted_to_the_end() {
    let mut net = pair(1);
    net.plan.links[0].rate = [Rate(1); 2];
    net.flow(0, 1, 0, cbr(60_000, 10));
    net.plan.end = Time::ZERO + Dur::from_secs(210 * 86_400 - 3_600);
    let report = net.run();
    assert_eq!(report.flows.row(0).delivered.packets, 37);
    assert_eq!(port(&report, "a->b").classes[0].max_bytes, 340 * 60_000);
}

#[test]
fn each_direction_of_a_link_has_its_own_jitter() {
    for (jitter, jittered) in [([Dur::from_ms(2), Dur::ZERO], 0), ([Dur::ZERO, Dur::from_ms(2)], 1)] {
        let mut net = pair(100);
        net.plan.links[0].jitter = jitter;
        net.delay(Dur::from_ms(1));
        net.flow(0, 1, 0, cbr(1000, 2_000_000));
        net.flow(1, 0, 0, cbr(1000, 2_000_000));
        net.plan.end = ms(5_000);
        let report = net.run();
        let minimum = tx(100, 1000) + Dur::from_ms(1);
        for direction in [0, 1] {
            let longest = ps(max_s(&report.flows.row(direction)));
            if direction == jittered {
                assert!(longest > minimum + Dur::from_us(1_900) && longest <= minimum + Dur::from_ms(2), "{longest}");
            } else {
                assert_eq!(longest, minimum);
            }
        }
    }
}

#[test]
fn a_link_that_goes_down_loses_only_the_frames_on_it() {
    // Every 2 ms a frame with a transmission time of 1 ms starts on a link with a delay of 10 ms. The frame generated
    // at 2 k ms arrives at 2 k + 11 ms. Those generated by 100 ms that would arrive later than 100 ms are lost,
    // including the frame generated at 100 ms, which is in transmission.
    let mut net = Net::new(RAW);
    let (a, s, b) = (net.host("a"), net.switch("s"), net.host("b"));
    let link = net.link(a, s, 8);
    net.link(s, b, 8);
    net.plan.links[link as usize].delay = Dur::from_ms(10);
    net.flow(a, b, 0, cbr(1000, 4_000_000));
    net.change(ms(100), ChangeKind::LinkDown(link));
    net.change(ms(300), ChangeKind::LinkUp(link));
    let report = net.run();
    let flow = &report.flows.row(0);
    let lost_frames = (0..=50u64).filter(|k| 2 * k + 1 + 10 > 100).count() as u64;
    assert_eq!(flow.dropped.packets, lost_frames);
    assert_eq!(flow.drops.len(), 1);
    assert_eq!((flow.drops[0].place.as_str(), flow.drops[0].reason.as_str()), ("a->s", "link down"));
    // The other frames waited for 200 ms and were then sent; no other packet is missing.
    assert_eq!(flow.offered.packets, flow.delivered.packets + flow.dropped.packets + flow.in_network.packets);
    assert!(flow.in_network.packets <= 7, "{flow:?}");
    assert!((max_s(flow) - 0.210).abs() < 0.003, "{}", max_s(flow));
    assert!((port(&report, "a->s").held_s - 0.199).abs() < 0.002, "{}", port(&report, "a->s").held_s);
}

#[test]
fn a_new_rate_holds_from_the_next_frame_on() {
    // Frames take 10 ms at 0.8 Mbit/s, and 1 ms at 8 Mbit/s. At 25 ms the third frame is in transmission, and is
    // finished at the old rate, at 30 ms.
    let mut net = pair(1);
    net.plan.links[0].rate = [Rate(800_000); 2];
    net.plan.framing.mtu = 1000;
    net.flow(0, 1, 0, bulk(6_000));
    net.change(ms(25), ChangeKind::LinkRate(0, Rate(8_000_000)));
    let report = net.run();
    assert_eq!(ps(max_s(&report.flows.row(0))), Dur::from_ms(33));
    assert_eq!(ps(mean_s(&report.flows.row(0)) * 6.0), Dur::from_ms(10 + 20 + 30 + 31 + 32 + 33));
    assert_eq!(report.ports[0].rate_bps, 8_000_000);
    assert!((report.ports[0].utilisation - 0.033).abs() < 1e-12);
}

#[test]
fn a_new_delay_holds_from_the_next_frame_on_and_does_not_reorder() {
    let mut net = pair(8);
    net.delay(Dur::from_ms(50));
    net.flow(0, 1, 0, cbr(1000, 1_000_000));
    net.change(ms(100), ChangeKind::LinkDelay(0, Dur::from_ms(1)));
    let report = net.run();
    let flow = &report.flows.row(0);
    assert_eq!((flow.reordered, flow.dropped.packets), (0, 0));
    // A frame is generated every 8 ms, and its transmission takes 1 ms. Frames 0 to 12 have the delay of 50 ms. Frames
    // 13 to 18 may not overtake frame 12, and arrive with it at 96 + 1 + 50 ms. Later frames take 2 ms.
    assert_eq!(ps(max_s(flow)), Dur::from_ms(51));
    let late: u64 = (13..=18).map(|k| 96 + 1 + 50 - 8 * k).sum();
    let reported = ps(mean_s(flow) * flow.delivered.packets as f64);
    let expected = Dur::from_ms(51 * 13 + late + 2 * (flow.delivered.packets - 19));
    assert!(reported.0.abs_diff(expected.0) < 1_000_000_000, "{reported} for {expected}");
}

/// Returns a small network with random sources, loss, jitter and drops.
fn random_net(seed: u64) -> Net {
    let mut net = Net::new(ETHERNET);
    net.plan.seed = seed;
    let (s1, s2) = (net.switch("s1"), net.switch("s2"));
    net.link(s1, s2, 10);
    net.plan.links[0].loss = 0.01;
    net.plan.links[0].jitter = [Dur::from_us(100); 2];
    net.limit(s1, s2, 20_000);
    for i in 0..3 {
        let (a, b) = (net.host(&format!("a{i}")), net.host(&format!("b{i}")));
        net.link(a, s1, 100);
        net.link(s2, b, 100);
        net.flow(a, b, 0, if i == 0 { bursts(6_000, 3_000_000) } else { poisson(1000, 3_000_000) });
    }
    net
}

#[test]
fn equal_seeds_give_equal_digests_and_different_seeds_different_digests() {
    let digests: Vec<String> = (1..=5).map(|seed| random_net(seed).run().digest).collect();
    for (i, digest) in digests.iter().enumerate() {
        assert_eq!(*digest, random_net(i as u64 + 1).run_merged().digest);
        assert!(digests[..i].iter().all(|other| other != digest));
    }
}

#[test]
fn the_number_of_events_per_step_does_not_change_the_result() {
    let whole = random_net(1).run();
    for budget in [1, 7, 1000] {
        let mut world = World::new(random_net(1).routed());
        let mut before = -1.0;
        while world.run(budget) == tailback_sim::Status::Running {
            assert!(world.progress() >= before);
            before = world.progress();
        }
        let report = world.report();
        assert_eq!((report.digest, report.events), (whole.digest.clone(), whole.events));
    }
}

#[test]
fn another_flow_leaves_the_emission_times_of_the_others_unchanged() {
    let emissions = |report: &Report| -> Vec<Vec<u64>> {
        let series = &report.series.as_ref().unwrap().ports;
        (0..3).map(|i| series[&format!("a{i}->s1")].sent_bytes.clone()).collect()
    };
    let mut net = random_net(1);
    // Samples of the bytes sent on access links, every 50 us, show the emission times.
    net.plan.sample = Some(Dur::from_us(50));
    let alone = emissions(&net.run_merged());
    let (extra, target) = (net.host("extra"), net.host("target"));
    net.link(extra, 0, 100);
    net.link(1, target, 100);
    net.flow(extra, target, 0, poisson(500, 1_000_000));
    net.plan.flows.rotate_right(1);
    assert_eq!(alone, emissions(&net.run_merged()));
}

#[test]
fn the_number_of_packets_in_the_network_stays_bounded_over_a_long_run() {
    let mut net = random_net(1);
    net.plan.end = ms(60_000);
    net.plan.sample = Some(Dur::from_ms(20));
    let report = net.run_merged();
    let series = &report.series.as_ref().unwrap().in_network_packets;
    // 200 packets are more than a queue of 20 kB and the packets on links and in the hosts' queues.
    assert!(series.iter().all(|n| *n < 200));
    let (first, second) = series.split_at(series.len() / 2);
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len() as f64;
    assert!((mean(first) / mean(second) - 1.0).abs() < 0.2, "{} then {}", mean(first), mean(second));
    assert_eq!(report.flows.iter().map(|f| f.in_network.packets).sum::<u64>(), *series.last().unwrap());
}

#[test]
fn the_last_sample_of_the_time_series_has_the_counters_of_the_report() {
    let mut net = random_net(1);
    net.plan.sample = Some(Dur::from_ms(100));
    let report = net.run();
    let series = report.series.as_ref().unwrap();
    assert_eq!(series.time_s.len(), 10);
    for port in &report.ports {
        assert_eq!(*series.ports[&port.name].sent_bytes.last().unwrap(), port.classes[0].sent.bytes, "{}", port.name);
    }
    for flow in report.flows.iter() {
        assert_eq!(*series.flows[&flow.group].delivered_bytes.last().unwrap(), flow.delivered.bytes);
    }
    assert_eq!(Time::ZERO.as_secs(), report.warmup_s);
}
