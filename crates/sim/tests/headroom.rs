//! Headroom: the buffer above the threshold with which no frame is lost, exact to the frame.
//!
//! The test constructs the worst case. The congested queue cannot drain, since its link is down. When the threshold is
//! crossed, a full frame has just started in the reverse direction, and the notification waits for it. With the
//! response time of [`worst_response`], a full frame also starts upstream just as the stop takes effect. The bytes on
//! the wire that arrive from each upstream link after the frame that crosses the threshold are at most
//!
//!   R (2 tau + response) / 8 + own frame + control frame + peer's frame,
//!
//! with the link rate R in bit/s, the propagation delay tau and the response time in seconds, and frames in bytes. This
//! is the formula for the headroom of 802.1Qbb. Buffers count frames without preamble and gap.

use crate::common::*;
use tailback_sim::Report;
use tailback_sim::plan::*;
use tailback_units::{Dur, Time};

/// Propagation delay of each link.
const DELAY: Dur = Dur::from_us(1);
/// Number of frames with which the queue is still below the threshold.
const BELOW: u64 = 20;

/// Returns the report of a run in which h1 sends to d over switches a and b, and h2 sends to h3 over b and a. The link
/// from b to d is down. The buffer at b holds `room` frames, and is congested with one frame more than [`BELOW`].
fn cut_off(mbit: u64, backpressure: &BackPressure, room: u64) -> Report {
    let mut net = Net::new(ETHERNET);
    net.plan.classes = 2;
    let (a, b) = (net.switch("a"), net.switch("b"));
    let [h1, h2, h3, d] = ["h1", "h2", "h3", "d"].map(|name| net.host(name));
    // The link of h2 is created first, so that its frame is handled before a frame from a that arrives at b at the same
    // instant.
    net.link(h2, b, mbit);
    net.link(h1, a, mbit);
    net.link(a, b, mbit);
    net.link(a, h3, mbit);
    let drain = net.link(b, d, mbit);
    net.delay(DELAY);
    net.limit(b, d, room * FRAME);
    let high = (BELOW * FRAME + FRAME / 2) as f64 / (room * FRAME) as f64;
    let detection = Detection::Watermark { high, low: high / 2.0 };
    net.set_backpressure(b, BackPressure { detection, ..backpressure.clone() });
    net.change(Time::ZERO, ChangeKind::LinkDown(drain));
    net.flow(h1, d, 1, bulk(200 * 1500));
    // h2 starts one hop later than h1, so that frames of both directions arrive at b at the same instants.
    let back = net.flow(h2, h3, 1, bulk(200 * 1500));
    net.plan.flows[back].start = Time::ZERO + tx(mbit, WIRE) + DELAY;
    net.plan.end = ms(100);
    net.run()
}

/// Returns the number of frames that arrive after the frame that crosses the threshold. These start upstream between
/// the end of that frame's transmission and the instant at which the stop takes effect.
fn after_the_crossing(mbit: u64, response: Dur) -> u64 {
    let (frame, pause) = (tx(mbit, WIRE), tx(mbit, PAUSE));
    let until = frame + DELAY + frame + pause + DELAY + response;
    until.0 / frame.0
}

/// Returns the bound in the module's documentation, in bytes on the wire.
fn headroom(mbit: u64, response: Dur) -> u64 {
    let travel = DELAY + DELAY + response;
    u64::from(WIRE + PAUSE + WIRE) + travel.0 * mbit / 8_000_000
}

/// Returns a response time with which a frame starts upstream at the very instant at which the stop takes effect.
fn worst_response(mbit: u64) -> Dur {
    let frame = tx(mbit, WIRE);
    frame * 3 - tx(mbit, PAUSE) - DELAY - DELAY
}

#[test]
fn the_headroom_formula_is_sufficient_and_one_frame_less_is_not() {
    let mac = Signal::Mac { quanta: 65_535 };
    let laws = [
        PLAIN,
        scope(Scope::Class),
        scope(Scope::Destination),
        scope(Scope::ClassDestination),
        BackPressure { signal: mac, ..PLAIN },
        BackPressure { signal: mac, ..scope(Scope::Class) },
    ];
    for mbit in [100, 1000] {
        // Response times: 0; 60 quanta of 64 bytes, the maximum of IEEE 802.3 annex 31B at 10 Gbit/s; the worst case.
        for response_time in [Dur::ZERO, tx(mbit, 60 * 64), worst_response(mbit)] {
            let after = after_the_crossing(mbit, response_time);
            assert!(after * u64::from(WIRE) <= headroom(mbit, response_time));
            if response_time == worst_response(mbit) {
                assert_eq!(after * u64::from(WIRE), headroom(mbit, response_time), "the bound is attained");
            }
            for backpressure in &laws {
                let backpressure = BackPressure { response_time, ..backpressure.clone() };
                let room = BELOW + 1 + after;
                let enough = cut_off(mbit, &backpressure, room);
                assert_eq!(total_drops(&enough), 0, "{mbit} Mbit/s, {backpressure:?}");
                assert_eq!(port(&enough, "b->d").classes[1].max_bytes, room * FRAME, "the whole buffer is used");
                let short = cut_off(mbit, &backpressure, room - 1);
                assert_eq!(drops_at(&short, "b->d"), 1, "{mbit} Mbit/s, {backpressure:?}");
                assert_eq!(total_drops(&short), 1);
            }
        }
    }
}
