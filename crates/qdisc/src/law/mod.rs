//! Control laws. A law owns no packets and no queue; a discipline reports arrivals and departures to it and carries out its
//! decisions.

mod arrival;
mod average;
pub mod avq;
pub mod blue;
mod blue_params;
pub mod cobalt;
pub mod codel;
mod departure;
pub mod ered;
pub mod pi;
pub mod pi2;
pub mod pie;
pub mod red;
mod red_params;
pub mod rem;
pub mod rio;
mod rio_params;
pub mod sfb;
pub mod sred;
pub mod wred;
mod wred_params;

pub use arrival::{Arrival, ArrivalLaw, BuildLaw};
pub(crate) use departure::deliver;
pub use departure::{Departure, DepartureLaw};

/// The waiting packets of a queue, without the packet in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Buffer bytes.
    pub bytes: u64,
}

/// A law's decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet is admitted.
    Pass,
    /// The packet is chosen at random to signal congestion: marked if possible, else dropped.
    Early,
    /// A packet is dropped, even if it is ECN-capable.
    Forced,
}
