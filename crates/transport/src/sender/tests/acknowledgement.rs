//! Acknowledgements, recovery with SACK and tail-loss probes, step by step.

use super::*;

/// RFC 6675 section 5: blocks of an acknowledgement that a later one has overtaken still count; an acknowledgement of
/// segments that were never sent does not.
#[test]
fn an_acknowledgement_of_segments_never_sent_is_ignored() {
    let mut sender = with_sack(10, &serde_json::json!({}));
    sender.on_ack(at_ms(100), &ack(5, &[]), None);
    sender.on_ack(at_ms(100), &ack(100, &[(7, 8)]), None);
    assert_eq!((sender.una(), board_of(&mut sender).sacked()), (5, 0));
    sender.on_ack(at_ms(100), &ack(2, &[(3, 4), (7, 9)]), None);
    assert_eq!((sender.una(), board_of(&mut sender).sacked()), (5, 2));
}

/// An acknowledgement ends what waited for it: an urgent transmission and the doubling by echoes. It raises old positions.
/// As in ns-2, one with an echo does not open the window, with and without SACK.
#[test]
fn an_acknowledgement_with_an_echo_does_not_open_the_window() {
    for kind in ["newreno", "sack"] {
        let mut sender = sent(10, &serde_json::json!({ "recovery": { "kind": kind }, "ecn": "classic" }));
        (sender.urgent, sender.ecn.at_floor) = (Urgent::First, true);
        sender.on_ack(at_ms(100), &ack(1, &[]), None);
        assert_eq!((sender.urgent, sender.ecn.at_floor, sender.ecn.reduced_at), (Urgent::No, false, 0), "{kind}");
        assert_eq!(sender.cwnd(), 11.0);
        sender.on_ack(at_ms(100), &Ack { ece: true, ..ack(2, &[]) }, None);
        assert_eq!((sender.cwnd(), sender.ssthresh()), (5.5, 5.5), "{kind}");
        // The echo of a sender without ECN has no effect.
        let mut sender = sent(10, &serde_json::json!({ "recovery": { "kind": kind } }));
        sender.on_ack(at_ms(100), &Ack { ece: true, ..ack(1, &[]) }, None);
        assert_eq!(sender.cwnd(), 11.0);
    }
}

/// RFC 6298 section 5.2: the timer stops when all data is acknowledged. RFC 7661: a window at the threshold grows only if it
/// was full.
#[test]
fn without_outstanding_data_there_is_no_timer_and_an_unused_window_does_not_grow() {
    let mut sender = sender(serde_json::json!({
        "handshake": false, "initial-window": 4, "initial-ssthresh": 4, "recovery": { "kind": "newreno" },
    }));
    sender.offer(Time::ZERO, 3 * 1460);
    while sender.poll(Time::ZERO).is_some() {}
    sender.on_ack(at_ms(100), &ack(1, &[]), None);
    assert_eq!(sender.cwnd(), 4.0);
    sender.window.cwnd = 1.0;
    sender.window.ssthresh = 1.0;
    sender.on_ack(at_ms(100), &ack(3, &[]), None);
    assert_eq!((sender.cwnd(), sender.deadline()), (1.0, Time::NEVER));
    // The last byte of a write is a segment of its own.
    sender.offer(at_ms(100), 1461);
    let payloads: Vec<u16> = std::iter::from_fn(|| sender.poll(at_ms(100))).map(|segment| segment.payload).collect();
    assert_eq!(payloads, [1460]);
    sender.on_ack(at_ms(200), &ack(4, &[]), None);
    assert_eq!(sender.poll(at_ms(200)).map(|segment| segment.payload), Some(1));
}

/// Each duplicate is a delivery, so that an acknowledgement delivers only those that it advances by in addition. All are
/// recorded for the delivery rate.
#[test]
fn without_sack_each_duplicate_is_a_delivery() {
    let mut sender = sent(4, &serde_json::json!({ "congestion-control": { "kind": "bbr" } }));
    assert_eq!(sender.process_without_sack(at_ms(100), &ack(1, &[]), 1).delivered, 1);
    (0..2).for_each(|_| assert_eq!(sender.process_without_sack(at_ms(100), &ack(1, &[]), 0).delivered, 1));
    assert_eq!(sender.process_without_sack(at_ms(101), &ack(4, &[]), 3).delivered, 1);
    let sample = sender.sampler().and_then(|sampler| sampler.sample(Dur::ZERO)).expect("a sample");
    assert_eq!(sample.total_delivered, 4);
    // After a timeout duplicates count only for limited transmit "always", and no longer once new data is acknowledged.
    let mut sender = sent(10, &serde_json::json!({ "limited-transmit": "always" }));
    sender.on_expiry(at_ms(1_000));
    (0..2).for_each(|_| sender.on_ack(at_ms(1_001), &ack(0, &[]), None));
    assert_eq!(sender.repair.dupacks, 2);
    sender.on_ack(at_ms(1_100), &ack(3, &[]), None);
    assert_eq!(sender.repair.dupacks, 0);
}

/// A control without scoreboard has a sample of each acknowledgement: BBR's minimum falls with it.
#[test]
fn without_sack_the_sample_is_that_of_the_timestamp() {
    let mut sender = sent(4, &serde_json::json!({ "congestion-control": { "kind": "bbr" } }));
    for (now, next, echo, minimum) in [(100, 1, 0, 0.1), (110, 2, 60, 0.05)] {
        sender.on_ack(at_ms(now), &Ack { echo: at_ms(echo), ..ack(next, &[]) }, None);
        let mut found = f64::NAN;
        sender.probe(&mut |name, value| found = if name == "min-rtt" { value } else { found });
        assert!((found - minimum).abs() < 1e-12, "{found}");
    }
    // A host without room for a segment makes pacing set no deadline.
    while sender.poll(at_ms(110)).is_some() {}
    let (paced, expiry) = (sender.deadline(), sender.timers.expiry);
    assert!(paced < expiry);
    sender.wait_for_turn();
    assert_eq!(sender.deadline(), expiry);
}

/// RFC 8985 section 6.2 step 5: the timer runs while segments wait to be considered lost. It stops when none do, and so
/// does that of the tail loss probe once a segment is SACKed (section 7.2).
#[test]
fn the_timer_of_the_scoreboard_runs_for_reordering_or_for_a_probe() {
    use board::Awaits;
    let state = |sender: &Sender| sender.board.as_ref().map(|board| (board.probe.at, board.probe.awaits));
    let mut sender = with_sack(10, &serde_json::json!({}));
    sender.on_ack(at_ms(100), &ack(1, &[]), None);
    // Two round-trip times of 100 ms.
    assert_eq!(state(&sender), Some((at_ms(300), Awaits::Tail)));
    sender.detect_losses(at_ms(101), false);
    assert_eq!(state(&sender), Some((at_ms(300), Awaits::Tail)));
    // Segment 1 may be lost in a quarter of a round-trip time.
    sender.on_ack(at_ms(101), &ack(1, &[(2, 3)]), None);
    assert_eq!(state(&sender), Some((at_ms(0) + Dur::from_ms(101 + 25), Awaits::Reordering)));
    sender.on_ack(at_ms(110), &ack(3, &[]), None);
    assert_eq!(state(&sender).map(|(_, awaits)| awaits), Some(Awaits::Tail));
    board_of(&mut sender).sacked = 1;
    sender.detect_losses(at_ms(111), false);
    assert_eq!(state(&sender), Some((Time::NEVER, Awaits::Nothing)));
    // No probe while a segment is SACKed, while the window is held, or after a timeout.
    for case in 0..4 {
        let mut sender = with_sack(10, &serde_json::json!({}));
        sender.on_ack(at_ms(100), &ack(1, &[]), None);
        match case {
            0 => board_of(&mut sender).sacked = 1,
            1 => sender.ecn.held = true,
            2 => sender.state = State::Loss,
            _ => {}
        }
        board_of(&mut sender).probe = Probe { at: at_ms(900), awaits: Awaits::Tail };
        sender.arm_probe(at_ms(150));
        let expected = [Time::NEVER, Time::NEVER, at_ms(900), at_ms(350)][case];
        assert_eq!(state(&sender).map(|(at, _)| at), Some(expected), "case {case}");
    }
    // A single segment may wait for a delayed acknowledgement, and two do not.
    for (outstanding, wait) in [(1, 200 + 40), (2, 200)] {
        let mut sender = with_sack(10, &serde_json::json!({}));
        let timeout = sender.tcp.delayed_ack.timeout;
        sender.on_ack(at_ms(100), &ack(10 - outstanding, &[]), None);
        let extra = if outstanding == 1 { timeout } else { Dur::ZERO };
        assert_eq!(state(&sender).map(|(at, _)| at), Some(at_ms(300) + extra), "{wait}");
    }
}

/// RFC 9937 section 6 and RFC 6675 section 5: a recovery begins with a scoreboard of its own, and without an urgent
/// repair if proportional rate reduction sends it.
#[test]
fn a_recovery_with_sack_begins_and_ends() {
    let mut sender = with_sack(10, &serde_json::json!({}));
    {
        let board = board_of(&mut sender);
        (board.high_rxt, board.rescued) = (5, true);
        board.probe = Probe { at: at_ms(900), awaits: board::Awaits::Tail };
    }
    sender.urgent = Urgent::First;
    sender.window.ssthresh = 20.0;
    sender.on_ack(at_ms(100), &ack(0, &[(1, 4)]), None);
    assert_eq!((sender.state, sender.repair.lost, sender.urgent), (State::Recovery, 1, Urgent::No));
    let board = board_of(&mut sender);
    assert_eq!((board.high_rxt, board.rescued, board.probe.at), (0, false, Time::NEVER));
    // Six segments are in the network. Three of ten are delivered, so that 3 · 5/10, rounded up, may be sent: the fast
    // retransmit and a new segment.
    assert_eq!((sender.cwnd(), sender.ssthresh()), (8.0, 5.0));
    let polled: Vec<_> = std::iter::from_fn(|| sender.poll(at_ms(100))).map(|s| (s.seq, s.retransmission)).collect();
    assert_eq!(polled, [(0, true), (10, false)]);
    // Nothing new: the window stays.
    sender.window.cwnd = 6.5;
    sender.on_ack(at_ms(101), &ack(0, &[(1, 4)]), None);
    assert_eq!(sender.cwnd(), 6.5);
    // After 15 recoveries with a window widened by a duplicate this is the sixteenth.
    let widen = |sender: &mut Sender| {
        let rack = board_of(sender).rack.as_mut().expect("RACK");
        rack.widen(0, 10);
        (0..15).for_each(|_| rack.recovered());
    };
    let window = |sender: &mut Sender| {
        let rack = board_of(sender).rack.as_mut().expect("RACK");
        rack.window(Dur::ZERO, false, false)
    };
    widen(&mut sender);
    let wide = window(&mut sender);
    sender.on_ack(at_ms(200), &Ack { echo: at_ms(100), ..ack(11, &[]) }, None);
    assert_eq!((sender.state, sender.cwnd(), window(&mut sender)), (State::Open, 5.0, wide / 2));
    // So does the repair after a timeout end.
    let mut sender = with_sack(10, &serde_json::json!({}));
    sender.on_ack(at_ms(100), &ack(1, &[]), None);
    sender.on_expiry(at_ms(1_000));
    widen(&mut sender);
    let wide = window(&mut sender);
    sender.on_ack(at_ms(1_100), &ack(10, &[]), None);
    assert_eq!((sender.state, window(&mut sender)), (State::Open, wide / 2));
}

/// RFC 9937 section 6.2: below ssthresh, as many segments are sent as are delivered, and one more at a safe
/// acknowledgement, which advances without a new loss.
#[test]
fn proportional_rate_reduction_sends_more_at_a_safe_acknowledgement() {
    for (next, blocks, sent) in [(4, vec![], 3.0), (0, vec![(1, 5)], 2.0)] {
        let mut sender = with_sack(10, &serde_json::json!({ "rack": false, "tlp": false }));
        sender.on_ack(at_ms(100), &ack(0, &[(1, 4)]), None);
        assert_eq!(std::iter::from_fn(|| sender.poll(at_ms(100))).count(), 2);
        // Eleven were sent; three are SACKed, and the lost one was sent again.
        assert_eq!(sender.in_flight(), 8);
        sender.window.ssthresh = 20.0;
        // One more is delivered: four in total, of which two have been replaced.
        sender.on_ack(at_ms(200), &Ack { echo: at_ms(100), ..ack(next, &blocks) }, None);
        assert_eq!((sender.in_flight(), sender.cwnd()), (7, 7.0 + sent), "{next}");
    }
}

/// RFC 8985 section 7.3: a probe is a new segment if there is one. No probe is sent in recovery or after a timeout.
#[test]
fn a_tail_loss_probe_is_sent_in_the_open_state_only() {
    for (state, probes) in [(State::Open, 1), (State::Loss, 0), (State::Recovery, 0)] {
        let mut sender = with_sack(10, &serde_json::json!({}));
        sender.state = state;
        board_of(&mut sender).probe = Probe { at: at_ms(1), awaits: board::Awaits::Tail };
        sender.on_probe(at_ms(1));
        assert_eq!(sender.statistics().probes, probes, "{state:?}");
        let expected = (probes > 0).then_some((11, false));
        assert_eq!(board_of(&mut sender).rack.as_ref().and_then(|rack| rack.probe), expected);
    }
    // An expiry of the reordering timer at which nothing is lost changes nothing.
    let mut sender = with_sack(10, &serde_json::json!({}));
    board_of(&mut sender).probe = Probe { at: at_ms(1), awaits: board::Awaits::Reordering };
    sender.on_probe(at_ms(1));
    assert_eq!((sender.state, sender.cwnd(), sender.repair.lost), (State::Open, 10.0, 0));
    // One that finds a loss begins a recovery, and the fast retransmit may be sent.
    let mut sender = with_sack(10, &serde_json::json!({}));
    sender.on_ack(at_ms(100), &ack(0, &[(1, 2)]), None);
    assert_eq!((sender.state, sender.repair.lost), (State::Open, 0));
    sender.on_probe(at_ms(126));
    assert_eq!((sender.state, sender.repair.lost), (State::Recovery, 1));
    assert_eq!(sender.cwnd(), f64::from(sender.in_flight()) + 1.0);
}

/// RFC 8985 section 7.4: the probe's episode ends at its acknowledgement. If the probe was a retransmission and nothing
/// shows that the original arrived, too, it has repaired a loss, and the window is reduced.
#[test]
fn a_probe_that_repaired_a_loss_reduces_the_window_once() {
    for (retransmitted, acks, cwnd, ended) in [
        // The acknowledgement goes past the probe: the probe repaired the loss of segment 9. Nothing is in flight, so that
        // the threshold is at its minimum of two segments.
        (true, vec![ack(10, &[]), ack(11, &[])], 2.0, true),
        // Only the acknowledgement of the probe, not of data sent after it: undecided.
        (true, vec![ack(10, &[])], 10.0, false),
        // A report of a duplicate: the original arrived.
        (true, vec![ack(10, &[(9, 10)])], 10.0, true),
        // Two acknowledgements of the end: both arrived.
        (true, vec![ack(10, &[]), ack(10, &[])], 10.0, true),
        // A probe of new data repairs nothing.
        (false, vec![ack(10, &[])], 10.0, true),
        (false, vec![ack(11, &[])], 10.0, true),
        (true, vec![ack(9, &[])], 10.0, false),
    ] {
        let mut sender = with_sack(10, &serde_json::json!({}));
        sender.window.ssthresh = 10.0;
        board_of(&mut sender).rack.as_mut().expect("RACK").probe = Some((10, retransmitted));
        sender.window.cwnd = 100.0;
        assert!(sender.poll(at_ms(1)).is_some());
        sender.window.cwnd = 10.0;
        sender.seq.full_at = u32::MAX;
        for ack in &acks {
            sender.on_ack(at_ms(100), ack, None);
        }
        let open = board_of(&mut sender).rack.as_ref().and_then(|rack| rack.probe);
        assert_eq!((sender.cwnd().floor(), open.is_none()), (cwnd, ended), "{retransmitted} {acks:?}");
        let last = sender.seq.una - 1;
        assert_eq!(sender.ecn.reduced_at, if cwnd == 2.0 { sender.seq.max } else { last });
    }
}
