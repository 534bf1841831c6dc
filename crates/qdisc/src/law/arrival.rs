//! Laws that decide about packets when they arrive at a FIFO.

use super::{Backlog, Decision};
use crate::{Fate, Packet, Reason, Site, Victim, Watch};
use core::fmt::Debug;
use tailback_random::Rng;
use tailback_units::{Rate, Time};

/// An arriving packet and the queue that it finds.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The current time.
    pub now: Time,
    /// The packet, for its size, flow, ECN field, DSCP and colour.
    pub packet: &'a Packet,
    /// The waiting packets, without the arriving one.
    pub queue: Backlog,
    /// `true` if the queue's limits leave no room for the packet. If the law admits it nevertheless, the queue drops
    /// the packet that [`ArrivalLaw::victim`] selects.
    pub full: bool,
}

impl Arrival<'_> {
    /// Returns the fate of a packet that signals congestion: a mark if `ecn` is set and the packet is ECN-capable, else
    /// an early drop.
    #[inline]
    pub fn signal(&self, ecn: bool) -> Fate {
        if ecn && self.packet.is_ect() { Fate::Marked } else { Fate::Dropped(Reason::Early) }
    }
    /// Converts a decision to the fate of the packet. Only [`Decision::Early`] may mark it, and only if `ecn` is
    /// set. A packet dropped by [`Decision::Forced`] also has the reason [`Reason::Early`]: the law drops it, not a
    /// full queue.
    #[inline]
    pub fn fate(&self, decision: Decision, ecn: bool) -> Fate {
        match decision {
            Decision::Pass => Fate::Joins,
            Decision::Early => self.signal(ecn),
            Decision::Forced => Fate::Dropped(Reason::Early),
        }
    }
}

/// A control law that marks or drops packets when they arrive at a FIFO. [`crate::discipline::managed::Managed`] makes
/// a discipline of it. The default methods suit a law that has no timer and ignores departures.
pub trait ArrivalLaw: Debug {
    /// Decides about an arriving packet. If `arrival.full` is set and the law admits the packet, the queue then drops
    /// at least one packet, arriving or waiting; a law that reacts to overflow therefore checks `arrival.full`.
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate;
    /// Returns which packet is dropped when the law admits one to a full queue.
    fn victim(&self) -> Victim {
        Victim::Tail
    }
    /// Notes that `packet` leaves for transmission; `left` is the backlog behind it.
    fn depart(&mut self, _now: Time, _packet: &Packet, _left: Backlog) {}
    /// Returns the time of the next [`ArrivalLaw::update`]. `None`: the law has no timer.
    fn next_update(&self) -> Option<Time> {
        None
    }
    /// Updates the law's state when its timer expires; `queue` is the backlog.
    fn update(&mut self, _now: Time, _queue: Backlog) {}
    /// Returns the event on which the queue must call [`ArrivalLaw::idle`].
    fn watches(&self) -> Watch {
        Watch::Nothing
    }
    /// Notes the event that [`ArrivalLaw::watches`] returns: since `now` the transmitter is idle, or with
    /// [`Watch::Empty`] the queue is empty.
    fn idle(&mut self, _now: Time) {}
    /// Notes that the link now has the rate `rate`.
    fn set_rate(&mut self, _rate: Rate) {}
    /// Reports state variables for time series, as [`crate::Qdisc::probe`] does.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// Returns the size of the law's variables in bytes, as [`crate::Qdisc::state_bytes`] counts.
    fn state_bytes(&self) -> usize;
}

/// Parameters from which an [`ArrivalLaw`] is built.
pub trait BuildLaw {
    /// State of the law at one queue.
    type Law: ArrivalLaw;
    /// Returns the law in its initial state for a queue at `site`. The parameters must have passed their check.
    fn law(&self, site: &Site) -> Self::Law;
}
