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
    /// `true` if the queue's limits leave no room for the packet. If the law admits it all the same, the law's victim is
    /// dropped.
    pub full: bool,
}

impl Arrival<'_> {
    /// Returns the fate of a packet that is chosen to signal congestion: a mark if `ecn` holds and it is ECN-capable, else
    /// an early drop.
    #[inline]
    pub fn signal(&self, ecn: bool) -> Fate {
        if ecn && self.packet.is_ect() { Fate::Marked } else { Fate::Dropped(Reason::Early) }
    }
    /// Returns the fate that a decision means; a mark signals [`Decision::Early`] only, and only if `ecn` holds.
    #[inline]
    pub fn fate(&self, decision: Decision, ecn: bool) -> Fate {
        match decision {
            Decision::Pass => Fate::Joins,
            Decision::Early => self.signal(ecn),
            Decision::Forced => Fate::Dropped(Reason::Early),
        }
    }
}

/// A control law that marks or drops packets when they arrive at a FIFO: all that differs between disciplines built as
/// [`crate::discipline::managed::Managed`]. The defaults are those of a law without timer that ignores departures.
pub trait ArrivalLaw: Debug {
    /// Decides about an arriving packet. The law itself notes what it needs of drops for want of room.
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate;
    /// The packet that is dropped when an admitted one finds no room.
    fn victim(&self) -> Victim {
        Victim::Tail
    }
    /// Notes that `packet` leaves for transmission; `left` waits behind it.
    fn depart(&mut self, _now: Time, _packet: &Packet, _left: Backlog) {}
    /// Time of the next [`ArrivalLaw::update`]; `None`: the law has no timer.
    fn next_update(&self) -> Option<Time> {
        None
    }
    /// Updates the law's state when its timer expires, with `queue` waiting.
    fn update(&mut self, _now: Time, _queue: Backlog) {}
    /// The event that [`ArrivalLaw::idle`] reports.
    fn watches(&self) -> Watch {
        Watch::Nothing
    }
    /// Notes the event of [`ArrivalLaw::watches`].
    fn idle(&mut self, _now: Time) {}
    /// Notes a change of the link's rate.
    fn set_rate(&mut self, _rate: Rate) {}
    /// Reports state variables for time series, as [`crate::Qdisc::probe`] does.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// Size of the law's variables in bytes, as [`crate::Qdisc::state_bytes`] counts.
    fn state_bytes(&self) -> usize;
}

/// Parameters of a law that judges arrivals.
pub trait BuildLaw {
    /// The law.
    type Law: ArrivalLaw;
    /// Returns the law in its initial state for a queue at `site`. The parameters have passed their check.
    fn law(&self, site: &Site) -> Self::Law;
}
