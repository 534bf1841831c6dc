//! The interface of queue disciplines.

use crate::{Cx, Gate, Packet};
use tailback_units::{Rate, Time};
use tailback_user::Install;

/// A queue discipline for one class of one output port.
///
/// Each packet that is passed to `enqueue` is returned by `dequeue` or dropped through `cx`, exactly once:
/// packets enqueued = packets dequeued + packets dropped + packets waiting.
pub trait Qdisc {
    /// Queues the packet, or drops it or others through `cx`. `packet.at` is the time of enqueueing, set by the caller.
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>);
    /// Removes and returns the next packet that `gate` lets pass; may drop others through `cx`. `None`: no packet may
    /// leave now.
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet>;
    /// Returns the packet that `dequeue` would return now if every gate were open. `None`: there is none, or it is not
    /// known before it is removed.
    fn head(&self) -> Option<&Packet> {
        None
    }
    /// Returns the number of waiting packets.
    fn packets(&self) -> u64;
    /// Visits each waiting packet, in no particular order.
    fn visit(&self, f: &mut dyn FnMut(&Packet));
    /// Returns the time at which the caller must call [`Qdisc::wake`]; if that time has passed, it does so at once. The
    /// caller reads the time after each call of another method. `None`: no timer is set.
    fn next_wakeup(&self) -> Option<Time> {
        None
    }
    /// Processes the expiry of the timer of `next_wakeup`; may drop packets through `cx`.
    fn wake(&mut self, _now: Time, _cx: &mut Cx<'_>) {}
    /// Returns `true` if the caller must report [`Qdisc::idle`].
    fn watches_idle(&self) -> bool {
        false
    }
    /// Notes that the transmitter is free and this queue is empty: the link is idle from `now` until the next
    /// `enqueue`.
    fn idle(&mut self, _now: Time, _cx: &mut Cx<'_>) {}
    /// Notes that the link now has the rate `rate`.
    fn set_rate(&mut self, _rate: Rate) {}
    /// Passes state variables to `f` for time series: a name such as `"average_bytes"`, which contains the unit, and a
    /// value. Names and order are constant during a run.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// Returns the size of the variables and tables in bytes, without waiting packets and parameters. `state.rs`
    /// defines what counts. Time series report the size as `state_bytes`.
    fn state_bytes(&self) -> usize;
    /// Passes each place for a user's law to `f`: this discipline, or those inside it.
    fn each_user(&mut self, _f: &mut dyn FnMut(&mut dyn Install)) {}
}
