//! Back-pressure by slowing down instead of stopping, and detection by a forecast instead of a watermark.

use crate::common::*;
use tailback_sim::Report;
use tailback_sim::plan::*;
use tailback_units::{Dur, Time};

/// Response that halves the rate, with a floor of 5 % of the link's rate, and restores 5 % of it every 5 ms.
const SLOW: Response = Response::Rate { decrease: 0.5, floor: 0.05, increase: 0.05, interval: Dur::from_ms(5) };

/// Returns the report of h -100- u -100- s (500 kB) -10- d (rates in Mbit/s, in parentheses the buffer of s towards d).
/// h sends 50 Mbit/s in the first half second, and 5 Mbit/s from 5 s to the end at 6 s.
fn two_phases(backpressure: BackPressure) -> Report {
    let mut net = Net::new(ETHERNET);
    let (h, u, s, d) = (net.host("h"), net.switch("u"), net.switch("s"), net.host("d"));
    net.link(h, u, 100);
    net.link(u, s, 100);
    net.link(s, d, 10);
    net.limit(s, d, 500_000);
    net.set_backpressure(s, backpressure);
    let heavy = net.flow(h, d, 0, cbr(1500, 50_000_000));
    net.plan.flows[heavy].stop = ms(500);
    let light = net.flow(h, d, 0, cbr(1500, 5_000_000));
    net.plan.flows[light].start = ms(5_000);
    net.plan.end = ms(6_000);
    net.plan.sample = Some(Dur::from_ms(5));
    net.run()
}

/// Returns the number of intervals of 5 ms at both ends of which more than 3 kB waits at u, and in which u sends
/// nothing.
fn silent_samples(report: &Report) -> usize {
    let reported = &report.series.as_ref().unwrap().ports["u->s"];
    let waits = |i: usize| reported.queue_bytes[i] > 3_000 && reported.queue_bytes[i + 1] > 3_000;
    (0..reported.sent_bytes.len() - 1)
        .filter(|i| waits(*i) && reported.sent_bytes[*i] == reported.sent_bytes[i + 1])
        .count()
}

#[test]
fn a_slowed_port_sends_without_pauses_and_recovers_and_a_blocked_port_pauses() {
    let slowed = two_phases(BackPressure { response: SLOW, ..PLAIN });
    let blocked = two_phases(PLAIN);
    assert!(silent_samples(&blocked) > 5, "50 kB, a tenth of the buffer, drain in 40 ms at 10 Mbit/s");
    assert_eq!(silent_samples(&slowed), 0);
    // From 0.5 s to 1.5 s the slowed port carries about the bottleneck's 10 Mbit/s, less than the offered 50 Mbit/s.
    let series = slowed.series.as_ref().unwrap();
    let sent = |ms: usize| series.ports["u->s"].sent_bytes[ms / 5 - 1] as f64;
    let rate = (sent(1_500) - sent(500)) * 8.0 / 1.0;
    assert!((5e6..20e6).contains(&rate), "{rate} bit/s");
    assert!(port(&slowed, "u->s").notifications_received >= 2);
    // Both ports recover: the later flow with a low load meets no queue and no limit.
    let unhindered = (tx(100, WIRE) * 2 + tx(10, WIRE)).as_secs();
    for report in [&slowed, &blocked] {
        assert!((max_s(&report.flows.row(1)) - unhindered).abs() < 1e-9, "{}", max_s(&report.flows.row(1)));
        assert_eq!(total_drops(report), 0);
    }
}

#[test]
fn a_class_is_slowed_to_its_floor_at_most_and_the_others_keep_the_full_rate() {
    let mut net = Net::new(ETHERNET);
    net.plan.classes = 2;
    let (u, s, d) = (net.switch("u"), net.switch("s"), net.host("d"));
    net.link(u, s, 100);
    let drain = net.link(s, d, 100);
    net.queue(s, d).limits[1] = 50_000;
    net.set_backpressure(s, BackPressure { response: SLOW, ..scope(Scope::Class) });
    net.change(Time::ZERO, ChangeKind::LinkDown(drain));
    for class in 0..2 {
        let h = net.host(&format!("h{class}"));
        net.link(h, u, 100);
        // Class 0 keeps the transmitter busy for 80 % of the time, with gaps of every length.
        net.flow(h, d, class, if class == 0 { poisson(1500, 80_000_000) } else { cbr(1500, 30_000_000) });
    }
    net.plan.warmup = ms(200);
    net.plan.end = ms(1_000);
    let report = net.run();
    let classes = &port(&report, "u->s").classes;
    // The link to the destination is down, so class 1 stays at its floor, for 0.8 s: 5 % of 100 Mbit/s on the wire.
    let floor = 0.05 * 100e6 * 0.8 / (f64::from(WIRE) * 8.0);
    let reported = classes[1].sent.packets as f64;
    // Fewer frames than the floor permits are sent, since a frame of class 1 also waits for frames of class 0.
    assert!(reported <= floor + 1.0 && reported > 0.7 * floor, "{reported} frames for {floor}");
    // Class 0 waits for at most one frame of class 1, in addition to its own frames.
    assert!(classes[0].mean_bytes < 20_000.0, "{}", classes[0].mean_bytes);
}

#[test]
fn a_forecast_reacts_earlier_than_the_watermark_and_needs_less_buffer() {
    let with_detection = |detection| BackPressure { detection, ..PLAIN };
    let fill = Detection::FillRate { high: 0.8, low: 0.7, window: Dur::from_ms(2), horizon: Dur::from_ms(5) };
    let [(watermark_stop, watermark_peak), (forecast_stop, forecast_peak)] =
        [PLAIN, with_detection(fill)].map(|backpressure| {
            let mut net = Net::new(ETHERNET);
            let (h, u, s, d) = (net.host("h"), net.switch("u"), net.switch("s"), net.host("d"));
            net.link(h, u, 100);
            net.link(u, s, 100);
            net.link(s, d, 10);
            net.limit(s, d, 500_000);
            net.set_backpressure(s, backpressure);
            net.flow(h, d, 0, bulk(2_000_000));
            net.plan.end = ms(5_000);
            net.plan.sample = Some(Dur::from_us(100));
            let report = net.run();
            assert_eq!(
                report.flows.row(0).delivered.bytes,
                2_000_000,
                "the whole burst arrives: no stop lasts for ever"
            );
            let stopped = report.series.as_ref().unwrap().ports["u->s"].held.iter().position(|s| *s);
            (stopped.unwrap(), port(&report, "s->d").classes[0].max_bytes)
        });
    // The excess of 90 Mbit/s fills 400 kB, the high watermark, in 36 ms; a forecast over 5 ms reaches it at 31 ms.
    // Instants are in samples of 0.1 ms, so that 5 ms are 50 samples, and 5 ms of the excess are 56 kB.
    assert!(watermark_stop >= forecast_stop + 30, "{watermark_stop} {forecast_stop}");
    assert!(watermark_peak > forecast_peak + 15_000, "{watermark_peak} {forecast_peak}");
}
