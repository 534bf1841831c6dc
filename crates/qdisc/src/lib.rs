//! Queue disciplines, sans-IO: packets and instants in, packets out, no simulator in sight.
//!
//! Read in the order in which a packet travels: [`Packet`] is what is queued, [`Cx`] what a
//! discipline may do besides (draw, drop), [`Gate`] what may leave just now, [`Qdisc`] the four
//! verbs, and [`Spec`] the list of all disciplines with their parameters.
//!
//! Adding a discipline takes one file in `discipline/` and one line in `registry.rs`.

mod cx;
pub mod discipline;
mod gate;
mod packet;
mod registry;

pub use cx::{Cx, Dropped, Reason};
pub use gate::Gate;
pub use packet::{Packet, Traits};
pub use registry::{Discipline, Spec};

use tailback_units::Time;

/// A queue discipline for one class of one output port.
///
/// Whatever it is given it either returns from `dequeue` or hands to `cx` as dropped, exactly once:
/// packets accepted = packets dequeued + packets dropped while waiting + packets queued.
pub trait Qdisc {
    /// Takes the packet, or drops it or others through `cx`. `packet.at` is the caller's enqueue instant.
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>);
    /// The next packet that `gate` lets pass, or none. May drop others through `cx`.
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet>;
    /// Packets waiting.
    fn packets(&self) -> u64;
    /// Visits each waiting packet, in no particular order.
    fn visit(&self, f: &mut dyn FnMut(&Packet));
    /// When it wants [`Qdisc::wake`] though nothing arrives or leaves; none if never.
    fn next_wakeup(&self) -> Option<Time> {
        None
    }
    /// The instant of `next_wakeup` has come.
    fn wake(&mut self, _now: Time, _cx: &mut Cx<'_>) {}
}
