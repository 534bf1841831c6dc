//! Laws that decide about packets when they leave a queue.

use super::Backlog;
use crate::{Cx, Packet, Reason};
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// A packet that has been taken from a queue for transmission.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The current time.
    pub now: Time,
    /// Time that the packet has waited.
    pub sojourn: Dur,
    /// `true` if the packet is ECN-capable.
    pub ect: bool,
    /// The backlog behind the packet.
    pub left: Backlog,
}

/// The decision about a packet that has been taken from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is sent.
    Deliver,
    /// The packet is marked and sent.
    Mark,
    /// The packet is dropped, and the next one is taken and judged.
    Drop,
}

/// A control law that marks or drops packets when they leave a queue.
pub trait DepartureLaw {
    /// Decides about a packet. After [`Verdict::Drop`] the caller passes the next packet of the queue, if
    /// there is one.
    fn depart(&mut self, departure: &Departure, rng: &mut Rng) -> Verdict;
}

/// Drops packets from `pop` until `law` lets one pass, and returns that packet, marked if the law decides so. `pop`
/// returns the next packet and the backlog behind it. `None`: no packet is left.
#[inline]
pub(crate) fn deliver(
    law: &mut impl DepartureLaw,
    now: Time,
    cx: &mut Cx<'_>,
    mut pop: impl FnMut() -> Option<(Packet, Backlog)>,
) -> Option<Packet> {
    while let Some((mut packet, left)) = pop() {
        let departure = Departure { now, sojourn: now.since(packet.at), ect: packet.is_ect(), left };
        match law.depart(&departure, cx.rng) {
            Verdict::Deliver => return Some(packet),
            Verdict::Mark => {
                cx.mark(&mut packet);
                return Some(packet);
            }
            Verdict::Drop => cx.drop(packet, Reason::Early),
        }
    }
    None
}
