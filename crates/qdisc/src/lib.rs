//! Queue disciplines, sans-IO: packets and times in, packets out, independent of the simulator.
//!
//! Read in the order in which a packet travels: [`Packet`] is queued, [`Cx`] is the
//! context of its calls (random numbers, drops, marks), [`Gate`] the traffic that back-pressure stops, [`Qdisc`] the
//! interface, and [`Spec`] the list of all disciplines with their parameters.
//!
//! [`classify`] assigns packets to the classes of a discipline.
//! `law/` holds the control laws (RED, Blue, CoDel, PIE …), which own no packets: numbers in, a
//! decision out. `discipline/` holds the queues that apply them. `congestion_notification/` holds IEEE 802.1Qau and its predecessors:
//! congestion points (CP), reaction points (RP) and their rate limiters.
//!
//! An AQM that judges arrivals takes one file in `law/` and one line in `registry.rs` ([`law::ArrivalLaw`]); another
//! discipline takes one file in `discipline/` and that line.

mod accounting;
mod admission;
mod check;
pub mod classify;
pub mod congestion_notification;
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
/// It returns each packet from `dequeue` or drops it through `cx`, exactly once:
/// packets accepted = packets dequeued + packets dropped while waiting + packets queued.
pub trait Qdisc {
    /// Queues the packet, or drops it or others through `cx`. `packet.at` is the time of enqueueing, set by the caller.
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>);
    /// Removes and returns the next packet that `gate` lets pass; may drop others through `cx`. `None`: no packet may leave now.
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet>;
    /// Number of waiting packets.
    fn packets(&self) -> u64;
    /// Visits each waiting packet, in no particular order.
    fn visit(&self, f: &mut dyn FnMut(&Packet));
    /// Time of the next [`Qdisc::wake`], read again after each call; a time in the past means at once. `None`: no timer is set.
    fn next_wakeup(&self) -> Option<Time> {
        None
    }
    /// Runs when the timer of `next_wakeup` expires.
    fn wake(&mut self, _now: Time, _cx: &mut Cx<'_>) {}
    /// Returns `true` if the caller must report [`Qdisc::idle`].
    fn watches_idle(&self) -> bool {
        false
    }
    /// Notes that the transmitter is free and this queue is empty: the link is idle from `now` until the next `enqueue`.
    fn idle(&mut self, _now: Time, _cx: &mut Cx<'_>) {}
    /// Notes a change of the link's rate.
    fn set_rate(&mut self, _rate: Rate) {}
    /// Passes state variables to `f` for time series: a name such as `"average_bytes"` and a value. Names and order are
    /// constant during a run.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// Size of variables and tables in bytes, without waiting packets and parameters; `state.rs` defines it. Time series
    /// report it as `state_bytes`.
    fn state_bytes(&self) -> usize;
}
