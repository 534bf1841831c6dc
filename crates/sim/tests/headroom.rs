//! The room that a buffer needs above its threshold so that nothing is lost, to the byte.
//!
//! The worst case, constructed: the drain is cut off, and at the instant at which the threshold is
//! crossed a full frame has just started on the way back, so that the notification waits for it;
//! where the response time permits, a full frame also starts upstream just as the stop takes effect.
//! What arrives after the frame that crosses the threshold is, per upstream link and on the wire,
//!
//!   R (2 tau + response) / 8 + own frame + control frame + peer's frame,
//!
//! the sum that 802.1Qbb headroom is computed by; buffers count frames without preamble and gap.

use crate::common::*;
use tailback_sim::Report;
use tailback_sim::plan::*;
use tailback_units::{Dur, Time};

const DELAY: Dur = Dur::from_us(1);
/// Frames that stay below the threshold.
const BELOW: u64 = 20;

/// h1 sends to d over a and b, h2 to h3 the other way; the link from b to d is down. The buffer at b
/// holds `room` frames and is congested by one more than [`BELOW`].
fn cut_off(mbit: u64, law: &BackPressure, room: u64) -> Report {
    let mut net = Net::new(ETHERNET);
    net.plan.classes = 2;
    let (a, b) = (net.switch("a"), net.switch("b"));
    let [h1, h2, h3, d] = ["h1", "h2", "h3", "d"].map(|name| net.host(name));
    // The link of h2 comes first, so that of two frames that arrive at b at once its is served first.
    net.link(h2, b, mbit);
    net.link(h1, a, mbit);
    net.link(a, b, mbit);
    net.link(a, h3, mbit);
    let drain = net.link(b, d, mbit);
    net.delay(DELAY);
    net.limit(b, d, room * FRAME);
    let high = (BELOW * FRAME + FRAME / 2) as f64 / (room * FRAME) as f64;
    let detection = Detection::Watermark { high, low: high / 2.0 };
    net.press(b, BackPressure { detection, ..law.clone() });
    net.change(Time::ZERO, ChangeKind::LinkDown(drain));
    net.flow(h1, d, 1, bulk(200 * 1500));
    // Frames of both directions reach b at the same instants, each as the one before has left.
    let back = net.flow(h2, h3, 1, bulk(200 * 1500));
    net.plan.flows[back].start = Time::ZERO + tx(mbit, WIRE) + DELAY;
    net.plan.end = ms(100);
    net.run()
}

/// Frames that arrive after the one that crosses the threshold: those that start upstream from one
/// frame time after its own start until the stop takes effect.
fn after_the_crossing(mbit: u64, response: Dur) -> u64 {
    let (frame, pause) = (tx(mbit, WIRE), tx(mbit, PAUSE));
    let until = frame + DELAY + frame + pause + DELAY + response;
    until.0 / frame.0
}

/// The bound of the module's first page, bytes on the wire.
fn headroom(mbit: u64, response: Dur) -> u64 {
    let travel = DELAY + DELAY + response;
    u64::from(WIRE + PAUSE + WIRE) + travel.0 * mbit / 8_000_000
}

/// A response time for which a frame starts upstream at the very instant of the stop.
fn worst_response(mbit: u64) -> Dur {
    let frame = tx(mbit, WIRE);
    frame * 3 - tx(mbit, PAUSE) - DELAY - DELAY
}

#[test]
fn the_headroom_formula_is_sufficient_and_one_frame_less_is_not() {
    let mac = Signal::Mac { quanta: 65_535 };
    let kinds = [
        PLAIN,
        scope(Scope::Class),
        scope(Scope::Destination),
        scope(Scope::ClassDestination),
        BackPressure { signal: mac, ..PLAIN },
        BackPressure { signal: mac, ..scope(Scope::Class) },
    ];
    for mbit in [100, 1000] {
        // None, the reaction limit of 802.3x at 10 Gbit/s (60 quanta of 64 bytes), and the worst.
        for response_time in [Dur::ZERO, tx(mbit, 60 * 64), worst_response(mbit)] {
            let after = after_the_crossing(mbit, response_time);
            assert!(after * u64::from(WIRE) <= headroom(mbit, response_time));
            if response_time == worst_response(mbit) {
                assert_eq!(after * u64::from(WIRE), headroom(mbit, response_time), "the bound is attained");
            }
            for kind in &kinds {
                let law = BackPressure { response_time, ..kind.clone() };
                let room = BELOW + 1 + after;
                let enough = cut_off(mbit, &law, room);
                assert_eq!(total_drops(&enough), 0, "{mbit} Mbit/s, {law:?}");
                assert_eq!(port(&enough, "b->d").classes[1].max_bytes, room * FRAME, "the room is used up");
                let short = cut_off(mbit, &law, room - 1);
                assert_eq!(drops_at(&short, "b->d"), 1, "{mbit} Mbit/s, {law:?}");
                assert_eq!(total_drops(&short), 1);
            }
        }
    }
}
