//! Control laws. A law owns no packets and no queue; a discipline reports arrivals and departures to it and carries out
//! its decisions.

mod arrival;
mod average;
pub mod avq;
pub mod blue;
mod blue_params;
pub mod cobalt;
pub mod codel;
mod decision;
mod departure;
pub mod ered;
mod form;
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
pub use decision::{Backlog, Decision};
pub(crate) use departure::deliver;
pub use departure::{Departure, DepartureLaw};
pub use form::Form;
