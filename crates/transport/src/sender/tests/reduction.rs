//! Reductions of the window, timeouts and undone reductions, step by step.

use super::*;
use crate::Ecn;

/// At most the integer part of the window and the inflation may be outstanding, at least one segment at windows of one
/// segment and more. Below one segment, and while an echo holds the sender, it waits.
#[test]
fn a_window_of_one_segment_and_more_allows_at_least_one_segment() {
    let mut sender = sent(2, &serde_json::json!({}));
    for (cwnd, inflation, allowed, waits) in
        [(0.5, 0, 0, true), (0.5, 2, 2, true), (1.0, -1, 1, false), (1.5, -2, 1, false), (3.9, 2, 5, false)]
    {
        (sender.window.cwnd, sender.repair.inflation) = (cwnd, inflation);
        assert_eq!((sender.allowed(), sender.waits()), (allowed, waits), "window {cwnd}, inflation {inflation}");
    }
    sender.ecn.held = true;
    assert!(sender.waits());
}

/// RFC 3168 section 6.1.2: a loss in a window that was reduced for an echo does not reduce it again. Otherwise the next
/// segment carries CWR, and echoes about segments sent before have no effect.
#[test]
fn a_recovery_reduces_once_in_a_window_and_reports_it_by_cwr() {
    let ecn = serde_json::json!({ "ecn": "classic" });
    let mut sender = sent(10, &ecn);
    sender.repair.partial = true;
    sender.begin_recovery(at_ms(100));
    assert_eq!((sender.window.cwnd, sender.window.ssthresh), (5.0, 5.0));
    assert!(sender.ecn.cwr && sender.ecn.last == Reduction::Loss && !sender.repair.partial);
    assert_eq!((sender.ecn.reduced_at, sender.seq.recover, sender.counts.fast_retransmits), (10, 10, 1));
    sender.set_window_to_threshold();
    sender.count_lost(3);
    sender.count_lost(2);
    assert_eq!(sender.repair.lost, 5);
    let mut sender = sent(10, &ecn);
    (sender.ecn.last, sender.ecn.reduced_at) = (Reduction::Echo, 5);
    (sender.window.cwnd, sender.window.ssthresh) = (7.0, 5.0);
    sender.begin_recovery(at_ms(100));
    assert_eq!((sender.window.cwnd, sender.window.ssthresh, sender.ecn.cwr), (7.0, 7.0, false));
    // Without ECN there is no CWR.
    let mut sender = sent(10, &serde_json::json!({}));
    sender.begin_recovery(at_ms(100));
    assert!(!sender.ecn.cwr);
    // With proportional rate reduction the window is set at each acknowledgement.
    let mut sender = sent(10, &serde_json::json!({ "recovery": { "kind": "sack" } }));
    sender.begin_recovery(at_ms(100));
    assert_eq!((sender.window.cwnd, sender.window.ssthresh), (10.0, 5.0));
    // ns-2 keeps the window that the control has set at the loss.
    let ns2 = serde_json::json!({ "congestion-control": { "kind": "reno", "reduction": "window" } });
    let mut sender = sent(10, &ns2);
    sender.window.cwnd = 9.0;
    sender.begin_recovery(at_ms(100));
    assert_eq!((sender.window.cwnd, sender.window.ssthresh), (4.5, 4.0));
    sender.set_window_to_threshold();
    assert_eq!(sender.window.cwnd, 4.5);
    let mut sender = sent(10, &ns2);
    (sender.ecn.last, sender.ecn.reduced_at) = (Reduction::Echo, 5);
    (sender.window.cwnd, sender.window.ssthresh) = (7.0, 5.0);
    sender.begin_recovery(at_ms(100));
    assert_eq!((sender.window.cwnd, sender.window.ssthresh), (7.0, 5.0));
}

/// RFC 5681 section 3.1 and RFC 6298 section 5: at an expiry the threshold is half of FlightSize, which is at most the
/// window without the inflation of fast recovery; the window is one segment, and the timeout doubles.
#[test]
fn an_expiry_starts_over_with_one_segment() {
    let mut sender = sent(10, &serde_json::json!({ "ecn": "classic", "timestamps": false }));
    sender.window.cwnd = 8.0;
    (sender.repair.inflation, sender.repair.dupacks) = (5, 3);
    sender.on_expiry(at_ms(1_000));
    assert_eq!((sender.window.cwnd, sender.window.ssthresh, sender.state), (1.0, 4.0, State::Loss));
    assert_eq!((sender.repair.inflation, sender.repair.dupacks, sender.repair.lost), (0, 0, 10));
    assert_eq!((sender.seq.nxt, sender.seq.recover, sender.repair.expired_at), (0, 10, 0));
    assert_eq!((sender.ecn.cwr, sender.ecn.reduced_at, sender.urgent), (true, 0, Urgent::First));
    assert_eq!((sender.timers.rtt.take_timed(10), sender.timers.expiry), (None, at_ms(3_000)));
    // A window that was reduced for an echo is not reduced again.
    let mut sender = sent(10, &serde_json::json!({ "ecn": "classic" }));
    (sender.ecn.last, sender.ecn.reduced_at, sender.window.ssthresh) = (Reduction::Echo, 5, 7.0);
    sender.on_expiry(at_ms(1_000));
    assert_eq!((sender.window.cwnd, sender.window.ssthresh), (1.0, 7.0));
    // With SACK the probe timer stops, and all segments are due from the first on.
    let mut sender = sent(10, &serde_json::json!({ "recovery": { "kind": "sack" } }));
    {
        let board = sender.board.as_mut().expect("a scoreboard");
        board.probe = Probe { at: at_ms(1), awaits: board::Awaits::Tail };
        (board.high_rxt, board.rescued) = (4, true);
        board.rack.as_mut().expect("RACK").probe = Some((10, true));
    }
    sender.on_expiry(at_ms(1_000));
    assert_eq!((sender.seq.nxt, sender.repair.lost, sender.in_flight()), (10, 10, 0));
    let board = sender.board.as_ref().expect("a scoreboard");
    assert_eq!((board.probe.at, board.probe.awaits), (Time::NEVER, board::Awaits::Nothing));
    assert_eq!((board.high_rxt, board.rescued, board.newly_lost), (0, false, 0));
    assert_eq!(board.rack.as_ref().and_then(|rack| rack.probe), None);
    // SubTCP hears of the timeout of 1 s, and spaces its segments by twice that time.
    let mut sender = sent(10, &serde_json::json!({ "congestion-control": { "kind": "subtcp" } }));
    sender.on_expiry(at_ms(1_000));
    assert_eq!(sender.pacing().interval, Dur::from_secs(2));
}

/// RFC 4015: a spurious reduction restores window and threshold, ends the doubling of the timeout and what was pending.
#[test]
fn an_undone_reduction_restores_the_state_before_it() {
    let undone = |urgent: Urgent| {
        let parameters = serde_json::json!({ "spurious-timeout": "eifel", "congestion-control": { "kind": "cubic" } });
        let mut sender = sent(10, &parameters);
        sender.window.ssthresh = 10.0;
        sender.on_expiry(at_ms(1_000));
        sender.urgent = urgent;
        sender.repair.f_rto = groups::FRto::Probing(1);
        (sender.repair.dupacks, sender.repair.inflation) = (2, 2);
        sender.cold().dsack_watch = Some(cold::DsackWatch { from: 0, unreported: 1 });
        let mut plateau = 0.0;
        sender.probe(&mut |name, value| plateau = if name == "w-max" { value } else { plateau });
        assert_eq!(plateau, 10.0);
        sender.undo(at_ms(1_000));
        sender
    };
    let sender = undone(Urgent::First);
    assert_eq!((sender.window.cwnd, sender.window.ssthresh, sender.state), (10.0, 10.0, State::Open));
    assert_eq!((sender.repair.f_rto, sender.repair.dupacks, sender.repair.inflation), (groups::FRto::Off, 0, 0));
    assert_eq!((sender.seq.nxt, sender.urgent, sender.rto()), (10, Urgent::No, Dur::from_secs(1)));
    let cold = sender.cold.as_ref().expect("cold state");
    assert!(cold.dsack_watch.is_none() && cold.prior.is_none() && cold.counts.spurious == 1);
    // CUBIC has its plateau before the reduction again: none.
    let mut plateau = f64::NAN;
    sender.probe(&mut |name, value| plateau = if name == "w-max" { value } else { plateau });
    assert_eq!(plateau, 0.0);
    assert_eq!(undone(Urgent::Probe).urgent, Urgent::Probe);
}

/// RFC 3168 section 6.1.2 and ns-2's floor: below a window of two segments the window is halved below one segment.
#[test]
fn an_echo_halves_windows_below_two_segments_with_the_floor_of_ns_2() {
    for (prior, cwnd) in [(4.0, 2.0), (2.0, 1.0), (1.5, 0.75), (1.0, 0.5)] {
        let mut sender = sent(4, &serde_json::json!({ "ecn": "classic", "ecn-floor": "ns-2" }));
        sender.window.cwnd = prior;
        sender.cold().prior = Some(sender.window);
        sender.cold().dsack_watch = Some(cold::DsackWatch { from: 0, unreported: 1 });
        assert!(!sender.on_echo(at_ms(100)));
        assert_eq!(sender.window.cwnd, cwnd, "{prior} segments");
        assert_eq!((sender.ecn.cwr, sender.ecn.last, sender.ecn.reduced_at), (true, Reduction::Echo, 4));
        // A later report of duplicates does not undo this reduction.
        assert!(sender.cold().prior.is_none() && sender.cold().dsack_watch.is_none());
    }
    // Until CWR is sent, classic echoes are repetitions; accurate ones are not.
    for (echo, reductions) in [("classic", 1), ("accurate", 2)] {
        let mut sender = sent(4, &serde_json::json!({ "ecn": "classic", "ecn-echo": echo }));
        sender.on_echo(at_ms(100));
        sender.ecn.reduced_at = u32::MAX;
        sender.on_echo(at_ms(101));
        assert_eq!(sender.statistics().ecn_reductions, reductions, "{echo}");
    }
}

/// RFC 3708 section 3: a reduction is spurious once duplicates of all retransmissions since then are reported.
#[test]
fn duplicates_of_segments_from_before_the_reduction_do_not_count() {
    let mut cold = cold::ColdState::default();
    let block = |start| Block { start, end: start + 1 };
    assert!(!cold.all_retransmissions_duplicated(block(5)), "nothing is watched");
    cold.dsack_watch = Some(cold::DsackWatch { from: 5, unreported: 2 });
    assert!(!cold.all_retransmissions_duplicated(block(4)));
    assert!(!cold.all_retransmissions_duplicated(block(5)));
    assert!(cold.all_retransmissions_duplicated(block(6)));
    assert!(!cold.all_retransmissions_duplicated(block(7)), "all were reported before");
    // Linux's tcp_cwnd_validate: the maximum in flight since the round trip began, which ends at `until`.
    let mut use_of_window = cold::WindowUse::default();
    for (una, max, flight, until) in
        [(0, 4, 4, 4), (0, 6, 6, 6), (2, 6, 6, 6), (2, 8, 6, 6), (3, 10, 7, 10), (10, 12, 2, 12), (11, 13, 2, 12)]
    {
        use_of_window.record(una, max);
        assert_eq!((use_of_window.flight, use_of_window.until), (flight, until), "{una} to {max}");
    }
}

/// Of a short write that was not transmitted before the end of the connection nothing remains.
#[test]
fn a_write_after_close_has_full_segments_again() {
    let tcp = Arc::new(Tcp { handshake: false, ..Tcp::default() });
    let mut sender = Sender::new(&tcp, Rng::named(1, "close"));
    sender.offer(Time::ZERO, 100);
    assert_eq!(sender.poll(Time::ZERO).map(|segment| segment.payload), Some(100));
    sender.offer(Time::ZERO, 1_460 + 7);
    sender.wait_for_turn();
    assert_eq!(sender.poll(Time::ZERO).map(|segment| segment.payload), Some(1_460));
    sender.close();
    sender.offer(Time::ZERO, 2_920);
    let rest: Vec<u16> = std::iter::from_fn(|| sender.poll(Time::ZERO)).map(|segment| segment.payload).collect();
    assert_eq!(rest, [1_460, 1_460]);
    // The first, short segment is retransmitted as it was.
    sender.on_expiry(at_ms(1_000));
    assert_eq!(sender.poll(at_ms(1_000)).map(|segment| (segment.seq, segment.payload)), Some((0, 100)));
}

/// A flow that opens a new connection keeps its counts and the tokens of its reservation, and begins with numbers, recovery
/// and ECN anew.
#[test]
fn a_reopened_sender_keeps_rare_counts_and_tokens() {
    let reservation = serde_json::json!({ "rate": "1Mbit/s", "burst": "5000B" });
    for parameters in [serde_json::json!({}), serde_json::json!({ "reservation": reservation })] {
        let mut sender = sent(4, &parameters);
        sender.cold().counts.probes = 1;
        (sender.repair.dupacks, sender.ecn.cwr) = (2, true);
        let tokens = |sender: &mut Sender| sender.cold().reserve.as_ref().map(|reserve| reserve.bucket.holds(1_001));
        let before = tokens(&mut sender);
        assert_ne!(before, Some(true), "four of five thousand bytes are used");
        assert_eq!(sender.reopen(Rng::named(1, "again")), 5);
        assert_eq!((sender.statistics().probes, tokens(&mut sender)), (1, before));
        assert_eq!((sender.repair.expired_at, sender.ecn.reduced_at, sender.seq.una), (4, 4, 5));
        assert_eq!((sender.repair.dupacks, sender.ecn.cwr), (0, false));
        // Rare counts do not need cold state.
        let mut sender = sent(4, &parameters);
        sender.reopen(Rng::named(1, "again"));
        assert_eq!(sender.statistics().probes, 0);
    }
}

/// Rate-adaptive windowing (Feng and others 1997): of 20 segments per round trip 10 are reserved, and a reduction concerns
/// the other 10: ssthresh = rwnd + (cwnd − rwnd)/2, with an excess of at least one segment.
#[test]
fn a_reservation_is_not_reduced() {
    let parameters = serde_json::json!({
        "reservation": { "rate": "8Mbit/s", "burst": "50000B", "window": "excess" }, "ecn": "classic",
    });
    // 1000 segments of 1000 B per second, for 10 ms.
    let reduced = |sign: Congestion, cwnd: f64, flight: u32, more: &serde_json::Value| {
        let mut document = parameters.clone();
        document["congestion-control"] = more.clone();
        let mut sender = sent(4, &document);
        assert!(sender.marks());
        sender.timers.rtt.sample(at_ms(10), at_ms(0), true, &sender.tcp.timers.clone());
        sender.cold().marks = reserve::Marks::default();
        (sender.window.cwnd, sender.window.ssthresh) = (cwnd, 99.0);
        assert_eq!((sender.reserved_window(), sender.least_window()), (10.0, 10.0));
        sender.reduce(sign, at_ms(10), flight);
        (sender.window.cwnd, sender.window.ssthresh)
    };
    let (reno, dctcp) = (serde_json::json!({ "kind": "reno" }), serde_json::json!({ "kind": "dctcp" }));
    assert_eq!(reduced(Congestion::Loss, 20.0, 20, &reno), (20.0, 15.0));
    assert_eq!(reduced(Congestion::Loss, 20.0, 10, &reno), (20.0, 11.0));
    assert_eq!(reduced(Congestion::Ecn, 20.0, 20, &reno), (15.0, 15.0));
    assert_eq!(reduced(Congestion::Ecn, 5.0, 5, &dctcp), (10.0, 12.0));
    // A sender without reservation marks nothing and has no such minimum.
    let mut sender = sent(4, &serde_json::json!({ "recovery": { "kind": "sack" } }));
    assert!(!sender.marks() && sender.least_window() == 1.0);
    sender.window.cwnd = 10.0;
    assert_eq!(sender.poll(at_ms(1)).map(|segment| segment.marked), Some(None));
}

/// Deflation of ns-2 (RFC 6582 section 3.2 step 3 with its own rounding): the inflation pays first, and then the window.
#[test]
fn a_partial_acknowledgement_deflates_the_window() {
    for (exit, cwnd, inflation, expected) in [
        ("open", 10.0, 5, (10.0, 3)),
        ("open", 10.0, 3, (10.0, 1)),
        ("open", 10.0, 1, (8.0, 1)),
        ("open", 2.0, 1, (1.0, 1)),
        ("ssthresh", 10.0, 5, (10.0, 3)),
        ("ssthresh", 1.0, 0, (1.0, 0)),
        ("ssthresh", 4.0, 0, (4.0, -2)),
    ] {
        let mut sender = sent(10, &serde_json::json!({ "recovery": { "kind": "newreno", "exit": exit } }));
        sender.state = State::Recovery;
        sender.seq.recover = 10;
        (sender.window.cwnd, sender.repair.inflation, sender.repair.dupacks) = (cwnd, inflation, 4);
        sender.on_ack(at_ms(100), &ack(3, &[]), None);
        assert_eq!((sender.window.cwnd, sender.repair.inflation), expected, "{exit}, {cwnd} + {inflation}");
        assert_eq!((sender.repair.dupacks, sender.repair.partial, sender.repair.lost), (2, true, 1));
    }
    // Recovery ends with the window at the threshold.
    let mut sender = sent(10, &serde_json::json!({ "recovery": { "kind": "newreno", "exit": "ssthresh" } }));
    sender.state = State::Recovery;
    (sender.seq.recover, sender.window.cwnd, sender.window.ssthresh) = (10, 9.0, 5.0);
    sender.on_ack(at_ms(100), &ack(10, &[]), None);
    assert_eq!((sender.window.cwnd, sender.state), (5.0, State::Open));
    // A plain Reno may start a recovery again at once: the recovery point is the last acknowledged segment.
    let mut sender = sent(10, &serde_json::json!({ "recovery": { "kind": "reno", "careful": false } }));
    sender.state = State::Recovery;
    sender.seq.recover = 10;
    sender.on_ack(at_ms(100), &ack(3, &[]), None);
    assert_eq!((sender.seq.recover, sender.state), (2, State::Open));
}

/// RFC 5681 section 3.2: duplicates count until an acknowledgement advances, and not at all after a timeout.
#[test]
fn duplicates_are_counted_until_new_data_is_acknowledged_and_not_after_a_timeout() {
    let mut sender = sent(10, &serde_json::json!({}));
    sender.on_ack(at_ms(100), &ack(1, &[]), None);
    (0..2).for_each(|_| sender.on_ack(at_ms(101), &ack(1, &[]), None));
    assert_eq!((sender.repair.dupacks, sender.in_flight()), (2, 7));
    assert_eq!((sender.seq.round_end, sender.repair.lost), (10, 0));
    sender.on_ack(at_ms(102), &ack(4, &[]), None);
    assert_eq!((sender.repair.dupacks, sender.in_flight()), (0, 6));
    sender.on_expiry(at_ms(1_000));
    assert_eq!(sender.repair.lost, 6);
    sender.on_ack(at_ms(1_001), &ack(4, &[]), None);
    assert_eq!(sender.repair.dupacks, 0);
    // The losses are reported with the next acknowledgement of new data.
    sender.on_ack(at_ms(1_100), &ack(5, &[]), None);
    assert_eq!((sender.repair.dupacks, sender.repair.lost), (0, 0));
    let mut sender = sent(10, &serde_json::json!({ "recovery": { "kind": "tahoe" } }));
    sender.on_ack(at_ms(100), &ack(1, &[]), None);
    (0..3).for_each(|_| sender.on_ack(at_ms(101), &ack(1, &[]), None));
    assert_eq!((sender.state, sender.repair.dupacks, sender.window.cwnd), (State::Loss, 0, 1.0));
}

/// A rate that changes while a segment waits moves the segment's time: it leaves as if the new rate had applied since the
/// last one. The rate of DCQCN falls to half of 1 segment per us at 10 us and rises to three quarters 55 us later.
#[test]
fn a_change_of_the_rate_moves_the_next_segment() {
    let line =
        crate::Line { rate: tailback_units::Rate::mbit(10_000), wire: 1250, hops: 2, base_rtt: Dur::from_us(10) };
    let tcp = Arc::new(Tcp { line: Some(line), ..crate::Rdma::default().connection() });
    let mut sender = Sender::new(&tcp, Rng::named(1, "sender"));
    sender.offer(Time::ZERO, u64::MAX);
    let us = |us: u64| Time::ZERO + Dur::from_us(us);
    let (mut now, mut times) = (Time::ZERO, Vec::new());
    while now < us(69) {
        sender.on_timer(now);
        while sender.poll(now).is_some() {
            times.push(now);
        }
        if now == us(10) {
            sender.on_ack(now, &Ack { ece: true, ..ack(1, &[]) }, None);
            assert!(sender.poll(now).is_none());
        }
        assert!(sender.deadline() > now, "time stands still at {now:?}");
        now = sender.deadline();
    }
    let mut expected: Vec<Time> = (0..=11).map(us).collect();
    expected.extend((13..=65).step_by(2).map(us));
    expected.extend((1..=3).map(|n| us(65) + Dur(1_333_333 * n)));
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (time, expected) in times.iter().zip(&expected) {
        assert!(time.since(*expected).max(expected.since(*time)) <= Dur(10), "{time:?} instead of {expected:?}");
    }
}

/// `tcp_fastretrans_alert`: with Linux's rules a retransmission that is lost after a timeout begins a recovery, in which a
/// delivered segment releases one segment; RFC 6675 stays in slow start, with a window of two.
#[test]
fn with_linuxs_rules_a_lost_retransmission_after_a_timeout_begins_a_recovery() {
    for (form, state, sent_again) in [("linux", State::Recovery, vec![2]), ("rfc", State::Loss, vec![2, 4])] {
        let recovery = serde_json::json!({ "kind": "sack", "form": form, "tlp": false });
        let mut sender = sent(10, &serde_json::json!({ "recovery": recovery, "spurious-timeout": "off" }));
        sender.on_ack(at_ms(100), &ack(1, &[]), None);
        let segments = |sender: &mut Sender, ms| -> Vec<u32> {
            std::iter::from_fn(|| sender.poll(at_ms(ms))).map(|segment| segment.seq).collect()
        };
        segments(&mut sender, 100);
        sender.on_expiry(at_ms(1_000));
        assert_eq!(segments(&mut sender, 1_000), [1]);
        sender.on_ack(at_ms(1_100), &Ack { echo: at_ms(1_000), ..ack(2, &[]) }, None);
        assert_eq!(segments(&mut sender, 1_100), [2, 3]);
        // Segment 3 arrives, and 2, sent before it, does not.
        sender.on_ack(at_ms(1_200), &Ack { echo: at_ms(1_100), ..ack(2, &[(3, 4)]) }, None);
        assert_eq!((sender.state, segments(&mut sender, 1_200)), (state, sent_again), "{form}");
    }
}

/// `tcp_ecn_send_syn`, `tcp_ecn_clear_syn`: with `ecn-control` each SYN is ECN-capable, and with `ecn-fallback` the second SYN
/// does not request ECN. A recorded sender of Linux (76 DCTCP flows in CoDel) has sent its SYN at 5309.2 ms and at 6320.0 ms
/// with ECT(0), and then data without.
#[test]
fn a_syn_is_ecn_capable_if_control_packets_are_also_if_it_does_not_request_ecn() {
    for (control, fallback, code) in
        [(false, false, Ecn::NotEct), (false, true, Ecn::NotEct), (true, false, Ecn::Ect0), (true, true, Ecn::Ect0)]
    {
        let mut sender =
            sender(serde_json::json!({ "ecn": "classic", "ecn-control": control, "ecn-fallback": fallback }));
        sender.offer(Time::ZERO, u64::MAX);
        let syn = sender.poll(Time::ZERO).expect("a SYN");
        let expiry = sender.deadline();
        sender.on_timer(expiry);
        let again = sender.poll(expiry).expect("a second SYN");
        assert_eq!([syn.ecn, again.ecn], [code, code], "{control} {fallback}");
        assert_eq!([syn.cwr, again.cwr, again.retransmission], [true, !fallback, true], "{control} {fallback}");
    }
}
