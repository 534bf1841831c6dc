//! Rows for tests of the text formats.

use crate::places::{Ends, Places};
use tailback_qdisc::{Colour, Ecn, Reason};
use tailback_sim::plan::{EventKind, FrameKind};
use tailback_sim::trace::{Order, Row};
use tailback_units::Time;

/// Returns two hosts with a link, and a flow with a transport from the first to the second.
pub(crate) fn places() -> Places {
    Places { ports: vec![(0, 1), (1, 0)], flows: vec![Ends { from: 0, to: 1, has_transport: true }] }
}

/// Returns the row of the loss on the link, at 0.5 s, of a segment of 1460 B that has the flag CWR and the mark CE.
pub(crate) fn lost_segment() -> Row {
    Row {
        time: Time(500_000_000_000),
        order: Order::default(),
        turn: 0,
        event: EventKind::Drop,
        frame: FrameKind::Data,
        port: 0,
        class: 0,
        flow: 0,
        sequence: 3,
        packet: 77,
        stamp: Time(0),
        payload: 1460,
        size: 1500,
        wire: 1500,
        ecn: Ecn::Ce,
        echo: true,
        colour: Colour::Green,
        dscp: 46,
        exp: 5,
        tag: None,
        measured: true,
        queue_packets: 0,
        queue_bytes: 0,
        reason: Some(Reason::LinkLoss),
        state: Box::default(),
        detail: None,
    }
}

/// Returns the row of the arrival, at 1.25 s, of an acknowledgement of all segments before number 5 that echoes a mark.
pub(crate) fn acknowledgement() -> Row {
    Row {
        time: Time(1_250_000_000_000),
        event: EventKind::Deliver,
        frame: FrameKind::Ack,
        port: 1,
        sequence: 5,
        packet: 99,
        payload: 0,
        size: 40,
        wire: 40,
        ecn: Ecn::NotEct,
        dscp: 0,
        exp: 0,
        reason: None,
        ..lost_segment()
    }
}

/// Returns the row of a mark, for which neither format has a line.
pub(crate) fn mark() -> Row {
    Row { event: EventKind::Mark, reason: None, ..lost_segment() }
}
