//! Packet traces ([`tailback_sim::trace`]) in the forms in which they leave the engine.

mod network;
pub mod pcap;

pub use network::{Flow, Network, Port};
