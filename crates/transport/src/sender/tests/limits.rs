//! Bounds of single steps: floors of windows, pacing, reservations, F-RTO and limited transmit.

use super::*;

/// State of a reservation: the timer's next tick is the first one after now, and marks are those of the last transmission
/// of each outstanding segment.
#[test]
fn ticks_and_marks_of_a_reservation() {
    let timed = serde_json::json!({ "kind": "timed", "tick": "10ms" });
    let reservation = serde_json::json!({ "rate": "8Mbit/s", "burst": "50000B", "transmission": timed });
    let mut sender = sent(4, &serde_json::json!({ "reservation": reservation }));
    assert_eq!(sender.least_window(), 1.0);
    let reserve = sender.cold().reserve.as_mut().expect("a reservation");
    (reserve.tick, reserve.ticked) = (at_ms(10), false);
    for (now, ticked, tick) in [(9, false, 10), (10, true, 20), (19, false, 20), (45, true, 50), (60, true, 70)] {
        reserve.ticked = false;
        reserve.advance(at_ms(now));
        assert_eq!((reserve.ticked, reserve.tick), (ticked, at_ms(tick)), "at {now} ms");
    }
    let mut marks = reserve::Marks::default();
    (3..6).for_each(|seq| marks.set(seq, 3, seq != 4));
    assert_eq!([2, 3, 4, 5, 6].map(|seq| marks.get(seq)), [false, true, false, true, false]);
    marks.set(4, 3, true);
    marks.set(6, 5, true);
    assert_eq!([3, 4, 5, 6, 7].map(|seq| marks.get(seq)), [false, false, true, true, false]);
    marks.set(5, 5, false);
    // All are acknowledged, and the next segment is 7.
    marks.set(7, 7, true);
    assert_eq!([5, 6, 7, 8].map(|seq| marks.get(seq)), [false, false, true, false]);
}

/// ns-2's floor applies below two segments, whatever the factor of the reduction: below it the window is halved.
#[test]
fn the_floor_of_ns_2_halves_below_two_segments_only() {
    let parameters = serde_json::json!({
        "ecn": "classic", "ecn-floor": "ns-2", "congestion-control": { "kind": "reno", "ecn-beta": 0.75 },
    });
    for (prior, cwnd) in [(4.0, 3.0), (2.5, 1.875), (2.0, 1.5), (1.5, 0.75)] {
        let mut sender = sent(4, &parameters);
        sender.window.cwnd = prior;
        sender.on_echo(at_ms(100));
        assert_eq!(sender.cwnd(), cwnd, "{prior} segments");
    }
    // RFC 3168: at one segment the sender waits for its timer, and no probe interrupts it.
    let recovery = serde_json::json!({ "kind": "sack" });
    let mut sender = sent(4, &serde_json::json!({ "ecn": "classic", "ecn-floor": "rfc3168", "recovery": recovery }));
    sender.window.cwnd = 1.0;
    board_of(&mut sender).probe = Probe { at: at_ms(200), awaits: board::Awaits::Tail };
    assert!(sender.on_echo(at_ms(100)));
    assert_eq!((sender.ecn.held, board_of(&mut sender).probe.at), (true, Time::NEVER));
}

/// The pacing of the connection spreads the window over the round-trip time, twice as fast in slow start and 1.2 times as
/// fast in congestion avoidance, which begins at the threshold, as in Linux. A window below one segment counts as one.
#[test]
fn a_paced_sender_sends_the_window_1_2_times_a_round_trip_and_twice_in_slow_start() {
    for (cwnd, ssthresh, gap_us) in [(10.0, 20.0, 5_000), (10.0, 10.0, 8_333), (0.5, 0.4, 83_333), (1.0, 2.0, 50_000)] {
        let mut sender = sent(4, &serde_json::json!({ "pacing": true }));
        sender.on_ack(at_ms(100), &ack(4, &[]), None);
        (sender.window.cwnd, sender.window.ssthresh) = (cwnd, ssthresh);
        let released = sender.pace.as_ref().map(|pace| pace.release).expect("it paces");
        sender.window.cwnd = cwnd.max(1.0);
        let now = released.max(at_ms(200));
        sender.window.cwnd = cwnd;
        sender.repair.inflation = 1;
        assert!(sender.poll(now).is_some());
        let gap = sender.pace.as_ref().map(|pace| pace.release.since(now)).expect("it paces");
        assert_eq!(gap.0 / 1_000_000, gap_us, "{cwnd} segments");
        // The next segment leaves at that time, not before.
        assert!(sender.poll(now + Dur(gap.0 - 1)).is_none());
    }
}

/// RFC 5682 section 2 step 3a: a duplicate after the new segments shows that segments were lost: the window is at most three
/// segments, and the repair goes back to the first one. F-RTO is not used if the timeout interrupts a recovery.
#[test]
fn f_rto_goes_on_with_at_most_three_segments_when_segments_were_lost() {
    let f_rto = serde_json::json!({ "spurious-timeout": "f-rto" });
    let mut sender = sent(10, &f_rto);
    sender.on_expiry(at_ms(1_000));
    assert!(sender.poll(at_ms(1_000)).is_some_and(|segment| segment.seq == 0));
    assert!(sender.poll(at_ms(1_000)).is_none());
    sender.on_ack(at_ms(1_100), &ack(1, &[]), None);
    // Two new segments may be sent, although `nxt` was at the first segment.
    assert_eq!((sender.repair.f_rto, sender.seq.nxt), (groups::FRto::Probing(2), 10));
    sender.window.cwnd = 5.0;
    sender.on_ack(at_ms(1_101), &ack(1, &[]), None);
    assert_eq!((sender.repair.f_rto, sender.window.cwnd, sender.seq.nxt), (groups::FRto::Off, 3.0, 1));
    for (state, f_rto_before, expired_at, expected) in [
        (State::Open, groups::FRto::Off, 9, groups::FRto::Retransmitted),
        (State::Recovery, groups::FRto::Off, 9, groups::FRto::Off),
        (State::Loss, groups::FRto::Off, 0, groups::FRto::Off),
        (State::Loss, groups::FRto::Retransmitted, 9, groups::FRto::Off),
        (State::Loss, groups::FRto::Retransmitted, 0, groups::FRto::Retransmitted),
    ] {
        let mut sender = sent(10, &f_rto);
        (sender.state, sender.repair.f_rto, sender.repair.expired_at) = (state, f_rto_before, expired_at);
        sender.on_expiry(at_ms(1_000));
        assert_eq!(sender.repair.f_rto, expected, "{state:?} {f_rto_before:?} {expired_at}");
    }
}

/// RFC 6298 section 5.1: only a retransmission of the first outstanding segment restarts the timer.
#[test]
fn a_transmission_restarts_the_timer_only_if_it_repairs_the_first_segment() {
    for (choice, restarts) in
        [(groups::Choice::New, false), (groups::Choice::Retransmit(1), false), (groups::Choice::Retransmit(0), true)]
    {
        for kind in ["newreno", "sack"] {
            let mut sender = sent(4, &serde_json::json!({ "recovery": { "kind": kind } }));
            // The round-trip time is 10 ms and the timeout its minimum, 200 ms.
            sender.timers.rtt.sample(at_ms(10), at_ms(0), true, &sender.tcp.timers.clone());
            let before = sender.timers.expiry;
            let probe = sender.board.as_ref().map(|board| board.probe.at);
            sender.transmit(at_ms(50), choice);
            let expected = if restarts { at_ms(250) } else { before };
            assert_eq!(sender.timers.expiry, expected, "{kind}");
            // A new segment moves the tail loss probe, a retransmission does not.
            let moved = sender.board.as_ref().map(|board| board.probe.at) != probe;
            assert_eq!(moved, kind == "sack" && matches!(choice, groups::Choice::New), "{kind}");
        }
    }
    // In a NewReno recovery after a partial acknowledgement the timer keeps running (RFC 6582 section 4).
    for (state, partial, restarts) in
        [(State::Recovery, true, false), (State::Recovery, false, true), (State::Loss, true, true)]
    {
        let mut sender = sent(4, &serde_json::json!({}));
        (sender.state, sender.repair.partial) = (state, partial);
        sender.transmit(at_ms(50), groups::Choice::Retransmit(0));
        assert_eq!(sender.timers.expiry, at_ms(if restarts { 1_050 } else { 1_000 }), "{state:?} {partial}");
    }
    let mut sender = sent(4, &serde_json::json!({ "recovery": { "kind": "reno" } }));
    (sender.state, sender.repair.partial) = (State::Recovery, true);
    sender.transmit(at_ms(50), groups::Choice::Retransmit(0));
    assert_eq!(sender.timers.expiry, at_ms(1_050));
    // Without timestamps the retransmission of the timed segment ends its timing (Karn's algorithm).
    let mut sender = sent(4, &serde_json::json!({ "timestamps": false }));
    sender.transmit(at_ms(50), groups::Choice::Retransmit(0));
    assert_eq!(sender.timers.rtt.take_timed(4), None);
}

/// RFC 3522: only an acknowledgement that advances can be for the original. It ends the recovery, so that the control does
/// not count it. So does one that reports duplicates of all retransmissions.
#[test]
fn an_acknowledgement_that_proves_a_reduction_spurious_ends_the_recovery() {
    let eifel = serde_json::json!({ "spurious-timeout": "eifel", "recovery": { "kind": "sack" } });
    let mut sender = sent(10, &eifel);
    sender.on_expiry(at_ms(1_000));
    assert!(sender.poll(at_ms(1_000)).is_some());
    assert!(!sender.process_with_sack(at_ms(1_001), &ack(0, &[(3, 4)]), 0).ended);
    assert_eq!(sender.state, State::Loss);
    assert!(sender.process_with_sack(at_ms(1_002), &ack(1, &[]), 1).ended);
    assert_eq!(sender.state, State::Open);
    let undo = serde_json::json!({ "dsack-undo": true, "recovery": { "kind": "sack" } });
    let mut sender = sent(10, &undo);
    sender.on_expiry(at_ms(1_000));
    assert!(sender.poll(at_ms(1_000)).is_some());
    assert!(sender.process_with_sack(at_ms(1_002), &ack(2, &[(0, 1)]), 2).ended);
    assert_eq!(sender.state, State::Open);
    // Fall and Floyd's count: a partial acknowledgement takes two segments out of the network, a duplicate one.
    let mut sender = with_sack(10, &serde_json::json!({ "rack": false, "tlp": false, "prr": false, "pipe": "count" }));
    board_of(&mut sender).counted = Some(5);
    sender.state = State::Recovery;
    sender.seq.recover = 10;
    sender.process_with_sack(at_ms(100), &ack(1, &[]), 1);
    assert_eq!(board_of(&mut sender).counted, Some(3));
    sender.process_with_sack(at_ms(101), &ack(1, &[(3, 4)]), 0);
    assert_eq!(board_of(&mut sender).counted, Some(2));
}

/// The window of a marking sender is at least the reservation, also after an acknowledgement; without a reservation the
/// window below one segment of ns-2's floor is kept.
#[test]
fn an_acknowledgement_raises_the_window_to_the_reservation_only() {
    let reservation = serde_json::json!({ "rate": "8Mbit/s", "burst": "50000B", "window": "excess" });
    let mut sender = sent(4, &serde_json::json!({ "reservation": reservation }));
    sender.window.cwnd = 3.0;
    sender.on_ack(at_ms(10), &Ack { echo: Time::ZERO, ..ack(1, &[]) }, None);
    assert_eq!(sender.cwnd(), 10.0);
    let mut sender = with_sack(4, &serde_json::json!({}));
    (sender.window.cwnd, sender.window.ssthresh) = (0.5, 0.4);
    sender.seq.full_at = u32::MAX;
    sender.on_ack(at_ms(10), &ack(1, &[]), None);
    assert_eq!(sender.cwnd(), 0.5);
}

/// SubTCP at one segment per round trip of 100 ms doubles the time between segments with each echo. It is also a lower
/// bound of the retransmission timeout, whose own value is 300 ms.
#[test]
fn the_interval_of_a_control_spaces_segments_and_bounds_the_timeout() {
    let mut sender = sent(4, &serde_json::json!({ "congestion-control": { "kind": "subtcp" } }));
    sender.on_ack(at_ms(100), &ack(4, &[]), None);
    sender.window.cwnd = 1.0;
    for _ in 0..3 {
        sender.reduce(Congestion::Ecn, at_ms(100), 1);
    }
    assert_eq!(
        (sender.pacing().interval, sender.plain_rto(), sender.rto()),
        (Dur::from_ms(800), Dur::from_ms(300), Dur::from_ms(800))
    );
    sender.timers.last_sent = at_ms(100);
    assert!(sender.poll(at_ms(899)).is_none());
    assert_eq!(sender.deadline(), at_ms(900));
    assert!(sender.poll(at_ms(900)).is_some());
}

/// RFC 3168 section 6.1.2: a sender that waits for its timer sends nothing, also if its window would allow it.
#[test]
fn a_held_sender_sends_nothing() {
    for kind in ["newreno", "sack"] {
        let mut sender = sent(4, &serde_json::json!({ "recovery": { "kind": kind } }));
        sender.window.cwnd = 10.0;
        sender.ecn.held = true;
        assert!(sender.poll(at_ms(1)).is_none(), "{kind}");
        sender.ecn.held = false;
        assert!(sender.poll(at_ms(1)).is_some(), "{kind}");
    }
}

/// RFC 8985 section 7.2: before the first sample of the round-trip time the probe waits 1 s.
#[test]
fn before_the_first_sample_a_probe_waits_a_second() {
    let parameters = serde_json::json!({ "recovery": { "kind": "sack" }, "timers": { "initial-rto": "3s" } });
    assert_eq!(sent(4, &parameters).deadline(), at_ms(1_000));
}

/// draft-cheng-iccrg-delivery-rate-estimation section 3.4: the rate is limited by the application while it has nothing to
/// send although the window has room, and not while a segment is left.
#[test]
fn a_sender_without_data_is_limited_by_the_application() {
    for (offered, limited) in [(2, true), (4, false), (5, false)] {
        let document = serde_json::json!({
            "handshake": false, "segment": "960B", "header": "40B", "initial-window": 4,
            "congestion-control": { "kind": "bbr" },
        });
        let mut sender = sender(document);
        sender.offer(Time::ZERO, offered * 960);
        for ms in 0..10 {
            while sender.poll(at_ms(ms)).is_some() {}
        }
        sender.offer(at_ms(10), 960);
        sender.window.cwnd = 10.0;
        let segment = sender.poll(at_ms(10)).expect("a segment");
        let sampler = sender.sampler().expect("BBR samples the rate");
        sampler.delivered(segment.seq, at_ms(110));
        assert_eq!(sampler.sample(Dur::ZERO).map(|sample| sample.app_limited), Some(limited), "{offered} offered");
    }
}

/// RFC 9937 section 6.2: an acknowledgement that advances by a single segment without a new loss is safe, too. Above
/// ssthresh, ssthresh segments are sent for each RecoverFS of 10 delivered.
#[test]
fn proportional_rate_reduction_counts_the_deliveries_of_the_recovery() {
    for (ssthresh, end, cwnd) in [
        // Four segments have been delivered and one sent: three more, and one since the acknowledgement is safe.
        (20.0, 5, 5.0 + 4.0),
        // Six have been delivered: 6 · 1/10, rounded up, is the one that was sent.
        (1.0, 7, 3.0),
    ] {
        let mut sender = with_sack(10, &serde_json::json!({ "rack": false, "tlp": false }));
        sender.on_ack(at_ms(100), &ack(0, &[(2, 5)]), None);
        assert_eq!((sender.in_flight(), sender.ssthresh()), (5, 5.0));
        assert_eq!(std::iter::from_fn(|| sender.poll(at_ms(100))).map(|s| s.seq).collect::<Vec<_>>(), [0]);
        sender.window.ssthresh = ssthresh;
        sender.on_ack(at_ms(200), &Ack { echo: at_ms(100), ..ack(1, &[(2, end)]) }, None);
        assert_eq!(sender.cwnd(), cwnd, "ssthresh {ssthresh}");
    }
}

/// ns-2's Sack1 with `singledup_`: after a timeout a duplicate with new blocks permits one more segment, at most two, unless
/// it has made room in the network.
#[test]
fn limited_transmit_after_a_timeout_counts_duplicates_with_new_blocks() {
    let recovery = serde_json::json!({ "kind": "sack", "rack": false, "tlp": false, "prr": false });
    let mut sender = sent(10, &serde_json::json!({ "limited-transmit": "always", "recovery": recovery }));
    sender.on_expiry(at_ms(1_000));
    assert!(sender.poll(at_ms(1_000)).is_some());
    let mut dupacks = |next: u32, blocks: &[(u32, u32)]| {
        sender.on_ack(at_ms(1_100), &Ack { echo: at_ms(1_000), ..ack(next, blocks) }, None);
        sender.repair.dupacks
    };
    assert_eq!(dupacks(1, &[]), 0);
    assert_eq!([dupacks(1, &[(3, 4)]), dupacks(1, &[(3, 4)]), dupacks(1, &[(5, 6), (3, 4)])], [1, 1, 2]);
    // An advance by one segment starts anew: the same block is new.
    assert_eq!([dupacks(2, &[(3, 4)]), dupacks(2, &[(3, 4)])], [0, 1]);
    // Of a window of one and at most two more, three segments are sent.
    (sender.window.cwnd, sender.repair.dupacks) = (1.0, 5);
    let sent: Vec<u32> = std::iter::from_fn(|| sender.poll(at_ms(1_200))).map(|segment| segment.seq).collect();
    assert_eq!(sent, [2, 4, 6]);
    // The arrival of a retransmission makes room.
    sender.on_ack(at_ms(1_300), &Ack { echo: at_ms(1_200), ..ack(2, &[(3, 5)]) }, None);
    assert_eq!(sender.repair.dupacks, 5);
}

/// The count of Fall and Floyd may be negative, which counts as an empty network.
#[test]
fn an_empty_network_by_count_permits_a_segment() {
    for counted in [-1, 0] {
        let mut sender =
            with_sack(10, &serde_json::json!({ "rack": false, "tlp": false, "prr": false, "pipe": "count" }));
        board_of(&mut sender).counted = Some(counted);
        sender.window.cwnd = 1.0;
        assert!(sender.poll(at_ms(1)).is_some(), "{counted}");
    }
}

/// Feng and others 1999: an echo is about unmarked segments, whatever the first outstanding one is. Of two windows of two
/// segments the best-effort one is halved.
#[test]
fn an_echo_does_not_count_as_the_loss_of_a_marked_segment() {
    let control = serde_json::json!({ "kind": "packet-marking", "target": "8Mbit/s" });
    for (sign, cwnd, ssthresh) in [(Congestion::Ecn, 3.0, 3.0), (Congestion::Loss, 4.0, 2.0)] {
        let mut sender = sent(4, &serde_json::json!({ "congestion-control": control }));
        sender.cold().marks.set(0, 0, true);
        sender.reduce(sign, at_ms(1), 10);
        assert_eq!((sender.cwnd(), sender.ssthresh()), (cwnd, ssthresh), "{sign:?}");
    }
}
