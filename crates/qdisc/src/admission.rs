//! Admission policies: decisions about a packet made once, when it arrives.
//!
//! A FIFO behind such a policy drops only arriving packets, so that the departure time of a packet is known when it is
//! admitted. The policy is the same whether the admitted packets wait in a discipline ([`crate::AdmissionFifo`]), or a
//! port of the merged engine schedules them on the link at once.

use crate::law::Backlog;
use crate::state::QUEUE;
use crate::{Packet, Reason, Site};
use tailback_random::Rng;
use tailback_units::Time;

/// A policy that admits packets to a FIFO and drops no admitted packet.
pub trait Admission {
    /// Decides about a packet that arrives at `now`; `queue` is the backlog without it.
    fn admit(&mut self, now: Time, packet: &Packet, queue: Backlog, rng: &mut Rng) -> Fate;
    /// Returns the event that must be reported by [`Admission::idle`].
    fn watches(&self) -> Watch {
        Watch::Nothing
    }
    /// Notes the event that [`Admission::watches`] requests. Its state began at `now`, which may be in the past; no
    /// packet has arrived since.
    fn idle(&mut self, _now: Time) {}
    /// Reports state variables for time series, as [`crate::Qdisc::probe`] does.
    fn probe(&self, _f: &mut dyn FnMut(&'static str, f64)) {}
    /// Returns the size of the policy's variables and of its queue in bytes, counted as in
    /// [`crate::Qdisc::state_bytes`].
    fn state_bytes(&self) -> usize;
}

/// The decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet joins the queue.
    Joins,
    /// The packet joins the queue, marked "congestion experienced".
    Marked,
    /// The packet is dropped.
    Dropped(Reason),
}

/// Event, in addition to arrivals, that must be reported to a policy or law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// No event.
    Nothing,
    /// The queue runs empty: the transmission of the last packet begins.
    Empty,
    /// The queue is empty and the transmitter is free; reported again after each packet that is dropped in
    /// this state.
    Idle,
}

impl Admission for Site {
    #[inline]
    fn admit(&mut self, _now: Time, packet: &Packet, queue: Backlog, _rng: &mut Rng) -> Fate {
        if self.is_full(queue.packets, queue.bytes, packet.size) {
            return Fate::Dropped(Reason::BufferFull);
        }
        Fate::Joins
    }
    fn state_bytes(&self) -> usize {
        QUEUE
    }
}
