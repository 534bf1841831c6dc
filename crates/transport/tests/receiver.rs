//! Times and contents of the receiver's acknowledgements.

use serde_json::{Value, json};
use tailback_transport::{Ack, Block, Ecn, Receiver, Tcp};
use tailback_units::{Dur, Time};

/// Returns a receiver with the given parameters.
fn receiver(parameters: Value) -> Receiver {
    let tcp: Tcp = tailback_document::decode(parameters).expect("the test's parameters decode");
    Receiver::new(&tcp)
}

/// Returns the code point of a segment that is ECN-capable.
fn code(ce: bool) -> Ecn {
    if ce { Ecn::Ce } else { Ecn::Ect0 }
}

/// Returns the time `ms` milliseconds after the start.
fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

/// Returns the acknowledgement at the arrival, at `ms`, of segment `seq`, which was sent 10 ms earlier and is not
/// marked.
fn arrives(r: &mut Receiver, ms: u64, seq: u32) -> Option<Ack> {
    r.on_segment(at(ms), seq, 100, at(ms - 10), Ecn::Ect0, false)
}

/// Returns the first and the last segment of each SACK block.
fn blocks(ack: &Ack) -> Vec<(u32, u32)> {
    ack.sack.iter().filter(|b| b.start != b.end).map(|b| (b.start, b.end - 1)).collect()
}

// RFC 5681 section 4.2.
#[test]
fn every_second_segment_is_acknowledged_and_a_lone_one_after_the_timeout() {
    let mut r = receiver(json!({}));
    assert_eq!(arrives(&mut r, 100, 0), None);
    assert_eq!(r.deadline(), at(140));
    let ack = arrives(&mut r, 105, 1).expect("the second is acknowledged");
    // The timestamp of the earlier segment is echoed (RFC 7323 section 4.3).
    assert_eq!((ack.next, ack.echo, r.deadline()), (2, at(90), Time::NEVER));
    assert_eq!(arrives(&mut r, 200, 2), None);
    assert_eq!(r.on_timer(at(239)), None);
    let ack = r.on_timer(at(240)).expect("the timer acknowledges");
    assert_eq!((ack.next, ack.echo), (3, at(190)));
    assert_eq!(r.deadline(), Time::NEVER);
    assert_eq!(r.delivered(), 300);
}

#[test]
fn with_a_heartbeat_acknowledgements_of_all_connections_leave_at_the_same_times() {
    let heartbeat = json!({ "delayed-ack": { "timeout": "200ms", "clock": "heartbeat" } });
    let (mut one, mut other) = (receiver(heartbeat.clone()), receiver(heartbeat));
    assert_eq!(arrives(&mut one, 410, 0), None);
    assert_eq!(arrives(&mut other, 599, 0), None);
    assert_eq!((one.deadline(), other.deadline()), (at(600), at(600)));
    assert_eq!(one.on_timer(at(600)).expect("the beat acknowledges").next, 1);
    // Every second segment is acknowledged at once with a heartbeat, too.
    assert_eq!(other.on_segment(at(599), 1, 100, at(590), Ecn::Ect0, false).expect("the second").next, 2);
    assert_eq!(other.deadline(), Time::NEVER);
    // A segment that arrives at a heartbeat waits for the next heartbeat: the delay is at most the timeout.
    assert_eq!(arrives(&mut one, 800, 1), None);
    assert_eq!(one.deadline(), at(1000));
}

// RFC 5681 section 4.2.
#[test]
fn segments_above_a_gap_and_those_that_fill_it_are_acknowledged_at_once() {
    let mut r = receiver(json!({ "delayed-ack": { "every": 4 } }));
    assert_eq!(arrives(&mut r, 100, 0), None);
    let ack = arrives(&mut r, 101, 2).expect("out of order");
    assert_eq!((ack.next, blocks(&ack), ack.echo), (1, vec![(2, 2)], at(91)));
    let ack = arrives(&mut r, 102, 1).expect("fills the gap");
    assert_eq!((ack.next, blocks(&ack), ack.echo), (3, vec![], at(92)));
    assert_eq!((r.delivered(), r.out_of_order()), (300, 0));
}

#[test]
fn the_block_with_the_newest_arrival_is_first_and_the_others_follow_by_age() {
    let mut r = receiver(json!({}));
    let mut last = None;
    for seq in [2, 4, 6, 8] {
        last = arrives(&mut r, 100, seq);
    }
    assert_eq!(blocks(&last.expect("out of order")), [(8, 8), (6, 6), (4, 4)]);
    // Segment 3 joins the blocks of 2 and 4 into one, which comes first (RFC 2018 section 4).
    let ack = arrives(&mut r, 101, 3).expect("out of order");
    assert_eq!(blocks(&ack), [(2, 4), (8, 8), (6, 6)]);
    let ack = arrives(&mut r, 102, 0).expect("a gap remains");
    assert_eq!((ack.next, blocks(&ack)), (1, vec![(2, 4), (8, 8), (6, 6)]));
    let ack = arrives(&mut r, 103, 1).expect("fills the first gap");
    assert_eq!((ack.next, blocks(&ack)), (5, vec![(8, 8), (6, 6)]));
}

#[test]
fn duplicates_below_and_above_the_cumulative_acknowledgement_are_reported_in_the_first_block() {
    let mut r = receiver(json!({ "delayed-ack": { "every": 1 } }));
    arrives(&mut r, 100, 0);
    arrives(&mut r, 100, 2);
    arrives(&mut r, 100, 3);
    // RFC 2883 section 4.1: below the cumulative acknowledgement.
    let ack = arrives(&mut r, 101, 0).expect("a duplicate is acknowledged at once");
    assert_eq!((ack.next, blocks(&ack)), (1, vec![(0, 0), (2, 3)]));
    // Section 4.2: inside the block that follows.
    let ack = arrives(&mut r, 102, 2).expect("a duplicate is acknowledged at once");
    assert_eq!(blocks(&ack), [(2, 2), (2, 3)]);
    assert_eq!((r.duplicates(), r.delivered()), (2, 100));
}

// RFC 3168 section 6.1.3.
#[test]
fn a_classic_echo_repeats_until_cwr() {
    let mut r = receiver(json!({ "ecn": "classic", "delayed-ack": { "every": 1 } }));
    let mut next = 0;
    let mut echo = |ce, cwr| {
        next += 1;
        r.on_segment(at(100), next - 1, 100, at(90), code(ce), cwr).expect("each is acknowledged").ece
    };
    let seen =
        [(false, false), (true, false), (false, false), (false, true), (false, false), (true, true), (false, false)]
            .map(|(ce, cwr)| echo(ce, cwr));
    assert_eq!(seen, [false, true, true, false, false, true, true]);
}

#[test]
fn without_ecn_marks_are_ignored() {
    let mut r = receiver(json!({ "delayed-ack": { "every": 1 } }));
    assert!(!r.on_segment(at(100), 0, 100, at(90), Ecn::Ce, false).expect("acknowledged").ece);
}

/// RFC 8257 section 3.2, figure 1.
#[test]
fn a_change_of_an_accurate_echo_acknowledges_pending_segments_first() {
    let mut r = receiver(json!({ "ecn": "classic", "ecn-echo": "accurate" }));
    let mut send = |ms, seq, ce| r.on_segment(at(ms), seq, 100, at(ms - 10), code(ce), false).map(|a| (a.next, a.ece));
    assert_eq!(send(100, 0, false), None);
    // Segment 0 was not marked, and is acknowledged without an echo; segment 1 waits.
    assert_eq!(send(101, 1, true), Some((1, false)));
    assert_eq!(send(102, 2, true), Some((3, true)));
    assert_eq!(send(103, 3, true), None);
    assert_eq!(send(104, 4, false), Some((4, true)));
    assert_eq!(r.deadline(), at(144));
    assert_eq!(r.on_timer(at(144)).map(|a| (a.next, a.ece)), Some((5, false)));
}

#[test]
fn a_change_of_the_mark_on_a_segment_out_of_order_gives_two_acknowledgements() {
    let mut r = receiver(json!({ "ecn": "classic", "ecn-echo": "accurate" }));
    assert_eq!(arrives(&mut r, 100, 0), None);
    let early = r.on_segment(at(101), 2, 100, at(91), Ecn::Ce, false).expect("the change");
    assert_eq!((early.next, early.ece), (1, false));
    assert_eq!(r.deadline(), at(101));
    let second = r.on_timer(at(101)).expect("the segment out of order");
    assert_eq!((second.next, second.ece, blocks(&second)), (1, true, vec![(2, 2)]));
}

// RFC 3168 section 6.1.1.
#[test]
fn a_syn_ack_negotiates_ecn_if_both_ends_support_it() {
    for (ours, theirs, want) in [("classic", true, true), ("classic", false, false), ("off", true, false)] {
        let mut r = receiver(json!({ "ecn": ours }));
        let ack = r.on_segment(at(100), u32::MAX, 0, at(50), Ecn::Ect0, theirs).expect("a SYN is answered");
        assert_eq!((ack.syn, ack.ece, ack.next, ack.echo), (true, want, 0, at(50)));
    }
}

/// `inet_rtx_syn_ack`: Linux sends its SYN-ACK again for a SYN that is sent again, also if that one no longer requests ECN
/// (`tcp_ecn_clear_syn`), and a new connection is another one. Of 111 CUBIC flows with ECN whose hosts had sent 22 SYNs
/// and SYN-ACKs again 3 were without ECN.
#[test]
fn linux_answers_a_syn_that_is_sent_again_as_the_first_one() {
    let syn =
        |r: &mut Receiver, ms, ecn| r.on_segment(at(ms), u32::MAX, 0, at(ms), Ecn::NotEct, ecn).expect("answered").ece;
    for (form, asked, again) in
        [("linux", true, true), ("linux", false, false), ("rfc", true, false), ("rfc", false, true)]
    {
        let document = json!({ "ecn": "classic", "delayed-ack": { "form": form } });
        let mut r = receiver(document.clone());
        assert_eq!([syn(&mut r, 100, asked), syn(&mut r, 1100, !asked)], [asked, again], "{form} {asked}");
        r.reopen(&tailback_document::decode(document).expect("the parameters decode"), 7);
        assert_eq!(syn(&mut r, 2000, !asked), !asked, "{form} {asked}");
    }
}

#[test]
fn acknowledgements_have_no_blocks_without_gaps() {
    let mut r = receiver(json!({ "delayed-ack": { "every": 1 } }));
    assert_eq!(arrives(&mut r, 100, 0).expect("each").sack, [Block::default(); 3]);
}

/// `tcp_sack_new_ofo_skb`: a segment that begins a third block or more sends the combined acknowledgement at once, with the
/// blocks before it, and has none of its own. From a receiver of Linux 6.1 (8 DCTCP flows, 17.6 Mbit/s, the second flow):
/// "> 9 22-24 20 18" at the arrival of segment 26, and nothing for 26.
#[test]
fn a_combined_acknowledgement_leaves_before_a_block_is_forgotten() {
    let mut r = receiver(json!({ "delayed-ack": { "form": "linux" } }));
    r.on_segment(at(60), u32::MAX, 0, at(50), Ecn::Ect0, false).expect("the SYN is acknowledged");
    for seq in 0..9 {
        arrives(&mut r, 100 + u64::from(seq), seq).expect("the first segments are acknowledged at once");
    }
    // Seven of the first 16 quick acknowledgements remain.
    for (i, seq) in [10, 11, 12, 13, 14, 15, 18, 20, 22, 23].into_iter().enumerate() {
        arrives(&mut r, 160 + i as u64, seq).expect("at once");
    }
    assert_eq!(arrives(&mut r, 170, 24), None);
    assert_ne!(r.deadline(), Time::NEVER);
    let ack = arrives(&mut r, 171, 26).expect("the combined one");
    assert_eq!((ack.next, blocks(&ack)), (9, vec![(22, 24), (20, 20), (18, 18)]));
    assert_eq!(r.deadline(), Time::NEVER);
    // A segment of the first block changes nothing that might be forgotten: its acknowledgement waits.
    assert_eq!(arrives(&mut r, 172, 27), None);
    assert_eq!(arrives(&mut r, 172, 28), None);
    assert_ne!(r.deadline(), Time::NEVER);
}

/// With a receive buffer acknowledgements have a window, and without one they have none.
#[test]
fn acknowledgements_offer_the_window_of_the_buffer() {
    let linux = json!({ "segment": "1448B", "delayed-ack": { "form": "linux" }, "receive-buffer": {} });
    let mut r = receiver(linux);
    let syn_ack = r.on_segment(at(60), u32::MAX, 0, at(50), Ecn::Ect0, false).expect("the SYN is acknowledged");
    assert_eq!(syn_ack.window, 45);
    let ack = r.on_segment(at(80), 0, 1448, at(70), Ecn::Ect0, false).expect("at once");
    assert_eq!((ack.next, ack.window), (1, 44));
    let mut plain = receiver(json!({ "delayed-ack": { "form": "linux" } }));
    assert_eq!(arrives(&mut plain, 80, 0).map(|ack| ack.window), Some(Ack::UNLIMITED));
}

/// `tcp_ecn_accept_cwr`: a segment with CWR is acknowledged at once, also by a receiver of DCTCP, and also out of order; so is one
/// with another mark than the last (`dctcp_ece_ack_update`). From a receiver of Linux 6.1 (16 DCTCP flows, RED): "< 19 CE CWR" at
/// 6803.260 ms, "> 20 ECE" at the same time.
#[test]
fn a_receiver_of_dctcp_acknowledges_segments_with_cwr_at_once() {
    let dctcp =
        json!({ "congestion-control": { "kind": "dctcp" }, "ecn": "classic", "delayed-ack": { "form": "linux" } });
    let mut r = receiver(dctcp);
    let mut next =
        |ms, seq, ce, cwr| r.on_segment(at(ms), seq, 100, at(ms - 10), code(ce), cwr).map(|ack| (ack.next, ack.ece));
    for seq in 0..16 {
        next(100, seq, true, false).expect("the first 16 are acknowledged at once");
    }
    assert_eq!(next(101, 16, true, false), None);
    assert_eq!(next(102, 17, true, false), Some((18, true)));
    assert_eq!(next(103, 18, true, true), Some((19, true)));
    // Out of order: three at once, then one that waits, then one with CWR.
    for seq in [20, 21, 22] {
        assert_eq!(next(104, seq, true, false), Some((19, true)));
    }
    assert_eq!(next(105, 23, true, false), None);
    assert_eq!(next(105, 24, true, true), Some((19, true)));
    assert_eq!(next(106, 25, false, false), Some((19, false)));
}

/// `__tcp_ecn_check_ce`: after a segment with ECT, one without it is probably a retransmission, and two segments from it on
/// are acknowledged at once, in order or not. Without ECN, and before the first segment with ECT, nothing follows.
#[test]
fn a_segment_that_is_not_ecn_capable_is_acknowledged_at_once_after_one_that_is() {
    for (ecn, first, at_once) in [
        ("classic", Ecn::Ect0, true),
        ("classic", Ecn::Ce, true),
        ("classic", Ecn::NotEct, false),
        ("off", Ecn::Ect0, false),
    ] {
        let mut r = receiver(json!({ "ecn": ecn, "delayed-ack": { "form": "linux" } }));
        let mut send = |ms, seq, ecn| r.on_segment(at(ms), seq, 100, at(ms - 10), ecn, false).map(|ack| ack.next);
        // The first 16, and the quick acknowledgements of a first mark.
        for seq in 0..18 {
            send(100, seq, first);
        }
        let rest = if first == Ecn::NotEct { first } else { Ecn::Ect0 };
        assert_eq!(send(101, 18, rest), None, "{ecn} {first:?}");
        assert_eq!(send(102, 19, rest), Some(20));
        assert_eq!(send(103, 20, Ecn::NotEct), at_once.then_some(21), "{ecn} {first:?}");
        assert_eq!(send(104, 21, rest), Some(22));
        assert_eq!(send(105, 22, rest), None, "two segments only");
        // Out of order: after three at once the fourth waits, unless it is not ECN-capable.
        for seq in [24, 25, 26] {
            send(106, seq, rest).expect("at once");
        }
        assert_eq!(send(107, 27, rest), None);
        assert_eq!(send(107, 28, Ecn::NotEct), at_once.then_some(23), "{ecn} {first:?}");
    }
}
