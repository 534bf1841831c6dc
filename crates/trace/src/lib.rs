//! Packet traces ([`tailback_sim::trace`]) in the forms in which they leave the engine.

mod network;

pub use network::{Flow, Network, Port};
