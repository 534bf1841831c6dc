//! PAUSE and PFC frames (IEEE 802.3 annex 31B, 802.1Qbb), compared with the idealised on/off signal.

use crate::common::*;
use tailback_sim::Report;
use tailback_sim::plan::*;
use tailback_units::{Dur, Rate, Time};

/// Returns back-pressure by PAUSE frames of this number of quanta (512 bit times each).
fn mac(quanta: u16) -> BackPressure {
    BackPressure { signal: Signal::Mac { quanta }, ..PLAIN }
}

/// Returns a switch s whose link to d has 10 Mbit/s and a buffer of 50 kB. h1 over u1 and h2 over u2 each send 6 Mbit/s
/// of Poisson traffic to d, and d sends 1 Mbit/s to each of them.
fn overload(backpressure: BackPressure) -> Net {
    let mut net = Net::new(ETHERNET);
    let (s, d) = (net.switch("s"), net.host("d"));
    net.link(s, d, 10);
    net.limit(s, d, 50_000);
    net.set_backpressure(s, backpressure);
    for i in [1, 2] {
        let (h, u) = (net.host(&format!("h{i}")), net.switch(&format!("u{i}")));
        net.link(h, u, 100);
        net.link(u, s, 100);
        net.limit(u, s, 500_000);
        net.flow(h, d, 0, poisson(1500, 6_000_000));
        net.flow(d, h, 0, poisson(1000, 1_000_000));
    }
    net.delay(Dur::from_us(1));
    net.plan.end = ms(20_000);
    net
}

#[test]
fn refreshed_pauses_stop_traffic_for_as_long_as_the_on_off_signal_within_3_percent() {
    let on_off = overload(PLAIN).run();
    let forward = |report: &Report| report.flows.iter().step_by(2).map(|f| f.dropped.packets).sum::<u64>() as f64;
    for quanta in [200, 1000, 65_535] {
        let reported = overload(mac(quanta)).run();
        assert_eq!(drops_of(&reported, "s"), 0);
        // PAUSE frames wait for d's packets on the reverse path, so that each of about 2000 stops may differ by one
        // frame: 0.2 ms of 6 ms.
        for name in ["u1->s", "u2->s"] {
            let (stopped, ideal) = (port(&reported, name).held_s, port(&on_off, name).held_s);
            assert!((stopped / ideal - 1.0).abs() < 0.03, "{quanta} quanta: {stopped} s for {ideal} s");
        }
        assert!((forward(&reported) / forward(&on_off) - 1.0).abs() < 0.03);
        assert_eq!(
            port(&reported, "s->d").classes[0].sent.packets.abs_diff(port(&on_off, "s->d").classes[0].sent.packets),
            0
        );
    }
    // At 100 Mbit/s 200 quanta are 1 ms: a stop of about 6 ms needs a dozen refreshes.
    assert!(overload(mac(200)).run().control_frames > 3 * on_off.control_frames);
}

/// Returns the report of a switch s whose link to d is down, so that its neighbour u is stopped to the end. If
/// `stretch`, the delay of the link between u and s grows to 50 ms at 100 ms: the next refresh arrives too late.
fn stretched(backpressure: BackPressure, stretch: bool) -> Report {
    let mut net = Net::new(ETHERNET);
    let (h, u, s, d) = (net.host("h"), net.switch("u"), net.switch("s"), net.host("d"));
    net.link(h, u, 100);
    let link = net.link(u, s, 100);
    let drain = net.link(s, d, 10);
    net.limit(s, d, 50_000);
    net.set_backpressure(s, backpressure);
    net.flow(h, d, 0, cbr(1500, 50_000_000));
    net.change(Time::ZERO, ChangeKind::LinkDown(drain));
    if stretch {
        net.change(ms(100), ChangeKind::LinkDelay(link, Dur::from_ms(50)));
    }
    net.run()
}

#[test]
fn a_pause_that_is_not_refreshed_in_time_expires() {
    // 1000 quanta at 100 Mbit/s are 5.12 ms.
    assert_eq!(drops_of(&stretched(mac(1000), false), "s"), 0);
    let late = drops_of(&stretched(mac(1000), true), "s");
    // Frames sent between the expiry of the last timely PAUSE and the arrival of the first late one. That is 50 ms
    // minus a whole PAUSE of 5.12 ms to 50 ms minus half of one: 44.88 to 47.44 ms.
    let frames = |millis: f64| (millis * 1e-3 / (f64::from(WIRE) * 8.0 / 100e6)) as u64;
    assert!((frames(44.0)..=frames(48.0)).contains(&late), "{late}");
    // An idealised stop needs no refreshes.
    assert_eq!(drops_of(&stretched(PLAIN, true), "s"), 0);
}

#[test]
fn a_refreshed_pause_stays_in_force_on_a_link_that_is_faster_towards_the_congested_switch() {
    // A PAUSE is shorter at the neighbour, which counts quanta at its own rate, ten times that of the reverse
    // direction.
    let mut net = Net::new(ETHERNET);
    let (h, u, s, d) = (net.host("h"), net.switch("u"), net.switch("s"), net.host("d"));
    net.link(h, u, 100);
    let link = net.link(u, s, 100);
    let drain = net.link(s, d, 10);
    net.limit(s, d, 100_000);
    net.set_backpressure(s, mac(1000));
    net.plan.links[link as usize].rate = [Rate::mbit(100), Rate::mbit(10)];
    net.flow(h, d, 0, cbr(1500, 50_000_000));
    net.change(Time::ZERO, ChangeKind::LinkDown(drain));
    assert_eq!(drops_of(&net.run(), "s"), 0);
}

#[test]
fn pauses_shorter_than_their_own_frame_neither_queue_up_nor_fill_the_link_nor_outlast_the_congestion() {
    // One quantum is shorter than the frame that carries it.
    let mut net = Net::new(ETHERNET);
    let (h, u, s, d) = (net.host("h"), net.switch("u"), net.switch("s"), net.host("d"));
    net.link(h, u, 100);
    net.link(u, s, 100);
    let drain = net.link(s, d, 100);
    net.limit(s, d, 50_000);
    net.set_backpressure(s, mac(1));
    let flow = net.flow(h, d, 0, cbr(1500, 50_000_000));
    net.plan.flows[flow].stop = ms(50);
    let answer = net.flow(d, h, 0, cbr(1000, 1_000_000));
    net.plan.flows[answer].start = ms(120);
    net.change(Time::ZERO, ChangeKind::LinkDown(drain));
    net.change(ms(100), ChangeKind::LinkUp(drain));
    let report = net.run();
    // One frame in eight PAUSE transmission times: the congestion lasts 94 ms, and the bound is for 100 ms.
    let most = Dur::from_ms(100).0 / tx(100, 8 * PAUSE).0;
    assert!((most * 9 / 10..=most).contains(&report.control_frames), "{} of {most}", report.control_frames);
    let unhindered = (tx(100, 1038) * 3).as_secs();
    assert!(max_s(&report.flows.row(1)) < unhindered + 1e-9, "{} for {unhindered}", max_s(&report.flows.row(1)));
}

#[test]
fn two_queues_that_pause_each_others_neighbours_with_the_shortest_pauses_still_drain() {
    // PAUSE frames of one quantum that were refreshed before they expire would fill both transmitters.
    let mut net = Net::new(ETHERNET);
    let s = net.switch("s");
    net.set_backpressure(s, BackPressure { end_stations: true, ..mac(1) });
    let hosts = [0, 1].map(|i| net.host(&format!("h{i}")));
    for host in hosts {
        net.link(host, s, 100);
        net.limit(s, host, 50_000);
        let NodeKind::Host(plan) = &mut net.plan.nodes[usize::from(host)].kind else { unreachable!("it is a host") };
        plan.obeys = false;
    }
    let third = net.host("third");
    net.link(third, s, 1000);
    for host in hosts {
        net.flow(third, host, 0, bulk(1_000_000));
    }
    let report = net.run();
    assert!(report.flows.iter().all(|flow| flow.in_network.packets == 0));
}

#[test]
fn a_class_resumes_only_when_every_queue_that_stopped_it_is_relieved() {
    // Class 1 is congested at d1 and d2, and class 0 only at d1. When the link to d1 comes up, class 0 resumes and
    // class 1 does not.
    let mut net = Net::new(ETHERNET);
    net.plan.classes = 2;
    let (s1, s2) = (net.switch("s1"), net.switch("s2"));
    net.link(s1, s2, 100);
    net.set_backpressure(s2, BackPressure { scope: Scope::Class, ..mac(1000) });
    for i in 1..=3 {
        let d = net.host(&format!("d{i}"));
        let link = net.link(s2, d, 100);
        net.limit(s2, d, 50_000);
        for class in 0..2 {
            let h = net.host(&format!("h{i}{class}"));
            net.link(h, s1, 100);
            if (i, class) != (2, 0) {
                net.flow(h, d, class, cbr(1500, 5_000_000));
            }
        }
        if i < 3 {
            net.change(Time::ZERO, ChangeKind::LinkDown(link));
        }
        if i == 1 {
            net.change(ms(300), ChangeKind::LinkUp(link));
        }
    }
    net.plan.sample = Some(Dur::from_ms(10));
    let report = net.run();
    let series = report.series.as_ref().unwrap();
    let delivered = |flow: usize, sample: usize| series.flows[&report.flows.row(flow).group].delivered_bytes[sample];
    // The flows of class 0 and class 1 to d3, whose link is always up.
    let (class_0, class_1) = (3, 4);
    assert_eq!(report.flows.row(class_0).to, "d3");
    // Samples are 10 ms apart: no class delivers from 250 to 300 ms; from 350 to 590 ms class 0 does and class 1 does
    // not.
    assert_eq!((delivered(class_0, 24), delivered(class_1, 24)), (delivered(class_0, 29), delivered(class_1, 29)));
    assert!(delivered(class_0, 58) > delivered(class_0, 34) + 100_000);
    assert_eq!(delivered(class_1, 58), delivered(class_1, 34));
    assert_eq!(total_drops(&report), 0);
}
