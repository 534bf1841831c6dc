//! Tests that need private state: segment numbers that wrap, size and memory of a sender, and short segments.

use super::*;
use crate::cc::Congestion;
use crate::wire::{Ack, Block};
use crate::{Receiver, Segment};

/// Returns a sender with the parameters of `document`.
fn sender(document: serde_json::Value) -> Sender {
    let tcp: Tcp = tailback_document::decode(document).expect("the test's parameters decode");
    Sender::new(&Arc::new(tcp), Rng::named(1, "sender"))
}

/// Sets the first segment number of both ends 20 below the largest, so that numbers soon wrap around.
fn start_before_the_wrap(sender: &mut Sender, receiver: &mut Receiver) {
    let start = u32::MAX - 20;
    sender.number_from(start);
    receiver.start_at(start);
}

#[test]
fn a_connection_survives_the_wrap_of_segment_numbers_with_every_recovery() {
    for kind in ["tahoe", "reno", "newreno", "sack"] {
        let document = serde_json::json!({ "recovery": { "kind": kind }, "handshake": false, "ecn": "classic" });
        let tcp: Tcp = tailback_document::decode(document.clone()).expect("parameters decode");
        let (mut sender, mut receiver) = (sender(document), Receiver::new(&tcp));
        start_before_the_wrap(&mut sender, &mut receiver);
        sender.offer(Time::ZERO, 60 * 1460);
        let mut now = Time::ZERO;
        let mut rounds = 0;
        let mut transmissions = 0u64;
        while !sender.done() && rounds < 10_000 {
            rounds += 1;
            let mut round: Vec<Segment> = Vec::new();
            while let Some(segment) = sender.poll(now) {
                round.push(segment);
            }
            sender.audit();
            now += Dur::from_ms(100);
            let mut acks: Vec<Ack> = Vec::new();
            for s in round {
                transmissions += 1;
                // Every seventh is lost, every fifth marked.
                if !transmissions.is_multiple_of(7) {
                    let ce = transmissions.is_multiple_of(5);
                    acks.extend(receiver.on_segment(now, s.seq, s.payload, now, ce, s.cwr));
                }
            }
            acks.extend(receiver.on_timer(now + Dur::from_ms(40)));
            for ack in &acks {
                sender.on_ack(now, ack, None);
            }
            if acks.is_empty() {
                now = now.max(sender.deadline());
                sender.on_timer(now);
            }
        }
        assert!(sender.done(), "{kind}: {sender:?}");
        assert_eq!(receiver.delivered(), 60 * 1460, "{kind}");
        assert!(sender.una() < 100, "{kind} has wrapped");
        assert!(sender.statistics().ecn_reductions > 0 && sender.statistics().retransmissions > 0);
    }
}

#[test]
fn a_sender_has_at_most_224_bytes() {
    let size = size_of::<Sender>();
    assert!(size <= 224, "{size} bytes");
}

#[test]
fn without_sack_no_memory_grows_with_the_window() {
    let mut sender = sender(serde_json::json!({ "recovery": { "kind": "newreno" }, "initial-window": 1000 }));
    sender.offer(Time::ZERO, u64::MAX);
    while sender.poll(Time::ZERO).is_some() {}
    assert!(sender.board.is_none() && sender.pace.is_none() && sender.cold.is_none());
}

#[test]
fn short_segments_keep_their_length_when_they_are_retransmitted() {
    let mut sender = sender(serde_json::json!({
        "handshake": false, "segment": "1000B", "recovery": { "kind": "newreno" }, "spurious-timeout": "off",
    }));
    sender.offer(Time::ZERO, 2_500);
    sender.offer(Time::ZERO, 10);
    sender.offer(Time::ZERO, u64::MAX);
    let payloads = |sender: &mut Sender, now| {
        std::iter::from_fn(|| sender.poll(now)).map(|s| s.payload).take(10).collect::<Vec<u16>>()
    };
    let first = payloads(&mut sender, Time::ZERO);
    assert_eq!(first[..5], [1000, 1000, 500, 10, 1000]);
    let ack = Ack { next: 1, ece: false, syn: false, echo: Time::ZERO, delay: Dur::ZERO, sack: [Block::default(); 3] };
    sender.on_ack(Time::ZERO + Dur::from_ms(10), &ack, None);
    while sender.poll(Time::ZERO + Dur::from_ms(10)).is_some() {}
    let expiry = sender.deadline();
    sender.on_timer(expiry);
    assert_eq!(payloads(&mut sender, expiry), [1000]);
    sender.on_ack(expiry + Dur::from_ms(10), &Ack { next: 2, echo: expiry, ..ack }, None);
    assert_eq!(payloads(&mut sender, expiry + Dur::from_ms(10)), [500, 10]);
}

/// Returns an acknowledgement of all segments before `next`, with `blocks` as pairs of first segment and segment after the last.
fn ack(next: u32, blocks: &[(u32, u32)]) -> Ack {
    let mut sack = [Block::default(); 3];
    for (place, (start, end)) in sack.iter_mut().zip(blocks) {
        *place = Block { start: *start, end: *end };
    }
    Ack { next, ece: false, syn: false, echo: Time::ZERO, delay: Dur::ZERO, sack }
}

/// RFC 6675 section 5 step 4.3: the first repair is sent whatever the pipe is. Here the host has no room for it at
/// first.
#[test]
fn the_first_repair_is_not_forgotten_if_duplicates_come_before_it_is_sent() {
    let mut sender = sender(serde_json::json!({
        "handshake": false, "initial-window": 10, "recovery": { "kind": "sack", "rack": false, "tlp": false, "prr": false },
    }));
    sender.offer(Time::ZERO, u64::MAX);
    while sender.poll(Time::ZERO).is_some() {}
    let now = Time::ZERO + Dur::from_ms(100);
    for end in 2..6 {
        sender.on_ack(now, &ack(0, &[(1, end)]), None);
    }
    // Ten segments were sent, one is lost and four have arrived, so five are in the network; the window of ten is
    // halved.
    assert_eq!((sender.in_flight(), sender.cwnd()), (5, 5.0));
    let repair = sender.poll(now).expect("the repair");
    assert_eq!((repair.seq, repair.retransmission), (0, true));
    assert!(sender.poll(now).is_none());
}

#[test]
fn a_sender_that_does_not_pace_allocates_no_state_for_pacing() {
    let mut sender = sender(serde_json::json!({ "handshake": false, "recovery": { "kind": "sack" } }));
    sender.offer(Time::ZERO, u64::MAX);
    while sender.poll(Time::ZERO).is_some() {}
    assert!(sender.pace.is_none());
}

/// RFC 6582: three duplicates indicate the loss of one segment, and a partial acknowledgement indicates the loss of
/// another.
#[test]
fn newreno_reports_one_lost_segment_for_each_repair() {
    let mut sender = sender(serde_json::json!({
        "handshake": false, "initial-window": 10, "recovery": { "kind": "newreno" }, "congestion-control": { "kind": "bbr" },
    }));
    sender.offer(Time::ZERO, u64::MAX);
    let poll_all = |sender: &mut Sender, from: u64| {
        for ms in from..from + 50 {
            while sender.poll(Time::ZERO + Dur::from_ms(ms)).is_some() {}
        }
    };
    poll_all(&mut sender, 0);
    assert_eq!(sender.seq.max, 10);
    let at = |ms| Time::ZERO + Dur::from_ms(ms);
    sender.on_ack(at(100), &ack(1, &[]), None);
    // Segments 1 and 4 are lost.
    (0..3).for_each(|_| sender.on_ack(at(100), &ack(1, &[]), None));
    poll_all(&mut sender, 100);
    sender.on_ack(at(200), &ack(4, &[]), None);
    let sampler = sender.sampler().expect("BBR samples the rate");
    // The sample of a segment sent before both losses.
    sampler.delivered(8, at(200));
    assert_eq!(sampler.sample(Dur::ZERO).map(|sample| sample.lost), Some(2));
}

/// RFC 6298 section 3 excludes only segments that were retransmitted.
#[test]
fn a_segment_sent_at_time_zero_gives_a_sample_of_the_round_trip_time() {
    let mut sender = sender(serde_json::json!({ "handshake": false, "recovery": { "kind": "sack" } }));
    sender.offer(Time::ZERO, u64::MAX);
    while sender.poll(Time::ZERO).is_some() {}
    let (now, recover) = (Time::ZERO + Dur::from_ms(100), sender.seq.recover);
    let update = sender.board.as_mut().expect("a scoreboard").on_ack(now, &ack(1, &[]), recover, None);
    assert_eq!(update.newest, Some(Time::ZERO));
}

/// RFC 3168 section 6.1.1: data is ECN-capable if both ends have agreed in the handshake.
#[test]
fn data_is_ecn_capable_only_if_both_ends_are() {
    for (mode, peer, expected) in [
        ("classic", true, crate::Ecn::Ect0),
        ("classic", false, crate::Ecn::NotEct),
        ("off", true, crate::Ecn::NotEct),
        ("off", false, crate::Ecn::NotEct),
    ] {
        let mut sender = sender(serde_json::json!({ "handshake": true, "ecn": mode }));
        sender.offer(Time::ZERO, u64::MAX);
        let syn = sender.poll(Time::ZERO).expect("a SYN");
        assert_eq!((syn.ecn, syn.cwr), (crate::Ecn::NotEct, mode == "classic"));
        let now = Time::ZERO + Dur::from_ms(10);
        sender.on_ack(now, &Ack { syn: true, ece: peer, ..ack(0, &[]) }, None);
        assert_eq!(sender.poll(now).map(|data| data.ecn), Some(expected), "{mode}, {peer}");
    }
}

/// RFC 3522: after a spurious timeout the sender goes on with new data. The host has no room for the second retransmission.
#[test]
fn a_retransmission_that_was_not_sent_before_its_timeout_proved_spurious_is_not_sent() {
    let mut sender = sender(serde_json::json!({
        "handshake": false, "initial-window": 4, "recovery": { "kind": "newreno" }, "spurious-timeout": "eifel",
    }));
    sender.offer(Time::ZERO, u64::MAX);
    while sender.poll(Time::ZERO).is_some() {}
    let expiry = sender.deadline();
    sender.on_timer(expiry);
    assert!(sender.poll(expiry).is_some_and(|segment| segment.retransmission && segment.seq == 0));
    let expiry = sender.deadline();
    sender.on_timer(expiry);
    // The acknowledgement of the original.
    let now = expiry + Dur::from_ms(1);
    sender.on_ack(now, &ack(1, &[]), None);
    let next = sender.poll(now).expect("new data");
    assert_eq!((next.seq, next.retransmission), (4, false));
}

/// The fast path has no calls of the control but for feedback, for acknowledgements outside recovery and for congestion.
#[test]
fn a_control_with_any_other_call_does_not_take_the_fast_path() {
    use crate::cc::EchoResponse;
    let plain = Profile::default();
    for (profile, is_plain) in [
        (plain, true),
        (Profile { recovery: RecoveryWindow::AtLoss, echo: EchoResponse::ThenLoss, ..plain }, true),
        (Profile { every_expiry: true, below_one: Some(crate::cc::BackOff::None), ..plain }, true),
        (Profile { paces: true, ..plain }, false),
        (Profile { samples_rate: true, ..plain }, false),
        (Profile { sent: SentCalls::Each, ..plain }, false),
        (Profile { sent: SentCalls::Marks, ..plain }, false),
        (Profile { recovery: RecoveryWindow::Control, ..plain }, false),
        (Profile { echo: EchoResponse::Control, ..plain }, false),
    ] {
        assert_eq!(profile.is_plain(), is_plain, "{profile:?}");
    }
}

/// Positions that are older than the last acknowledged segment are raised to it, so that comparisons survive the wrap of
/// segment numbers: 2^31 segments later an older position would be ahead.
#[test]
fn old_positions_follow_the_acknowledgements() {
    let start = u32::MAX - 1;
    let mut seq = Sequence::starting_at(start);
    assert_eq!([seq.una, seq.nxt, seq.max, seq.round_end], [start; 4]);
    assert_eq!([seq.recover, seq.full_at], [start - 1; 2]);
    seq.unsent = 10;
    (0..10).for_each(|_| seq.take_new());
    (seq.recover, seq.full_at) = (3, 4);
    // Segment 2, the fifth after the start, is acknowledged; the recovery point is not reached.
    assert!(!seq.advance(2));
    assert_eq!([seq.una, seq.nxt, seq.recover, seq.full_at], [2, 8, 3, 4]);
    assert!(seq.advance(3));
    assert!(seq.advance(8));
    assert_eq!([seq.una, seq.nxt, seq.recover, seq.full_at], [8, 8, 7, 7]);
    let mut echoes = Echoes::starting_at(start);
    assert_eq!(echoes.reduced_at, start - 1);
    echoes.by_echo = true;
    echoes.reduced_at = 3;
    assert!(echoes.is_reduced(2) && !echoes.is_reduced(3));
    echoes.advance(3);
    assert_eq!(echoes.reduced_at, 3);
    echoes.advance(8);
    assert_eq!(echoes.reduced_at, 7);
    echoes.reduced_for_loss(9);
    assert_eq!((echoes.reduced_at, echoes.by_echo), (9, false));
}

/// RFC 6298 sections 5.1 and 5.5: the timer of a lost SYN stops until the SYN is sent again, and data starts it anew.
#[test]
fn the_timer_of_the_syn_ends_with_the_handshake() {
    let at = |ms| Time::ZERO + Dur::from_ms(ms);
    let mut sender = sender(serde_json::json!({ "handshake": true, "ecn": "classic" }));
    sender.offer(Time::ZERO, u64::MAX);
    assert!(sender.poll(Time::ZERO).is_some_and(|syn| !syn.retransmission));
    assert_eq!((sender.deadline(), sender.ecn(), sender.marks()), (at(1_000), false, false));
    sender.on_timer(at(1_000));
    assert_eq!(sender.deadline(), Time::NEVER);
    // The SYN-ACK arrives before the host has room for the second SYN.
    let syn_ack = Ack { syn: true, ece: true, ..ack(0, &[]) };
    sender.on_ack(at(1_100), &syn_ack, None);
    assert!(sender.ecn());
    let data = sender.poll(at(1_100)).expect("data");
    assert_eq!((data.seq, data.retransmission), (0, false));
    // Without a loss of the SYN the round trip of 100 ms gives a timeout of 300 ms from the transmission of data.
    let mut sender = self::sender(serde_json::json!({ "handshake": true, "recovery": { "kind": "newreno" } }));
    sender.offer(Time::ZERO, u64::MAX);
    while sender.poll(Time::ZERO).is_some() {}
    sender.on_ack(at(100), &syn_ack, None);
    while sender.poll(at(100)).is_some() {}
    assert_eq!((sender.deadline(), sender.min_rtt()), (at(400), Dur::from_ms(100)));
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Returns a sender without handshake and F-RTO that has sent `n` segments at time 0; `more` replaces parameters.
fn sent(n: u32, more: &serde_json::Value) -> Sender {
    let mut document = serde_json::json!({
        "handshake": false, "segment": "960B", "header": "40B", "initial-window": n, "recovery": { "kind": "newreno" },
        "spurious-timeout": "off", "limited-transmit": false,
    });
    for (key, value) in more.as_object().expect("a table") {
        document[key] = value.clone();
    }
    let mut sender = sender(document);
    sender.offer(Time::ZERO, u64::MAX);
    // BBR paces its initial window over more than a millisecond.
    let end = if sender.profile.paces { 10 } else { 1 };
    for ms in 0..end {
        while sender.poll(at_ms(ms)).is_some() {}
    }
    assert_eq!(sender.seq.max, n);
    sender
}

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
    assert!(sender.ecn.cwr && !sender.ecn.by_echo && !sender.repair.partial);
    assert_eq!((sender.ecn.reduced_at, sender.seq.recover, sender.counts.fast_retransmits), (10, 10, 1));
    sender.set_window_to_threshold();
    sender.count_lost(3);
    sender.count_lost(2);
    assert_eq!(sender.repair.lost, 5);
    let mut sender = sent(10, &ecn);
    (sender.ecn.by_echo, sender.ecn.reduced_at) = (true, 5);
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
    (sender.ecn.by_echo, sender.ecn.reduced_at) = (true, 5);
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
    (sender.ecn.by_echo, sender.ecn.reduced_at, sender.window.ssthresh) = (true, 5, 7.0);
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
        sender.undo();
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
        assert_eq!((sender.ecn.cwr, sender.ecn.by_echo, sender.ecn.reduced_at), (true, true, 4));
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

/// Returns a sender with SACK that has sent `n` segments at time 0; `more` replaces members of its recovery.
fn with_sack(n: u32, more: &serde_json::Value) -> Sender {
    let mut recovery = serde_json::json!({ "kind": "sack" });
    for (key, value) in more.as_object().expect("a table") {
        recovery[key] = value.clone();
    }
    sent(n, &serde_json::json!({ "recovery": recovery, "ecn": "classic" }))
}

fn board_of(sender: &mut Sender) -> &mut Board {
    sender.board.as_mut().expect("a scoreboard")
}

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
    sender.detect_losses(at_ms(101));
    assert_eq!(state(&sender), Some((at_ms(300), Awaits::Tail)));
    // Segment 1 may be lost in a quarter of a round-trip time.
    sender.on_ack(at_ms(101), &ack(1, &[(2, 3)]), None);
    assert_eq!(state(&sender), Some((at_ms(0) + Dur::from_ms(101 + 25), Awaits::Reordering)));
    sender.on_ack(at_ms(110), &ack(3, &[]), None);
    assert_eq!(state(&sender).map(|(_, awaits)| awaits), Some(Awaits::Tail));
    board_of(&mut sender).sacked = 1;
    sender.detect_losses(at_ms(111));
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
