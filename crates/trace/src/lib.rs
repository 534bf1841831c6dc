//! Packet traces ([`tailback_sim::trace`]) in the forms in which they leave the engine.

mod network;
pub mod why;

pub use network::{Flow, Memory, Network, Notices, Port};
