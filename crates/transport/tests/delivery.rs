//! Under losses, marks, reordering and duplication, all offered data is delivered once and in order.

use crate::common::{Fate, MS, Net, at, seeded, tcp};
use proptest::prelude::*;
use serde_json::{Value, json};
use tailback_random::Rng;
use tailback_transport::{Segment, State};
use tailback_units::{Dur, Time};

/// Returns the kinds of loss recovery that are tested.
fn flavours() -> Vec<Value> {
    vec![
        json!({ "kind": "tahoe" }),
        json!({ "kind": "reno" }),
        json!({ "kind": "newreno" }),
        json!({ "kind": "newreno", "impatient": false, "deflation": false }),
        json!({ "kind": "sack", "rack": false, "prr": false }),
        json!({ "kind": "sack", "rack": false }),
        json!({ "kind": "sack", "prr": false, "tlp": false }),
        json!({ "kind": "sack" }),
    ]
}

/// A connection and a channel. Losses and other events are given by their probabilities.
#[derive(Clone, Debug)]
struct Case {
    tcp: Value,
    loss: f64,
    ack_loss: f64,
    reorder: f64,
    twice: f64,
    mark: f64,
    segments: u64,
    /// Transmission time of a segment, us.
    segment_us: u64,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let n = flavours().len();
    let tcp = (
        0..n,
        prop_oneof![Just("off"), Just("f-rto"), Just("eifel")],
        any::<[bool; 6]>(),
        1..4u32,
        1..20u32,
        prop_oneof![Just(Value::Null), (1..50u32).prop_map(Value::from)],
        prop_oneof![
            Just(json!({ "kind": "reno" })),
            Just(json!({ "kind": "subtcp" })),
            Just(json!({ "kind": "subtcp", "back-off": "rfc3168" })),
            Just(json!({ "kind": "subtcp", "back-off": "none", "least-ssthresh": 2 })),
            prop::sample::select(vec!["cubic", "dctcp", "bbr", "bbr3"]).prop_map(|kind| json!({ "kind": kind }))
        ],
    )
        .prop_map(|(flavour, spurious, [a, b, c, d, e, f], every, iw, rwnd, cc)| {
            json!({
                "recovery": flavours()[flavour], "spurious-timeout": spurious, "congestion-control": cc,
                "timestamps": a || spurious == "eifel", "pacing": c, "handshake": d,
                "limited-transmit": if a && b { json!("always") } else { json!(b) },
                "dsack-undo": c && e && flavours()[flavour]["kind"] == "sack",
                "window-validation": if d && f { "round" } else { "flight" },
                "slow-start-restart": e, "ecn-retransmissions": f, "ecn": if b { "classic" } else { "off" },
                "delayed-ack": { "every": every }, "initial-window": iw, "receive-window": rwnd, "segment": "100B",
                "timers": { "clock": if f { "coarse" } else { "fine" }, "granularity": "10ms", "max-rto": "4s" },
            })
        });
    let p = |most: f64| prop_oneof![Just(0.0), 0.0..most];
    (tcp, p(0.3), p(0.3), p(0.3), p(0.1), p(0.5), 1..200u64, 0..3000u64, any::<u64>()).prop_map(
        |(tcp, loss, ack_loss, reorder, twice, mark, segments, segment_us, seed)| Case {
            tcp,
            loss,
            ack_loss,
            reorder,
            twice,
            mark,
            segments,
            segment_us,
            seed,
        },
    )
}

fn run(case: &Case) -> Result<(), TestCaseError> {
    let mut rng = Rng::named(case.seed, "channel");
    let mut back = Rng::named(case.seed, "way back");
    let (c, b) = (case.clone(), case.clone());
    let forward = move |_: Time, _: &Segment| Fate {
        lost: rng.chance(c.loss),
        marked: rng.chance(c.mark),
        later: if rng.chance(c.reorder) { Dur::from_us(rng.between(1, 60_000)) } else { Dur::ZERO },
        twice: rng.chance(c.twice),
    };
    let backward = move |_: Time, _: &_| Fate {
        lost: back.chance(b.ack_loss),
        later: if back.chance(b.reorder) { Dur::from_us(back.between(1, 60_000)) } else { Dur::ZERO },
        twice: back.chance(b.twice),
        ..Fate::default()
    };
    let mut net = Net::new(tcp(case.tcp.clone()), MS(20), forward, backward);
    net.per_segment = Dur::from_us(case.segment_us);
    net.strict = true;
    net.check = |sender, segment| {
        // Limited transmit may send two segments beyond the window, and a probe one. Only new segments in the open
        // state are checked, since F-RTO after a timeout and a probe after a reduction send regardless of the data in
        // flight, and fast recovery without SACK inflates the window.
        let maximum = (sender.cwnd() as u32).max(1) + 3;
        let is_checked = !segment.retransmission && sender.state() == State::Open;
        assert!(!is_checked || sender.in_flight() <= maximum, "{} in flight: {sender:?}", sender.in_flight());
        assert!(
            segment.payload == 0 || segment.seq.wrapping_sub(sender.una()) < sender.next().wrapping_sub(sender.una())
        );
    };
    let bytes = case.segments * 100 - 7;
    net.offer(bytes);
    // 3000 s are more than the longest series of timeouts that this channel is likely to produce, so a sender that is
    // not done by then has stalled.
    for _ in 0..600 {
        net.run_for(Dur::from_secs(5));
        if net.sender.done() {
            break;
        }
    }
    prop_assert!(net.sender.done(), "stalled: {:?}", net.sender);
    prop_assert_eq!(net.receiver.delivered(), bytes);
    prop_assert_eq!(u64::from(net.receiver.next()), case.segments);
    prop_assert_eq!(net.receiver.out_of_order(), 0);
    net.run_for(Dur::from_secs(200));
    prop_assert_eq!(net.sender.deadline(), Time::NEVER, "a timer runs although all segments are acknowledged");
    Ok(())
}

proptest! {
    #![proptest_config(seeded(5000))]
    // At the end no timer runs: RFC 6298 section 5.2.
    #[test]
    fn all_offered_data_is_delivered_once_and_in_order(case in cases()) {
        run(&case)?;
    }
}

#[test]
fn without_losses_every_flavour_delivers_everything_without_retransmissions() {
    for flavour in flavours() {
        let mut net =
            Net::new(tcp(json!({ "recovery": flavour })), MS(50), crate::common::deliver, crate::common::answer);
        net.offer(1_000_000);
        net.run_until(at(20_000));
        assert!(net.sender.done(), "{flavour}");
        assert_eq!(net.receiver.delivered(), 1_000_000);
        assert_eq!(net.sender.statistics().retransmissions, 0, "{flavour}");
        assert_eq!(net.sender.state(), State::Open);
    }
}
