//! Control laws: numbers in, a decision out. A law owns no packets and knows no queue; a discipline
//! tells it what arrives and leaves, and does what it decides.

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

/// What waits in a queue, without the packet in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Buffer bytes.
    pub bytes: u64,
}

/// What a law decides about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is accepted.
    Pass,
    /// It is chosen at random to signal congestion: marked if that may be, else dropped.
    Early,
    /// A packet is dropped, whether or not it could be marked.
    Forced,
}
