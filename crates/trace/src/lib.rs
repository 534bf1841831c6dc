//! Packet traces ([`tailback_sim::trace`]) in the forms in which users get them: columns, text formats of ns-2 and
//! ns-3, packet captures and explanations.

pub mod columns;
mod network;
mod ns2;
mod ns3;
pub mod pcap;
mod places;
#[cfg(test)]
mod sample;
mod selection;
pub mod why;

pub use network::{Flow, Memory, Network, Notices, Port};
pub use ns2::Ns2;
pub use ns3::Ns3;
pub use places::{Ends, Places};
pub use selection::Selection;
