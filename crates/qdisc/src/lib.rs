//! Queue disciplines, sans-IO: packets and times in, packets out, independent of the simulator.
//!
//! Start with these items, in this order: [`Packet`]; [`Cx`], the context of a discipline's calls (random numbers,
//! drops, marks); [`Gate`], the traffic that back-pressure stops; [`Qdisc`], the interface of disciplines; [`Spec`],
//! the list of all disciplines with their parameters. [`Admission`] is the interface of policies that decide at
//! arrivals only; [`signals`] reports thresholds for checks before a run.
//!
//! [`classify`] assigns packets to the classes of a discipline. `law/` holds the control laws (RED, Blue, CoDel, PIE
//! …), which own no packets: they map numbers to decisions. `discipline/` holds the queues that apply them.
//! `congestion_notification/` holds IEEE 802.1Qau and its predecessors: congestion points (CP), reaction points (RP)
//! and their rate limiters.
//!
//! An AQM that decides at arrivals is a module in `law/` that implements [`law::ArrivalLaw`]; any other discipline is a
//! module in `discipline/`. `registry.rs` has an entry for each.

mod accounting;
mod admission;
mod admission_fifo;
mod check;
pub mod classify;
pub mod congestion_notification;
mod cx;
pub mod discipline;
mod fifo;
mod gate;
pub mod law;
mod packet;
mod qdisc;
mod registry;
mod retune;
mod share;
pub mod signals;
mod site;
mod state;

pub use accounting::Accounting;
pub use admission::{Admission, Fate, Watch};
pub use admission_fifo::{AdmissionFifo, Rule};
pub use cx::{Cx, Dropped, Reason};
pub use fifo::Victim;
pub use gate::Gate;
pub use packet::{Colour, Ecn, Packet, Traits};
pub use qdisc::Qdisc;
pub use registry::{Discipline, Spec};
pub use share::{Burst, Share};
pub use site::Site;
