//! Tests that need private state: segment numbers that wrap, size and memory of a sender, and short segments.

use super::*;
use crate::wire::{Ack, Block};
use crate::{Receiver, Segment};

fn sender(document: serde_json::Value) -> Sender {
    let tcp: Tcp = tailback_document::decode(document).expect("the test's parameters decode");
    Sender::new(&Arc::new(tcp), Rng::named(1, "sender"))
}

/// Moves both ends to just before the wrap, as after 2^32 segments.
fn at_the_wrap(sender: &mut Sender, receiver: &mut Receiver) {
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
        at_the_wrap(&mut sender, &mut receiver);
        sender.offer(Time::ZERO, 60 * 1460);
        let mut now = Time::ZERO;
        let mut count = 0;
        let mut transmissions = 0u64;
        while !sender.done() && count < 10_000 {
            count += 1;
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
    let ack = Ack { next: 1, ece: false, syn: false, echo: Time::ZERO, sack: [Block::default(); 3] };
    sender.on_ack(Time::ZERO + Dur::from_ms(10), &ack, None);
    while sender.poll(Time::ZERO + Dur::from_ms(10)).is_some() {}
    let expiry = sender.deadline();
    sender.on_timer(expiry);
    assert_eq!(payloads(&mut sender, expiry), [1000]);
    sender.on_ack(expiry + Dur::from_ms(10), &Ack { next: 2, echo: expiry, ..ack }, None);
    assert_eq!(payloads(&mut sender, expiry + Dur::from_ms(10)), [500, 10]);
}
