//! Senders that mark packets: those with a reservation, and those with the congestion control `packet-marking`.

use crate::common::{Fate, MS, Net, answer, at, tcp};
use serde_json::{Value, json};
use tailback_random::Rng;
use tailback_transport::{Segment, Sender};
use tailback_units::{Dur, Time};

/// Returns parameters of TCP with segments of 1000 B, headers included; the keys of `more` are added or replaced.
fn parameters(more: &Value) -> Value {
    let mut parameters = json!({ "handshake": false, "segment": "960B", "delayed-ack": { "every": 1 },
        "initial-window": 2, "spurious-timeout": "off" });
    for (key, value) in more.as_object().expect("a table") {
        parameters[key] = value.clone();
    }
    parameters
}

/// Returns parameters with a reservation of 1 Mbit/s, 125 segments per second.
fn reserved(burst: &str, window: &str, transmission: Value) -> Value {
    parameters(&json!({ "reservation":
        { "rate": "1Mbit/s", "burst": burst, "window": window, "transmission": transmission } }))
}

/// Returns transmissions triggered by acknowledgements only.
fn by_ack() -> Value {
    json!({ "kind": "acknowledgement" })
}

/// Returns variable `name` of the sender's congestion control; NaN if there is none of this name.
fn state(sender: &Sender, name: &str) -> f64 {
    let mut found = f64::NAN;
    sender.probe(&mut |n, value| {
        if n == name {
            found = value;
        }
    });
    found
}

/// Returns the log of a flow of 60 s with a round-trip time of 100 ms that loses the fraction `loss` of its unmarked
/// segments.
fn log_of_run(document: Value, loss: f64) -> Vec<(Time, Segment)> {
    let mut rng = Rng::named(1, "loss");
    let fate =
        move |_: Time, s: &Segment| Fate { lost: s.marked == Some(false) && rng.chance(loss), ..Fate::default() };
    let mut net = Net::new(tcp(document), MS(50), fate, answer);
    net.per_segment = Dur::from_us(200);
    net.strict = true;
    net.offer(u64::MAX);
    net.run_until(at(60_000));
    net.log
}

/// Returns the marked (or, if `marked` is `false`, the unmarked) segments per second over the 60 s of [`log_of_run`].
fn rate(log: &[(Time, Segment)], marked: bool) -> f64 {
    log.iter().filter(|(_, s)| s.marked == Some(marked)).count() as f64 / 60.0
}

#[test]
fn marked_bytes_conform_to_the_token_bucket_over_any_interval() {
    for transmission in [by_ack(), json!({ "kind": "timed" }), json!({ "kind": "delayed" })] {
        let log = log_of_run(reserved("10kB", "excess", transmission.clone()), 0.05);
        let marked: Vec<Time> = log.iter().filter(|(_, s)| s.marked == Some(true)).map(|(at, _)| *at).collect();
        assert!(marked.len() > 1000, "{transmission}: {}", marked.len());
        // From every seventh marked segment to each later one, at most b + r·t = 10 kB + 125 kB/s · t may be sent; a
        // segment has 1000 B.
        for (i, first) in marked.iter().enumerate().step_by(7) {
            for (j, last) in marked.iter().enumerate().skip(i) {
                let bytes = 1000 * (j - i + 1) as u64;
                let maximum = 10_000.0 + 125_000.0 * last.since(*first).as_secs();
                assert!(bytes as f64 <= maximum + 1e-6, "{transmission}: {bytes} B in {:?}", last.since(*first));
            }
        }
    }
}

#[test]
fn reno_gets_less_than_its_reservation_and_rate_adaptive_windowing_with_timed_transmission_gets_it() {
    let plain = rate(&log_of_run(reserved("5kB", "whole", by_ack()), 0.3), true);
    let excess = rate(&log_of_run(reserved("5kB", "excess", by_ack()), 0.3), true);
    let timed = rate(&log_of_run(reserved("5kB", "whole", json!({ "kind": "timed" })), 0.3), true);
    let both = rate(&log_of_run(reserved("5kB", "excess", json!({ "kind": "timed" })), 0.3), true);
    println!("marked segments per second of 125: plain {plain} excess {excess} timed {timed} both {both}");
    assert!(plain < 0.8 * 125.0, "{plain}");
    assert!(excess > plain && timed > plain);
    assert!(both >= 0.95 * 125.0, "{both}");
}

#[test]
fn a_coarse_timer_wastes_the_tokens_that_a_shallow_bucket_cannot_keep() {
    let with = |burst: &str, tick: &str| {
        rate(&log_of_run(reserved(burst, "whole", json!({ "kind": "timed", "tick": tick })), 0.5), true)
    };
    let (coarse, deep, fine) = (with("5kB", "500ms"), with("70kB", "500ms"), with("5kB", "10ms"));
    println!("coarse {coarse} deep {deep} fine {fine}");
    assert!(coarse < 0.9 * fine, "{coarse} {fine}");
    assert!(deep > coarse);
}

/// Runs a flow until it loses a segment for which `choose` is `true`, and reduces its window. Returns, in segments, the
/// reserved window, the window before the reduction, and the slow-start threshold after it.
fn around_first_reduction(document: Value, choose: impl Fn(&Segment) -> bool + Copy) -> (f64, f64, f64) {
    let mut lost = false;
    let fate = move |now: Time, s: &Segment| {
        let hit = !lost && now > at(3_000) && choose(s);
        lost |= hit;
        Fate { lost: hit, ..Fate::default() }
    };
    let mut net = Net::new(tcp(document), MS(50), fate, answer);
    net.per_segment = Dur::from_us(10);
    net.offer(u64::MAX);
    let mut before = 0.0;
    while net.sender.statistics().fast_retransmits == 0 {
        before = net.sender.cwnd();
        net.run_for(Dur::from_us(20));
        assert!(net.now < at(10_000), "no fast retransmission by {:?}", net.now);
    }
    (125.0 * net.sender.srtt().as_secs(), before, net.sender.ssthresh())
}

#[test]
fn an_unmarked_loss_halves_the_excess_over_the_reservation_and_a_marked_loss_the_whole_window() {
    // Without an initial threshold, slow start would last until the loss.
    let mut document = reserved("10kB", "excess", by_ack());
    document["initial-ssthresh"] = json!(40);
    let (reserved_window, before, after) = around_first_reduction(document.clone(), |s| s.marked == Some(false));
    assert!(
        (after - (reserved_window + (before - reserved_window) / 2.0)).abs() <= 1.0,
        "{reserved_window} {before} {after}"
    );
    let (_, before, after) = around_first_reduction(document, |s| s.marked == Some(true));
    assert!((after - before / 2.0).abs() <= 1.0, "{before} {after}");
    let mut whole = reserved("10kB", "whole", by_ack());
    whole["initial-ssthresh"] = json!(40);
    let (_, before, after) = around_first_reduction(whole, |s| s.marked == Some(false));
    assert!((after - before / 2.0).abs() <= 1.0, "{before} {after}");
}

#[test]
fn after_a_timeout_the_window_is_the_reserved_rate_times_the_round_trip_time() {
    // All segments are lost for a second.
    let fate = |now: Time, _: &Segment| Fate { lost: now > at(3_000) && now < at(4_000), ..Fate::default() };
    let mut document = reserved("10kB", "excess", by_ack());
    document["initial-ssthresh"] = json!(40);
    let mut net = Net::new(tcp(document), MS(50), fate, answer);
    net.offer(u64::MAX);
    while net.sender.statistics().timeouts == 0 {
        net.run_for(MS(1));
        assert!(net.now < at(60_000), "no timeout by {:?}, although all segments of a second are lost", net.now);
    }
    let reserved_window = 125.0 * net.sender.srtt().as_secs();
    assert!((net.sender.cwnd() - reserved_window).abs() < 1e-9, "{} {reserved_window}", net.sender.cwnd());
}

#[test]
fn delayed_transmission_marks_more_segments_and_sends_some_unmarked_at_its_time_limit() {
    let delayed = reserved("2kB", "whole", json!({ "kind": "delayed", "most": "30ms" }));
    let by_delay = log_of_run(delayed, 0.02);
    let at_once = log_of_run(reserved("2kB", "whole", by_ack()), 0.02);
    let share = |log: &[(Time, Segment)]| rate(log, true) / (rate(log, true) + rate(log, false));
    println!("marked: delayed {} at once {}", share(&by_delay), share(&at_once));
    assert!(share(&by_delay) > share(&at_once));
    assert!(rate(&by_delay, false) > 1.0, "no segment left unmarked at the time limit");
}

/// Returns parameters with `packet-marking` and a target rate.
fn packet_marking(target: &str) -> Value {
    parameters(&json!({ "initial-ssthresh": 40, "congestion-control": { "kind": "packet-marking", "target": target } }))
}

#[test]
fn an_unmarked_loss_halves_only_the_best_effort_window_and_a_marked_loss_both_windows() {
    for marked in [false, true] {
        let mut lost = false;
        let fate = move |now: Time, s: &Segment| {
            let hit = !lost && now > at(4_000) && s.marked == Some(marked);
            lost |= hit;
            Fate { lost: hit, ..Fate::default() }
        };
        let mut net = Net::new(tcp(packet_marking("6Mbit/s")), MS(50), fate, answer);
        net.per_segment = Dur::from_us(10);
        net.offer(u64::MAX);
        let parts = |sender: &Sender| ["marked", "best_effort"].map(|n| state(sender, &format!("{n}_window_segments")));
        let mut before = [0.0; 2];
        while net.sender.statistics().fast_retransmits == 0 {
            before = parts(&net.sender);
            net.run_for(Dur::from_us(20));
            assert!(net.now < at(20_000), "no fast retransmission by {:?}", net.now);
        }
        let after = parts(&net.sender);
        let kept = [after[0] / before[0], after[1] / before[1]];
        println!("lost marked {marked}: {before:?} {after:?}");
        assert!((kept[0] - if marked { 0.5 } else { 1.0 }).abs() < 0.05, "{before:?} {after:?}");
        assert!((kept[1] - 0.5).abs() < 0.05, "{before:?} {after:?}");
    }
}

#[test]
fn packet_marking_marks_up_to_the_target_and_hardly_any_if_best_effort_suffices() {
    for (target, max_marked_share) in [("500kbit/s", 0.02), ("3Mbit/s", 1.0)] {
        // With this loss the best-effort window alone has a mean of about 20 segments, 1.6 Mbit/s, between the two
        // targets.
        let log = log_of_run(packet_marking(target), 0.005);
        let late: Vec<_> = log.iter().filter(|(sent, _)| *sent > at(20_000)).collect();
        let marked = late.iter().filter(|(_, s)| s.marked == Some(true)).count() as f64 / late.len() as f64;
        let reached = late.len() as f64 * 8000.0 / 40.0;
        println!("{target}: {reached} bit/s, marked {marked}");
        assert!(marked <= max_marked_share, "{target}: {marked}");
        if max_marked_share == 1.0 {
            // After a loss the window grows by a segment per round trip, so the mean rate stays below the target.
            assert!(marked > 0.1 && (reached / 3e6 - 1.0).abs() < 0.15, "{target}: {reached} {marked}");
        }
    }
}

#[test]
fn marking_is_turned_off_when_marked_segments_are_lost_repeatedly() {
    let mut rng = Rng::named(3, "loss");
    let fate = move |_: Time, _: &Segment| Fate { lost: rng.chance(0.05), ..Fate::default() };
    let mut net = Net::new(tcp(packet_marking("20Mbit/s")), MS(50), fate, answer);
    net.per_segment = Dur::from_us(10);
    net.offer(u64::MAX);
    net.run_until(at(60_000));
    let off = net.log.windows(400).filter(|w| w.iter().all(|(_, s)| s.marked == Some(false))).count();
    let on = net.log.iter().filter(|(_, s)| s.marked == Some(true)).count();
    assert!(off > 0 && on > 100, "{off} {on}");
}
