//! Laws that judge packets when they arrive at a FIFO.

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
    /// The packet, for its size, flow, ECN codepoint, code point and colour.
    pub packet: &'a Packet,
    /// The waiting packets, without the arriving one.
    pub queue: Backlog,
    /// `true` if the queue's limits leave no room for the packet. If the law admits it nevertheless, the law's victim
    /// is dropped.
    pub full: bool,
}

impl Arrival<'_> {
    /// Returns the fate of a packet that signals congestion: a mark if `ecn` is set and the packet is ECN-capable, else
    /// an early drop.
    #[inline]
    pub fn signal(&self, ecn: bool) -> Fate {
        if ecn && self.packet.is_ect() { Fate::Marked } else { Fate::Dropped(Reason::Early) }
    }
    /// Returns the fate of the packet by a decision. Only [`Decision::Early`] may mark it, and only if `ecn` is
    /// set.
    #[inline]
    pub fn fate(&self, decision: Decision, ecn: bool) -> Fate {
        match decision {
            Decision::Pass => Fate::Joins,
            Decision::Early => self.signal(ecn),
            Decision::Forced => Fate::Dropped(Reason::Early),
        }
    }
}

/// A control law that marks or drops packets when they arrive at a FIFO: the part that differs between disciplines
/// built as [`crate::discipline::managed::Managed`]. The defaults are those of a law without timer that ignores
/// departures.
pub trait ArrivalLaw: Debug {
    /// Decides about an arriving packet. A law that needs to know of drops at a full queue takes them
    /// from `arrival.full`.
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate;
    /// Returns the packet that is dropped when the law admits one for which there is no room.
    fn victim(&self) -> Victim {
        Victim::Tail
    }
    /// Notes that `packet` leaves for transmission; `left` waits behind it.
    fn depart(&mut self, _now: Time, _packet: &Packet, _left: Backlog) {}
    /// Returns the time of the next [`ArrivalLaw::update`]. `None`: the law has no timer.
    fn next_update(&self) -> Option<Time> {
        None
    }
    /// Updates the law's state when its timer expires, with `queue` waiting.
    fn update(&mut self, _now: Time, _queue: Backlog) {}
    /// Returns the event that must be reported by [`ArrivalLaw::idle`].
    fn watches(&self) -> Watch {
        Watch::Nothing
    }
    /// Notes the event of [`ArrivalLaw::watches`].
    fn idle(&mut self, _now: Time) {}
    /// Notes a change of the link's rate.
    fn set_rate(&mut self, _rate: Rate) {}
    /// Reports state variables for time series, as [`crate::Qdisc::probe`] does.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// Returns the size of the law's variables in bytes, as [`crate::Qdisc::state_bytes`] counts.
    fn state_bytes(&self) -> usize;
}

/// Parameters of a law that judges arrivals.
pub trait BuildLaw {
    /// State of the law at one queue.
    type Law: ArrivalLaw;
    /// Returns the law in its initial state for a queue at `site`. The parameters have passed their check.
    fn law(&self, site: &Site) -> Self::Law;
}
