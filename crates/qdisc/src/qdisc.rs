//! The interface of queue disciplines.

use crate::{Cx, Gate, Packet};
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
    /// Returns the number of waiting packets.
    fn packets(&self) -> u64;
    /// Visits each waiting packet, in no particular order.
    fn visit(&self, f: &mut dyn FnMut(&Packet));
    /// Returns the time of the next [`Qdisc::wake`]; the caller reads it after each call of a method, and a time in the
    /// past means at once. `None`: no timer is set.
    fn next_wakeup(&self) -> Option<Time> {
        None
    }
    /// Processes the expiry of the timer of `next_wakeup`.
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
    /// Returns the size of variables and tables in bytes, without waiting packets and parameters, as defined in
    /// `state.rs`. Time series report it as `state_bytes`.
    fn state_bytes(&self) -> usize;
}
