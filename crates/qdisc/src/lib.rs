//! Queue disciplines, sans-IO: packets and instants in, packets out, no simulator in sight.
//!
//! Read in the order in which a packet travels: [`Packet`] is what is queued, [`Cx`] what a
//! discipline may do besides (draw, drop), [`Gate`] what may leave just now, [`Qdisc`] the four
//! verbs, and [`Spec`] the list of all disciplines with their parameters.
//!
//! [`classify`] sorts packets into the classes of the disciplines that have some.
//! `law/` holds the control laws (RED, Blue, CoDel, PIE …), which own no packets: numbers in, a
//! decision out. `discipline/` holds the queues that apply them. `cn/` holds congestion notification:
//! points that watch queues, laws that set rates, and the rate limiters between.
//!
//! An AQM that judges arrivals takes one file in `law/` and one line in `registry.rs` ([`law::ArrivalLaw`]); another
//! discipline takes one file in `discipline/` and that line.

mod accounting;
mod admission;
mod check;
pub mod classify;
pub mod cn;
mod cx;
pub mod discipline;
mod fifo;
mod gate;
pub mod law;
mod packet;
mod registry;
mod share;
pub mod signals;
mod site;
mod state;

pub use accounting::Accounting;
pub use admission::{Admission, AdmissionFifo, Fate, Rule, Watch};
pub use cx::{Cx, Dropped, Reason};
pub use fifo::Victim;
pub use gate::Gate;
pub use packet::{Colour, Ecn, Packet, Traits};
pub use registry::{Discipline, Spec};
pub use share::{Burst, Share};
pub use site::Site;

use tailback_units::{Rate, Time};

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
    /// When it wants [`Qdisc::wake`] though nothing arrives or leaves; none if never. Asked again
    /// after each call; an instant that has passed means "at once".
    fn next_wakeup(&self) -> Option<Time> {
        None
    }
    /// The instant of `next_wakeup` has come.
    fn wake(&mut self, _now: Time, _cx: &mut Cx<'_>) {}
    /// Whether it wants to hear of [`Qdisc::idle`].
    fn watches_idle(&self) -> bool {
        false
    }
    /// The transmitter has fallen free and found this queue empty: the link is idle from `now` on,
    /// until the next `enqueue`.
    fn idle(&mut self, _now: Time, _cx: &mut Cx<'_>) {}
    /// The link's rate has changed.
    fn set_rate(&mut self, _rate: Rate) {}
    /// Shows the law's state for time series: a name and a number, such as `"average_bytes"`. The
    /// names, their order and their number never change during a run.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// What it keeps besides the waiting packets, bytes: variables and tables, without parameters. `state.rs` says what
    /// counts; time series show it as `state_bytes`.
    fn state_bytes(&self) -> usize;
}
