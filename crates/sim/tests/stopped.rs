//! Two times of a port, compared with hand calculations: `stopped_s`, during which a stop is in force, and `held_s`,
//! during which data waits although the transmitter is idle.

use crate::common::*;
use tailback_sim::StopReport;
use tailback_sim::plan::*;
use tailback_units::Dur;

/// Returns a burst of 100 kB in frames of 1000 B over h -100- s1 -100- s2 (50 kB) -10- d (rates in Mbit/s, in
/// parentheses the buffer of s2 towards d), without propagation delay.
fn burst(backpressure: BackPressure) -> Net {
    let mut net = Net::new(Framing { mtu: 1000, ..RAW });
    let (h, s1, s2, d) = (net.host("h"), net.switch("s1"), net.switch("s2"), net.host("d"));
    net.link(h, s1, 100);
    net.link(s1, s2, 100);
    net.link(s2, d, 10);
    net.limit(s2, d, 50_000);
    net.set_backpressure(s2, backpressure);
    net.flow(h, d, 0, bulk(100_000));
    net
}

/// Returns `true` if a time is exactly this number of nanoseconds.
fn is_ns(seconds: f64, ns: u64) -> bool {
    ps(seconds) == Dur::from_ns(ns)
}

#[test]
fn a_burst_is_stopped_and_held_for_as_long_as_calculated_by_hand() {
    // Frame k arrives at s2 at 80 (k + 1) us, and one frame leaves every 800 us from 960 us on. With frame 46, at 3760
    // us, 41 frames wait: XOFF, in force 6.72 us later (84 B). Frame 47 is then in transmission; s1 is idle although
    // data waits from the end of frame 47 at 3840 us on. At 9760 us 34 frames wait: XON, in force at 9766.72 us. From
    // then on there are cycles of 6400 us in which 8 frames pass: XOFF is in force 566.72 us after the XON, 6.72 us
    // into the eighth frame, and XON 5833.28 us later. After 47 + 6 * 8 frames 5 remain, too few for another stop.
    let report = burst(PLAIN).run();
    let reported = port(&report, "s1->s2");
    assert_eq!((reported.notifications_received, port(&report, "s2->d").classes[0].max_bytes), (14, 42_000));
    assert!(is_ns(reported.stopped_s, 6_000_000 + 6 * 5_833_280), "{}", reported.stopped_s);
    assert!(is_ns(reported.held_s, 5_926_720 + 6 * 5_760_000), "{}", reported.held_s);
    let all = StopReport { class: None, destination: None, times: 7, stopped_s: reported.stopped_s };
    assert_eq!((reported.stops.as_slice(), reported.slowed_s), ([all].as_slice(), 0.0));
    // The host is not notified.
    assert_eq!(port(&report, "h->s1").stopped_s, 0.0);
}

#[test]
fn the_time_series_shows_the_first_stop_and_its_last_sample_the_totals() {
    let mut net = burst(PLAIN);
    net.plan.sample = Some(Dur::from_us(10));
    let report = net.run();
    let series = report.series.as_ref().unwrap();
    let reported = &series.ports["s1->s2"];
    for (at, (stopped, held)) in series.time_s.iter().zip(reported.stopped.iter().zip(&reported.held)) {
        // The first stop of the hand calculation.
        let us = at * 1e6;
        if us < 9_770.0 {
            assert_eq!((*stopped, *held), (us > 3_766.72 && us < 9_766.72, us > 3_839.5 && us < 9_766.72), "{us} us");
        }
    }
    let last = |values: &[f64]| *values.last().unwrap();
    assert_eq!(last(&reported.stopped_s), port(&report, "s1->s2").stopped_s);
    assert_eq!(last(&reported.held_s), port(&report, "s1->s2").held_s);
    assert!(reported.stopped_s.is_sorted() && reported.held_s.is_sorted());
}

#[test]
fn a_stop_that_begins_in_the_warm_up_counts_from_its_end() {
    let mut net = burst(PLAIN);
    net.plan.warmup = us(5_000);
    let reported = net.run();
    assert!(is_ns(port(&reported, "s1->s2").stopped_s, 9_766_720 - 5_000_000 + 6 * 5_833_280));
    assert_eq!(port(&reported, "s1->s2").stops[0].times, 6);
}

/// Returns the report of two flows over s1 -100- s2: 30 Mbit/s to d1, whose link has 10 Mbit/s, and `other` bit/s to
/// d2, whose link has 100 Mbit/s.
fn two_destinations(backpressure: BackPressure, other: u64) -> tailback_sim::Report {
    let mut net = Net::new(ETHERNET);
    let (s1, s2, d1, d2) = (net.switch("s1"), net.switch("s2"), net.host("d1"), net.host("d2"));
    net.link(s1, s2, 100);
    net.link(s2, d1, 10);
    net.link(s2, d2, 100);
    net.limit(s2, d1, 50_000);
    net.set_backpressure(s2, backpressure);
    for (to, rate) in [(d1, 30_000_000), (d2, other)] {
        let h = net.host(&format!("h{to}"));
        net.link(h, s1, 100);
        net.flow(h, to, 0, cbr(1500, rate));
    }
    net.delay(Dur::from_us(1));
    net.run()
}

#[test]
fn a_destination_is_stopped_while_the_port_continues_to_send() {
    let report = two_destinations(scope(Scope::Destination), 85_000_000);
    let reported = port(&report, "s1->s2");
    let [stop] = reported.stops.as_slice() else { panic!("only d1 is stopped: {:?}", reported.stops) };
    assert_eq!((stop.class, stop.destination.as_deref(), stop.stopped_s), (None, Some("d1"), reported.stopped_s));
    // Of the 97.5 Mbit/s that s1 could send, 10 Mbit/s pass to d1, so that d1 is stopped for 0.9 of the time. During
    // that time the link is idle only when no traffic to d2 waits.
    assert!((reported.stopped_s - 0.9).abs() < 0.02, "{}", reported.stopped_s);
    assert!(reported.held_s < 0.2 && reported.held_s < 0.2 * reported.stopped_s, "{}", reported.held_s);
    assert!(reported.utilisation > 0.95);
    // With the scope `plain` the whole port is stopped, and data waits for nearly all of that time.
    let plain = two_destinations(PLAIN, 1_000_000);
    let reported = port(&plain, "s1->s2");
    assert!(
        reported.held_s > 0.9 * reported.stopped_s && reported.stopped_s > 0.6,
        "{} {}",
        reported.held_s,
        reported.stopped_s
    );
}

#[test]
fn a_port_that_slows_down_is_not_stopped() {
    let response = Response::Rate { decrease: 0.5, floor: 0.05, increase: 0.05, interval: Dur::from_ms(1) };
    let report = two_destinations(BackPressure { response, ..PLAIN }, 1_000_000);
    let reported = port(&report, "s1->s2");
    assert_eq!((reported.stopped_s, reported.stops.len()), (0.0, 0));
    assert!(reported.slowed_s > 0.5 && reported.slowed_s <= 1.0, "{}", reported.slowed_s);
}

#[test]
fn pauses_and_idealised_stops_are_in_force_for_the_same_time() {
    let times = |backpressure: BackPressure| {
        let report = two_destinations(backpressure, 1_000_000);
        let reported = port(&report, "s1->s2");
        (reported.stopped_s, reported.stops.len(), reported.stops[0].class)
    };
    let (ideal, ..) = times(PLAIN);
    for backpressure in [PLAIN, scope(Scope::Class)] {
        let class = (backpressure.scope == Scope::Class).then_some(0);
        let (stopped, targets, named) = times(BackPressure { signal: Signal::Mac { quanta: 1_000 }, ..backpressure });
        assert!((stopped / ideal - 1.0).abs() < 0.03, "{stopped} {ideal}");
        assert_eq!((targets, named), (1, class));
    }
}

#[test]
fn a_link_that_goes_down_ends_its_stops() {
    let mut net = burst(PLAIN);
    net.change(us(5_000), ChangeKind::LinkDown(1));
    net.change(us(900_000), ChangeKind::LinkUp(1));
    let report = net.run();
    let reported = port(&report, "s1->s2");
    // The port is stopped until the link goes down. Afterwards frames wait as in the cycles above, but no notification
    // is in force.
    assert!(reported.stopped_s < 0.040 && reported.held_s > 0.89, "{} {}", reported.stopped_s, reported.held_s);
}
