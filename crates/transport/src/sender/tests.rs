//! Tests that need private state: segment numbers that wrap, size and memory of a sender, and short segments.

mod acknowledgement;
mod limits;
mod reduction;

use super::groups::Reduction;
use super::*;
use crate::cc::Congestion;
use crate::wire::{Ack, Block};
use crate::{Ecn, Receiver, Segment};

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
                    let ecn = if transmissions.is_multiple_of(5) { Ecn::Ce } else { s.ecn };
                    acks.extend(receiver.on_segment(now, s.seq, s.payload, now, ecn, s.cwr));
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
    let ack = Ack {
        next: 1,
        ece: false,
        syn: false,
        echo: Time::ZERO,
        delay: Dur::ZERO,
        window: Ack::UNLIMITED,
        sack: [Block::default(); 3],
    };
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
    Ack { next, ece: false, syn: false, echo: Time::ZERO, delay: Dur::ZERO, window: Ack::UNLIMITED, sack }
}

/// RFC 9293 section 3.10.7.4: a window counts from the segment that is acknowledged; one of a repeated acknowledgement counts
/// if it is larger. Without an open window one segment may be outstanding.
#[test]
fn the_window_of_acknowledgements_limits_new_segments() {
    let mut sender = sender(serde_json::json!({ "initial-window": 20 }));
    sender.offer(Time::ZERO, u64::MAX);
    let sent =
        |sender: &mut Sender| std::iter::from_fn(|| sender.poll(Time::ZERO)).map(|s| s.seq).collect::<Vec<u32>>();
    assert_eq!(sent(&mut sender), [u32::MAX]);
    let now = Time::ZERO + Dur::from_ms(10);
    sender.on_ack(now, &Ack { syn: true, window: 4, ..ack(0, &[]) }, None);
    assert_eq!(sent(&mut sender), [0, 1, 2, 3]);
    sender.on_ack(now, &Ack { window: 3, ..ack(2, &[]) }, None);
    assert_eq!(sent(&mut sender), [4]);
    // Two segments are outstanding of the three after segment 2; a smaller window of a repetition does not count.
    sender.on_ack(now, &Ack { window: 1, ..ack(2, &[]) }, None);
    assert_eq!(sent(&mut sender), [0u32; 0]);
    sender.on_ack(now, &Ack { window: 5, ..ack(2, &[]) }, None);
    assert_eq!(sent(&mut sender), [5, 6]);
    // An acknowledgement without a window changes nothing.
    sender.on_ack(now, &ack(3, &[]), None);
    assert_eq!(sent(&mut sender), [7]);
    sender.on_ack(now, &Ack { window: 0, ..ack(8, &[]) }, None);
    assert_eq!(sent(&mut sender), [8]);
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
    echoes.last = Reduction::Echo;
    echoes.reduced_at = 3;
    assert!(echoes.is_reduced(2) && !echoes.is_reduced(3));
    echoes.advance(3);
    assert_eq!(echoes.reduced_at, 3);
    echoes.advance(8);
    assert_eq!(echoes.reduced_at, 7);
    echoes.reduced_for_loss(9);
    assert_eq!((echoes.reduced_at, echoes.last), (9, Reduction::Loss));
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
